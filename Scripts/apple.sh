#!/usr/bin/env bash
# Checks what of the client and of the guide is for Apple's platforms alone, where there is no Apple SDK: type-checks it against small stand-ins of
# Apple's frameworks (Scripts/apple), and holds each name of Apple's and of Swift's library against the oldest systems of Package.swift (Scripts/apple/available.txt).
# What this does not show is in docs/APPLE.md.
set -euo pipefail
cd "$(dirname "$0")/.."

swift Scripts/apple/available.swift
if [[ $(uname) != Linux ]]; then exit 0; fi

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
features=(-swift-version 6 -package-name holdfast -parse-as-library -I "$folder" -D HOLDFAST_STANDINS
  -enable-upcoming-feature ExistentialAny -enable-upcoming-feature MemberImportVisibility
  -enable-upcoming-feature InternalImportsByDefault)

module() {
  local name=$1
  shift
  swiftc -emit-module -module-name "$name" -emit-module-path "$folder/$name.swiftmodule" "${features[@]}" "$@"
}

for name in Combine Network BackgroundTasks CryptoKit Security Darwin; do module "$name" "Scripts/apple/$name.swift" & done
wait
module SwiftUI Scripts/apple/SwiftUI.swift
# Of these only the declarations count.
skipped=(-wmo -Xfrontend -experimental-skip-non-inlinable-function-bodies)
module HoldfastCore "${skipped[@]}" $(find -L Sources/HoldfastCore -name '*.swift')
module HoldfastSystem $(find -L Sources/HoldfastSystem -name '*.swift')
module HoldfastDigest $(find -L Sources/HoldfastDigest -name '*.swift')
sqlite=(-Xcc "-fmodule-map-file=Sources/CSQLite/module.modulemap")
module HoldfastSQLite "${skipped[@]}" "${sqlite[@]}" $(find -L Sources/HoldfastSQLite -name '*.swift')
module Holdfast -wmo -warnings-as-errors "${sqlite[@]}" $(find -L Sources/Holdfast -name '*.swift')
# The guide's screens are of another package.
swiftc -typecheck -module-name App -warnings-as-errors -swift-version 6 -parse-as-library -I "$folder" "${sqlite[@]}" Snippets/GuideScreen.swift
