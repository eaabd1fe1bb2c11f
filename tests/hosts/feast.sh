#!/bin/sh
# LÖVE without a window: a workflow that the game starts, that travels in its save game in the middle, and that goes on in another process.
. "$(dirname "$0")/lib.sh"
needs love love 5.1
export LUA_CPATH="$build/lua/5.1/?.so;;" HOME="$tmp" XDG_DATA_HOME="$tmp"
cp -r "$source_dir/examples/embed/feast" "$tmp/feast"

timeout 60 love "$tmp/feast" --headless >"$tmp/out" 2>&1 || fail "love ended with $?"
grep -q '^phase: ask$' "$tmp/out" || fail "the game saw no phase"
[ "$(grep -c '^[A-D][a-z]*: stew for ' "$tmp/out")" = 4 ] || fail "four wishes expected"
menu='menu: Tonight: stew for Ana; stew for Ben; stew for Cleo; stew for Dan'
grep -qx "$menu" "$tmp/out" || fail "another menu"

# The model notes what it is asked.
sed -i 's|^  flow.sleep(0.1)$|&\n  local log <close> = io.open("'"$tmp"'/asked", "a")\n  log:write(request.last.text, "\\n")|' "$tmp/feast/sim.lua"

# Saved after two guests; another process asks the rest, and nobody again who has answered.
timeout 60 love "$tmp/feast" --headless --save >"$tmp/out" 2>&1 || fail "love ended with $? when it was to save"
[ "$(grep -c '^[A-D][a-z]*: stew for ' "$tmp/out")" = 2 ] || fail "it was to be saved after two wishes"
! grep -q '^menu: ' "$tmp/out" || fail "it was saved too late"
timeout 60 love "$tmp/feast" --headless --load >"$tmp/out" 2>&1 || fail "love ended with $? when it was to load"
grep -qx "$menu" "$tmp/out" || fail "the feast does not go on"
for guest in Ana Ben; do [ "$(grep -cx $guest "$tmp/asked")" = 1 ] || fail "$guest was asked again"; done
grep -qx Dan "$tmp/asked" || fail "Dan was not asked"
cat "$tmp/out"
