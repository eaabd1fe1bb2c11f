#!/bin/sh
# Programs of older versions, compiled with the header of their version, work with this one's libraries: a conversation is saved
# and continued, and so is the one that the older version saved. A folder of tests/versions has the program (program.c).
#   program.sh BUILD_DIR
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$1" && pwd)
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT INT TERM
export HOME="$tmp" LD_LIBRARY_PATH="$build"

fail() {
    echo "program: $1" >&2
    exit 1
}

tried=0
for folder in "$here"/*/; do
    [ -f "$folder/program.save" ] || continue
    name=$(basename "$folder")
    ${CC:-cc} -std=c11 -Wall -Werror -I"$folder/include" -o "$tmp/$name" "$folder/program.c" -L"$build" -lhocket-serve -lhocket ||
        fail "that of $name does not compile or link"
    "$tmp/$name" "$tmp/own.save" write || fail "that of $name does not save"
    for save in "$tmp/own.save" "$folder/program.save"; do
        "$tmp/$name" "$save" >"$tmp/said" 2>&1 || fail "that of $name fails with $save: $(cat "$tmp/said")"
        grep -q '^2 questions, 1 events again of 1' "$tmp/said" || fail "that of $name says: $(cat "$tmp/said")"
    done
    tried=$((tried + 1))
done
[ $tried -gt 0 ] || fail "no program of an older version is there"
echo "program: well, of $tried versions"
