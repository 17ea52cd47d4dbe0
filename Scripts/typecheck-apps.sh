#!/usr/bin/env bash
# Has the compiler check the snippets and the example Cards as the code of an app, which sees only what is public; as targets of this package they
# see what is `package`, too. SwiftUI is the stand-in of Scripts/apple. Takes the modules of a finished build, and some seconds.
#
#     swift build --build-tests && Scripts/typecheck-apps.sh
set -euo pipefail
cd "$(dirname "$0")/.."

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
strict=(-swift-version 6 -warnings-as-errors -parse-as-library -I "$folder")

# Without `-package-name`.
check() {
  local name=$1
  shift
  swiftc "${strict[@]}" "${imports[@]}" -module-name App "$@"
  echo "$name is good."
}

imports=(-I .build/debug/Modules -Xcc -fmodule-map-file=.build/debug/CWebClient.build/module.modulemap)
for library in Sources/C*/; do imports+=(-I "$library"); done
for flag in $(pkg-config --cflags-only-I libpq 2>/dev/null || true); do imports+=(-Xcc "$flag"); done

for snippet in Snippets/*.swift; do
  case $(basename "$snippet") in
  # Its constants are in a file that is made of its schema.
  GuideMain.swift) ;;
  *) check "$snippet" -typecheck "$snippet" ;;
  esac
done

# The model is made again: with the package's name it could see more.
check Examples/Cards/Model -emit-module -module-name CardsModel -o "$folder/CardsModel.swiftmodule" \
  Examples/Cards/Model/*.swift .build/plugins/outputs/*/CardsModel/destination/RecordsPlugin/*.swift
check Examples/Cards/Terminal -typecheck Examples/Cards/Terminal/*.swift

for name in Combine SwiftUI; do
  swiftc "${strict[@]}" -emit-module -module-name "$name" -o "$folder/$name.swiftmodule" "Scripts/apple/$name.swift"
done
check Examples/Cards/App -typecheck Examples/Cards/App/*.swift
