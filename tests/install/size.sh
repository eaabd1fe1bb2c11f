#!/bin/sh
# The bytes of a release, stripped: the program has at most 3,000,000, the library that others embed 1,600,000.
#   size.sh BUILD-DIRECTORY BUILD-TYPE
# Skipped (77) where the build is no release, has a sanitizer, or is static: it holds all libraries then.
set -u
build=$1 type=$2 failed=0
grep -q '^HOCKET_STATIC:BOOL=OFF$' "$build/CMakeCache.txt" || exit 77
[ "$type" = Release ] && grep -q '^HOCKET_SANITIZE:STRING=$' "$build/CMakeCache.txt" || exit 77
copy=$(mktemp) || exit 1
trap 'rm -f "$copy"' EXIT
limit() { # file, bytes
    [ -e "$1" ] || return 0
    strip -o "$copy" "$1" || exit 1
    bytes=$(stat -c %s "$copy")
    echo "$(basename "$1"), stripped: $bytes bytes of at most $2"
    [ "$bytes" -le "$2" ] || {
        echo "FAILED: $1 is too large"
        failed=1
    }
}
limit "$build/hocket" 3000000
limit "$build/libhocket.so" 1600000
exit $failed
