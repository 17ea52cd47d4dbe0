#!/usr/bin/env bash
# Three nodes on one PostgreSQL behind HAProxy, and 200 devices of people who edit shared lists, while nodes are killed,
# the database is restarted and crashed, and all nodes are replaced one after the other. Then it is counted whether every edit
# arrived once and all agree. HOLDFAST_BIN: where holdfast and fleet are. DEVICES: how many; 200 unless set.
set -euo pipefail
cd "$(dirname "$0")/.."
source Scripts/demo/cluster.sh

begin() {
  heading '1. PostgreSQL, three nodes that start at once on an empty database, HAProxy before them'
  start_database
  local number
  for number in 1 2 3; do launch_node "$number"; done
  for number in 1 2 3; do wait_for_server "$number"; done
  at "three nodes listen: ${port[1]}, ${port[2]}, ${port[3]}"
  start_proxy
  at "HAProxy listens on 127.0.0.1:$proxy_port"
  start_fleet "${DEVICES:-200}"
  at "$line"
  write_sql &
  writer=$!
  at 'a writer of SQL inserts, updates and deletes items besides, over psql'
}

report() {
  tell report
  at "${line#report: }"
}

kill_nodes() {
  heading '2. Each node is killed (SIGKILL) under load and started again'
  sleep 4
  tell watch
  local number
  for number in 1 2 3; do
    stop_server "$number" KILL
    at "node $number is killed"
    sleep 1.5
    start_node "$number"
    at "node $number is back"
    sleep 1.5
  done
  report
}

break_database() {
  heading '3. The database is restarted, then crashes; the nodes stay'
  tell watch
  Scripts/postgres.sh restart "$folder/postgres" fast >/dev/null
  at 'restarted (fast)'
  sleep 4
  report
  tell watch
  Scripts/postgres.sh restart "$folder/postgres" immediate >/dev/null
  at 'crashed (immediate), recovered'
  sleep 4
  report
}

# Waits until the devices that were told to wait have tried again.
calm() {
  for _ in {1..15}; do
    tell watch
    sleep 1
    tell report
    if [[ $line == *' 0 failed '* ]]; then return; fi
  done
  fail "the devices do not come to rest: $line"
}

roll() {
  heading '4. A rolling restart: SIGTERM to one node after the other. No device may see an error.'
  calm
  tell watch
  local number
  for number in 1 2 3; do
    stop_server "$number" TERM
    at "node $number has finished what it had begun, and ended"
    start_node "$number"
    wait_for_proxy "$number"
    at "node $number is back, and HAProxy sends it requests"
  done
  report
  [[ $line == *' 0 failed '* ]] || fail 'a device saw an error in the rolling restart'
}

agree() {
  heading '5. The editing ends. Counted in the databases of all devices and of the server'
  kill "$writer"
  wait "$writer" 2>/dev/null || true
  writer=
  report
  at "$(query 'SELECT count(*) FROM fleet_edits') records were written by SQL"
  rest
  say
  say "\$ holdfast doctor --database …"
  "$bin/holdfast" doctor --database "$database" || fail 'the doctor found something'
  heading "Every edit arrived once, and all agree ($((SECONDS - started)) s)"
}

begin
kill_nodes
break_database
roll
agree
