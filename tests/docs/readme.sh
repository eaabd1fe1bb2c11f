#!/bin/sh
# The README: its length, its table beside others, and each command that it names in our column of that table.
#   readme.sh HOCKET SOURCE_DIR
set -u
readme=$2/README.md
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/bin" "$work/home"
ln -s "$1" "$work/bin/hocket"
failed=0
fail() {
    echo "README.md: $*" >&2
    failed=1
}

for command in './dev demo' './dev test'; do
    grep -q "^$command" "$readme" || fail "the command '$command' is missing"
done
[ "$(wc -l <"$readme")" -le 170 ] || fail "more than 170 lines"
rows=$(sed -n '/^## Beside others/,/^## Where/p' "$readme" | grep '^| ' | grep -v '^| | ')
[ "$(echo "$rows" | wc -l)" -eq 10 ] || fail "ten rows beside others expected"
[ "$(echo "$rows" | grep -c 'we lose')" -ge 2 ] || fail "two rows in which others are better expected"
echo "$rows" | grep -v '^|[^|]*|[^|]*`' && fail "a cell of ours without a command"
# A cell of theirs has a source, or says that nothing was found.
echo "$rows" | awk -F'|' '{ for (i = 4; i <= 7; i++) if ($i !~ /<sup>[gcdl]<\/sup>/ && $i !~ /^ — $/) { print $i; bad = 1 } } END { exit bad }' ||
    fail "a cell of theirs without a source"

cd "$2" || exit 1
echo "$rows" | cut -d'|' -f3 | grep -o '`hocket [^`]*`' | tr -d '`' | grep -v ' ID$' >"$work/commands"
[ -s "$work/commands" ] || fail "no command in our column"
while read -r command; do
    env -i HOME="$work/home" PATH="$work/bin:/usr/bin:/bin" TERM=xterm ${ASAN_OPTIONS:+"ASAN_OPTIONS=$ASAN_OPTIONS"} \
        timeout 60 sh -c "$command" </dev/null >"$work/out" 2>&1 || fail "'$command' failed: $(tail -n 3 "$work/out")"
done <"$work/commands"

# The picture is made by the script that it names.
env -i HOME="$work/home" PATH="$work/bin:/usr/bin:/bin" ${ASAN_OPTIONS:+"ASAN_OPTIONS=$ASAN_OPTIONS"} timeout 100 sh -ec "
    hocket run -q --store off --model sim --events $work/run.jsonl examples/travel/travel.lua 'Two days in Lisbon'
    hocket run -q --store off docs/tools/picture.lua $work/run.jsonl >$work/picture.svg" >"$work/out" 2>&1 || fail "no picture: $(cat "$work/out")"
for text in 'sightseeing' 'the shared document' 'Day 2, evening' '</svg>'; do
    for file in "$work/picture.svg" docs/terminal.svg; do
        grep -qF "$text" "$file" || fail "$file lacks '$text'"
    done
done
exit $failed
