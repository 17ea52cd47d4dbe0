#!/usr/bin/env bash
# Measures the release build: with SQLite, then with PostgreSQL clusters of its own. The plots of docs/plots are made again.
# HOLDFAST_BIN: where holdfast is.
set -euo pipefail
cd "$(dirname "$0")/.."

"$HOLDFAST_BIN/holdfast" bench
"$HOLDFAST_BIN/holdfast" bench --only growth --plots docs/plots/sqlite

folder=$(mktemp -d)
trap 'Scripts/postgres.sh stop "$folder" >/dev/null; rm -rf "$folder"' EXIT

# on_postgres OPTION...: a bench with an empty database
on_postgres() {
  local url
  url=$(Scripts/postgres.sh start "$folder")
  "$HOLDFAST_BIN/holdfast" bench --database "$url" "$@"
  Scripts/postgres.sh stop "$folder" >/dev/null
  rm -rf "$folder"
}

echo "With PostgreSQL:"
on_postgres --runs 1
on_postgres --only growth --plots docs/plots/postgres
