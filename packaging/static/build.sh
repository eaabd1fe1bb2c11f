#!/bin/sh
# Builds the static program of an architecture: OUT/hocket, a static PIE that needs nothing of the system that it runs on, with
# the licences and the list of what is linked in.
# The first time takes as long as OpenSSL does; what is linked stays in CACHE (lib.sh).
#   build.sh ARCH BUILD_DIR          x86_64 or arm64
set -eu
# shellcheck source=packaging/static/lib.sh
. "$(dirname "$0")/lib.sh"
arch=$1 build=$2
source=$(cd "$here/../.." && pwd)
libraries="openssl zlib nghttp2 curl libuv sqlite lua cjson libyaml pcre2 libxml2 md4c ncurses libedit libpq"
[ "${HOCKET_STATIC_TESTS:-OFF}" = OFF ] || libraries="$libraries cmocka"
# shellcheck disable=SC2086
"$here/libraries.sh" "$arch" $libraries

embed=$("$here/embed.sh")
targets=hocket emulator=
if [ "$arch" = "$(uname -m)" ]; then # it runs here, and so writes its man pages
    targets="hocket hocket_manual" emulator=-DCMAKE_CROSSCOMPILING_EMULATOR=/usr/bin/env
fi
PATH=$cache/$arch/bin:$PATH cmake -S "$source" -B "$build" -G Ninja -Wno-dev -DCMAKE_TOOLCHAIN_FILE="$cache/$arch/toolchain.cmake" \
    -DCMAKE_BUILD_TYPE=Release -DHOCKET_STATIC=ON -DHOCKET_EMBED="$embed" -DHOCKET_TESTS="${HOCKET_STATIC_TESTS:-OFF}" -DHOCKET_BENCH=OFF \
    -DCMAKE_C_FLAGS="-ffile-prefix-map=$source=. -ffile-prefix-map=$(readlink -f "$cache")=/" $emulator >"$cache/configure-$arch.log" 2>&1 || {
    tail -n 30 "$cache/configure-$arch.log" >&2
    die "it cannot be configured for $arch"
}
[ "${HOCKET_STATIC_TESTS:-OFF}" = OFF ] || targets=all
# shellcheck disable=SC2086
cmake --build "$build" -j "${JOBS:-$(nproc)}" --target $targets -- --quiet
version=$(sed -n 's/^CMAKE_PROJECT_VERSION:STATIC=//p' "$build/CMakeCache.txt")
python3 "$here/../parts.py" "$build" "$arch" "$cache" "$version"
