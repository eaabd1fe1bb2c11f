#!/bin/sh
# npcs.sh SOURCE BUILD PROGRAM: villagers who plan, change while the game runs, and are saved in the middle of what they say
# (examples/embed/npcs), played by love.exe, or by luajit.exe with a stand-in for LÖVE. With HOCKET_LINUX_MODULE, a folder with
# hocket.so for LuaJIT here, saves of the stand-in go from one system to the other.
set -eu
source_dir=$1 build=$2 program=$3
here=$source_dir/tests/windows
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
    echo "npcs.sh: $*" >&2
    cat "$work/out" >&2
    exit 1
}
windows() {
    case $program in
    *love.exe) set -- "Z:$work/game" --headless "$@" ;;
    *) set -- "$here/love.lua" "Z:$work/game" "Z:$work" --headless "$@" ;;
    esac
    LUA_CPATH="$build/lua/5.1/?.dll" timeout 120 sh "$here/wine.sh" "$program" "$@" >"$work/out" 2>&1 </dev/null || fail "it ended with $?"
    cat "$work/out"
}
# A save from elsewhere brings its sim.lua, from a path that is not here: who loads it says that it may run.
linux() {
    HOCKET_TRUST=1 LUA_CPATH="$HOCKET_LINUX_MODULE/?.so" luajit "$here/love.lua" "$work/game" "$work" --headless "$@" >"$work/out" 2>&1 || fail "it ended with $?"
    cat "$work/out"
}
village() {
    rm -rf "$work/game"
    cp -r "$source_dir/examples/embed/npcs" "$work/game"
}
goes_on() {
    grep -q 'smith says: plainly: good day! I remember 0 things of you.' "$work/out" || fail "the smith does not go on"
    grep -q 'the smith keeps 1 things' "$work/out" || fail "the smith has forgotten"
}

village
: >"$work/out"
(
    until [ "$(grep -c ' says: ' "$work/out")" -ge 2 ]; do sleep 0.2; done
    sed -i 's/You speak plainly/You speak darkly/' "$work/game/agents/smith.md"
) &
windows
wait
grep -q 'reload: changed: .*smith.md' "$work/out" || fail "nothing was reloaded"
grep -q 'smith says: darkly: good day! I remember 1 things of you.' "$work/out" || fail "the smith is the old one, or has forgotten"

village
windows --save
rm "$work"/game/agents/*
windows --load
goes_on
[ -n "${HOCKET_LINUX_MODULE:-}" ] || exit 0
linux --load
goes_on
village
linux --save
rm "$work"/game/agents/*
windows --load
goes_on
