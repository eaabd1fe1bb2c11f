#!/bin/sh
# Builds hocket.dll with MinGW: OUT/hocket.dll, hocket.def, libhocket.dll.a (MinGW) and hocket.lib (MSVC). The first time takes
# as long as its libraries do; they stay in the cache (libraries.sh).
#   build.sh BUILD_DIR [CMAKE OPTION…]
set -eu
windows=$(cd "$(dirname "$0")" && pwd)
source=$(cd "$windows/../.." && pwd)
build=$1
shift
"$windows/libraries.sh"
out=${HOCKET_WINDOWS_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/hocket/windows}
mkdir -p "$build"
cmake -S "$source" -B "$build" -G Ninja -Wno-dev -DCMAKE_TOOLCHAIN_FILE="$out/toolchain.cmake" -DCMAKE_BUILD_TYPE=Release \
    -DHOCKET_STATIC=ON -DHOCKET_EMBED="$("$windows/../static/embed.sh")" -DHOCKET_BENCH=OFF "$@" >"$build/configure.log" 2>&1 || {
    tail -n 30 "$build/configure.log" >&2
    exit 1
}
cmake --build "$build" -j "${JOBS:-$(nproc)}" -- --quiet
