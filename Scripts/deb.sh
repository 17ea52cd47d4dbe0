#!/usr/bin/env bash
# Makes a Debian package of the server: deb.sh PROGRAM FOLDER. PROGRAM is holdfast, built with --static-swift-stdlib; the package goes into FOLDER.
set -euo pipefail
program=$(realpath "$1")
out=$(realpath "$2")
cd "$(dirname "$0")/.."

version=$("$program" --version | cut -d ' ' -f 2)
architecture=$(dpkg --print-architecture)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/root
# Others must be able to read what it installs.
umask 022
mkdir -p "$root/DEBIAN" "$root/usr/share/man/man1" "$root/usr/share/bash-completion/completions" \
  "$root/usr/share/zsh/vendor-completions" "$root/usr/share/fish/vendor_completions.d" "$root/usr/share/doc/holdfast"
chmod 755 "$root"
install -D -m 755 "$program" "$root/usr/bin/holdfast"
strip --strip-unneeded "$root/usr/bin/holdfast"
"$program" --generate-manual "$root/usr/share/man/man1"
chmod 644 "$root"/usr/share/man/man1/*
gzip -9n "$root"/usr/share/man/man1/*
"$program" --generate-completion-script bash >"$root/usr/share/bash-completion/completions/holdfast"
"$program" --generate-completion-script zsh >"$root/usr/share/zsh/vendor-completions/_holdfast"
"$program" --generate-completion-script fish >"$root/usr/share/fish/vendor_completions.d/holdfast.fish"
for unit in holdfast.service holdfast-backup.service holdfast-backup.timer; do
  install -D -m 644 "deploy/$unit" "$root/lib/systemd/system/$unit"
done
install -D -m 640 deploy/debian/holdfast.env "$root/etc/holdfast/holdfast.env"
echo /etc/holdfast/holdfast.env >"$root/DEBIAN/conffiles"
install -m 755 deploy/debian/postinst deploy/debian/prerm deploy/debian/postrm "$root/DEBIAN"
install -m 644 LICENSE "$root/usr/share/doc/holdfast/copyright"
gzip -9nc CHANGELOG.md >"$root/usr/share/doc/holdfast/changelog.gz"

# The libraries that the program needs, as the names and versions of their packages.
mkdir "$work/debian"
printf 'Source: holdfast\n\nPackage: holdfast\nArchitecture: any\n' >"$work/debian/control"
libraries=$(cd "$work" && dpkg-shlibdeps -O --ignore-missing-info "$root/usr/bin/holdfast" 2>/dev/null | sed 's/^shlibs:Depends=//')
cat >"$root/DEBIAN/control" <<END
Package: holdfast
Version: $version
Architecture: $architecture
Maintainer: The Holdfast maintainers <holdfast@localhost>
Installed-Size: $(du -sk --exclude=DEBIAN "$root" | cut -f 1)
Depends: $libraries, adduser, tzdata
Recommends: ca-certificates
Suggests: postgresql, haproxy, prometheus
Section: database
Priority: optional
Description: server for offline-first data synchronization
 Devices have a SQLite database of their own, which apps read and write without
 a network. This server keeps the shared database, in SQLite or PostgreSQL:
 every edit arrives exactly once, all devices converge, and no edit is lost.
END
dpkg-deb --root-owner-group --build "$root" "$out/holdfast_${version}_$architecture.deb"
