#!/usr/bin/env bash
# Fails when an example of Swift on a page is not, to the letter, one that is compiled. Above each stands <!-- snippet: FILE.NAME -->, which names the
# part of FILE.swift, in Snippets or Tests/GuideTests, between "// snippet.NAME" and "// snippet.end". A manifest of a package stands alone.
set -euo pipefail
cd "$(dirname "$0")/.."

pages=(README.md docs/GUIDE.md docs/MIGRATING.md docs/FOLDERS.md Sources/*/*.docc/*.md)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
status=0

# The part of a snippet, without its indentation.
part() {
  local file=Snippets/$1.swift
  if [[ ! -e $file ]]; then file=Tests/GuideTests/$1.swift; fi
  awk -v start="// snippet.$2" '
    { text = $0; sub(/^ +/, "", text) }
    text == start { within = 1; indent = length($0) - length(text); next }
    text == "// snippet.end" { within = 0 }
    within { print substr($0, 1, indent) ~ /^ *$/ ? substr($0, indent + 1) : $0 }' "$file"
}

for page in "${pages[@]}"; do
  rm -f "$folder"/*
  # Each example is a file, and so is the name above it.
  awk -v folder="$folder" '
    /^<!-- snippet: / { name = $3; next }
    /^```swift$/ { number++; within = 1; file = sprintf("%s/%03d", folder, number); print name > (file ".name"); name = ""; next }
    /^```$/ { if (within) close(file); within = 0 }
    within { print > file }
    !within && NF { name = "" }' "$page"
  for named in "$folder"/*.name; do
    [[ -e $named ]] || continue
    example=${named%.name}
    name=$(<"$named")
    if head -1 "$example" | grep -q '^// swift-tools-version'; then continue; fi
    if [[ -z $name ]]; then
      echo "$page: an example has no <!-- snippet: FILE.NAME --> above it:" >&2
      head -3 "$example" >&2
      status=1
    elif ! compiled=$(part "${name%.*}" "${name#*.}") || [[ -z $compiled ]]; then
      echo "$page: there is no snippet $name." >&2
      status=1
    elif [[ $compiled != "$(<"$example")" ]]; then
      echo "$page: the example differs from the snippet $name; make both the same:" >&2
      diff <(echo "$compiled") "$example" >&2 || true
      status=1
    fi
  done
done
exit $status
