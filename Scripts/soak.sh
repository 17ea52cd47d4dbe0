#!/usr/bin/env bash
# Runs a server for MINUTES (60) with devices, web clients and idle streams, under kills, a full disk and a slow database: Scripts/soak/soak.js.
# The server's folder is a file system of its own of 512 MB in memory, which can be full without harm to others. It needs no root, but
# user namespaces. HOLDFAST_BIN: where holdfast and jot are. STREAMS: how many idle streams, 5,000 or as many as descriptors allow.
set -euo pipefail
cd "$(dirname "$0")/.."

if [[ -z ${SOAK_FOLDER:-} ]]; then
  SOAK_FOLDER=$(mktemp -d)
  export SOAK_FOLDER
  mkdir "$SOAK_FOLDER/server"
  status=0
  unshare --user --map-root-user --mount "$0" || status=$?
  if ((status == 0)); then rm -r "$SOAK_FOLDER"; else echo "The files of the devices are in $SOAK_FOLDER" >&2; fi
  exit "$status"
fi

mount -t tmpfs -o size=512m tmpfs "$SOAK_FOLDER/server"
ulimit -n "$(ulimit -H -n)"
exec node Scripts/soak/soak.js
