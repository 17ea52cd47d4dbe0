#!/usr/bin/env bash
# Fails when the example in the README is not, to the letter, the one that is compiled.
set -euo pipefail
cd "$(dirname "$0")/.."

compiled=$(sed -n '/^\/\/ snippet\.app$/,/^\/\/ snippet\.end$/{//!p}' Snippets/ShoppingList.swift)
printed=$(sed -n '/^```swift$/,/^```$/{//!p}' README.md)
if [[ -z $compiled || $compiled != "$printed" ]]; then
  echo 'The example in README.md differs from Snippets/ShoppingList.swift; make both the same:' >&2
  diff <(echo "$compiled") <(echo "$printed") >&2 || true
  exit 1
fi
