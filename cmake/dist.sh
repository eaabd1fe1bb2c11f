#!/bin/sh
# Makes a release of a build that is there: the program with its man pages and completions as a tarball for this
# system, SHA256SUMS, and where HOCKET_SIGNING_KEY names a private key (PEM) SHA256SUMS.sig. install.sh installs it.
# Equal input makes equal bytes.
#   dist.sh BUILD_DIR OUT_DIR
set -eu
build=$1 out=$2
case $(uname -m) in
x86_64 | amd64) machine=x86_64 ;;
aarch64 | arm64) machine=arm64 ;;
*) machine=$(uname -m) ;;
esac
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT INT TERM
umask 022
cmake --install "$build" --prefix "$tmp/all" --strip >/dev/null
version=$("$tmp/all/bin/hocket" --version)
name=hocket-${version#hocket }
mkdir -p "$tmp/$name" "$out"
mkdir "$tmp/$name/bin"
mv "$tmp/all/bin/hocket" "$tmp/$name/bin/"
mv "$tmp/all/share" "$tmp/$name/"
tarball=$name-linux-$machine.tar.gz
(cd "$tmp" && tar --sort=name --mtime="@${SOURCE_DATE_EPOCH:-0}" --owner=0 --group=0 --numeric-owner --format=ustar -cf - "$name") |
    gzip -9n >"$out/$tarball"
(cd "$out" && sha256sum "$tarball" >SHA256SUMS)
rm -f "$out/SHA256SUMS.sig"
if [ -n "${HOCKET_SIGNING_KEY:-}" ]; then
    openssl dgst -sha256 -sign "$HOCKET_SIGNING_KEY" -out "$out/SHA256SUMS.sig" "$out/SHA256SUMS"
fi
