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
    sh "$here/wine.sh" "$engine" "$drive$(printf %s "$at" | tr / '\\')" "$@"
}
drive=Z:

check() { # by a short name: Lua knows no longer ones, and no other letters
    mkdir -p "$work/short"
    cp "$1/answer" "$1/done" "$work/short"
    (cd "$work/short" && sh "$here/wine.sh" "$lua" "$here/ended.lua" .) || fail "$2"
}

answers() {
    folder "$work/$1"
    play "$work/$1" || fail "$1: it ended with $?: $(cat "$work/$1/answer" 2>/dev/null)"
    check "$work/$1" "$1"
    [ "$(cat "$work/$1/answer")" = counted ] || fail "$1: $(cat "$work/$1/answer")"
}
part=a-name-of-fifty-characters-as-nobody-would-give-it
for name in "with a space" "Grüße-日本" "$part/$part/$part/$part/$part/$part"; do answers "$name"; done
drive='\\localhost\z$' # wine.sh
answers "on a share"
drive=Z:

folder "$work/ended"
kills=0 ms=30
until play "$work/ended" $ms; do
    [ ! -f "$work/ended/name" ] || [ -s "$work/ended/name" ] || [ ! -f "$work/ended/done" ] || fail "it forgot what it did"
    kills=$((kills + 1)) ms=$((ms + 17 + ms / 16))
    [ $kills -lt 40 ] || fail "it never ends: $(cat "$work/ended/answer" 2>/dev/null)"
done
check "$work/ended" "ended $kills times"
echo "4 names, and $kills ends by TerminateProcess"
