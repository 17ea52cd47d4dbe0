# Whether the databases agree, counted in the databases themselves. Sourced by demo.sh.

disagreements=0

# Compares a count with what it has to be.
check() {
  local what=$1 expected=$2 found=$3 verdict=ok
  if [[ $expected != "$found" ]]; then
    verdict="WRONG, expected $expected"
    disagreements=$((disagreements + 1))
  fi
  printf '  %-68s %6s  %s\n' "$what" "$found" "$verdict"
}

# The columns of a table that a device has: all but seq and stamps, which only the server keeps.
columns_of() {
  query "$(database "$1")" "SELECT group_concat('\"' || name || '\"', ', ') FROM pragma_table_info('$2')"
}

# How many rows of a table differ between a device and the server, by id, every column, and place in the order.
differing_rows() {
  local columns order='0'
  columns=$(columns_of "$1" "$2")
  if [[ $2 == items ]]; then order='row_number() OVER (PARTITION BY list_id ORDER BY position, id)'; fi
  query "$(database "$1")" "ATTACH '$(server_database)' AS server" "
    CREATE TEMP VIEW here AS SELECT $columns, $order FROM main.$2;
    CREATE TEMP VIEW there AS SELECT $columns, $order FROM server.$2
      WHERE zone = 'catalogue' AND EXISTS (SELECT 1 FROM main.holdfast_zones WHERE zone = 'catalogue')
      OR zone IN (SELECT zone FROM server.members WHERE user = (SELECT user FROM main.holdfast_local));
    SELECT (SELECT count(*) FROM (SELECT * FROM here EXCEPT SELECT * FROM there))
      + (SELECT count(*) FROM (SELECT * FROM there EXCEPT SELECT * FROM here))"
}

rows() { query "$(database "$1")" "SELECT count(*) FROM $2"; }

# Every record of some tables is the same on a device and on the server.
check_same() {
  local table
  for table in "${@:2}"; do
    check "$1: $(rows "$1" "$table") $table, those that differ from the server's" 0 "$(differing_rows "$1" "$table")"
  done
}

# What a device numbered, the server has dealt with, and nothing waits or was refused.
check_arrived() {
  check "$1: edits made $(edits_made "$1"), edits arrived" "$(edits_made "$1")" "$(edits_arrived "$1")"
  check "$1: edits that wait, or were refused" 0 "$(query "$(database "$1")" '
    SELECT (SELECT count(*) FROM holdfast_outbox) + (SELECT count(*) FROM holdfast_edits)
      + (SELECT count(*) FROM holdfast_quarantine)')"
}

# Nothing is on the server twice.
check_not_doubled() {
  check 'items made once that are there twice' 0 "$(query "$(server_database)" '
    SELECT count(*) FROM (SELECT 1 FROM items GROUP BY list_id, title HAVING count(*) > 1)')"
  check 'numbers of a zone that were given twice' 0 "$(query "$(server_database)" '
    SELECT count(*) FROM (SELECT 1 FROM (
      SELECT zone, seq FROM lists UNION ALL SELECT zone, seq FROM items UNION ALL SELECT zone, seq FROM members
      UNION ALL SELECT zone, seq FROM conflicts UNION ALL SELECT zone, seq FROM holdfast_tombstones
    ) GROUP BY zone, seq HAVING count(*) > 1)')"
}

# Remembers the ids of the records of a device before it meets the others again.
remember() {
  query "$folder/remembered.db" 'CREATE TABLE IF NOT EXISTS ids (id TEXT PRIMARY KEY)' \
    "ATTACH '$(database "$1")' AS device" \
    'INSERT OR IGNORE INTO ids SELECT id FROM device.items UNION SELECT id FROM device.lists'
}

# Every record that a device had is on the server, live or as the trace of a deletion; every title is in a record or in the log.
check_not_lost() {
  local title
  check "records lost, of $(query "$folder/remembered.db" 'SELECT count(*) FROM ids') that the devices had" 0 \
    "$(query "$folder/remembered.db" "ATTACH '$(server_database)' AS server" '
      SELECT count(*) FROM ids WHERE id NOT IN (SELECT id FROM server.items UNION SELECT id FROM server.lists
        UNION SELECT id FROM server.holdfast_tombstones)')"
  for title in "$@"; do
    check "\"$title\" is in a list or in the conflict log" 1 "$(query "$(server_database)" "
      SELECT EXISTS (SELECT 1 FROM items WHERE title = '$title')
        OR EXISTS (SELECT 1 FROM conflicts WHERE '\"$title\"' IN (winner_value, loser_value))")"
  done
}

# SQLite itself finds a database whole, and all references kept.
check_whole() {
  check "${1##*/}: integrity_check" ok "$(query "$1" 'PRAGMA integrity_check')"
  check "${1##*/}: references to nothing" 0 "$(query "$1" 'SELECT count(*) FROM pragma_foreign_key_check')"
}

# Ends the demo when anything was wrong.
check_done() {
  ((disagreements == 0)) || fail "$disagreements checks went wrong: the databases do not agree"
}
