#!/bin/sh
# Hot reload in one terminal: the inn beside this file runs with --watch, and this script saves files while it does.
# It changes them, so copy the folder first:
#
#   cp -r examples/reload kitchen
#   sh kitchen/show.sh
set -eu
dir=$(dirname "$0")
out=$(mktemp)
shown=0

# Prints what the inn says, up to a line with this text.
until_it_says() {
    waited=0
    until tail -n +$((shown + 1)) "$out" | grep -qF -- "$1"; do
        waited=$((waited + 1))
        [ $waited -lt 300 ] || { cat "$out"; echo "it never said: $1"; exit 1; }
        sleep 0.1
    done
    tail -n +$((shown + 1)) "$out"
    shown=$(wc -l <"$out")
}

# save FILE EXPRESSION: edits a file as an editor does, with a new file in its place.
save() {
    echo
    echo "--- $3"
    echo "    sed '$2' $1"
    sed "$2" "$dir/$1" >"$dir/.new" && mv "$dir/.new" "$dir/$1"
}

# shellcheck disable=SC2064 # these names
hocket run --watch --no-color --trust --model sim "$dir" "What is there to eat?" >"$out" 2>&1 &
trap "kill $!; rm -f '$out'" EXIT

until_it_says "(plainly) There is soup."
save agents/cook.md 's/plainly/warmly/' "a prompt"
until_it_says "(warmly) There is soup."
save menu.lua 's/"soup"/"soup and bread"/' "a tool"
until_it_says "(warmly) There is soup and bread."
save agents/cook.md 's/^description:/descripton:/' "a mistake: the last good version stays"
until_it_says "descripton"
save agents/cook.md 's/^descripton:/description:/' "mended"
until_it_says "as before"
save pattern.lua 's/return reply/return hocket.run(team.waiter, reply.text)/' "a pattern: the waiter serves"
until_it_says "pattern.lua (generation"
save agents/cook.md 's/warmly/gruffly/' "a prompt, in the middle of a run, which ends with the version that it began with"
until_it_says "If you please: (warmly)"
until_it_says "If you please: (gruffly)"
