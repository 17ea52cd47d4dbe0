#!/usr/bin/env bash
# A PostgreSQL cluster of its own in a folder, for tests, benchmarks and demos.
#
#   postgres.sh start DIR [PORT]            make it if there is none, start it, print its postgres:// URL
#   postgres.sh stop DIR [fast|immediate]   end it; immediate is a crash that the next start recovers from
#   postgres.sh restart DIR [fast|immediate]
#   postgres.sh kill DIR                    SIGKILL to the server and all its processes
#
# It listens on 127.0.0.1 and on a socket in DIR, trusts whoever comes, and writes durably as in production.
# PostgreSQL refuses to run as root: called by root, it runs as postgres or, where there is none, as nobody.
set -euo pipefail

usage() {
  sed -n '3,6s/^# *//p' "$0" >&2
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

owner=$(id -un)
if ((EUID == 0)); then
  if id -u postgres >/dev/null 2>&1; then owner=postgres; else owner=nobody; fi
fi

as_owner() {
  if ((EUID == 0)); then (cd / && runuser -u "$owner" -- "$@"); else "$@"; fi
}

# A port that is free now; another may take it before the server does, so start tries several.
free_port() {
  local port
  while :; do
    port=$((RANDOM % 20000 + 20000))
    if ! (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then
      echo "$port"
      return
    fi
  done
}

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

# Folders on the way to DIR must let the owner pass; one of mktemp -d, mode 700, would not.
prepare_folder() {
  mkdir -p "$dir"
  if ((EUID == 0)); then
    chown "$owner" "$dir"
    local folder=$dir
    until as_owner test -x "$folder/." -a -w "$dir/."; do
      folder=$(dirname "$folder")
      if [[ $folder == / ]]; then
        echo "$owner can't reach $dir." >&2
        exit 73
      fi
      if [[ $(stat -c %u "$folder") == 0 && $folder == "${TMPDIR:-/tmp}"/* ]]; then chmod o+x "$folder"; fi
    done
  fi
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

# A server keeps no descriptor of its starter open, who may wait for the end of a pipe or a socket.
close_descriptors() {
  local path fd
  for path in /proc/$BASHPID/fd/*; do
    fd=${path##*/}
    if ((fd > 2 && fd != 255)); then eval "exec $fd>&-"; fi
  done
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
  prepare_folder
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
    for pid in $pid $children; do
      # One that is dead but not yet waited for shows as Z.
      while [[ $(sed -n 's/^State:.\(.\).*/\1/p' "/proc/$pid/status" 2>/dev/null) == [!Z] ]]; do sleep 0.02; done
    done
    # All are dead, but the next start takes one that shows as Z for alive.
    as_owner rm -f "$data/postmaster.pid" "$(socket_folder)/.s.PGSQL.$(cat "$dir/port").lock"
  fi
  ;;
*) usage ;;
esac
