#!/usr/bin/env bash
# Holds the REST interface against clients of others: Python's HTTP client, Varnish as a cache, and schemathesis with the server's own OpenAPI
# document; on SQLite and on PostgreSQL. Holds the backups in a bucket against moto, which is a store in the manner of Amazon S3. HOLDFAST_BIN: where holdfast is. EXAMPLES, SEED: how many requests schemathesis makes up for each operation, and
# from which seed.
set -euo pipefail
cd "$(dirname "$0")/.."
. Scripts/service.sh
bin=$(cd "${HOLDFAST_BIN:-.build/release}" && pwd)

folder=$(mktemp -d)
pids=()
finish() {
  for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
  Scripts/postgres.sh stop "$folder/postgres" >/dev/null 2>&1 || true
  rm -rf "$folder"
}
trap finish EXIT

python3 -m venv "$folder/python"
"$folder/python/bin/pip" install --quiet schemathesis==4.32.5 'moto[s3]==5.2.5' flask==3.1.3 flask-cors==6.0.5

# Waits until a port takes connections, for a minute.
await() {
  for _ in $(seq 600); do
    if is_listening "$1"; then return; fi
    sleep 0.1
  done
  echo "Nothing listens on $1." >&2
  exit 1
}

check() {
  local name=$1 port cache
  shift
  echo "== $name"
  port=$(free_port)
  cache=$(free_port)
  "$bin/holdfast" serve --schema Tests/Conformance/holdfast.json --listen "127.0.0.1:$port" "$@" >/dev/null 2>"$folder/log" &
  pids+=($!)
  await "$port"
  python3 Tests/Conformance/client.py "http://127.0.0.1:$port"

  sed "s/UPSTREAM/$port/" Tests/Conformance/cache.vcl >"$folder/cache.vcl"
  varnishd -j none -F -n "$folder/varnish-$name" -a "127.0.0.1:$cache" -f "$folder/cache.vcl" -s malloc,16m >/dev/null 2>&1 &
  pids+=($!)
  await "$cache"
  python3 Tests/Conformance/cache.py "http://127.0.0.1:$port" "http://127.0.0.1:$cache" "$folder/log"

  token=$(curl -sf "http://127.0.0.1:$port/v1/accounts" -H 'Content-Type: application/json' \
    -d '{"name": "schemathesis", "password": "correct horse", "device": {"name": "s"}}' | sed -E 's/.*"token":"([^"]*)".*/\1/')
  (cd Tests/Conformance && "$folder/python/bin/schemathesis" run "http://127.0.0.1:$port/openapi.json" \
    --header "Authorization: Bearer $token" --checks all --exclude-operation-id sign_out --exclude-operation-id revoke_device --max-examples "${EXAMPLES:-30}" --generation-database none \
    --max-failures 20 --seed "${SEED:-1}")
}

check sqlite --data "$folder/data"
check postgres --database "$(Scripts/postgres.sh start "$folder/postgres")"

echo "== backups in a bucket"
"$folder/python/bin/python" Tests/Conformance/bucket.py "$bin/holdfast" "$folder/python/bin/moto_server" "$(free_port)" "$folder"
