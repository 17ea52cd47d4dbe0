#!/usr/bin/env bash
# Breaks the product on purpose, once with each patch of Tests/Faults or with those named, and fails unless the simulation
# notices. Prints a table: what is broken, which invariant says so, after how many seeds. FIRST, SEEDS: where the seeds begin, and how
# many are tried.
set -euo pipefail
cd "$(dirname "$0")/.."

first=${FIRST:-1}
seeds=${SEEDS:-400}
faults=$PWD/Tests/Faults
folder=$(mktemp -d)
tree=$folder/tree
trap 'git worktree remove --force "$tree" 2>/dev/null || true; rm -rf "$folder"; git worktree prune' EXIT
trap 'exit 130' INT TERM HUP

# To say which commands are kept, though all are, spares the search for fewer that break the same.
all=$(seq -s, 0 9999)
# Sets and dictionaries are laid out alike in every run.
export SWIFT_DETERMINISTIC_HASHING=1

# The patches, those of one file behind each other: then only that file's module is compiled.
patches() {
  if (($# > 0)); then
    printf "$faults/%s.patch\n" "$@"
  else
    awk 'FNR == 1 { seen = 0 } /^\+\+\+ / && !seen { print $2, FILENAME; seen = 1 }' "$faults"/*.patch | sort | cut -d' ' -f2-
  fi
}

build() { swift build -c release --product simulate >"$folder/build" 2>&1; }

simulate() { timeout 1800 .build/release/simulate "$@" >"$folder/run" 2>&1; }

# Whether the simulation finds what is wrong; "seed" and "says" tell how.
notices() {
  seed=
  if [[ -n $scenarios ]] && ! simulate --scenarios; then
    seed=scenario
  elif ! simulate --seed "$first" --seeds "$seeds" --keep "$all"; then
    seed=$(sed -n 's/^seed \([0-9]*\) breaks an invariant:$/\1/p' "$folder/run")
  fi
  says=$(grep -m1 -oE 'I[0-9]+: .*' "$folder/run" || true)
  [[ -n $seed && -n $says ]]
}

row() { printf '| %s | %s | %s | %s |\n' "$@"; }

# One fault: its row of the table; fails when it is not noticed.
try() {
  local patch=$1 guards
  guards=$(sed -n '1s/^\(I[0-9]*\):.*/\1/p' "$patch")
  local name
  name=$(basename "$patch" .patch)
  git checkout --quiet -- .
  if ! git apply "$patch" 2>"$folder/build"; then
    row "$name" "$guards" - 'does not apply'
    return 1
  fi
  if ! build; then
    row "$name" "$guards" - 'does not compile'
    grep -m3 'error:' "$folder/build" >&2 || true
    return 1
  fi
  if ! notices; then
    row "$name" "$guards" - "**not noticed in $seeds seeds**"
    return 1
  fi
  # The ids of records say nothing to a reader of the table.
  row "$name" "$guards" "$seed" "$(sed -E 's/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/…/g; s/\|/\\|/g' <<<"$says" | cut -c1-110)"
}

git worktree add --quiet --detach "$tree" HEAD
cd "$tree"
scenarios=
if ! build; then
  cat "$folder/build" >&2
  exit 1
fi
if .build/release/simulate --help 2>&1 | grep -q -e '--scenarios'; then scenarios=yes; fi
if notices; then
  echo "The product breaks ${says%%:*} without any fault (seed $seed), which proves nothing of the faults." >&2
  exit 1
fi

row fault guards 'caught by seed' says
row --- --- --- ---
status=0
while read -r patch; do try "$patch" || status=1; done < <(patches "$@")
exit "$status"
