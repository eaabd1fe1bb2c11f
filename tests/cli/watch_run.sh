# `hocket watch`: a run of the store, followed from another process: what it has done, what it does, what it waits for.
. "$(dirname "$0")/lib.sh"
export HOCKET_STORE="$WORK/kept/runs.db"
cp "$ROOT/tests/host/kept/scripts/sim.lua" .
newest() { "$HOCKET" runs --json -n 1 | grep -oE '01[0-9A-Z]{24}' | head -n 1; }
said() { [ -f "$1" ] && [ "$(grep -cF -e "$2" "$1")" -ge "${3:-1}" ]; }
until_true() { # a slow machine takes its time
  for _ in $(seq 1000); do
    if "$@"; then return 0; fi
    sleep 0.1
  done
  fail "never true: $*"
}

# ---- Nothing to look at, mistakes ---------------------------------------------------------------------
run hocket watch 01KANC; expect 1; empty out; has err "no runs are kept yet"
[ ! -e kept ] || fail "looking made something"
run hocket watch --help; expect 0; has out "usage: hocket watch"; has out "exit codes"
run hocket watch; expect 2; run hocket watch a b; expect 2
run hocket watch a --from 0; expect 2; has err "from 1"
run hocket watch "$(printf '\377')"; expect 2; has err "UTF-8"

