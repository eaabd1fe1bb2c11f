#!/bin/sh
# Builds libhocket.dylib with its tests for a processor, by `zig cc`. Nothing of it runs here. The first time takes some minutes:
# its libraries stay in the cache (libraries.sh).
#   build.sh ARCH BUILD_DIR [CMAKE OPTION…]          x86_64 or arm64
set -eu
macos=$(cd "$(dirname "$0")" && pwd)
source=$(cd "$macos/../.." && pwd)
arch=$1 build=$2
shift 2
"$macos/libraries.sh" "$arch"
out=${HOCKET_MACOS_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/hocket/macos}/$arch
mkdir -p "$build"
cmake -S "$source" -B "$build" -G Ninja -Wno-dev -DCMAKE_TOOLCHAIN_FILE="$out/toolchain.cmake" -DCMAKE_BUILD_TYPE=Release \
    -DHOCKET_LINK_SQLITE=ON -DHOCKET_EMBED="$("$macos/../static/embed.sh")" -DHOCKET_BENCH=OFF "$@" >"$build/configure.log" 2>&1 || {
    tail -n 30 "$build/configure.log" >&2
    exit 1
}
cmake --build "$build" -j "${JOBS:-$(nproc)}" -- --quiet
