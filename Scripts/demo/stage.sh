# The stage of the demo: the folder, the server, the devices, and how what they do is shown. Sourced by demo.sh.

source Scripts/demo/words.sh
bin=$(cd "${HOLDFAST_BIN:-.build/release}" && pwd)
folder=$(mktemp -d)
port=0
server=
syncing=
export JOT_PASSWORD='correct horse'

finish() {
  local status=$?
  # Only what was started here is ended.
  for process in $server $syncing; do kill "$process" 2>/dev/null || true; done
  ((status == 0)) || echo "The demo failed; its files are in $folder" >&2
}
trap finish EXIT

# Shows a command as it would be typed.
show() {
  local line='' word
  for word in "${@:2}"; do
    [[ $word =~ ^[A-Za-z0-9_./:=-]+$ ]] || word="'$word'"
    line+=" ${word/#$folder\//}"
  done
  printf '%s%-9s $%s%s\n' "$dim" "$1" "$plain" "$line"
}

# MARK: Devices. Each is a database file and nothing else.

database() { echo "$folder/$1.db"; }
# Nobody is there to be asked what edits that met come to.
jot() { "$bin/jot" "${@:2}" --db "$(database "$1")" </dev/null; }
device() { show "$1" jot "${@:2}"; jot "$@"; }
phone() { device phone "$@"; }
laptop() { device laptop "$@"; }
tablet() { device tablet "$@"; }
publisher() { device publisher "$@"; }

# MARK: The server

server_database() { echo "$folder/server/holdfast.db"; }

start_server() {
  local line
  show server holdfast serve --schema Examples/Jot/holdfast.json --data "$folder/server" --listen "127.0.0.1:$port"
  # The line of the server before would be taken for this one's.
  : >"$folder/server.out"
  "$bin/holdfast" serve --schema Examples/Jot/holdfast.json --data "$folder/server" \
    --listen "127.0.0.1:$port" >"$folder/server.out" 2>>"$folder/server.log" &
  server=$!
  for _ in {1..200}; do
    # `read` succeeds once the line is whole.
    if read -r line <"$folder/server.out" && [[ $line =~ ^listening\ on\ http://.*:([0-9]+)$ ]]; then
      port=${BASH_REMATCH[1]}
      return
    fi
    kill -0 "$server" 2>/dev/null || break
    sleep 0.05
  done
  tail -n 5 "$folder/server.log" >&2
  fail 'the server did not start'
}

stop_server() {
  say "${dim}server    \$${plain} kill -${1:-TERM} (the server)"
  kill "-${1:-TERM}" "$server"
  wait "$server" 2>/dev/null || true
  server=
}

# MARK: Breaking off in the middle

# Syncs a device, and breaks it off in the middle by a function. When the upload was over before that, which is a matter of
# luck, the device makes as many edits once more, by another function, and it is tried again.
break_midway() {
  local attempt
  for attempt in {1..6}; do
    sync_and_midway "$1" "$2"
    if is_midway "$1"; then return; fi
    say "(The upload was over before. Again, with more to send.)"
    if ! kill -0 "$server" 2>/dev/null; then start_server; fi
    "$3"
  done
  fail "the upload of the $1 could not be broken off in the middle"
}

# Syncs a device, and calls a function once some of its edits, but not all, are confirmed.
sync_and_midway() {
  local action=$2 done_already='' what sent of total
  show "$1" jot sync
  mkfifo "$folder/progress"
  "$bin/jot" sync --db "$(database "$1")" >/dev/null 2>"$folder/progress" &
  syncing=$!
  while read -r what sent of total; do
    if [[ -z $done_already && $what == uploading && $of == of ]] && ((sent > 0 && sent < total)); then
      "$action"
      done_already=1
      note "at: $what $sent $of $total"
    fi
  done <"$folder/progress"
  wait "$syncing" 2>/dev/null || true
  syncing=
  rm "$folder/progress"
}

# Whether a device's edits have arrived in part.
is_midway() {
  local made arrived
  made=$(edits_made "$1")
  arrived=$(edits_arrived "$1")
  ((arrived > 0 && arrived < made))
}

kill_device() { kill -KILL "$syncing"; }
kill_server() { kill -KILL "$server"; }

# MARK: Counting in the databases

query() { sqlite3 -bail -noheader -list "$@"; }
edits_made() { query "$(database "$1")" 'SELECT coalesce((SELECT max(last) FROM holdfast_outbox), confirmed) FROM holdfast_local'; }
edits_arrived() {
  query "$(database "$1")" "ATTACH '$(server_database)' AS server" \
    'SELECT confirmed FROM server.holdfast_devices WHERE id = (SELECT device FROM main.holdfast_local)'
}

# Shows that a device's edits have arrived in part.
show_midway() {
  local made arrived known
  made=$(edits_made "$1")
  arrived=$(edits_arrived "$1")
  known=$(query "$(database "$1")" 'SELECT confirmed FROM holdfast_local')
  note "of $made edits of the $1, the server's database has $arrived, and the $1 knows of $known"
}
