#!/bin/sh
# Makes the tarball of a build that is there, for install.sh: the program with its man pages and completions. A build for
# another machine wrote no pages: they are those of MANUAL_BUILD_DIR. Equal input makes equal bytes.
#   dist.sh BUILD_DIR OUT_DIR [ARCH [MANUAL_BUILD_DIR]]
set -eu
build=$1 out=$2 machine=${3:-$(uname -m)} manual=${4:-}
here=$(cd "$(dirname "$0")" && pwd)
case $machine in
amd64) machine=x86_64 ;;
aarch64) machine=arm64 ;;
esac
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT INT TERM
umask 022
version=$(sed -n 's/^CMAKE_PROJECT_VERSION:STATIC=//p' "$build/CMakeCache.txt")
name=hocket-$version
[ -z "$manual" ] || cmake --install "$manual" --component program --prefix "$tmp/$name" --strip >/dev/null
cmake --install "$build" --component program --prefix "$tmp/$name" --strip >/dev/null
mkdir -p "$out"
(cd "$tmp" && tar --sort=name --mtime="@${SOURCE_DATE_EPOCH:-0}" --owner=0 --group=0 --numeric-owner --format=ustar -cf - "$name") |
    gzip -9n >"$out/$name-linux-$machine.tar.gz"
"$here/sums.sh" "$out"
