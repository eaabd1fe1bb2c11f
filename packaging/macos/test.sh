#!/bin/sh
# Builds libhocket.dylib for both processors of Macs, with its tests, and looks at what was linked: `./dev macos`. Nothing of it
# runs here. On a Mac native.sh runs the tests.
#   test.sh [x86_64|arm64 …]
set -eu
macos=$(cd "$(dirname "$0")" && pwd)
source=$(cd "$macos/../.." && pwd)
if [ -z "${HOCKET_ZIG:-$(command -v zig || :)}" ]; then
    echo "macos: skipped: zig is not installed (pip install ziglang; HOCKET_ZIG names its program)"
    exit 0
fi

fail() {
    echo "macos: $*" >&2
    exit 1
}

# What it was built as: a program of Apple's linker for that processor, which needs the system's library and no other one, and
# has the functions of hocket.h.
look() {
    library=$2/libhocket.0.dylib
    file "$library" | grep -q "Mach-O 64-bit $1 " || fail "$library is $(file -b "$library")"
    if command -v llvm-objdump >/dev/null 2>&1; then
        needs=$(llvm-objdump --macho --dylibs-used "$library" | sed -n 's/^\t\([^ ]*\) .*/\1/p' | grep -v libhocket)
        [ "$needs" = /usr/lib/libSystem.B.dylib ] || fail "$library needs $needs"
    fi
    if command -v llvm-nm >/dev/null 2>&1; then
        llvm-nm -gU "$library" | sed 's/.* //' | sort >"$2/exported"
        sort "$2/hocket.exports" | comm -23 - "$2/exported" | grep . && fail "$library lacks these functions of hocket.h"
    fi
    tests=$(find "$2/tests" -type f -name 'test_*' ! -name '*.*' -perm -u+x | wc -l)
    echo "macos: $1: libhocket.dylib links ($(wc -c <"$library") bytes), and so do $tests programs of tests; none was run"
}

[ $# -gt 0 ] || set -- x86_64 arm64
for arch; do
    build=$source/build/macos-$arch
    "$macos/build.sh" "$arch" "$build" -DHOCKET_TESTS=ON
    look "$arch" "$build"
done
