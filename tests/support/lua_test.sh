#!/bin/sh
# lua_test.sh COMMAND…: runs a Lua test. The last line has to be the verdict of tests/lua/support/harness.lua: a test that ends
# without one has not looked at all that it was going to look at. `skipped: WHY` in its place says that it cannot look here.
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
trap 'exit 130' INT TERM HUP
{
    "$@"
    echo $? >"$dir/status"
} | tee "$dir/out"
status=$(cat "$dir/status")
[ "$status" = 0 ] || exit "$status"
! tail -n 1 "$dir/out" | grep -q '^skipped: .' || exit 77
tail -n 1 "$dir/out" | grep -qE '^[1-9][0-9]* passed, 0 failed$' || {
    echo "FAILED: it ended without a verdict: its last line has to be 'return t.finish()'"
    exit 1
}
