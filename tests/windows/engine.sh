#!/bin/sh
# engine.sh ENGINE: a game in folders with hard names, whose process is ended by TerminateProcess again and again: each next
# one resumes the run from its store, and nothing is done twice.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
engine=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export LC_ALL=C.UTF-8 # wine takes names of files by it
calls=12

fail() {
    echo "engine.sh: $*" >&2
    exit 1
}

# folder NAME: lines end as editors of Windows write them.
folder() {
    mkdir -p "$1"
    printf -- '---\r\nname: smith\r\ntools: [count]\r\n---\r\nYou count.\r\n{{include manner.txt}}\r\n' >"$1/smith.md"
    printf 'Be brief.\r\nAlways.\r\n' >"$1/manner.txt"
    cat >"$1/sim.lua" <<SIM
return function(request)
  assert(request.system:find("You count.\nBe brief.\nAlways.", 1, true), request.system)
  if request.turn <= $calls then return { calls = { { name = "count", arguments = { n = request.turn } } }, latency = 0.02 } end
  return { text = "counted" }
end
SIM
}

# play NAME [MS]: by the name that a drive has
play() {
    at=$1
    shift
    sh "$here/wine.sh" "$engine" "Z:$(printf %s "$at" | tr / '\\')" "$@"
}

check() {
    [ "$(cat "$1/answer")" = counted ] || fail "$2: $(cat "$1/answer")"
    [ "$(sort "$1/done" | uniq -d | wc -l)" = 0 ] || fail "$2: twice: $(sort "$1/done" | uniq -d)"
}

# Not of 260 characters and more: wine's GetFinalPathNameByHandle fails there.
for name in "with a space" "Grüße-日本"; do
    folder "$work/$name"
    play "$work/$name" || fail "$name: it ended with $?: $(cat "$work/$name/answer" 2>/dev/null)"
    check "$work/$name" "$name"
    [ "$(wc -l <"$work/$name/done")" = $calls ] || fail "$name: $(wc -l <"$work/$name/done") calls"
done

folder "$work/ended"
kills=0 ms=30
until play "$work/ended" $ms; do
    [ ! -f "$work/ended/name" ] || [ -s "$work/ended/name" ] || [ ! -f "$work/ended/done" ] || fail "it forgot what it did"
    kills=$((kills + 1)) ms=$((ms + 17))
    [ $kills -lt 40 ] || fail "it never ends: $(cat "$work/ended/answer" 2>/dev/null)"
done
check "$work/ended" "ended $kills times"
echo "2 names, $kills ends by TerminateProcess, $(wc -l <"$work/ended/done") of $calls calls"
