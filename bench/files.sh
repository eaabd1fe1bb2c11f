#!/bin/sh
# What tools for files cost: searching a tree of 100,000 files against ripgrep and git grep, in CPU
# time, and reading a file against read(2).
#   files.sh HOCKET [FILES]
set -eu
hocket=$(realpath "$1") files=${2:-100000} scripts=$(realpath "$(dirname "$0")")/scripts
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
mkdir "$dir/tree" && cd "$dir/tree"
"$hocket" run "$scripts/tree.lua" "$files"
git -c init.defaultBranch=main init -q .

# cpu WORD COMMAND…: user and system seconds, the least of five runs
cpu() {
    word=$1
    shift
    for _ in 1 2 3 4 5; do
        sh -c '"$@" >/dev/null; times' sh "$@" | tail -1 |
            sed 's/[ms]/ /g' | awk '{ printf "%.2f\n", $1 * 60 + $2 + $3 * 60 + $4 }'
    done | sort -n | head -1 | sed "s/^/$word /;s/\$/ s of CPU/"
}

for pattern in needle_here 'needle_\w+\(void' '[a-z]+_here'; do
    echo "search for $pattern"
    cpu "  hocket  " "$hocket" run "$scripts/search.lua" "$pattern"
    ! command -v rg >/dev/null || cpu "  ripgrep " rg --hidden -n "$pattern"
    cpu "  git grep" git grep --untracked -nP "$pattern"
done
"$hocket" run "$scripts/read.lua" run
