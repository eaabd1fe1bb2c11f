#!/bin/sh
# ./dev words: counts of long sentences, marks of a private voice and unknown terms; and whether text that is new has any.
#   words.sh [BASE]    what is new: lines that were added since BASE (the branch's fork from main, or on main the last commit)
#   words.sh last      what the last commit has added, unless it is a merge: what ./dev lint looks at
#   words.sh test      whether the check can fail
set -u
cd "$(dirname "$0")/../.." || exit 2
words=tests/words/words.lua
lua=$(command -v lua5.4) || { echo "skipped: needs lua5.4"; exit 77; }

files() {
    git ls-files 'README.md' 'CONTRIBUTING.md' 'docs/*.md' 'agents/README.md' 'examples/*.md' 'src/*.c' 'src/*.h' 'include/*.h' 'lua/*.lua' |
        grep -v '^docs/reference/lua/' | grep -v '^examples/.*/agents/'
}
added_since() {
    git diff -U1000000 --no-color "$1" -- README.md CONTRIBUTING.md 'docs/*.md' 'src/*.c' 'src/*.h' 'include/*.h' 'lua/*.lua' ':!docs/reference/lua/' | "$lua" "$words" added
}

# A diff with one of each kind is refused, and a plain one passes.
can_fail() {
    long="One two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen."
    for line in "$long" "What is lent is told." "The keeper writes it."; do
        printf '+++ b/docs/x.md\n@@ -0,0 +7 @@\n+%s\n' "$line" | "$lua" "$words" added | grep -q '^docs/x.md:7: ' || { echo "it passed: $line"; return 1; }
    done
    printf '+++ b/src/x.c\n@@ -0,0 +7,2 @@\n+/* It says\n+ * what is told. */\n' | "$lua" "$words" added >/dev/null && { echo "it passed in C"; return 1; }
    printf '+++ b/docs/x.md\n@@ -0,0 +7,3 @@\n+The writer stores each run.\n+```text\n+what is told\n' | "$lua" "$words" added || return 1
    printf '+++ b/docs/x.md\n@@ -7,3 +7,3 @@\n ```text\n-what was told\n+what is told\n ```\n' | "$lua" "$words" added || return 1
}

if [ "${1:-}" = test ]; then
    can_fail
    exit
fi
if [ "${1:-}" = last ]; then
    if git rev-parse -q --verify HEAD^2 >/dev/null || ! git rev-parse -q --verify HEAD~1 >/dev/null; then
        echo "a merge, or the only commit: nothing is judged"
        exit 0
    fi
    set -- HEAD~1
fi
base=${1:-$(git merge-base HEAD main 2>/dev/null)}
[ -n "$base" ] && [ "$(git rev-parse "$base")" != "$(git rev-parse HEAD)" ] || base=HEAD~1
# shellcheck disable=SC2046
"$lua" "$words" report $(files)
echo
if added_since "$base"; then
    echo "text that was added since $(git rev-parse --short "$base"): ok"
else
    echo "text that was added since $(git rev-parse --short "$base") has these: say it in plain words (CONTRIBUTING.md)"
    exit 1
fi
