# The cluster of the demo: PostgreSQL, the nodes, HAProxy, the devices, the writers of SQL. Sourced by demo-cluster.sh.

source Scripts/demo/words.sh
source Scripts/service.sh
bin=$(cd "${HOLDFAST_BIN:-.build/release}" && pwd)
# Jot's schema: lists and items.
schema=Examples/Jot/holdfast.json
folder=$(mktemp -d)
started=$SECONDS
declare -A node node_port
proxy=
fleet=
writer=

# Ends what was started here, and nothing else.
finish() {
  local status=$? process
  trap '' INT TERM HUP
  for process in $writer $fleet $proxy "${node[@]}"; do kill -KILL "$process" 2>/dev/null || true; done
  for process in $writer $fleet $proxy "${node[@]}"; do wait "$process" 2>/dev/null || true; done
  Scripts/postgres.sh stop "$folder/postgres" immediate || true
  if ((status == 0 || status == 130)); then
    rm -rf "$folder"
  else
    say "The demo failed; its logs are in $folder" >&2
  fi
}
trap finish EXIT
trap 'exit 130' INT TERM HUP

at() { printf '%4d s  %s\n' "$((SECONDS - started))" "$*"; }

# MARK: The database

start_database() {
  local superuser
  superuser=$(Scripts/postgres.sh start "$folder/postgres")
  psql -qX "$superuser" -c "CREATE ROLE jot LOGIN PASSWORD 'jot'" -c 'CREATE DATABASE jot OWNER jot'
  database=${superuser/postgres@/jot:jot@}
  database=${database%/postgres}/jot
  at "PostgreSQL runs on a port of 127.0.0.1: ${database#*@}"
}

query() { psql -qXAt "$database" -c "$1"; }

# MARK: The nodes

# Starts a node, on the port it had before, without waiting for it.
launch_node() {
  : >"$folder/node$1.out"
  "$bin/holdfast" serve --schema "$schema" --database "$database" --listen "127.0.0.1:${node_port[$1]:-0}" \
    >"$folder/node$1.out" 2>>"$folder/node$1.log" </dev/null &
  node[$1]=$!
}

wait_for_node() {
  local line
  for _ in {1..400}; do
    # `read` succeeds once the line is whole.
    if read -r line <"$folder/node$1.out" && [[ $line =~ ^listening\ on\ http://.*:([0-9]+)$ ]]; then
      node_port[$1]=${BASH_REMATCH[1]}
      return
    fi
    kill -0 "${node[$1]}" 2>/dev/null || break
    sleep 0.05
  done
  tail -n 5 "$folder/node$1.log" >&2
  fail "node $1 did not start"
}

start_node() {
  launch_node "$1"
  wait_for_node "$1"
}

stop_node() {
  kill "-$2" "${node[$1]}"
  wait "${node[$1]}" 2>/dev/null || true
  node[$1]=
}

# MARK: HAProxy

start_proxy() {
  local program
  program=$(command -v haproxy || echo /usr/sbin/haproxy)
  proxy_port=$(free_port)
  HOLDFAST_BIND=127.0.0.1:$proxy_port HOLDFAST_NODE_1=127.0.0.1:${node_port[1]} \
    HOLDFAST_NODE_2=127.0.0.1:${node_port[2]} HOLDFAST_NODE_3=127.0.0.1:${node_port[3]} \
    "$program" -db -f deploy/haproxy.cfg >"$folder/haproxy.log" 2>&1 </dev/null &
  proxy=$!
  for _ in {1..100}; do
    if curl -sf "http://127.0.0.1:$proxy_port/readyz" >/dev/null; then return; fi
    kill -0 "$proxy" 2>/dev/null || break
    sleep 0.05
  done
  cat "$folder/haproxy.log" >&2
  fail 'HAProxy did not start'
}

# Waits until HAProxy sends requests to a node that was away for a moment, which it may have noticed or not.
wait_for_proxy() {
  sleep 2
  for _ in {1..200}; do
    if (($(count_in_log "node$1 is UP") >= $(count_in_log "WARNING.*node$1 is DOWN"))); then return; fi
    sleep 0.05
  done
  fail "HAProxy did not find node $1"
}

count_in_log() { grep -c "$1" "$folder/haproxy.log" || true; }

# MARK: The devices

start_fleet() {
  mkfifo "$folder/commands" "$folder/answers"
  mkdir "$folder/devices"
  "$bin/fleet" --server "http://127.0.0.1:$proxy_port" --schema "$schema" --database "$database" \
    --folder "$folder/devices" --devices "$1" <"$folder/commands" >"$folder/answers" 2>"$folder/fleet.log" &
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
  read -r -t 120 line <&9 || { cat "$folder/fleet.log" >&2; fail 'the fleet does not answer'; }
}

# MARK: Writers of SQL

# Statements that a team's own back end could send, one after the other, until the pipe is closed; each notes what it did.
write_sql() {
  query 'CREATE TABLE fleet_edits (id text NOT NULL, kind text NOT NULL)'
  local number=0
  while :; do
    number=$((number + 1))
    psql -qX "$database" >/dev/null 2>>"$folder/writer.log" <<SQL || true
BEGIN;
WITH made AS (
  INSERT INTO items (list_id, title, done, position)
  SELECT list_id, 'sql.$number', false, max(position) FROM items GROUP BY list_id ORDER BY random() LIMIT 1 RETURNING id
) INSERT INTO fleet_edits SELECT id, 'created' FROM made;
COMMIT;
BEGIN;
WITH changed AS (
  UPDATE items SET note = 'sql.$number.' || id WHERE id IN (SELECT id FROM items ORDER BY random() LIMIT 3) RETURNING id
) INSERT INTO fleet_edits SELECT id, 'updated' FROM changed;
COMMIT;
BEGIN;
WITH gone AS (
  DELETE FROM items WHERE id IN (SELECT id FROM items ORDER BY random() LIMIT 1) RETURNING id
) INSERT INTO fleet_edits SELECT id, 'deleted' FROM gone;
COMMIT;
SQL
    sleep 0.1
  done
}
