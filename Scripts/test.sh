#!/usr/bin/env bash
# Runs the tests, all or those whose name has the word given, and ends with "N passed, N failed". What goes through the
# server's store runs on SQLite, on PostgreSQL, and the store's contract on PostgreSQL behind PgBouncer as well, and on tables of
# the form that Citus distributes. All of them means the simulation too: its named scenarios, interrupted at
# every fourth step, others each time, then new seeds for half a minute.
set -euo pipefail
cd "$(dirname "$0")/.."

filter=(--filter "${1:-.}")
modules=(HoldfastCore HoldfastSQLite HoldfastHTTP HoldfastCurl HoldfastPostgres Holdfast HoldfastServer Simulation EndToEnd)
# What is the same whatever store is chosen.
one_store=(--skip SQLite --skip NodeTests --skip '^HoldfastServerTests\.(CollectionState|Conditional|CrossOrigin|EventHub|Forwarding|Guess|OpenAPI|RestBadInput|WebhookPlan|Wire)')
# What takes PostgreSQL by itself, whatever store is chosen.
chosen=(--skip '^HoldfastServerTests\.(Adoption|Agreement|AnswerMoment|Cascade|ErasureSQL|Failover|Mismatch|NoGap|Payload|Plan|PostgresOpening|Repair|Shard|SQLRead|StatementTimeout|TeamError|Trigger)')
# What has nothing to do with where a zone's rows lie.
any_form=(--skip '^HoldfastServerTests\.(AccessMatrix|BadInput|CountedTwice|ForeignID|Increment|JWT|Pair|Policy|Precondition|RecordAddress|RequestID|Rules|ServiceToken|SnapshotRange|Type|Webhook)')
quick=(--skip '^EndToEndTests\.(?!Access|Convergence)')
# What happens on the device or in HTTP alone, and what the tests of nodes do with PostgreSQL in their own way.
once=(--skip '^EndToEndTests\.(CleanExit|Conflict|EarlyAnswer|Hostile|Identity|List|PristineKill|Proxy|Quarantine|RequestStorm|Scrambled|Snapshot|TLS|Undo)')
# Of what goes through the pooler, one suite of each kind: its connections are another's at the next transaction.
pooled=(--skip '^HoldfastServerTests\.(?!AccessTests|Agreement|Bulk|Copy|Delta|Event|ExactlyOnce|ListIndex|NoGap|Place|Session|Snapshot|SQLRead|Webhook)')
# What tests write is in memory where there is room: all of them would wait for the syncs of one disk. What disks lose is the simulation's.
memory=
if (($(df --output=avail /dev/shm 2>/dev/null | tail -1) > 12 << 20)); then
  memory=$(mktemp -d -p /dev/shm)
  chmod 755 "$memory"
  export TMPDIR=$memory
fi
folder=$(mktemp -d)
output=$folder/output
postgres=$(mktemp -d)
beside=
cleanup() {
  # shellcheck disable=SC2046 # Each number is an argument.
  if [[ -n $beside ]]; then kill "$beside" $(pgrep -P "$beside") || true; fi
  Scripts/postgres.sh stop "$postgres" immediate >/dev/null || true
  rm -rf "$folder" "$postgres" ${memory:+"$memory"}
}
trap cleanup EXIT
passed=0
failed=0
status=0
results=

# Swift Testing says 'Test "name" passed after ...', of a run and a suite likewise; in colors, unless told not to.
export NO_COLOR=1
count() {
  grep -E "^[^A-Za-z]*Test .* $1 after " "$output" | grep -vcE 'Test run with' || true
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
  local name=$1 module=$2 start=$SECONDS good bad others code=0
  shift 2
  # Each test of the whole path has processes of its own: all at once would time out waiting for each other.
  if [[ $module == EndToEnd ]]; then set -- "$@" --experimental-maximum-parallelization-width 4; fi
  others=$(printf '%s\n' "${modules[@]}" | grep -vx "$module" | paste -sd '|')
  # Not by "swift test", which waits until no other build is under way.
  .build/debug/holdfastPackageTests.xctest --testing-library swift-testing "${filter[@]}" --skip "^($others)Tests\." "$@" 2>&1 |
    tee "$output" || code=$?
  if ((code > 0)); then status=$code; fi
  good=$(count passed)
  bad=$(count failed)
  passed=$((passed + good))
  failed=$((failed + bad))
  results+="$(printf '%4d passed %4d failed %4d s  %s, %s' "$good" "$bad" "$((SECONDS - start))" "$module" "$name")"$'\n'
  say_again ' recorded an issue at |Fatal error'
  if ((code > 128)); then results+="Signal $((code - 128)) ended the tests of $module."$'\n'; fi
}

# Runs the simulation, each part of which counts as one test.
simulation() {
  local start=$SECONDS arguments
  for arguments in '--scenarios --every 4' '--minutes 0.5' "--postgres $(Scripts/postgres.sh start "$postgres") --seeds 5"; do
    echo "== simulate $arguments"
    # shellcheck disable=SC2086 # Each word is an argument.
    if .build/debug/simulate $arguments; then echo "== passed"; else echo "== failed"; fi
  done
  echo "$((SECONDS - start))" >"$folder/seconds"
}

# Optimizes what tests spend most of their time in (see Package.swift): one build is enough for them and for the simulation.
export HOLDFAST_OPTIMIZED=yes
swift build --build-tests
if (($# == 0)); then
  # On one processor alone, and beside the tests, which mostly wait for disks and each other.
  simulation >"$folder/simulation" 2>&1 &
  beside=$!
fi
for module in "${modules[@]}"; do run 'on SQLite' "$module"; done
export HOLDFAST_TEST_STORE=postgres
for module in HoldfastServer EndToEnd; do
  run 'on PostgreSQL' "$module" "${one_store[@]}" "${chosen[@]}" "${once[@]}"
  HOLDFAST_TEST_POSTGRES_POOLER=yes run 'on PostgreSQL through PgBouncer' "$module" "${one_store[@]}" "${once[@]}" "${quick[@]}" "${pooled[@]}"
done
HOLDFAST_TEST_STORE=distributed run 'on tables distributed by zone' HoldfastServer "${one_store[@]}" "${chosen[@]}" "${any_form[@]}"
if [[ -n $beside ]]; then
  wait "$beside" || status=$?
  beside=
  output=$folder/simulation
  cat "$output"
  passed=$((passed + $(grep -c '^== passed$' "$output" || true)))
  failed=$((failed + $(grep -c '^== failed$' "$output" || true)))
  results+="$(printf '%30d s  the simulation, beside all others' "$(cat "$folder/seconds" || echo 0)")"$'\n'
  say_again '^(seed .* breaks| +I[0-9]+: |.* BROKEN$|Again: )|error: '
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
