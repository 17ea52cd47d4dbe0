#!/usr/bin/env bash
# Writes the reference of the public types (DocC) to .build/docs, from the comments and from the catalogue of each module. Fails at a warning, and
# when a type of the client has no example.
set -euo pipefail
cd "$(dirname "$0")/.."

modules=(Holdfast HoldfastCore HoldfastSQLite HoldfastServer HoldfastService)
for module in HoldfastTesting; do
  if [[ -d Sources/$module ]]; then modules+=("$module"); fi
done
output=.build/docs
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The command is built of all modules but those of tests.
swift build --product holdfast --disable-index-store -debug-info-format none
for module in "${modules[@]}"; do
  if [[ $module == HoldfastTesting ]]; then
    swift build --target HoldfastTesting --disable-index-store -debug-info-format none
  fi
done
binaries=$(swift build --show-bin-path)
target=$(swift -print-target-info | sed -n 's/.*"triple" *: *"\([^"]*\)".*/\1/p' | head -1)
# The module map of a C target with sources is made by the build.
includes=(-I "$binaries/Modules" -Xcc "-fmodule-map-file=$binaries/CWebClient.build/module.modulemap")
for module in Sources/C*; do includes+=(-I "$module"); done
for flag in $(pkg-config --cflags-only-I libpq 2>/dev/null || true); do includes+=(-Xcc "$flag"); done

rm -rf "$output"
mkdir -p "$output"
archives=()
for module in "${modules[@]}"; do
  mkdir "$work/$module"
  swift symbolgraph-extract -module-name "$module" -target "$target" "${includes[@]}" \
    -output-dir "$work/$module" -minimum-access-level public -skip-inherited-docs
  catalogue=(--fallback-display-name "$module" --fallback-bundle-identifier "$module")
  if [[ -d Sources/$module/$module.docc ]]; then catalogue=("Sources/$module/$module.docc" "${catalogue[@]}"); fi
  docc convert "${catalogue[@]}" --additional-symbol-graph-dir "$work/$module" \
    --output-dir "$work/$module.doccarchive" --warnings-as-errors
  archives+=("$work/$module.doccarchive")
done
swift Scripts/examples.swift "$work/Holdfast/Holdfast.symbols.json"
docc merge "${archives[@]}" --output-path "$output/Holdfast.doccarchive" \
  --synthesized-landing-page-name Holdfast --synthesized-landing-page-kind Package
echo "The reference is in $output/Holdfast.doccarchive. Read it with: docc preview, Xcode, or any web server of this folder."
