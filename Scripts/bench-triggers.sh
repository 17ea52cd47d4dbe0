#!/usr/bin/env bash
# What the triggers of PostgreSQL cost: an UPDATE of all rows of a table, with them and without. Prints seconds of wall clock and of processor
# time for each run; between runs the tables are vacuumed, as autovacuum would have done.
#
#   bench-triggers.sh [ROWS] [RUNS]     1,000,000 rows of about 100 bytes in 1,000 zones, 3 runs unless given
set -euo pipefail
cd "$(dirname "$0")/.."
rows=${1:-1000000}
runs=${2:-3}

swift build -c release --product holdfast
dir=$(mktemp -d)
chmod 755 "$dir"
url=$(Scripts/postgres.sh start "$dir/cluster")
trap 'Scripts/postgres.sh stop "$dir/cluster" immediate; rm -rf "$dir"' EXIT

sql() { psql -X -q -v ON_ERROR_STOP=1 "$url" "$@"; }

# Memory as a server for a database of this size has it.
sql -c "ALTER SYSTEM SET shared_buffers = '1GB'" -c "ALTER SYSTEM SET max_wal_size = '8GB'"
Scripts/postgres.sh restart "$dir/cluster" >/dev/null

.build/release/holdfast init "$dir/lists.json" >/dev/null
.build/release/holdfast schema --print postgres "$dir/lists.json" | sql -1 -f -
sql <<SQL
SET client_min_messages = warning;
INSERT INTO lists (id, title) SELECT 'list' || lpad(n::text, 32, '0'), 'List' FROM generate_series(0, 999) n;
INSERT INTO items (id, list_id, title, position)
  SELECT '019a0000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'), 'list' || lpad((n % 1000)::text, 32, '0'), 'Title ' || n, 'a' || n
  FROM generate_series(1, $rows) n;
ANALYZE;
SQL

# Runs the UPDATE, and prints the time of the clock and of the processor.
measure() {
  sql -c "VACUUM items" -c "VACUUM holdfast.records" -c "CHECKPOINT"
  sql -c "SET client_min_messages = log" -c "SET log_statement_stats = on" -c "UPDATE items SET done = NOT done" 2>&1 |
    awk -v name="$1" '/elapsed/ && $8 + 0 > 0.01 && !done++ {
      printf "%-8s %6.1f s, of the processor %6.1f s\n", name, $8, $2 + $5
    }'
}

for ((run = 0; run < runs; run++)); do
  sql -c "ALTER TABLE items DISABLE TRIGGER USER"
  measure without
  sql -c "ALTER TABLE items ENABLE TRIGGER USER"
  measure with
done
