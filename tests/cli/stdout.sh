# A stdout that fails: a clear message, exit code 1, and all events kept.
. "$(dirname "$0")/lib.sh"
team t
kept() { tail -n 1 ev | grep -q '"type":"workflow_finished"' || fail "the events are not complete"; }

rm -f ev
what="run >/dev/full"; hocket run -q --events ev t hello >/dev/full 2>err; code=$?
expect 1; has err "cannot write to stdout: No space left on device"; kept
rm -f ev
what="run >&-"; hocket run -q --events ev t hello >&- 2>err; code=$?
expect 1; has err "cannot write to stdout: Bad file descriptor"; kept
rm -f ev
# A pipe that nobody reads any more, from the first byte on.
unread() { rm -f pipe; mkfifo pipe; exec 3<>pipe 4>pipe 3<&-; "$@" >&4 2>err; code=$?; exec 4>&-; }
what="run | true"; unread hocket run -q --events ev t hello
expect 1; has err "cannot write to stdout: Broken pipe"; kept
echo 'for i = 1, 10000 do print(i < 4 and i or ("%d%50s"):format(i, "")) end return "end"' >prints.lua # more than a pipe holds
rm -f ev
what="run | head"; { hocket run -q --events ev prints.lua 2>err; echo $? >code; } | head -n 3 >out; code=$(cat code)
expect 1; same "$(cat out)" "1
2
3"; kept
what="run --json >/dev/full"; hocket run -q --json t hello >/dev/full 2>err; code=$?
expect 1
# What takes no byte and gives no error, as the memory of a program that is gone, is no reason to try for ever.
what="a file that takes nothing"; timeout -k 1 60 sh -c 'exec "$HOCKET" help --json >/proc/self/mem' 2>err; code=$?; expect 1; has err "cannot write to stdout"
timeout -k 1 60 sh -c 'exec "$HOCKET" run -q t hello 2>/proc/self/mem' >out; code=$?; expect 0
timeout -k 1 60 sh -c 'exec "$HOCKET" run -q --events /dev/fd/3 t hello 3>/proc/self/mem' 2>err >out; code=$?; expect 0; has err "events were not written"
what="--help >/dev/full"; hocket --help >/dev/full 2>err; code=$?
expect 1
rm -f ev
what="run 2>&-"; hocket run --events ev t hello >out 2>&-; code=$?
expect 0; has out "##"; kept
what="run 0<&-"; hocket run -q t - <&- >out 2>err; code=$?
expect 2; has err "stdin"

# Whoever reads a list may stop: nothing is said of it, as of any other program.
for n in 1 2 3; do run hocket run -q --store "$PWD/runs.db" prints.lua; done; chmod 700 .
what="show | true"; unread hocket show --store "$PWD/runs.db" "$(hocket runs --store "$PWD/runs.db" | head -n 1 | cut -d' ' -f1)"
expect 141; empty err
what="--help | true"; unread hocket --help; expect 141; empty err

# In order, and nothing but the answer.
echo 'print("one", 1) print("two") return "three"' >order.lua
run hocket run order.lua
expect 0; same "$(cat out)" "one	1
two
three"
finish
