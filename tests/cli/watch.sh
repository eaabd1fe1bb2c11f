# --watch: runs again when something changes, tells what is wrong and waits for it to be mended.
. "$(dirname "$0")/lib.sh"

agent() { printf -- '---\nname: main\n%s---\n%s\n' "$1" "$2" > team/main.md; }
said() { [ -f err ] && [ "$(grep -c "$1" err)" -ge "${2:-1}" ]; }

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
agent "" "You answer."
until_true said "as before (generation 1)"
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

# What a run writes beside its agents does not make it run for ever, nor where that is noticed late.
agent "" "You answer."
cp team/main.md poet.md
mkdir notes # so many that a run is done before they are all looked at: it begins when they were
seq 8000 | split -l 1 -a 4 --additional-suffix=.txt - notes/
rm err # what the last one has said
"$HOCKET" run poet.md Hello --watch >log.txt 2>err </dev/null &
pid=$!
runs() { [ "$(grep -c Hello log.txt)" -ge "$1" ] || said "not run again"; }
for n in 1 2 3; do # each run is waited for, however long it takes; the stop after it only has to be a long one
  until_true runs $n
  kill -STOP $pid; sleep 1.2; kill -CONT $pid
done
until_true said "not run again: each run changes ./log.txt itself"
[ "$(grep -c Hello log.txt)" -le 4 ] || fail "it ran $(grep -c Hello log.txt) times"
sleep 1.1
echo "You answer at length." >> poet.md
until_true said "changed: ./poet.md"
kill -INT $pid
wait $pid
rm -r notes

# A directory that goes and comes back.
rm err
"$HOCKET" run team Hello --watch >out 2>err </dev/null &
pid=$!
until_true said "waiting for changes"
rm -r team
until_true said "not taken"
touch unrelated.txt; sleep 0.2
same "$(grep -c "not taken" err)" 1
mkdir team
agent "" "You answer again."
until_true said "changed: team/main.md"
kill -INT $pid
wait $pid

# What is broken from the start ends as it does without.
agent "max_turnz: 3
" "You answer."
run hocket run team Hello --watch
expect 3; has err "max_turnz"
finish
