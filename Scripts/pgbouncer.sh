#!/usr/bin/env bash
# PgBouncer in transaction mode in a folder of its own, before a PostgreSQL server, for tests and demos.
#
#   pgbouncer.sh start DIR URL [PORT]   start it before the server of that superuser's URL, print its postgres:// URL
#   pgbouncer.sh lead DIR URL           lead to another server from now on
#   pgbouncer.sh stop DIR               end it
#
# It listens on 127.0.0.1, for every role and database that the server has. PgBouncer refuses to run as root: see service.sh.
set -euo pipefail
source "$(dirname "$0")/service.sh"

usage() {
  sed -n '4,6s/^# *//p' "$0" >&2
  exit 64
}
(($# >= 2)) || usage
command=$1
dir=$(realpath -m "$2")

program=$(command -v pgbouncer || echo /usr/sbin/pgbouncer)
if [[ ! -x $program ]]; then
  echo "There is no PgBouncer here: run Scripts/setup.sh cluster." >&2
  exit 69
fi

# auth_query asks the server for the password of any other role; who asks is the superuser, without a password of its own.
configure() {
  local user=$1 host=$2 server=$3 port=$4
  echo "\"$user\" \"\"" | as_owner tee "$dir/users.txt" >/dev/null
  as_owner tee "$dir/pgbouncer.ini" >/dev/null <<CONF
[databases]
* = host=$host port=$server
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = $port
unix_socket_dir =
auth_type = scram-sha-256
auth_file = $dir/users.txt
auth_user = $user
pool_mode = transaction
max_client_conn = 1000
default_pool_size = 20
server_idle_timeout = 2
pidfile = $dir/pgbouncer.pid
logfile = $dir/pgbouncer.log
CONF
}

start() {
  [[ $1 =~ ^postgres(ql)?://([^:@/]+)(:[^@/]*)?@([^:/]+):([0-9]+)/ ]] || usage
  local user=${BASH_REMATCH[2]} host=${BASH_REMATCH[4]} server=${BASH_REMATCH[5]} port attempt
  close_descriptors
  prepare_folder "$dir"
  for attempt in 1 2 3 4 5; do
    port=${2:-$(free_port)}
    configure "$user" "$host" "$server" "$port"
    if as_owner "$program" --quiet --daemon "$dir/pgbouncer.ini" </dev/null >/dev/null 2>&1; then
      for _ in {1..100}; do
        if is_listening "$port"; then
          echo "postgres://$user@127.0.0.1:$port/postgres"
          return
        fi
        sleep 0.05
      done
    fi
  done
  tail -20 "$dir/pgbouncer.log" >&2
  exit 70
}

lead() {
  [[ $1 =~ ^postgres(ql)?://[^/]*@([^:/]+):([0-9]+)/ ]] || usage
  local before after log=$dir/pgbouncer.log
  before=$(grep -c 'got SIGHUP' "$log" || true)
  sed "s/^\* = .*/* = host=${BASH_REMATCH[2]} port=${BASH_REMATCH[3]}/" "$dir/pgbouncer.ini" |
    as_owner tee "$dir/pgbouncer.next" >/dev/null
  as_owner mv "$dir/pgbouncer.next" "$dir/pgbouncer.ini"
  kill -HUP "$(cat "$dir/pgbouncer.pid")"
  for _ in {1..200}; do
    after=$(grep -c 'got SIGHUP' "$log" || true)
    ((after > before)) && return
    sleep 0.05
  done
  tail -20 "$log" >&2
  exit 70
}

stop() {
  local pid
  pid=$(cat "$dir/pgbouncer.pid" 2>/dev/null) || return 0
  # The number may belong to another process by now.
  if [[ $(readlink "/proc/$pid/exe" 2>/dev/null) == */pgbouncer ]]; then
    kill -TERM "$pid" 2>/dev/null || true
    wait_for_end "$pid"
  fi
}

case $command in
start)
  (($# >= 3)) || usage
  start "$3" "${4:-}"
  ;;
lead)
  (($# == 3)) || usage
  lead "$3"
  ;;
stop) stop ;;
*) usage ;;
esac
