# --watch: runs again when something changes, tells what is wrong and waits for it to be mended.
. "$(dirname "$0")/lib.sh"

agent() { printf -- '---\nname: main\n%s---\n%s\n' "$1" "$2" > team/main.md; }
said() { [ "$(grep -c "$1" err)" -ge "${2:-1}" ]; }

mkdir team
agent "" "You answer."
what="hocket run team Hello --watch"
"$HOCKET" run team Hello --watch >out 2>err </dev/null &
pid=$!
until_true said "waiting for changes"
has out "Hello"
agent "max_turnz: 3
" "You answer."
until_true said "not taken: team/main.md:3"
has err "max_turnz"
same "$(grep -c Hello out)" 1
agent "max_turns: 3
" "You answer well."
until_true said "changed: team/main.md (generation 2)"
until_true said "waiting for changes" 2
same "$(grep -c Hello out)" 2
kill -INT $pid
wait $pid
code=$?
expect 0

# What is broken from the start ends as it does without.
agent "max_turnz: 3
" "You answer."
run hocket run team Hello --watch
expect 3; has err "max_turnz"
finish
