#!/bin/sh
# LÖVE without a window: villagers who plan and remember, and one of whom changes while the game runs.
. "$(dirname "$0")/lib.sh"
needs love love 5.1
export LUA_CPATH="$build/lua/5.1/?.so;;" HOME="$tmp" XDG_DATA_HOME="$tmp"
cp -r "$source_dir/examples/embed/npcs" "$tmp/npcs"
timeout 60 love "$tmp/npcs" --headless >"$tmp/out" 2>&1 &
pid=$!
waited=0
until [ "$(grep -c ' says: ' "$tmp/out")" -ge 2 ]; do
    kill -0 "$pid" 2>/dev/null || fail "love ended"
    waited=$((waited + 1))
    [ "$waited" -lt 300 ] || fail "nobody says anything"
    sleep 0.1
done
grep -q 'smith says: plainly: good day! I remember 0 things of you.' "$tmp/out" || fail "the smith says something else"
sed -i 's/You speak plainly/You speak darkly/' "$tmp/npcs/agents/smith.md"
wait "$pid" || fail "love ended with $?"
pid=
grep -q 'reload: changed: .*smith.md' "$tmp/out" || fail "nothing was reloaded"
grep -q 'smith says: darkly: good day! I remember 1 things of you.' "$tmp/out" || fail "the smith is the old one, or has forgotten"
grep -q 'the smith is at 360, and keeps 2 things' "$tmp/out" || fail "he did not do what he planned"
cat "$tmp/out"

# Saved while both talk; in another process, without their files, they go on with what they were asked.
cp -r "$source_dir/examples/embed/npcs" "$tmp/other"
timeout 60 love "$tmp/other" --headless --save >"$tmp/out" 2>&1 || fail "love ended with $? when it was to save"
! grep -q ' says: ' "$tmp/out" || fail "it was saved too late"
rm "$tmp"/other/agents/*
timeout 60 love "$tmp/other" --headless --load >"$tmp/out" 2>&1 || fail "love ended with $? when it was to load"
grep -q 'smith says: plainly: good day! I remember 0 things of you.' "$tmp/out" || fail "the smith does not go on"
grep -q 'the smith keeps 1 things' "$tmp/out" || fail "the smith has forgotten"
cat "$tmp/out"
