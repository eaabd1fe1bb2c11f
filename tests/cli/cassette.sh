# --record and --replay: the example without its model, differences, and files that cannot be.
. "$(dirname "$0")/lib.sh"
cp -r "$ROOT/examples/travel" travel

run hocket run travel/travel.lua -q --record trip.jsonl --events first.jsonl "Three days in Lisbon"
expect 0; cp out answer
[ "$(stat -c %a trip.jsonl)" = 600 ] || fail "others can read the recording"
echo precious >precious && ln -s precious link.jsonl
run hocket run travel/travel.lua -q --record link.jsonl "Three days in Lisbon"
has err "cannot write link.jsonl: it is a symbolic link"; same "$(cat precious)" precious
: >loose.jsonl && chmod 666 loose.jsonl
run hocket run travel/travel.lua -q --record loose.jsonl "Three days in Lisbon"
expect 0; same "$(stat -c %a loose.jsonl)" 600
rm travel/sim.lua # whoever asked the model now would get other answers

run hocket run travel/travel.lua -q --replay trip.jsonl --events second.jsonl "Three days in Lisbon"
expect 0
cmp out answer || fail "another answer"
# Each agent does the same in the same order. Whether one agent's own work was done before another's
# reply came in was a matter of microseconds when it was recorded, and is when it is replayed.
for file in first second; do
  sed -E 's/"time":"[^"]*"//g; s/"at":[0-9]*//g; s/"run":"[^"]*",//; s/"seq":[0-9]+,//' $file.jsonl |
    awk '{ op = match($0, /"op":"[^"]*"/) ? substr($0, RSTART, RLENGTH) : ""; print op "\t" $0 }' |
    sort -s -t "$(printf '\t')" -k 1,1 >$file
done
diff first second >differences || { cut -c1-300 differences; fail "other events"; }

# without a key, and with the network forbidden
HOCKET_OFFLINE=1 run hocket run travel/travel.lua -q --replay trip.jsonl "Three days in Lisbon"
expect 0; cmp out answer || fail "another answer"
mkdir elsewhere
run hocket run travel/travel.lua -q -C elsewhere --replay trip.jsonl "Three days in Lisbon"
expect 0

run hocket run travel/travel.lua -q --replay trip.jsonl "Three days in Porto"
expect 1; empty out
has err 'error: a request that was not recorded in trip.jsonl: the nearest is request 1, where messages[1].content was "Three days in Lisbon" and is now "Three days in Porto"'
echo "Mind the weather." >>travel/agents/facilitator.md
run hocket run travel/travel.lua -q --replay trip.jsonl "Three days in Lisbon"
expect 1; has err "messages[0].content was"

# killed while it records
cp -r "$ROOT/examples/travel/." travel
"$HOCKET" run travel/travel.lua -q --record killed.jsonl "Three days in Lisbon" >/dev/null 2>&1 &
pid=$!
lines() { grep -c "^{\"$1\"" killed.jsonl 2>/dev/null; }
in_a_call() { # stopped while it looks, since the next moment may be between two calls
  kill -STOP $pid
  [ "$(lines answer)" -ge 2 ] && [ "$(lines request)" -gt "$(lines answer)" ] && return
  kill -CONT $pid
  return 1
}
until_true in_a_call
kill -9 $pid; wait $pid 2>/dev/null
run hocket run travel/travel.lua -q --replay killed.jsonl "Three days in Lisbon"
expect 1; has err "broken off"

# cancelled while it records: what was under way is in it
"$HOCKET" run travel/travel.lua -q --record stopped.jsonl "Three days in Lisbon" >/dev/null 2>&1 &
pid=$!
under_way() { grep -q '"request":3' stopped.jsonl 2>/dev/null; }
until_true under_way
kill -INT $pid; wait $pid
has stopped.jsonl '{"cancelled":'

team t
# A disk that becomes full ends the recording and not the run, and is told of once.
full="the recording is not complete"
# shellcheck disable=SC3045 # dash and bash have it
run sh -c 'ulimit -f 16; "$0" run -q t --record full.jsonl hello' "$HOCKET"
expect 0; has out "## "
has err "warning: $full, "; has err " of 15 exchanges are missing in it: cannot write full.jsonl: File too large"
same "$(grep -c full.jsonl err)" 1
sh -c 'ulimit -f 16; "$0" run t --record full.jsonl --events - hello' "$HOCKET" 2>err | cat >ev
same "$(grep -c full.jsonl err)" 1; has err "warning: $full, "
same "$(grep -c '"recording":"full.jsonl"' ev)" 1; same "$(tail -n 1 ev | grep -c workflow_finished)" 1
sh -c 'ulimit -f 0; "$0" run -q t --record none.jsonl hello 2>&1' "$HOCKET" | cat >err
same "$(cat err)" "error: cannot write none.jsonl: File too large"

# … also when the run is cancelled behind it
team slow 0.5
sh -c 'ulimit -f 8; exec "$0" run -q slow --record cut.jsonl hello' "$HOCKET" >/dev/null 2>err &
pid=$!
is_full() { [ -f cut.jsonl ] && [ "$(stat -c %s cut.jsonl)" -ge 4096 ]; }
until_true is_full
kill -INT $pid; wait $pid
has err "warning: $full, "; has err interrupted

run hocket run -q t hello --record x.jsonl --replay y.jsonl
expect 2; has err "either recorded or replayed"
run hocket run -q t hello --record nowhere/x.jsonl
expect 1; has err "error: cannot write nowhere/x.jsonl: No such file or directory"; empty out
run hocket run -q t hello --replay nowhere.jsonl
expect 1; has err "error: cannot read nowhere.jsonl: No such file or directory"
run hocket run -q t hello --replay t/agents/one.md
expect 1; has err "t/agents/one.md:1: "

# HOCKET_OFFLINE refuses every real call, and only these
HOCKET_OFFLINE=1 OPENAI_API_KEY=sk-0123456789 run hocket run -q t hello --model openai/gpt-6.1-terra
expect 4; has err "error: lead: openai/gpt-6.1-terra: HOCKET_OFFLINE is set: no call is made to https://api.openai.com/v1"; hasnt err 0123456789
HOCKET_OFFLINE=1 run hocket run -q t hello --model sim
expect 0
finish
