#!/bin/sh
# A game with a dummy screen: sdl2.sh GAME TEAM
set -eu
export SDL_VIDEODRIVER=dummy SDL_AUDIODRIVER=dummy
out=$("$1" "$2" --test)
printf '%s\n' "$out"
# The innkeeper has asked the cook and the ostler, and has looked into the game's world.
printf '%s\n' "$out" | grep -q '^title: Welcome! Fish stew tonight. Two stalls are free. And out there: a traveller at [0-9]* paces.$'
frames=$(printf '%s\n' "$out" | sed -n 's/^frames while thinking: //p')
pieces=$(printf '%s\n' "$out" | sed -n 's/^text came in pieces: //p')
[ "$frames" -ge 8 ] || { echo "the game stood still: $frames frames"; exit 1; }
[ "$pieces" -ge 2 ] || { echo "the text came at once"; exit 1; }

# Saved while the innkeeper thinks, and ended; another process goes on, without the team's files, and he knows what he was asked.
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
game=$(realpath "$1") team=$(realpath "$2")
cd "$tmp"
"$game" "$team" --test save >"$tmp/saved" || { echo "it was not saved"; exit 1; }
[ -s village.save ] || { echo "there is no village.save"; exit 1; }
out=$("$game" none --test load)
printf '%s\n' "$out"
printf '%s\n' "$out" | grep -q '^title: Welcome! Fish stew tonight. Two stalls are free. And out there: a traveller at [0-9]* paces.$'
printf 'x' >>village.save
if out=$("$game" none --test load 2>&1); then echo "a save that was changed was loaded"; exit 1; fi
printf '%s\n' "$out" | grep -q 'not loaded: .*checksum'
