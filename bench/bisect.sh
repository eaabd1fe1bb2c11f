#!/bin/sh
# Which commit made a path dearer: instructions of one unit at commits, as bench/instructions.lua counts them.
#
#   bench/bisect.sh ROW COMMIT…          a line for each commit, with its ratio to the first
#   bench/bisect.sh ROW GOOD..BAD        halves the range where the step is larger, down to one commit
#
# ROW as in the table of ./dev instructions: "tool turn", router, advisors … Each commit is built in build/base, a minute or two
# each. Needs a release of the tree, whose mock server answers: ./dev build.
set -eu
[ $# -ge 2 ] || {
    sed -n '2,/^set/s/^# \{0,1\}//p' "$0" | sed '$d'
    exit 2
}
here=$(cd "$(dirname "$0")" && pwd)
row=$1
shift
first=

name() { git -C "$here" log -1 --format='%h %s' "$1"; }

# Sets $count to the instructions at a commit, and prints its line.
count() {
    count=$(lua5.4 "$here/instructions.lua" --at "$1" --only "$row" | sed -n "s/^$row \([0-9]*\)$/\1/p")
    [ -n "$count" ] || {
        echo "bisect: nothing is measured of '$row' at $(name "$1")" >&2
        exit 1
    }
    [ -n "$first" ] || first=$count
    echo "$count $first $(name "$1")" | awk '{ n = $1; f = $2; $1 = $2 = ""; printf "%12d  %.3f %s\n", n, n / f, $0 }'
}

case $1 in
*..*)
    good=${1%%..*} bad=${1##*..}
    count "$good" && low=$count
    count "$bad" && high=$count
    while :; do
        commits=$(git -C "$here" rev-list --first-parent --reverse "$good..$bad")
        n=$(echo "$commits" | wc -l)
        [ "$n" -gt 1 ] || break
        middle=$(echo "$commits" | sed -n "$((n / 2))p")
        count "$middle"
        if [ $((count - low)) -gt $((high - count)) ]; then bad=$middle high=$count; else good=$middle low=$count; fi
    done
    echo "the largest step: $(name "$bad")"
    ;;
*) for commit in "$@"; do count "$commit"; done ;;
esac
