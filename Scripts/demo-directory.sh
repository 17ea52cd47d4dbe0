#!/usr/bin/env bash
# Four databases of one directory, two in PostgreSQL and two in SQLite, and 60 devices of 20 people who share lists across them, while an
# operator moves lists between the databases, and commands, servers and databases are killed. Then it is counted whether every edit arrived
# once and all agree. HOLDFAST_BIN: where holdfast and fleet are. SEED: of the faults and edits. DURATION: seconds of faults; 60 unless set.
set -euo pipefail
cd "$(dirname "$0")/.."
source Scripts/demo/directory.sh
seed=${SEED:-$((RANDOM * 32768 + RANDOM))}
RANDOM=$seed
faults=0
confirmed=0

begin() {
  heading "1. A directory, and four databases with a server each. SEED=$seed"
  start_directory
  local name places=()
  for name in "${names[@]}"; do
    make_database "$name"
    places+=(--place "$name,http://127.0.0.1:${port[$name]},${location[$name]}")
  done
  at "the servers listen: ${port[*]}"
  launch_fleet "${places[@]}" --devices "${DEVICES:-60}" --users 20 --pause 2 --seed "$seed"
  at "$line"
}

trouble() {
  heading '2. Lists are moved, and everything is killed'
  : >"$folder/moves"
  local movers=() end=$((SECONDS + ${DURATION:-60}))
  move_zones $((seed + 1)) &
  movers+=($!)
  move_zones $((seed + 2)) &
  movers+=($!)
  while ((SECONDS < end)); do
    sleep 1.5
    break_one
  done
  touch "$folder/over"
  wait "${movers[@]}"
  end_moves
  at "$(moves moved) moves, $(moves back) of them back; $(moves killed) commands killed, $(moves cancelled) cancelled, $(moves dropped) dropped"
}

agree() {
  heading '3. The editing ends. Counted in the databases of all devices and of the servers'
  rest
  local name
  for name in "${names[@]}"; do
    # shellcheck disable=SC2046
    "$bin/holdfast" doctor $(database_option "$name") || fail "the doctor found something in $name"
    # shellcheck disable=SC2046
    "$bin/holdfast" directory check --directory "$directory" $(database_option "$name") || fail "the directory does not agree with $name"
  done
  say
  say "${line#*; }"
  heading "$(moves moved) moves, $(moves killed) of their commands killed; $faults times something was down, and $confirmed writes were \
confirmed elsewhere meanwhile; all agree ($((SECONDS - started)) s)"
}

begin
trouble
agree
