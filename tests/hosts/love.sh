#!/bin/sh
# LÖVE without a window: an innkeeper who answers while the frames go on.
. "$(dirname "$0")/lib.sh"
needs love love 5.1
export LUA_CPATH="$build/lua/5.1/?.so;;" HOME="$tmp" XDG_DATA_HOME="$tmp"
timeout 60 love "$source_dir/examples/embed/love" "$village" --headless >"$tmp/out" 2>&1 || fail "love ended with $?"
grep -q 'says: Welcome! Fish stew tonight. Two stalls are free. And out there: a traveller at [0-9.]* paces.' "$tmp/out" ||
    fail "the innkeeper says something else"
frames=$(sed -n 's/^frames while thinking: //p' "$tmp/out")
[ "$frames" -ge 8 ] || fail "the game stood still: $frames frames"
cat "$tmp/out"
