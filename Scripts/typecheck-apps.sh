#!/usr/bin/env bash
# Has the compiler check the SwiftUI apps of the examples where there is no SwiftUI: over stand-ins of what they use of it
# (Tests/StandIns). Takes the modules of a build that was made, and some seconds.
#
#     swift build --target CardsModel && Scripts/typecheck-apps.sh
set -euo pipefail
cd "$(dirname "$0")/.."
modules=.build/debug/Modules
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
strict=(-swift-version 6 -warnings-as-errors)
for module in Tests/StandIns/*/; do
  name=$(basename "$module")
  swiftc "${strict[@]}" -emit-module -parse-as-library -module-name "$name" -o "$folder/$name.swiftmodule" "$module"*.swift
done
for app in Examples/*/App/; do
  swiftc "${strict[@]}" -typecheck -parse-as-library -module-name App -I "$folder" -I "$modules" -I Sources/CSQLite -I Sources/CCurl "$app"*.swift
  echo "$app is good."
done
