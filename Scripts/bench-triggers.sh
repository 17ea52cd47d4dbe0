#!/usr/bin/env bash
# What the triggers of PostgreSQL cost: statements on tables that were filled a moment ago and never analyzed, with the triggers and without.
# Fails when one takes more than five times as long with them, or its time for ten times the rows is not near ten times as long. A DELETE is
# compared with an UPDATE of as many rows: it marks rows that stay where they are, while a tombstone is a row written, with its indexes. A
# TRUNCATE may take twice what a DELETE takes with triggers. Each figure is the median of three runs, which alternate.
# HOLDFAST_BIN: where holdfast is.
#
#   bench-triggers.sh [ROWS]     100,000 rows unless given
set -euo pipefail
cd "$(dirname "$0")/.."
rows=${1:-100000}
runs=3
failed=0

dir=$(mktemp -d)
chmod 755 "$dir"
url=$(Scripts/postgres.sh start "$dir/cluster")
trap 'Scripts/postgres.sh stop "$dir/cluster" immediate >/dev/null; rm -rf "$dir"' EXIT
sql() { psql -X -q -v ON_ERROR_STOP=1 "$url" "$@" 2>/dev/null; }

# No statistics help, and none hurt by chance.
sql -c "ALTER SYSTEM SET autovacuum = off" -c "SELECT pg_reload_conf()" >/dev/null
"$HOLDFAST_BIN/holdfast" init "$dir/lists.json" >/dev/null
"$HOLDFAST_BIN/holdfast" schema --print postgres "$dir/lists.json" >"$dir/tables.sql"

# once TRIGGERS PREPARATION STATEMENT: how many milliseconds a statement takes, with ENABLEd or DISABLEd triggers.
once() {
  local begin end
  sql -c "DROP SCHEMA IF EXISTS holdfast CASCADE" -c "DROP SCHEMA public CASCADE" -c "CREATE SCHEMA public"
  sql -1 -f "$dir/tables.sql" >/dev/null
  sql -c "INSERT INTO lists (id, zone, title) VALUES ('list', 'list', 'List')" -c "ALTER TABLE items $1 TRIGGER USER"
  if [[ -n $2 ]]; then sql -c "$2"; fi
  sql -c "CHECKPOINT"
  begin=$(date +%s%N)
  sql -c "$3"
  end=$(date +%s%N)
  echo $(((end - begin) / 1000000))
}

# median VALUES
median() { printf '%s\n' "$@" | sort -n | sed -n "$((($# + 1) / 2))p"; }

# measure LIMIT NAME PREPARATION STATEMENT [OTHER [ENABLE]], where ROWS stands for the number of rows. OTHER is what it is compared with, without
# triggers unless they are enabled; the statement itself unless given.
measure() {
  local limit=$1 few=$((rows / 10)) run other=() with=() small=()
  shift
  for ((run = 0; run < runs; run++)); do
    other+=("$(once "${5:-DISABLE}" "${2//ROWS/$rows}" "${4:-${3//ROWS/$rows}}")")
    with+=("$(once ENABLE "${2//ROWS/$rows}" "${3//ROWS/$rows}")")
    small+=("$(once ENABLE "${2//ROWS/$few}" "${3//ROWS/$few}")")
  done
  other=$(median "${other[@]}")
  with=$(median "${with[@]}")
  small=$(median "${small[@]}")
  printf "%-32s against %6d ms, with triggers %6d ms, a tenth of the rows %6d ms\n" "$1" "$other" "$with" "$small"
  if ((with > limit * other)); then
    echo "  more than $limit times as long"
    failed=1
  fi
  if ((with > 25 * (small + 20))); then
    echo "  not linear"
    failed=1
  fi
}

made="INSERT INTO items (id, zone, list_id, title, position)
  SELECT 'item' || n, 'list', 'list', 'Title ' || n, 'a' || n FROM generate_series(1, ROWS) n;"
measure 5 "INSERT" "" "$made"
measure 5 "UPDATE of all" "$made" "UPDATE items SET done = NOT done"
measure 5 "DELETE of all, against UPDATE" "$made" "DELETE FROM items" "UPDATE items SET done = NOT done"
measure 5 "DELETE and INSERT" "$made" "BEGIN; DELETE FROM items; $made COMMIT"
measure 5 "INSERT of what was deleted" "$made DELETE FROM items;" "$made"
measure 2 "TRUNCATE, against DELETE" "$made" "TRUNCATE items CASCADE" "DELETE FROM items" ENABLE
exit $failed
