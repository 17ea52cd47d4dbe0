# The cluster of the demo: nodes on one PostgreSQL, HAProxy, the devices, the writers of SQL. Sourced by demo-cluster.sh.

source Scripts/demo/servers.sh
proxy=
writer=

start_database() {
  database=$(start_postgres postgres jot)
  at "PostgreSQL runs on a port of 127.0.0.1: ${database#*@}"
}

query() { psql -qXAt "$database" -c "$1"; }

launch_node() { launch_server "$1" --schema "$schema" --database "$database"; }

start_node() {
  launch_node "$1"
  wait_for_server "$1"
}

# MARK: HAProxy

start_proxy() {
  local program
  program=$(command -v haproxy || echo /usr/sbin/haproxy)
  proxy_port=$(free_port)
  HOLDFAST_BIND=127.0.0.1:$proxy_port HOLDFAST_NODE_1=127.0.0.1:${port[1]} \
    HOLDFAST_NODE_2=127.0.0.1:${port[2]} HOLDFAST_NODE_3=127.0.0.1:${port[3]} \
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
  launch_fleet --server "http://127.0.0.1:$proxy_port" --database "$database" --devices "$1"
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
