#!/bin/sh
# Builds what the static program links, into CACHE/ARCH/root. A library is built again only when its recipe, its version or
# the compiler has changed.
#   libraries.sh ARCH [NAME…]          x86_64 or arm64; all of them unless some are named
set -eu
# shellcheck source=packaging/static/lib.sh
. "$(dirname "$0")/lib.sh"
ARCH=$1
shift
"$here/sources.sh"
"$here/toolchain.sh" "$ARCH"
out=$cache/$ARCH
[ $# -gt 0 ] || set -- openssl zlib nghttp2 curl libuv sqlite lua cjson libyaml pcre2 libxml2 md4c ncurses libedit libpq cmocka

# What recipes may use.
JOBS=${JOBS:-$(nproc)}
ROOT=$out/root
TOOLCHAIN=$out/toolchain.cmake
CC=musl-cc AR=musl-ar RANLIB=musl-ranlib
# Nothing of this machine's folders stands in what is built.
CFLAGS="-Os -g0 -fPIE -ffunction-sections -fdata-sections -ffile-prefix-map=$(readlink -f "$cache")=/"
SOURCE_DATE_EPOCH=0
case $ARCH in x86_64) HOST=x86_64-linux-musl ;; *) HOST=aarch64-linux-musl ;; esac
PATH=$out/bin:$PATH
export ARCH JOBS ROOT TOOLCHAIN CC AR RANLIB CFLAGS HOST PATH SOURCE_DATE_EPOCH PKG_CONFIG_LIBDIR="$ROOT/lib/pkgconfig"
mkdir -p "$ROOT/lib/pkgconfig" "$ROOT/include" "$out/built"

for name in "$@"; do
    recipe=$here/recipes/$name.sh
    [ -f "$recipe" ] || die "there is no recipe for $name"
    key=$(cat "$recipe" "$out/toolchain" "$here/libraries.sh" | sha256sum | cut -c 1-16)-$(sed -n "s/^$name \([^ ]*\) .*/\1/p" "$cache/sources/versions")
    [ "$(cat "$out/built/$name" 2>/dev/null)" != "$key" ] || continue
    echo "static: building $name for $ARCH" >&2
    rm -rf "$out/build/$name"
    mkdir -p "$out/build/$name"
    (cd "$out/build/$name" && SOURCE=$(readlink -f "$cache/sources/$name") HELPERS=$here/recipes/helpers sh -eu "$recipe") >"$out/build/$name.log" 2>&1 || {
        tail -n 30 "$out/build/$name.log" >&2
        die "$name does not build: $out/build/$name.log"
    }
    rm -rf "$out/build/$name"
    echo "$key" >"$out/built/$name"
done
