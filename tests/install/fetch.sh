#!/bin/sh
# A project that takes hocket's source by FetchContent, shared and static: it gets the targets that find_package gives, and no
# tests, no benchmarks and no word `uninstall`.
#   fetch.sh SOURCE_DIR
set -eu
source=$1
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT INT TERM

fail() {
    echo "fetch: $1" >&2
    exit 1
}

cp -r "$source/tests/install/fetch" "$source/tests/install/consumer" "$tmp/"
cd "$tmp/fetch"
cmake -S . -B build -G Ninja -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS=-O0 -DHOCKET_SOURCE="$source" >log 2>&1 || { tail -n 30 log; fail "it cannot be configured"; }
cmake --build build -j "${JOBS:-$(nproc)}" --target shared static >log 2>&1 || { tail -n 30 log; fail "it does not build"; }
cd "$tmp/consumer"
for kind in shared static; do
    "$tmp/fetch/build/$kind" >"$tmp/out" || fail "the $kind consumer failed: $(cat "$tmp/out")"
done
! readelf -d "$tmp/fetch/build/static" | grep -q libhocket || fail "the static consumer needs a shared libhocket"
! cmake --build "$tmp/fetch/build" --target help | grep -qE '^(uninstall|test_|hocket_bench)' || fail "the project gets targets that are hocket's own"
echo "fetch: well"
