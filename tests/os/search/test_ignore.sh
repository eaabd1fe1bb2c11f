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

# What a search below FOLDER gives.
cat > names.lua <<'TEXT'
local text = assert(require("hocket.internal.core.files").root(...)):search { path = ".", max_results = 1000 }
return (text:gsub("\n", " "))
TEXT
names() {
    got=$("$hocket" run names.lua "$1")
    [ "$got" = "$2" ] || { echo "in $1: '$got' instead of '$2'" >&2; exit 1; }
}

# A worktree has the repository's info/exclude; its .git is a file.
git -c init.defaultBranch=main init -q repo
(cd repo && mkdir sub && touch a.o sub/b.o sub/c && git add -f . && git -c user.name=a -c user.email=a@b commit -qm all)
git -C repo worktree add -q ../copy 2>/dev/null
echo '*.o' > repo/.git/info/exclude
names copy/sub "c "
git -C copy check-ignore -q --no-index sub/b.o

# What a person's own list says does not count.
mkdir -p own/git .config/git && echo c | tee own/git/ignore > .config/git/ignore
XDG_CONFIG_HOME="$dir/own" git -C copy check-ignore -q --no-index sub/c
XDG_CONFIG_HOME="$dir/own" names copy/sub "c "
(unset XDG_CONFIG_HOME && git -C copy check-ignore -q --no-index sub/c && names copy/sub "c ")
git -C repo config core.excludesFile "$dir/own/git/ignore"
git -C copy check-ignore -q --no-index sub/c
names copy/sub "c "
git -C repo config --unset core.excludesFile

# A repository in a repository ends the way up, and so does one that is somebody else's or none.
mkdir -p repo/inner/deep && echo '*' > repo/.gitignore && touch repo/inner/deep/x
names repo/inner/deep ""
git -c init.defaultBranch=main init -q repo/inner
names repo/inner/deep "x "
rm -rf repo/inner/.git && mkdir repo/inner/.git
names repo/inner/deep ""
if [ "$(id -u)" -eq 0 ]; then
    chown 12345 repo/.git
    names repo/inner/deep "x "
fi
