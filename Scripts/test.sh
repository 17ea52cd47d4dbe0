#!/usr/bin/env bash
# Runs the tests, all or those whose name has the word given, and ends with "N passed, N failed". What goes through the
# server's store runs on SQLite, on PostgreSQL, and the store's contract on PostgreSQL behind PgBouncer as well, and on tables of
# the form that Citus distributes. All of them means the simulation too: its named scenarios, then new seeds for three minutes.
set -euo pipefail
cd "$(dirname "$0")/.."

filter=(--filter "${1:-.}")
# Tests that do not use the store, or always the same one.
one_store=(--skip '^(Holdfast(Core|HTTP|Postgres|SQLite)?Tests|SimulationTests)\.' --skip SQLite --skip NodeTests)
server_alone=(--skip '^EndToEndTests\.' --skip '^HoldfastServerTests\.(Adoption|Agreement|NoGap|PostgresOpening|Trigger)')
contract_alone=(--skip '^EndToEndTests\.(Kill|Storm|Download|Push)')
output=$(mktemp)
trap 'rm -f "$output"' EXIT
passed=0
failed=0
status=0

# Swift Testing says 'Test "name" passed after ...', of a run and a suite likewise; XCTest says "Test Case 'name' passed (...)".
count() {
  grep -E "^[^A-Za-z]*Test (Case '.*' $1 \(|.* $1 after )" "$output" | grep -vcE 'Test run with' || true
}

# Runs tests, and adds what came of it to the sums.
run() {
  local name=$1 start=$SECONDS good bad
  shift
  echo "== $name"
  swift test --skip-build "$@" 2>&1 | tee "$output" || status=$?
  good=$(count passed)
  bad=$(count failed)
  passed=$((passed + good))
  failed=$((failed + bad))
  echo "== $name: $good passed, $bad failed, $((SECONDS - start)) s"
}

# Counts a run of the simulation as one test more.
simulate() {
  echo "== simulate $*"
  if .build/release/simulate "$@"; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
}

swift build --build-tests
run 'on SQLite' "${filter[@]}"
export HOLDFAST_TEST_STORE=postgres
run 'on PostgreSQL' "${filter[@]}" "${one_store[@]}"
HOLDFAST_TEST_POSTGRES_POOLER=yes run 'on PostgreSQL, through PgBouncer' "${filter[@]}" "${one_store[@]}" "${contract_alone[@]}"
HOLDFAST_TEST_STORE=distributed run 'on tables distributed by zone' "${filter[@]}" "${one_store[@]}" "${server_alone[@]}"
if (($# == 0)); then
  swift build -c release --product simulate
  simulate --scenarios
  simulate --minutes 3
  folder=$(mktemp -d)
  trap 'Scripts/postgres.sh stop "$folder" immediate >/dev/null; rm -rf "$folder" "$output"' EXIT
  simulate --postgres "$(Scripts/postgres.sh start "$folder")" --seeds 10
fi
if ((passed + failed == 0)); then
  echo "No test ran${1:+: none is called \"$1\"}." >&2
  status=1
fi
if ((failed > 0 && status == 0)); then status=1; fi
echo "== all: $SECONDS s"
echo "$passed passed, $failed failed"
exit "$status"
