#!/usr/bin/env bash
# Runs the tests, all or those whose name has the word given, and ends with "N passed, N failed". All of them means the simulation too:
# its named scenarios, then new seeds for three minutes.
set -euo pipefail
cd "$(dirname "$0")/.."

filter=()
if (($# > 0)); then filter=(--filter "$1"); fi
output=$(mktemp)
trap 'rm -f "$output"' EXIT

swift build --build-tests
status=0
swift test --skip-build "${filter[@]}" 2>&1 | tee "$output" || status=$?

# Swift Testing says 'Test "name" passed after ...', of a run and a suite likewise; XCTest says "Test Case 'name' passed (...)".
count() {
  grep -E "^[^A-Za-z]*Test (Case '.*' $1 \(|.* $1 after )" "$output" | grep -vcE 'Test run with' || true
}
passed=$(count passed)
failed=$(count failed)

# Counts a run of the simulation as one test more.
simulate() {
  echo "simulate $*"
  if .build/release/simulate "$@"; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
}
if (($# == 0)); then
  swift build -c release --product simulate
  simulate --scenarios
  simulate --minutes 3
fi
if ((passed + failed == 0)); then
  echo "No test ran${1:+: none is called \"$1\"}." >&2
  status=1
fi
if ((failed > 0 && status == 0)); then status=1; fi
echo "$passed passed, $failed failed"
exit "$status"
