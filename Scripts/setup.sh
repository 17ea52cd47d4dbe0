#!/usr/bin/env bash
# Installs the Debian packages that are missing. Elsewhere, where there is no dpkg, it only says what is needed.
set -euo pipefail

packages=(
  pkg-config libsqlite3-dev libmicrohttpd-dev libsodium-dev libpq-dev sqlite3 iso-codes curl
  postgresql-15 postgresql-client-15
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
# The tests start servers of their own (Scripts/postgres.sh); the package shall not start one for the whole machine.
if [[ ${missing[*]} == *postgresql-15* ]]; then
  "${as_root[@]}" mkdir -p /etc/postgresql-common/createcluster.d
  echo "create_main_cluster = false" | "${as_root[@]}" tee /etc/postgresql-common/createcluster.d/holdfast.conf >/dev/null
fi
echo "Installing ${missing[*]}"
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends "${missing[@]}"
