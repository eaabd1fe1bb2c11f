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
