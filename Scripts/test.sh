#!/usr/bin/env bash
# Runs the tests, all or those whose name has the word given, and ends with "N passed, N failed". What goes through the
# server's store runs on SQLite, on PostgreSQL, and some of it on PostgreSQL behind PgBouncer. All of them means the simulation too: its
# named scenarios, interrupted at every 300th step, others each time, then new seeds for a fifth of a minute. Two of these parts run beside
# each other: more than that take longer on two processors, as they wait for each other.
set -euo pipefail
cd "$(dirname "$0")/.."

filter=(--filter "${1:-.}")
modules=(HoldfastStore Holdfast HoldfastServer Simulation HoldfastCore HoldfastCurl HoldfastHTTP HoldfastTesting HoldfastPostgres HoldfastSQLite HoldfastRecords Guide Cards EndToEnd)
# What is the same whatever store is chosen.
one_store=(--skip SQLite --skip NodeTests --skip '^Holdfast(Server|Store)Tests\.(AnswerLog|BadInput|CollectionState|Conditional|ConsoleAccess|CrossOrigin|Dependence|DirectoryName|EventHub|FairQueue|Forwarding|Guess|HTTPThreadTime|Hashing|JWT|LogQueue|LostDirectory|MoveAccess|OfflinePage|OpenAPI|OrderOfChecks|PartCache|RandomWords|RestAccess|RestBadInput|SharingAcross|SnapshotRange|WebTests|WebhookPlan|Wire|Worker|Zstandard)')
# What takes PostgreSQL by itself, whatever store is chosen.
chosen=(--skip '^Holdfast(Server|Store)Tests\.(Adopt|Agreement|AnswerMoment|Cascade|ConfirmedTransactions|ErasureSQL|FilledColumn|Failover|FloatDigits|HistoryWatch|Isolation|LaneMemory|LargePage|LockTurn|LookUp|Mismatch|NoGap|OptionalStructure|Payload|Plan|PoolerTarget|PostgresOpening|PostgresReadCache|PutBack|Referen|Repair|RewrittenRow|RoleNamedHoldfast|RollingSchema|SchemaFit|SetColumn|SnapshotState|SQLCount|SQLRead|StatementTimeout|StoredColumns|Structure|TeamError|Trigger|ZoneFence)')
quick=(--skip '^EndToEndTests\.(?!Access|Convergence)')
# What happens on the device or in HTTP alone, and what the tests of nodes do with PostgreSQL in their own way.
once=(--skip '^EndToEndTests\.(CleanExit|ClientAddress|ClosedDescriptor|CommandJSON|CommandLine|Conflict|CouchImport|DocumentedCommand|EarlyAnswer|FolderTests|Hostile|Identity|JotState|List|PristineKill|Proxy|Quarantine|RecordValue|RequestStorm|Scrambled|ServedFile|Snapshot|Terminal|TLS|Undo|Unreadable|WebFolder)')
# Of what goes through the pooler, one suite of each kind: its connections are another's at the next transaction.
pooled=(--skip '^Holdfast(Server|Store)Tests\.(?!AccessTests|Agreement|Bulk|Copy|Delta|Event|ExactlyOnce|HiddenRow|ListIndex|NoGap|Place|Session|Slow|Snapshot|SQLRead|Webhook)')
# What tests write is in memory where there is room: all of them would wait for the syncs of one disk. What disks lose is the simulation's.
memory=
if (($(df --output=avail /dev/shm 2>/dev/null | tail -1) > 12 << 20)); then
  memory=$(mktemp -d -p /dev/shm)
  chmod 755 "$memory"
  export TMPDIR=$memory
fi
folder=$(mktemp -d)
postgres=$(mktemp -d)
cleanup() {
  local job
  # Each job is a process group.
  for job in $(jobs -rp); do kill -- "-$job" 2>/dev/null || true; done
  Scripts/postgres.sh stop "$postgres" immediate >/dev/null || true
  rm -rf "$folder" "$postgres" ${memory:+"$memory"}
}
trap cleanup EXIT

# Swift Testing says 'Test "name" passed after ...', of a run and a suite likewise; in colors, unless told not to.
export NO_COLOR=1
count() {
  grep -E "^[^A-Za-z]*Test .* $2 after " "$1" | grep -vcE 'Test run with' || true
}

# result NAME PASSED FAILED SECONDS STATUS: writes down what came of a run.
result() {
  echo "$2 $3 $5" >>"$folder/sums"
  printf '%4d passed %4d failed %4d s  %s\n' "$2" "$3" "$4" "$1" >>"$folder/results"
}

# A part that hangs is ended after half an hour, three times what the longest takes on a busy machine.
bounded() { timeout --foreground --kill-after=30 1800 "$@"; }

# The tests of a run that began and did not end.
unfinished() {
  local test='[^A-Za-z]*Test (".*"|[^ ]+\(.*\))'
  comm -23 <(sed -nE "s/^$test started\.\$/\1/p" "$1" | sort) \
    <(sed -nE "s/^$test( with [0-9]+ test cases?)? (passed|failed) after .*/\1/p" "$1" | sort)
}

# Says lines of a run's output, such as say what failed, at the end again, each with the rest of an error of several lines.
say_again() { grep -E -A 4 "$2" "$1" | cut -c 1-400 >>"$folder/results" || true; }

