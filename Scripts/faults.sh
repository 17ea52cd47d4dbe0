#!/usr/bin/env bash
# Breaks the product on purpose, once with each patch of Tests/Faults or with those named, and fails unless the simulation
# notices. Prints a table: what is broken, the seed or the scenario that notices, and what it says. FIRST, SEEDS: the first seed, and
# how many are tried. A patch whose second line is "Tests: FILTER" must be noticed by one of these tests instead.
set -euo pipefail
cd "$(dirname "$0")/.."

first=${FIRST:-1}
seeds=${SEEDS:-400}
checkout=$PWD
faults=$checkout/Tests/Faults
folder=$(mktemp -d)
tree=$folder/tree
trap 'cd "$checkout"; rm -rf "$folder"; git worktree prune' EXIT
trap 'exit 130' INT TERM HUP

# To say which commands are kept, though all are, spares the search for fewer that break the same.
all=$(seq -s, 0 9999)

# The patches, those of one file behind each other: then only that file's module is compiled.
patches() {
  if (($# > 0)); then
    printf "$faults/%s.patch\n" "$@"
  else
    awk 'FNR == 1 { seen = 0 } /^\+\+\+ / && !seen { print $2, FILENAME; seen = 1 }' "$faults"/*.patch |
      sort | cut -d' ' -f2-
  fi
}

# As for the tests: one module is compiled in seconds, and what the simulation does most is optimized.
export HOLDFAST_TESTS=yes
build() { swift build --product simulate >"$folder/build" 2>&1; }

simulate() { timeout 1800 .build/debug/simulate "$@" >"$folder/run" 2>&1; }

# Runs seeds FROM to TO; whether one of them breaks an invariant.
seeds_notice() {
  if (($1 > $2)) || simulate --seed "$1" --seeds "$(($2 - $1 + 1))" --keep "$all"; then return 1; fi
  by=$(sed -n 's/^seed \([0-9]*\) breaks an invariant:$/\1/p' "$folder/run")
  says=$(grep -m1 -oE 'I[0-9]+: .*' "$folder/run") && [[ -n $by ]]
}

# Runs the scenarios, interrupted at every Nth step; whether one of them breaks an invariant.
scenarios_notice() {
  if ! $has_scenarios || simulate --scenarios --every "$1"; then return 1; fi
  says=$(grep -m1 -oE '^  I[0-9]+: .*' "$folder/run" | sed 's/^ *//') || return 1
  by=$(grep -m1 -B3 -E '^  I[0-9]+: ' "$folder/run" | sed -n 's/ (.*: BROKEN.*//p' | tail -1)
}

# Whether one of the named tests fails.
tests_notice() {
  swift build --build-tests >"$folder/build" 2>&1 || return 1
  if .build/debug/holdfastPackageTests.xctest --testing-library swift-testing --filter "$1" >"$folder/run" 2>&1; then return 1; fi
  by=$1
  says=$(sed -nE 's/.*Test "(.*)"( with [0-9]+ test cases?)? failed after.*/\1/p' "$folder/run" | head -1)
  [[ -n $says ]]
}

# Whether the simulation finds what is wrong; "by" and "says" tell how. A few seeds and interruptions first, as they are the quickest.
notices() {
  local last=$((first + seeds - 1)) few=$((first + 24))
  if ((few > last)); then few=$last; fi
  seeds_notice "$first" "$few" || scenarios_notice 10 || scenarios_notice 1 || seeds_notice "$((few + 1))" "$last"
}

row() { printf '| %s | %s | %s | %s |\n' "$@"; }

# One fault: its row of the table; fails when it is not noticed.
try() {
  local name guards tests
  name=$(basename "$1" .patch)
  tests=$(sed -n '2s/^Tests: //p' "$1")
  guards=$(sed -En '1s/^(I[0-9]+(, I[0-9]+)*): .*/\1/p' "$1")
  git checkout --quiet -- .
  if ! git apply "$1"; then
    row "$name" "$guards" - '**does not apply**'
    return 1
  fi
  if ! build; then
    row "$name" "$guards" - '**does not compile**'
    grep -m3 'error:' "$folder/build" >&2
    return 1
  fi
  if [[ -n $tests ]]; then
    if ! tests_notice "$tests"; then
      row "$name" "$guards" - '**not noticed by the tests**'
      return 1
    fi
  elif ! notices; then
    row "$name" "$guards" - "**not noticed in $seeds seeds**"
    return 1
  fi
  # The ids of records say nothing to a reader of the table.
  says=$(sed -E 's/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/…/g; s/\|/\\|/g' <<<"$says")
  row "$name" "$guards" "$by" "${says:0:120}"
}

git worktree add --quiet --detach "$tree" HEAD
cd "$tree"
if ! build; then
  cat "$folder/build" >&2
  exit 1
fi
has_scenarios=false
if simulate --help; then :; elif grep -q -e '--scenarios' "$folder/run"; then has_scenarios=true; fi
# Where tests have to notice all patches, it is known that they pass as it is.
simulated=$(patches "$@" | xargs -d '\n' grep -L '^Tests: ' || true)
if [[ -n $simulated ]] && notices; then
  echo "The product breaks an invariant as it is, in $by: $says" >&2
  exit 1
fi

row fault guards 'caught by' says
row --- --- --- ---
status=0
while read -r patch; do
  if ! try "$patch"; then status=1; fi
done < <(patches "$@")
exit "$status"
