# The directory of the demo: four databases, their servers, the moves between them. Sourced by demo-directory.sh.

source Scripts/demo/servers.sh
names=(a b c d)
# Where each database is: a PostgreSQL URL, or a data directory. a and c are in PostgreSQL, b and d in SQLite.
declare -A location

is_postgres() { [[ ${location[$1]} == *://* ]]; }

database_option() {
  if is_postgres "$1"; then echo "--database ${location[$1]}"; else echo "--data ${location[$1]}"; fi
}

start_directory() {
  directory=$(start_postgres directory directory)
  "$bin/holdfast" directory init --directory "$directory" >/dev/null
}

# Makes a database and its tables, and has it join.
make_database() {
  case $1 in
  a | c) location[$1]=$(start_postgres "$1" jot) ;;
  *)
    location[$1]=$folder/$1
    mkdir "$folder/$1"
    ;;
  esac
  # shellcheck disable=SC2046
  launch_server "$1" --schema "$schema" $(database_option "$1")
  wait_for_server "$1"
  stop_server "$1" TERM
  # shellcheck disable=SC2046
  "$bin/holdfast" directory join "$1" --url "http://127.0.0.1:${port[$1]}" --directory "$directory" \
    $(database_option "$1") >/dev/null
  start_server "$1"
}

start_server() {
  # shellcheck disable=SC2046
  launch_server "$1" --directory "$directory" $(database_option "$1")
  wait_for_server "$1"
}

# Asks a database by SQL.
query() {
  if is_postgres "$1"; then
    timeout 10 psql -qXAt "${location[$1]}" -c "${2//OWN/holdfast.}"
  else
    timeout 10 sqlite3 -readonly -cmd '.timeout 5000' -list -noheader "${location[$1]}/holdfast.db" "${2//OWN/holdfast_}"
  fi
}

zones_here() { query "$1" 'SELECT zone FROM OWNzones WHERE left_for IS NULL AND zone IN (SELECT id FROM lists) ORDER BY zone'; }

# Sends a signal to all processes of a database, whose server has it in its own if it is SQLite.
signal_database() {
  local process=${server[$2]}
  if is_postgres "$2"; then
    process=$(head -1 "$folder/$2/data/postmaster.pid")
    process+=" $(cat "/proc/$process/task/$process/children")"
  fi
  # shellcheck disable=SC2086
  kill "-$1" $process 2>/dev/null || true
}

# MARK: Moves

note_move() { echo "$1" >>"$folder/moves"; }
moves() { grep -cx "$1" "$folder/moves" || true; }

# Runs `holdfast zones move` for at most some seconds; its words are in $said.
move() { said=$(timeout -s KILL "$1" "$bin/holdfast" zones move "$2" --from "${location[$3]}" --to "${location[$4]}" \
  --directory "$directory" "${@:5}" 2>&1); }

# Repeats a command until it succeeds, or says that the zone is elsewhere.
go_on() {
  until move 20 "$@"; do
    printf '%s: %s\n' "$*" "$said" >>"$folder/moves.log"
    if [[ $said == *has\ moved* || $said == *has\ arrived* || $said == *Another\ command* || $said == *not\ on\ its\ way* ||
      $said == *'There is no zone'* || $said == *'here already'* || $said == *'was cancelled'* ]]; then
      return 1
    fi
    sleep 0.3
  done
}

# Moves a zone from one database to another, kills the command in the middle now and then, and cancels or repeats it.
move_one() {
  local from=${names[RANDOM % 4]} to=${names[RANDOM % 4]} zones zone
  if [[ $from == "$to" ]]; then return; fi
  mapfile -t zones < <(zones_here "$from" 2>/dev/null)
  if ((${#zones[@]} == 0)); then return; fi
  zone=${zones[RANDOM % ${#zones[@]}]}
  if ((RANDOM % 2 == 0)); then
    if ! move "0.$((RANDOM % 3))$((RANDOM % 10))" "$zone" "$from" "$to"; then note_move killed; fi
    if ((RANDOM % 4 == 0)); then
      if go_on "$zone" "$from" "$to" --cancel; then
        note_move cancelled
        return
      fi
    fi
  fi
  if ! go_on "$zone" "$from" "$to"; then return; fi
  note_move moved
  if ((RANDOM % 3 == 0)) && timeout 20 "$bin/holdfast" zones drop "$zone" $(database_option "$from") >>"$folder/moves.log" 2>&1; then
    note_move dropped
  fi
  if ((RANDOM % 3 == 0)) && go_on "$zone" "$to" "$from"; then note_move moved; note_move back; fi
}

# Moves zones until the faults are over.
move_zones() {
  RANDOM=$1
  while [[ ! -e $folder/over ]]; do
    move_one
    sleep "$((RANDOM % 2)).$((RANDOM % 10))"
  done
}

# An operator repeats the commands that did not end: no zone is left in between.
end_moves() {
  local name other zone here
  here=$(for name in "${names[@]}"; do zones_here "$name"; done)
  for name in "${names[@]}"; do
    while IFS='|' read -r zone other; do
      if [[ -z $zone || $here == *"$zone"* ]]; then continue; fi
      if go_on "$zone" "$name" "$other"; then note_move moved; elif go_on "$zone" "$name" "$other" --cancel; then note_move cancelled; fi
      here+=" $(zones_here "$name"; zones_here "$other")"
    done < <(query "$name" 'SELECT zone, left_for FROM OWNzones WHERE left_for IS NOT NULL')
  done
}

# MARK: Faults

# Breaks something for some seconds. What the servers of the other databases confirm meanwhile is counted.
break_one() {
  local name=${names[RANDOM % 4]} seconds=$((RANDOM % 3 + 2)) what=$((RANDOM % 5))
  if ((what == 2 || what == 3)); then
    if ((what == 3)); then name=directory; elif ! is_postgres "$name"; then what=0; fi
  fi
  tell "watch $name"
  case $what in
  0 | 1)
    stop_server "$name" KILL
    sleep "$seconds"
    start_server "$name"
    what='server killed'
    ;;
  2 | 3)
    Scripts/postgres.sh stop "$folder/$name" immediate
    sleep "$seconds"
    Scripts/postgres.sh start "$folder/$name" >/dev/null
    what='PostgreSQL crashed'
    ;;
  4)
    signal_database STOP "$name"
    sleep "$seconds"
    signal_database CONT "$name"
    what='stands still'
    ;;
  esac
  tell report
  at "$name: $what for $seconds s; ${line#report: } writes confirmed elsewhere meanwhile"
  faults=$((faults + 1))
  confirmed=$((confirmed + ${line#report: }))
  if ((${line#report: } == 0)); then fail "while $name was down, no other database has confirmed anything"; fi
}
