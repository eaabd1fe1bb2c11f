#!/bin/sh
# engine.sh ENGINE LUA: a game in folders with hard names, whose process is ended by TerminateProcess again and again: each next
# one resumes the run from its store, and nothing is done twice (ended.lua, which LUA runs).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
engine=$1 lua=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export LC_ALL=C.UTF-8 # wine takes names of files by it

fail() {
    echo "engine.sh: $*" >&2
    exit 1
}

# folder NAME: lines end as editors of Windows write them.
folder() {
    mkdir -p "$1"
    for file in "$here"/ended/*; do sed 's/$/\r/' "$file" >"$1/$(basename "$file")"; done
}

# play NAME [MS]: by the name that a drive has
play() {
    at=$1
    shift
    sh "$here/wine.sh" "$engine" "Z:$(printf %s "$at" | tr / '\\')" "$@"
}

check() {
    (cd "$1" && sh "$here/wine.sh" "$lua" "$here/ended.lua" .) || fail "$2" # by a short name: Lua knows no other letters there
}

# Not of 260 characters and more: wine's GetFinalPathNameByHandle fails there.
for name in "with a space" "Grüße-日本"; do
    folder "$work/$name"
    play "$work/$name" || fail "$name: it ended with $?: $(cat "$work/$name/answer" 2>/dev/null)"
    check "$work/$name" "$name"
    [ "$(cat "$work/$name/answer")" = counted ] || fail "$name: $(cat "$work/$name/answer")"
done

folder "$work/ended"
kills=0 ms=30
until play "$work/ended" $ms; do
    [ ! -f "$work/ended/name" ] || [ -s "$work/ended/name" ] || [ ! -f "$work/ended/done" ] || fail "it forgot what it did"
    kills=$((kills + 1)) ms=$((ms + 17 + ms / 16))
    [ $kills -lt 40 ] || fail "it never ends: $(cat "$work/ended/answer" 2>/dev/null)"
done
check "$work/ended" "ended $kills times"
echo "2 names, and $kills ends by TerminateProcess"
