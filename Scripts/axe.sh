#!/usr/bin/env bash
# Prints the path of axe-core (https://github.com/dequelabs/axe-core, MPL 2.0), with which the browser's tests look at pages. The first call gets it
# from a wheel of PyPI; later ones need no network.
set -euo pipefail
cd "$(dirname "$0")/.."

wheel='axe-playwright-python==0.1.8 --hash=sha256:fdd263c998388f1a8e67cad02677e612d946248bd44d163be5e8650ea31f95f8'
file=.build/axe/0.1.8/axe.min.js
if [[ ! -e $file ]]; then
  mkdir -p "${file%/*}"
  folder=$(mktemp -d "${file%/*}/XXXXXX")
  trap 'rm -rf "$folder"' EXIT
  python3 -m venv "$folder/python"
  echo "$wheel" >"$folder/requirements"
  "$folder/python/bin/pip" download --quiet --disable-pip-version-check --no-deps --only-binary :all: --require-hashes \
    --requirement "$folder/requirements" --dest "$folder" >&2
  python3 -m zipfile --extract "$folder"/*.whl "$folder/wheel"
  mv "$folder/wheel/axe_playwright_python/axe.min.js" "$file"
fi
echo "$PWD/$file"
