#!/usr/bin/env bash
# Installs the Debian packages that are missing: those that everything needs, and those named as arguments. Elsewhere, where
# there is no dpkg, it only says what is needed.
set -euo pipefail

packages=(
  pkg-config libsqlite3-dev libgnutls28-dev libsodium-dev libssl-dev libpq-dev libcurl4-openssl-dev libzstd-dev libdeflate-dev sqlite3 iso-codes curl openssl
  postgresql-15 postgresql-client-15 "$@"
)

if ! command -v dpkg-query >/dev/null; then
  echo "This is no Debian: make sure that there are ${packages[*]}, or what they are called here." >&2
  exit 0
fi

missing=()
for package in "${packages[@]}"; do
  status=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
  [[ $status == installed ]] || missing+=("$package")
done
((${#missing[@]})) || exit 0

as_root=()
if ((EUID != 0)); then as_root=(sudo); fi
# Tests and demos start servers of their own; the packages shall start none for the whole machine, now or with its next start.
if [[ ${missing[*]} == *postgresql-15* ]]; then
  "${as_root[@]}" mkdir -p /etc/postgresql-common/createcluster.d
  echo "create_main_cluster = false" | "${as_root[@]}" tee /etc/postgresql-common/createcluster.d/holdfast.conf >/dev/null
fi
policy=/usr/sbin/policy-rc.d
if [[ ! -e $policy ]]; then
  trap '"${as_root[@]}" rm -f "$policy"' EXIT
  printf '#!/bin/sh\nexit 101\n' | "${as_root[@]}" tee "$policy" >/dev/null
  "${as_root[@]}" chmod +x "$policy"
fi
echo "Installing ${missing[*]}"
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends "${missing[@]}"
if command -v systemctl >/dev/null; then
  for package in "${missing[@]}"; do
    case $package in haproxy | nginx | pgbouncer) "${as_root[@]}" systemctl disable --quiet "$package" || true ;; esac
  done
fi
