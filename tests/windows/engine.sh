#!/bin/sh
# engine.sh ENGINE: a game in folders with hard names, whose process is ended by TerminateProcess again and again: each next
# one resumes the run from its store, and nothing is done twice. A call that was under way when the process was ended is not made
# again, and the model reads that nobody knows whether it was done: so there may be fewer lines than calls, and never more.
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
  local unknown = 0
  for _, message in ipairs(request.messages) do
    if message.text:find("not known whether this was done", 1, true) then unknown = unknown + 1 end
  end
  return { text = "counted" .. (unknown > 0 and (", " .. unknown .. " unknown") or "") }
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
    case $(cat "$1/answer") in counted*) ;; *) fail "$2: $(cat "$1/answer")" ;; esac
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
done=$(wc -l <"$work/ended/done") unknown=$(sed -n 's/^counted, \([0-9]*\) unknown$/\1/p' "$work/ended/answer")
[ "$done" -le $calls ] && [ $((done + ${unknown:-0})) -ge $calls ] || fail "$done of $calls calls, of which ${unknown:-0} are unknown"
echo "2 names, $kills ends by TerminateProcess, $done of $calls calls, and the model knows of ${unknown:-0} that nobody knows how they ended"
