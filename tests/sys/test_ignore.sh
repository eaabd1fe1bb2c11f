#!/bin/sh
# .gitignore as git reads it: what `git check-ignore` says of every path of trees with difficult
# patterns, and of random ones, is what search_files leaves out.
#   test_ignore.sh HOCKET SCRIPT
set -eu
command -v git >/dev/null || exit 77
hocket=$1 script=$2
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
export HOME="$dir" GIT_CONFIG_NOSYSTEM=1 XDG_CONFIG_HOME="$dir/none"
git -c init.defaultBranch=main init -q tree
"$hocket" run "$script" "$dir/tree"
