#!/bin/sh
# The demonstration `./dev demo --kill`: it fails by itself where something was done twice; here the table is looked at as well.
#   kill.sh HOCKET SOURCE_DIR
set -u
bin=$(mktemp -d)
trap 'rm -rf "$bin"' EXIT
ln -s "$1" "$bin/hocket"
out=$(env -i HOME="$bin" PATH="$bin:/usr/bin:/bin" TMPDIR="${TMPDIR:-/tmp}" ${ASAN_OPTIONS:+"ASAN_OPTIONS=$ASAN_OPTIONS"} timeout 100 sh "$2/examples/kill/kill.sh" 2>&1) || {
    echo "kill.sh failed: $out" >&2
    exit 1
}
failed=0
for row in "model calls that were answered *13 *13$" "orders *6 *6$" "cost, USD *\([0-9.]*\) *\1$" "answered calls that were asked twice *- *0$" "orders placed twice *- *0$"; do
    echo "$out" | grep -q "^$row" || { echo "'$row' expected in: $out" >&2; failed=1; }
done
exit $failed
