#!/usr/bin/env bash
# A PostgreSQL cluster of its own in a folder, for tests, benchmarks and demos.
#
#   postgres.sh start DIR [PORT]            make it if there is none, start it, print its postgres:// URL
#   postgres.sh stop DIR [fast|immediate]   end it; immediate is a crash that the next start recovers from
#   postgres.sh restart DIR [fast|immediate]
#   postgres.sh kill DIR                    SIGKILL to the server and all its processes
#   postgres.sh keep DIR                    copy its files, as a backup of the stopped server
#   postgres.sh put-back DIR                put that copy in their place
#   postgres.sh standby DIR URL             make a standby of the server of a URL, start it, print its URL
#   postgres.sh promote DIR                 make a standby a server of its own
#
# It listens on 127.0.0.1 and on a socket in DIR, trusts whoever comes, and writes durably as in production.
# PostgreSQL refuses to run as root: see service.sh.
set -euo pipefail
source "$(dirname "$0")/service.sh"

usage() {
  sed -n '4,11s/^# *//p' "$0" >&2
  exit 64
}
(($# >= 2)) || usage
command=$1
dir=$(realpath -m "$2")
data=$dir/data

find_programs() {
  local folder
  for folder in /usr/lib/postgresql/{15,18,17,16,14,13}/bin "$(dirname "$(command -v pg_ctl || echo /)")"; do
    if [[ -x $folder/initdb ]]; then
      echo "$folder"
      return
    fi
  done
  echo "There is no PostgreSQL server here: run Scripts/setup.sh." >&2
  exit 69
}
programs=$(find_programs)

# The process in postmaster.pid, unless the file was left behind and the number belongs to another by now.
server() {
  local pid
  pid=$(head -1 "$data/postmaster.pid" 2>/dev/null) || return 1
  # A process that is dead but not yet waited for has no folder either.
  [[ $(readlink "/proc/$pid/cwd" 2>/dev/null) == "$data" ]] && echo "$pid"
}

print_url() {
  echo "postgres://postgres@127.0.0.1:$(cat "$dir/port")/postgres"
}

make_cluster() {
  as_owner "$programs/initdb" --pgdata="$data" --username=postgres --auth=trust --encoding=UTF8 --locale=C \
    >"$dir/initdb.log" 2>&1 || {
    cat "$dir/initdb.log" >&2
    exit 70
  }
  as_owner tee -a "$data/postgresql.conf" >/dev/null <<'CONF'
listen_addresses = '127.0.0.1'
max_connections = 500
fsync = on
synchronous_commit = on
logging_collector = off
CONF
}

# A Unix socket's path has at most 107 bytes.
socket_folder() {
  if ((${#dir} < 80)); then echo "$dir"; else echo /tmp; fi
}

start_cluster() {
  local port=$1 attempt
  close_descriptors
  for attempt in 1 2 3 4 5; do
    local chosen=${port:-$(free_port)}
    if as_owner "$programs/pg_ctl" start --pgdata="$data" --log="$dir/server.log" --wait --silent \
      --options="-p $chosen -k $(socket_folder)" >/dev/null 2>&1 </dev/null; then
      echo "$chosen" >"$dir/port"
      return
    fi
    grep -q "could not create any TCP/IP sockets" "$dir/server.log" || break
  done
  tail -20 "$dir/server.log" >&2
  exit 70
}

stop_cluster() {
  if server >/dev/null; then
    as_owner "$programs/pg_ctl" stop --pgdata="$data" --mode="$1" --wait --silent >/dev/null 2>&1
  fi
}

case $command in
start)
  prepare_folder "$dir"
  [[ -f $data/PG_VERSION ]] || make_cluster
  if ! server >/dev/null; then
    port=${3:-}
    if [[ -z $port && -f $dir/port ]]; then port=$(cat "$dir/port"); fi
    start_cluster "$port"
  fi
  print_url
  ;;
stop) stop_cluster "${3:-fast}" ;;
restart)
  stop_cluster "${3:-fast}"
  start_cluster "$(cat "$dir/port")"
  print_url
  ;;
kill)
  if pid=$(server); then
    children=$(cat "/proc/$pid/task/$pid/children" 2>/dev/null || pgrep -P "$pid" || true)
    # First the server, which would end its processes in good order; they find it gone.
    # shellcheck disable=SC2086
    kill -KILL "$pid" $children 2>/dev/null || true
    for pid in $pid $children; do wait_for_end "$pid"; done
    # All are dead, but the next start takes one that shows as Z for alive.
    as_owner rm -f "$data/postmaster.pid" "$(socket_folder)/.s.PGSQL.$(cat "$dir/port").lock"
  fi
  ;;
keep) as_owner cp -a "$data" "$dir/kept" ;;
put-back)
  as_owner rm -rf "$data"
  as_owner cp -a "$dir/kept" "$data"
  ;;
standby)
  (($# >= 3)) || usage
  prepare_folder "$dir"
  as_owner "$programs/pg_basebackup" --pgdata="$data" --dbname="$3" --write-recovery-conf --checkpoint=fast >&2
  start_cluster ""
  print_url
  ;;
promote) as_owner "$programs/pg_ctl" promote --pgdata="$data" --wait --silent >&2 ;;
*) usage ;;
esac
