#!/usr/bin/env bash
# Measures the release build: with SQLite, where the plots of docs/plots are made again, then with a PostgreSQL cluster of its own.
# HOLDFAST_BIN: where holdfast is.
set -euo pipefail
cd "$(dirname "$0")/.."

"$HOLDFAST_BIN/holdfast" bench
"$HOLDFAST_BIN/holdfast" bench --only growth --plots docs/plots/sqlite

folder=$(mktemp -d)
trap 'Scripts/postgres.sh stop "$folder" >/dev/null; rm -rf "$folder"' EXIT
url=$(Scripts/postgres.sh start "$folder")
echo "With PostgreSQL:"
"$HOLDFAST_BIN/holdfast" bench --database "$url" --runs 1
