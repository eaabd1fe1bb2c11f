#!/bin/sh
# Makes the Debian packages of a source, in a copy of what Git knows of it, and lets lintian check them where it is
# installed.
#   deb.sh SOURCE_DIR OUT_DIR
set -eu
source=$(cd "$1" && pwd) out=$2
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT INT TERM
mkdir -p "$tmp/hocket" "$out"
out=$(cd "$out" && pwd)
(cd "$source" && git ls-files -z | xargs -0 tar -cf -) | tar -xf - -C "$tmp/hocket"
cp -r "$tmp/hocket/packaging/debian" "$tmp/hocket/debian"
cd "$tmp/hocket"
DEB_BUILD_OPTIONS="noautodbgsym nocheck parallel=${JOBS:-$(nproc)}" dpkg-buildpackage -b -uc -us >"$tmp/log" 2>&1 || {
    tail -n 40 "$tmp/log" >&2
    exit 1
}
cd "$tmp"
if command -v lintian >/dev/null; then
    lintian --allow-root --fail-on error ./*.changes >&2
fi
"$source/tests/install/deb.sh" "$source" "$tmp" >&2
cp ./*.deb "$out/"
