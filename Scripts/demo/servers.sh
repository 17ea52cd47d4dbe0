# What the demos of several servers have in common: PostgreSQL, servers, and the devices of the fleet. Sourced.

source Scripts/demo/words.sh
source Scripts/service.sh
bin=$(cd "${HOLDFAST_BIN:-.build/release}" && pwd)
# Jot's schema: lists and items.
schema=Examples/Jot/holdfast.json
folder=$(mktemp -d)
started=$SECONDS
declare -A server port
fleet=

# Ends what was started here, and nothing else.
finish() {
  local status=$? process cluster
  trap '' INT TERM HUP
  for process in $(jobs -p); do kill -KILL "$process" 2>/dev/null || true; done
  wait 2>/dev/null || true
  for cluster in "$folder"/*/data; do
    if [[ -d $cluster ]]; then Scripts/postgres.sh stop "${cluster%/data}" immediate || true; fi
  done
  if ((status == 0 || status == 130)); then
    rm -rf "$folder"
  else
    say "The demo failed; its logs are in $folder" >&2
  fi
}
trap finish EXIT
trap 'exit 130' INT TERM HUP

at() { printf '%4d s  %s\n' "$((SECONDS - started))" "$*"; }

# MARK: PostgreSQL

# Starts a cluster of PostgreSQL with a database, and prints its URL.
start_postgres() {
  local superuser url
  superuser=$(Scripts/postgres.sh start "$folder/$1")
  psql -qX "$superuser" -c "CREATE ROLE jot LOGIN PASSWORD 'jot'" -c "CREATE DATABASE $2 OWNER jot"
  url=${superuser/postgres@/jot:jot@}
  echo "${url%/postgres}/$2"
}

# MARK: The servers

# Starts a server, on the port it had before, without waiting for it.
launch_server() {
  : >"$folder/$1.out"
  "$bin/holdfast" serve "${@:2}" --listen "127.0.0.1:${port[$1]:-0}" \
    >"$folder/$1.out" 2>>"$folder/$1.log" </dev/null &
  server[$1]=$!
}

wait_for_server() {
  local line
  for _ in {1..400}; do
    # `read` succeeds once the line is whole.
    if read -r line <"$folder/$1.out" && [[ $line =~ ^listening\ on\ http://.*:([0-9]+)$ ]]; then
      port[$1]=${BASH_REMATCH[1]}
      return
    fi
    kill -0 "${server[$1]}" 2>/dev/null || break
    sleep 0.05
  done
  tail -n 5 "$folder/$1.log" >&2
  fail "the server $1 did not start"
}

stop_server() {
  kill "-$2" "${server[$1]}"
  wait "${server[$1]}" 2>/dev/null || true
  server[$1]=
}

# MARK: The devices

launch_fleet() {
  mkfifo "$folder/commands" "$folder/answers"
  mkdir "$folder/devices"
  "$bin/fleet" --schema "$schema" --folder "$folder/devices" "$@" \
    <"$folder/commands" >"$folder/answers" 2>"$folder/fleet.log" &
  fleet=$!
  exec 8>"$folder/commands" 9<"$folder/answers"
  hear
}

# Tells the fleet something, and gives what it answers.
tell() {
  echo "$1" >&8
  hear
}

# Reads a line of the fleet.
hear() {
  read -r -t 300 line <&9 || { cat "$folder/fleet.log" >&2; fail 'the fleet does not answer'; }
}

# Lets the fleet end its editing and compare, and shows what it finds. The last line is in $line.
rest() {
  tell rest
  while [[ $line != done:* ]]; do
    say "$line"
    hear
  done
  wait "$fleet" || fail "${line#done: }"
  fleet=
}
