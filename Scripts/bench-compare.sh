#!/usr/bin/env bash
# Builds another revision beside this checkout, and measures both by turns, as the machine is not equally quick at all times. Prints the
# median of each figure of both, and the change in percent. Usage: bench-compare.sh REV [PART]; RUNS: how often, 5 unless given.
set -euo pipefail
cd "$(dirname "$0")/.."

rev=$(git rev-parse --verify "$1^{commit}")
part=${2:-}
runs=${RUNS:-5}
folder=$(mktemp -d)
trap 'git worktree remove --force "$folder/tree" 2>/dev/null || true; rm -rf "$folder"' EXIT
trap 'exit 130' INT TERM HUP

git worktree add --quiet --detach "$folder/tree" "$rev"
# The build is kept, by revision, so that the next comparison with it begins at once.
before=$PWD/.build/compare/$rev
echo "Building ${rev:0:12}" >&2
(cd "$folder/tree" && swift build -c release --product holdfast --scratch-path "$before" >&2)
swift build -c release --product holdfast >&2

measure() { "$1/release/holdfast" bench --runs 1 ${part:+--only "$part"} >>"$2" || true; }
for ((run = 1; run <= runs; run++)); do
  echo "Run $run of $runs" >&2
  measure "$before" "$folder/before"
  measure "$PWD/.build" "$folder/after"
done

awk -v runs="$runs" '
  function median(values, count,   i, j, swap) {
    for (i = 1; i <= count; i++)
      for (j = i + 1; j <= count; j++)
        if (values[j] < values[i]) { swap = values[i]; values[i] = values[j]; values[j] = swap }
    return values[int((count + 1) / 2)]
  }
  match($0, / +[0-9]+(\/s| us| MB) /) {
    name = substr($0, 1, RSTART - 1)
    sub(/ +$/, "", name)
    split(substr($0, RSTART, RLENGTH), figure, " ")
    unit[name] = figure[1] ~ /\/s$/ ? "/s" : " " figure[2]
    side = FILENAME ~ /before$/ ? 1 : 2
    if (!(name in seen)) { seen[name] = 1; names[++count] = name }
    rates[name, side, ++many[name, side]] = figure[1] + 0
  }
  END {
    printf "%-50s %12s %12s %8s\n", "median of " runs, "before", "after", "change"
    for (n = 1; n <= count; n++) {
      name = names[n]
      for (side = 1; side <= 2; side++) {
        delete values
        for (i = 1; i <= many[name, side]; i++) values[i] = rates[name, side, i]
        middle[side] = many[name, side] ? median(values, many[name, side]) : 0
      }
      change = middle[1] && middle[2] ? sprintf("%+.0f %%", (middle[2] / middle[1] - 1) * 100) : "-"
      printf "%-50s %10d%s %10d%s %8s\n", name, middle[1], unit[name], middle[2], unit[name], change
    }
  }' "$folder/before" "$folder/after"