# ---- Runs that are over: what they did, and their exit codes ---------------------------------------------
A=01KANC3V0QZJ9E4W2X6T8B5M7A F=01KAPC3V0QZJ9E4W2X6T8B5M7F C=01KAQC3V0QZJ9E4W2X6T8B5M7C P=01KARC3V0QZJ9E4W2X6T8B5M7P
X=01KASC3V0QZJ9E4W2X6T8B5M7X N=01KATC3V0QZJ9E4W2X6T8B5M7N E=01KAVC3V0QZJ9E4W2X6T8B5M7E esc=$(printf '\033')
at() { printf '"time":"2026-11-21T09:00:0%s.000Z"' "$1"; }
cat >fill <<Y
run $A done team/agents
input Three days in Lisbon
put
event {"seq":1,$(at 0),"type":"workflow_started","message":"Three days in Lisbon"}
event {"seq":2,$(at 0),"agent":"lead","type":"tasks_created","board":1,"tasks":[{"id":1,"text":"Where to eat","assigned_to":"food"}]}
event {"seq":3,$(at 1),"op":"o2","agent":"food","type":"agent_started","caller":"o1","task_ids":[1],"board":1}
event {"seq":4,$(at 2),"op":"o2","agent":"food","type":"model_reply","model":"m","calls":0,"usage":{"input":1200,"output":10}}
event {"seq":5,$(at 2),"type":"question_asked","id":"q1","kind":"clarification","questions":["Which one?"],"agent":"food"}
event {"seq":6,$(at 3),"type":"question_answered","id":"q1","text":"The second"}
event {"seq":7,$(at 5),"op":"o2","agent":"food","type":"agent_finished"}
event {"seq":8,$(at 5),"type":"output","text":"a line of the script"}
event {"seq":9,$(at 6),"type":"final_answer","content":"# Lisbon"}
event {"seq":10,$(at 6),"type":"workflow_finished"}
release
run $F failed f.md
put
event {"seq":1,$(at 0),"type":"error","code":"budget","message":"all is used up"}
release
run $C cancelled c.md
put
event {"seq":1,$(at 0),"type":"error","code":"cancelled","message":"cancelled"}
release
run $P parked p.md
waiting [{"id":"a1","kind":"approval","agent":"coder","tool":"write_file","arguments":"{\"path\":\"x\"}"}]
put
event {"seq":1,$(at 0),"type":"approval_requested","id":"a1","agent":"coder","tool":"write_file","arguments":"{\"path\":\"x\"}"}
release
run $N failed n.md
put
event {"seq":1,$(at 0),"type":"error","code":"of a later version","message":"\u001b[2Jno"}
release
run $E done ${esc}[2Jtarget
input a${esc}]0;title
put
event {"type":"agent_started","op":"o1","agent":"\u001b[31mred","caller":"o0"}
event {"type":"output","text":"\u001b[31mred \u202eback"}
event {"type":"output",
event {"type":7,"time":"2026-13-45T99:99:99Z"}
event []
event {"type":"question_asked","id":"q1","agent":"\u001b[1m","questions":[1,"\u001b[2J"]}
event {"type":"question_asked","id":"q1234567890123456789012345678901234567890","questions":7}
event {"type":"question_answered","id":"q1","text":"\u001b[5m"}
event {"type":"server_tools_used","agent":"b","tools":[{"name":"\u001b[7m"}],"sources":[{"url":"\u001b[8m"}]}
event {"type":"file_made","agent":"\u009b31m","path":"\u001b]52;c;AAAA\u0007","mime":"\u001b[1m"}
event {"type":"tools_changed","added":["\u001b[3m"]}
event {"type":"handoff","from":"\u001b[4m","to":"\u001b[5m"}
event {"type":"turn_finished","ok":false,"error":{"message":"\u001b[6m"}}
event {"type":"input_received","text":"\u001b[9m"}
event {"type":"final_answer","content":"\u001b[5mfin\u009b31m"}
release
run $X running x.md
put
event {"seq":1,$(at 0),"type":"output","text":"hello"}
crash
Y
what=fill; "$FILL" "$HOCKET_STORE" <fill || fail "no store to look at"
run hocket watch 01kanc; expect 0; same "$(cat out)" "a line of the script
# Lisbon"
has err "$A  done  team/agents  Three days in Lisbon"; has err "09:00:00 lead planned 1 task: food 1"; has err "09:00:05 food finished 1 task in 4.0 s"
has err "09:00:03 food q1: Which one?"; has err "09:00:03 food q1 was answered: The second"; has err "1 agent, 1 model call, 1.2k tokens in, 10 out, 6.0 s"
run hocket watch $A --from 8; expect 0; hasnt err "planned"; hasnt err "q1"; has out "a line of the script"; has err "1.2k tokens in"
run hocket watch $A --from 9; hasnt out "a line"; has out "# Lisbon"
run hocket watch $A -q; expect 0; empty err; has out "# Lisbon"
run hocket watch $A --json; expect 0; empty err; same "$(wc -l <out)" 10; same "$(tail -n 1 out)" "{\"seq\":10,$(at 6),\"type\":\"workflow_finished\"}"
run hocket watch $A --json --from 9; same "$(wc -l <out)" 2
run hocket watch $F; expect 5; has err "error: all is used up"
run hocket watch $F --json; expect 5
run hocket watch $C; expect 130; has err "cancelled"
run hocket watch $P --no-wait; expect 75; has err "a1  coder wants to call write_file"; has err "hocket answer $P a1 --allow"; has err "hocket answer $P a1 --deny"; has err "hocket resume $P"
run hocket watch $P --no-wait --store "$HOCKET_STORE"; has err "hocket answer $P --store $HOCKET_STORE a1 --allow"
run hocket watch $P --no-wait -q; expect 75; has err "hocket answer $P a1"
run hocket watch $P --no-wait --json; expect 75; empty err
run hocket watch $X --no-wait; expect 1; has out "hello"; has err "was cut off"; has err "hocket resume $X"
run hocket watch ZZ; expect 1; has err "there is no run ZZ"
run hocket watch 01KA; expect 2; has err "may be"
run hocket watch $A --store no.db; expect 1; has err "no runs are kept yet"
[ ! -e no.db ] || fail "looking made a store"
clean() { if LC_ALL=C grep -q "$esc\|$(printf '\302\233')\|$(printf '\007')" "$1"; then fail "an escape came through ($1)"; fi; }
run hocket watch $E; expect 0; clean err; has err "^[[31mred"; has err "3 records cannot be read"
run hocket watch $E -v; expect 0; clean err
run hocket watch $E --json; expect 0; same "$(wc -l <out)" 12
run hocket watch $N; expect 1; clean err; has err "^[[2Jno"

# ---- A run that goes on: the same lines as its own event file, by two at once ------------------------------
cat >work.lua <<'Y'
local hocket = require "hocket"
print "begun"
local a = hocket.ask { "Which city?" }
local clerk = hocket.agent { name = "clerk", prompt = "You answer." }
return hocket.run(clerk, "say go to " .. a).text
Y
run hocket run work.lua hello; expect 75; ID=$(newest)
"$HOCKET" watch $ID >w1 2>e1 </dev/null & w1=$!
"$HOCKET" watch $ID --json >w2 2>e2 </dev/null & w2=$!
"$HOCKET" watch $ID >w3 2>e3 </dev/null & w3=$!
until_true said e1 "hocket answer $ID q1 TEXT"; until_true said e1 "hocket resume $ID"
until_true said e3 "hocket resume $ID"; until_true said w2 question_asked
what="^C leaves the run alone"
kill -INT $w3; wait $w3; code=$?; expect 130
run hocket answer $ID q1 Lisbon; expect 0
run "$HOCKET" resume -q $ID; expect 0; has out "go to Lisbon"
what="watch"; wait $w1; code=$?; expect 0; wait $w2; code=$?; expect 0
same "$(cat w1)" "begun
go to Lisbon"
said e1 "q1 was answered: Lisbon" || fail "who answered was not told: $(cat e1)"
empty e2
run hocket watch $ID --json; cmp -s out w2 || fail "followed, it is not what was kept"
run hocket run "$ROOT/examples/report/agents" --model sim --events events tea; expect 0
run hocket watch "$(newest)" --json; expect 0; cmp -s out events || fail "not the lines of the event file"

# ---- Killed, and resumed by another process while it is watched ----------------------------------------------
cat >long.lua <<'Y'
local hocket = require "hocket"
print "first"
hocket.step("wait", function()
  while not io.open((...)) do hocket.flow.sleep(0.05) end
end)
print "second"
return "over"
Y
sed -i "s|(\.\.\.)|'$WORK/go'|" long.lua
"$HOCKET" run long.lua >o1 2>r1 </dev/null & r=$!
until_true said o1 first; ID=$(newest)
"$HOCKET" watch $ID >w1 2>e1 </dev/null & w1=$!
until_true said w1 first; until_true said e1 "running"
kill -KILL $r; wait $r 2>/dev/null
until_true said e1 "was cut off"
touch go
run "$HOCKET" resume -q $ID; expect 0
what="watch"; wait $w1; code=$?; expect 0
same "$(cat w1)" "first
second
over"

# ---- Removed while it is watched; a reader that goes away ------------------------------------------------------
"$HOCKET" watch $P >w1 2>e1 </dev/null & w1=$!
until_true said e1 "hocket resume $P"
run hocket rm $P; expect 0
what="watch"; wait $w1; code=$?; expect 1; has e1 "there is no run $P"
what="a stdout that is full"; hocket watch $A --json >/dev/full 2>err </dev/null; code=$?; expect 1; has err "No space left"

need_pty
what="a terminal"; "$PTY" -- "$HOCKET" watch $E >out 2>err </dev/null
if LC_ALL=C tr -d '\r' <out | sed "s/$esc\[[0-9;?]*[mKAhl]//g" | grep -q "$esc"; then fail "an escape came through"; fi
what="a terminal, ^C"; run hocket run work.lua hello; ID=$(newest)
"$PTY" -w "next: hocket resume" key:3 -- "$HOCKET" watch $ID >out 2>err </dev/null; code=$?; expect 130
has out "hocket answer $ID"; run hocket runs -n 1; has out parked
finish