# Runs the tests of a module. Each module has a process of its own: all tests in one process did not always come to an end on two
# processors.
run() {
  local name=$1 module=$2 start=$SECONDS others output code=0
  shift 2
  # Each test of the whole path has processes of its own: all at once would time out waiting for each other.
  if [[ $module == EndToEnd ]]; then set -- "$@" --experimental-maximum-parallelization-width 4; fi
  # With over a thousand open descriptors Foundation's Process reads past its list of them, and the process ends.
  if [[ $module == Holdfast ]]; then set -- "$@" --experimental-maximum-parallelization-width 16; fi
  # Each test has a database with connections of its own, which wait for each other.
  if [[ ${HOLDFAST_TEST_STORE:-} == postgres && $module != EndToEnd ]]; then
    set -- "$@" --experimental-maximum-parallelization-width 3
  fi
  others=$(printf '%s\n' "${modules[@]}" | grep -vx "$module" | paste -sd '|')
  output=$(mktemp -p "$folder")
  # Not by "swift test", which waits until no other build is under way.
  bounded .build/debug/holdfastPackageTests.xctest --testing-library swift-testing "${filter[@]}" --skip "^($others)Tests\." "$@" >"$output" 2>&1 ||
    code=$?
  # No test of the module has the word given.
  if ((code == 69)); then code=0; fi
  cat "$output"
  result "$module, $name" "$(count "$output" passed)" "$(count "$output" failed)" "$((SECONDS - start))" "$code"
  say_again "$output" ' recorded an issue at |Fatal error'
  if ((code >= 124)); then
    echo "The tests of $module were ended: $( ((code == 124)) && echo 'half an hour was over' || echo "signal $((code - 128))"). Not at their end:"
    unfinished "$output" | head -20
  fi >>"$folder/results"
}

# Runs a part of the simulation, which counts as one test.
simulate() {
  local start=$SECONDS output code=0
  output=$(mktemp -p "$folder")
  bounded .build/debug/simulate "$@" >"$output" 2>&1 || code=$?
  cat "$output"
  result "simulate ${*//postgres:*/URL}" "$((code == 0))" "$((code != 0))" "$((SECONDS - start))" "$code"
  say_again "$output" '^(seed .* breaks| +I[0-9]+: |.* BROKEN$|Again: )|error: '
}

# Runs the tests of the JavaScript client, in Node and in Chromium. They start the programs that were built.
javascript() {
  local start=$SECONDS output code=0
  output=$(mktemp -p "$folder")
  HOLDFAST_BIN=$PWD/.build/debug bounded node --test --test-reporter=tap --test-concurrency=2 --test-timeout=300000 ${1:+--test-name-pattern="$1"} \
    clients/js/test/*.test.js >"$output" 2>&1 || code=$?
  cat "$output"
  result 'JavaScript client' "$(sed -n 's/^# pass //p' "$output")" "$(sed -n 's/^# fail //p' "$output")" "$((SECONDS - start))" "$code"
  say_again "$output" '^ *not ok '
}

# start COMMAND...: runs it beside another one.
start() {
  while (($(jobs -rp | wc -l) >= 2)); do wait -n || true; done
  {
    "$@"
    echo >>"$folder/ended"
  } &
  started=$((started + 1))
}
started=0

on_postgres() { HOLDFAST_TEST_STORE=postgres run 'on PostgreSQL' "$@"; }

on_pooler() {
  HOLDFAST_TEST_STORE=postgres HOLDFAST_TEST_POSTGRES_POOLER=yes run 'on PostgreSQL through PgBouncer' "$@"
}

simulate_postgres() { simulate --postgres "$(Scripts/postgres.sh start "$postgres")" "$@"; }

# One build is enough for the tests and for the simulation: see Package.swift. SwiftPM would compile all again for a product by itself.
export HOLDFAST_TESTS=yes
swift build --build-tests --disable-index-store -debug-info-format none
Scripts/typecheck-apps.sh
# What takes longest begins first.
set -m
start on_postgres HoldfastStore "${one_store[@]}" "${chosen[@]}"
start run 'on SQLite' EndToEnd
start javascript "${1:-}"
start on_postgres HoldfastServer "${one_store[@]}"
if (($# == 0)); then start simulate --scenarios --every 300; fi
start run 'on SQLite' HoldfastStore
start on_postgres EndToEnd "${one_store[@]}" "${once[@]}"
if (($# == 0)); then
  start simulate_postgres --seeds 4
  start simulate --minutes 0.2
fi
start on_pooler HoldfastStore "${one_store[@]}" "${pooled[@]}"
start on_pooler HoldfastServer "${one_store[@]}" "${pooled[@]}"
for module in "${modules[@]}"; do
  case $module in EndToEnd | HoldfastStore) ;; *) start run 'on SQLite' "$module" ;; esac
done
start on_pooler EndToEnd "${one_store[@]}" "${once[@]}" "${quick[@]}"
wait
set +m
status=0
if (($(wc -l <"$folder/ended") < started)); then
  echo 'A part of the tests did not come to its end.' >>"$folder/results"
  status=1
fi
passed=0
failed=0
while read -r good bad code; do
  passed=$((passed + good))
  failed=$((failed + bad))
  if ((code > 0)); then status=$code; fi
done <"$folder/sums"
if ((passed + failed == 0)); then
  echo "No test ran${1:+: none is called \"$1\"}." >&2
  status=1
fi
if ((failed > 0 && status == 0)); then status=1; fi
echo
cat "$folder/results"
printf '%30d s  in all\n' "$SECONDS"
echo "$passed passed, $failed failed"
exit "$status"
