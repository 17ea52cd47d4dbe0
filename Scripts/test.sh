#!/usr/bin/env bash
# Runs the tests, all or those whose name has the word given, and ends with "N passed, N failed". What goes through the
# server's store runs on SQLite, on PostgreSQL, and the store's contract on PostgreSQL behind PgBouncer as well, and on tables of
# the form that Citus distributes. All of them means the simulation too: its named scenarios, then new seeds for half a minute.
set -euo pipefail
cd "$(dirname "$0")/.."

filter=(--filter "${1:-.}")
modules=(HoldfastCore HoldfastSQLite HoldfastHTTP HoldfastPostgres Holdfast HoldfastServer Simulation EndToEnd)
# What is the same whatever store is chosen.
one_store=(--skip SQLite --skip NodeTests --skip '^HoldfastServerTests\.(CollectionState|Conditional|CrossOrigin|EventHub|Forwarding|Guess|OpenAPI|RestBadInput|WebhookPlan|Wire)')
# What has nothing to do with where a zone's rows lie.
any_form=(--skip '^HoldfastServerTests\.(AccessMatrix|Adoption|Agreement|BadInput|ForeignID|JWT|NoGap|Pair|Plan|PostgresOpening|Precondition|RecordAddress|RequestID|Rules|ServiceToken|Trigger|Webhook)')
quick=(--skip '^EndToEndTests\.(?!Access|Convergence)')
# What happens on the device or in HTTP alone, and what the tests of nodes do with PostgreSQL in their own way.
once=(--skip '^EndToEndTests\.(Conflict|Identity|List|PristineKill|Quarantine|RequestStorm|Snapshot|TLS|Undo)')
# Of what goes through the pooler, one suite of each kind: its connections are another's at the next transaction.
pooled=(--skip '^HoldfastServerTests\.(?!AccessTests|Agreement|Bulk|Copy|Delta|Event|ExactlyOnce|ListIndex|NoGap|Page|Place|Session|Snapshot|SQLRead|Webhook)')
output=$(mktemp)
trap 'rm -f "$output"' EXIT
passed=0
failed=0
status=0
results=

# Swift Testing says 'Test "name" passed after ...', of a run and a suite likewise; XCTest says "Test Case 'name' passed (...)".
count() {
  grep -E "^[^A-Za-z]*Test (Case '.*' $1 \(|.* $1 after )" "$output" | grep -vcE 'Test run with' || true
}

# Says lines of the output, such as say what failed, at the end again.
say_again() {
  local lines
  lines=$(grep -E "$1" "$output" | cut -c 1-400) || true
  if [[ -n $lines ]]; then results+=$lines$'\n'; fi
}

# Runs the tests of a module, and adds what came of it to the sums. Each module has a process of its own: all tests in one process did
# not always come to an end on two processors.
run() {
  local name=$1 module=$2 start=$SECONDS good bad others
  shift 2
  # Each test of the whole path has processes of its own: all at once would time out waiting for each other.
  if [[ $module == EndToEnd ]]; then set -- "$@" --experimental-maximum-parallelization-width 4; fi
  others=$(printf '%s\n' "${modules[@]}" | grep -vx "$module" | paste -sd '|')
  swift test --skip-build "${filter[@]}" --skip "^($others)Tests\." "$@" 2>&1 | tee "$output" || status=$?
  good=$(count passed)
  bad=$(count failed)
  passed=$((passed + good))
  failed=$((failed + bad))
  results+="$(printf '%4d passed %4d failed %4d s  %s, %s' "$good" "$bad" "$((SECONDS - start))" "$module" "$name")"$'\n'
  say_again ' recorded an issue at |unexpected signal'
}

# Counts a run of the simulation as one test more.
simulate() {
  echo "== simulate $*"
  if .build/release/simulate "$@" | tee "$output"; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    say_again '^(seed .* breaks| +I[0-9]+: |.* BROKEN$|Again: )'
  fi
}

swift build --build-tests
for module in "${modules[@]}"; do run 'on SQLite' "$module"; done
export HOLDFAST_TEST_STORE=postgres
for module in HoldfastServer EndToEnd; do
  run 'on PostgreSQL' "$module" "${one_store[@]}" "${once[@]}"
  HOLDFAST_TEST_POSTGRES_POOLER=yes run 'on PostgreSQL through PgBouncer' "$module" "${one_store[@]}" "${once[@]}" "${quick[@]}" "${pooled[@]}"
done
HOLDFAST_TEST_STORE=distributed run 'on tables distributed by zone' HoldfastServer "${one_store[@]}" "${any_form[@]}"
if (($# == 0)); then
  start=$SECONDS
  swift build -c release --product simulate
  simulate --scenarios
  simulate --minutes 0.5
  folder=$(mktemp -d)
  trap 'Scripts/postgres.sh stop "$folder" immediate >/dev/null; rm -rf "$folder" "$output"' EXIT
  simulate --postgres "$(Scripts/postgres.sh start "$folder")" --seeds 5
  results+="$(printf '%30d s  the simulation, built for release' "$((SECONDS - start))")"$'\n'
fi
if ((passed + failed == 0)); then
  echo "No test ran${1:+: none is called \"$1\"}." >&2
  status=1
fi
if ((failed > 0 && status == 0)); then status=1; fi
echo
echo "${results}$(printf '%30d s  in all' "$SECONDS")"
echo "$passed passed, $failed failed"
exit "$status"
