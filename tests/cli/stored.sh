# Runs that are kept: listed, shown, answered, forked, moved, removed.
. "$(dirname "$0")/lib.sh"
unset HOCKET_STORE XDG_STATE_HOME
export HOME="$WORK/home"
mkdir home

A=01KANC3V0QZJ9E4W2X6T8B5M7A B=01KANC3V0QZJ9E4W2X6T8B5M7B C=01KAPC3V0QZJ9E4W2X6T8B5M7C D=01KAQC3V0QZJ9E4W2X6T8B5M7D
at() { printf '"time":"2026-11-21T09:00:0%s.%sZ"' "${1%.*}" "${1#*.}"; }

# ---- Nothing is kept yet: nothing is made by looking ----------------------------------------------------
run hocket runs; expect 0; empty out; has err "no runs are kept yet in $HOME/.local/state/hocket/runs.db"
run hocket runs --json; expect 0; same "$(cat out)" '{"runs":[],"more":false}'
for command in "show $A" "rm $A" "export $A x.run" "answer $A" "signal $A paid" "fork $A"; do
  run hocket $command; expect 1; empty out; has err "no runs are kept yet"
done
run hocket runs --store off; has err "no runs are kept: the store is off"
run hocket doctor; expect 0; has out "runs are kept in: $HOME/.local/state/hocket/runs.db"
HOCKET_STORE=off run hocket doctor --json; expect 0; has out '"store":null'
run hocket import no-such.run; expect 1; has err "cannot read no-such.run"
[ ! -e home/.local ] || fail "looking made something"
[ ! -e x.run ] || fail "a file was made of nothing"

# ---- Mistakes in usage ----------------------------------------------------------------------------------
for command in runs show answer signal fork rm export import; do
  run hocket $command --help; expect 0; has out "usage: hocket $command"; has out "examples:"; has out "--store FILE"
  run hocket $command --stor x; expect 2; has err "did you mean '--store'?"
done
run hocket runs 01; expect 2; has err "hocket show 01"
run hocket runs --limit -1; expect 2
run hocket show; expect 2; run hocket show a b; expect 2
run hocket replay ""; expect 2; has err "which run"
run hocket show $A --at 0; expect 2; has err "from 1"
run hocket show "$(printf '\377')"; expect 2; has err "UTF-8"
run hocket rm; expect 2
run hocket export $A; expect 2
run hocket import; expect 2
run hocket answer; expect 2
run hocket answer $A q1; expect 2; has err "what is the answer"
run hocket answer $A --allow; expect 2; has err "which question"
run hocket answer $A q1 --allow --deny; expect 2; has err "one of"
run hocket answer $A q1 --allow really; expect 2
run hocket signal $A; expect 2
run hocket fork; expect 2
run hocket fork $A --at x; expect 2

# ---- Some runs --------------------------------------------------------------------------------------------
export HOCKET_STORE="$WORK/kept/runs.db"
cat >fill <<X
run $A done team/agents
input Three days in Lisbon
usage 12300000 330
put
entry 0 life 1795251600000
entry 0 tell a
entry 100 model b
entry 900 tool c
entry 900 model d
entry 4000 model e
event {"seq":1,$(at 0.000),"type":"workflow_started","message":"Three days in Lisbon"}
event {"seq":2,$(at 0.100),"op":"o1","agent":"lead","type":"facilitator_message","content":"I will plan this."}
event {"seq":3,$(at 0.100),"op":"o1","agent":"lead","type":"model_reply","model":"sim/x","calls":1,"seconds":0.1,"usage":{"input":200,"output":20,"cost":0.01}}
event {"seq":4,$(at 0.100),"agent":"lead","type":"tasks_created","board":1,"tasks":[{"id":1,"text":"Where to eat","assigned_to":"food"},{"id":2,"text":"Where to sleep","assigned_to":"food"}]}
event {"seq":5,$(at 0.900),"op":"o2","agent":"food","type":"agent_started","caller":"o1","trigger":"dispatch","message":"Please work on task 1.","task_ids":[1],"board":1}
event {"seq":6,$(at 0.900),"agent":"food","type":"task_updated","board":1,"id":1,"status":"running"}
event {"seq":7,$(at 0.900),"op":"o2","agent":"food","type":"tool_call","tool":"write_section","arguments":"{\"day\":1}","result":"written (version 1)","phase":"complete"}
event {"seq":8,$(at 0.900),"op":"o2","agent":"food","type":"document_updated","document":1,"version":1,"author":"food","content":"Grilled sardines.","change_description":"added to Day 1 — Noon","change":"append","slot":{"day":1,"part":"noon"}}
event {"seq":9,$(at 4.000),"op":"o1","agent":"lead","type":"document_updated","document":1,"version":2,"author":"lead","content":"Sardines at noon.","change_description":"merged 1 entry into Day 1 — Noon","change":"consolidate","base_version":1,"slot":{"day":1,"part":"noon"}}
event {"seq":10,$(at 4.000),"op":"o2","agent":"food","type":"model_reply","model":"other/y","calls":0,"seconds":0.1,"usage":{"input":100,"output":10}}
event {"seq":11,$(at 4.000),"agent":"food","type":"task_updated","board":1,"id":1,"status":"done"}
event {"seq":12,$(at 4.000),"agent":"food","type":"task_updated","board":1,"id":2,"status":"failed","error":"no bed anywhere"}
event {"seq":13,$(at 4.000),"op":"o2","agent":"food","type":"agent_finished"}
event {"seq":14,$(at 4.000),"op":"o2","agent":"food","type":"task_failed","error":"the answer ended in the middle"}
event {"seq":15,$(at 4.000),"type":"final_answer","content":"# Lisbon\nEat sardines."}
event {"seq":16,$(at 4.000),"type":"workflow_finished"}
release
run $B parked desk.md
input Pay the bill
waiting [{"id":"q1","kind":"question","agent":"desk","questions":["Which year?"]},{"id":"a2","kind":"approval","agent":"shell","tool":"execute_command","arguments":"{}"},{"id":"a3","kind":"approval","tool":"t","always":"x"},{"id":"s4","kind":"signal","name":"paid"}]
put
event {"seq":1,$(at 0.000),"type":"workflow_started"}
event {"seq":2,$(at 0.000),"type":"question_asked","id":"q1","kind":"clarification","questions":["Which year?"],"agent":"desk"}
release
run $C running coder.md
put
event {"seq":1,$(at 0.000),"type":"workflow_started"}
event {"seq":2,$(at 0.000),"type":"approval_requested","id":"a5","agent":"coder","tool":"write_file","arguments":"{\"type\":\"question_asked\"}"}
event {"seq":3,$(at 0.000),"type":"question_asked","id":"q6","kind":"clarification","questions":["Now?"],"agent":"coder"}
event {"seq":4,$(at 0.000),"type":"question_asked","id":"q7","kind":"clarification","questions":["Which?"],"agent":"coder"}
event {"seq":5,$(at 0.000),"type":"question_answered","id":"q6","answer":"yes"}
event {"seq":6,$(at 0.000),"type":"signal_requested","id":"s1","name":"go"}
crash
X
what=fill; "$FILL" "$HOCKET_STORE" <fill || fail "no store to look at"

# ---- runs ---------------------------------------------------------------------------------------------------
run hocket runs; expect 0; empty err; same "$(cut -c1-26 out | tr '\n' ' ')" "$C $B $A "
has out "cut off"; has out "parked"; has out "0.0123  team/agents  Three days in Lisbon"
run hocket runs --state cut-off; same "$(cut -c1-26 out)" $C
run hocket runs -s parked -s done; same "$(wc -l <out)" 2; hasnt out $C
run hocket runs -s running; empty out; has err "there are none"
run hocket runs -s queued; empty out; has err "there are none"
run hocket runs -s asleep; expect 2; has err "there is no state 'asleep'"
run hocket runs -s parkd; has err "did you mean 'parked'?"
run hocket runs -n 1; same "$(cut -c1-26 out)" $C; has err "older ones"
run hocket runs --json; expect 0; has out '"state":"cut_off"'; has out '"cost":0.0123'; has out '"cost":null'
run hocket runs --json -n 1; has out '"more":true'

# ---- show ----------------------------------------------------------------------------------------------------
run hocket show $A; expect 0; empty err
has out "$A  done  team/agents"; has out "Three days in Lisbon"; has out "took 4.0 s"
has out "2 model calls, 1 tool call, 300 in, 30 out, ≥ 0.010000 USD"
has out "✗   food (dispatch)"; has out "board: 1 of 2 done"; has out "✓ 1  Where to eat"
has out "✗ 2  Where to sleep"; has out "no bed anywhere"; has out "document: version 2"; has out "Day 1 — Noon"
has out "Sardines at noon."; hasnt out "Grilled sardines."; has out "food, called by lead"
has out "write_section {\"day\":1}"; has out "written (version 1)"; has out "the answer ended in the middle"; has out "Eat sardines."
run hocket show 01kanc3v0qzj9e4w2x6t8b5m7a; expect 0; has out "$A  done"
run hocket show $A --at 8; expect 0; has out "as it stood at 8 of 16"; has out "board: 0 of 2 done"; has out "▸ 1  Where to eat"
has out "Grilled sardines."; has out "version 1"; hasnt out "Eat sardines."; has out "▸   food"; has out "so far 0.9 s"
run hocket show $A --at 16; expect 0; hasnt out "as it stood"
run hocket show $A --at 17; expect 2; has err "has 16 records: there is no record 17"
run hocket show $A --agent food; expect 0; has out "write_section"; hasnt out "I will plan this."
run hocket show $A --agent nobody; expect 1; has err "no agent 'nobody'"
run hocket show $A --json; expect 0; has out '"records":16'; has out '"cost_known":0.01'; has out '"cost":null'
run hocket show $B; has out "waits for"; has out "Which year?"; has out "hocket answer $B q1 TEXT"
run hocket show $C; has out "cut off"; has out "hocket resume $C"
run hocket show 01KANC; expect 2; has err "may be $A or $B"
run hocket show ZZ; expect 1; has err "there is no run ZZ (hocket runs lists them)"
run hocket show 'no id'; expect 2; has err "is no id of a run"

# ---- answer, signal ---------------------------------------------------------------------------------------------
run hocket answer $B; expect 0; has out "q1  desk asks:"; has out "a2  shell wants to call execute_command"; for words in "a2 --allow" "a2 --deny" "a3 --allow  # or --always"; do has out "hocket answer $B $words"; done; hasnt out "|"
same "$(sed -n '/^  a2 /,/^  a3 /p' out | sed '$d' | wc -l)" 4 # who is asked, for what, and how to answer
has out "hocket signal $B paid [VALUE]"
run hocket answer $B q9 text; expect 1; has err "does not ask 'q9': it waits for q1, a2, a3, s4"
run hocket answer $B a2 perhaps; expect 2; has err "answered with allow, deny"
run hocket answer $B a2 yes, but; expect 2
run hocket answer $B a2 --always; expect 2; has err "asked each time"
run hocket answer $B s4 text; expect 2; has err "hocket signal $B paid"
run hocket answer $B 'q 1' text; expect 2
long=$(printf '%0129d' 0); run hocket signal $B "$long" 1; expect 2; has err "1 to 128 bytes"
run hocket answer $B a2 --deny only the fast ones; expect 0; empty out; has err "hocket resume $B"
run hocket answer $B a2 --allow; expect 1; has err "'a2' was answered already, and run $B has not taken that yet: deny: only the fast ones"
run hocket answer $B a3 --edit '[]'; expect 2; has err "one JSON object"
run hocket answer $B a3 --edit '{"x":'; expect 2
run hocket answer $B a3 --edit '{}' too much; expect 2
run hocket answer $B a3 --always; expect 0
run hocket answer $B q1 the second one --store "$HOCKET_STORE"; expect 0; has err "hocket resume $B --store $HOCKET_STORE"
run hocket answer $B; has out "answered, and not taken yet: the second one"; has out "deny: only the fast ones"
run hocket answer $B --json; has out '"answered":"always"'
run hocket answer $A q1 text; expect 1; has err "has ended (done)"
run hocket answer $C; has out "a5  coder wants to call write_file"; has out "q7  coder asks:"; hasnt out "q6"
run hocket answer $C a5 perhaps; expect 2; has err "answered with allow, deny"
run hocket answer $C a5 --edit '{"path":"x"}'; expect 0; has err "hocket resume $C"
run hocket answer $C q1 text; expect 1; has err "does not ask 'q1': it waits for a5, q7, s1"
run hocket answer $C q6 text; expect 1; has err "'q6' was answered already"
run hocket answer $C s1 text; expect 2; has err "hocket signal $C go"
run hocket signal $B paid '{"amount":12.50}'; expect 0
run hocket signal $B paid not json; expect 2
run hocket signal $B paid 'not json'; expect 0
run hocket signal $B paid; expect 0
run hocket signal $A paid; expect 1; has err "has ended"
run hocket signal $B "$(printf 'a\033b')"; expect 2
what="two who answer at once"
for i in 1 2 3 4 5 6; do ( hocket answer $C q7 "answer $i" 2>/dev/null && echo "$i" >>answered ) & done; wait
same "$(wc -l <answered)" 1

# ---- export, import -----------------------------------------------------------------------------------------------
run hocket export $A a.run; expect 0; empty out; empty err
same "$(stat -c %a a.run)" 600
what="a pipe"; hocket export $A - >b.run 2>err; cmp -s a.run b.run || fail "stdout gets something else"
mkfifo a.pipe; cat a.pipe >piped.run & reader=$!
run hocket export --all a.pipe; expect 0 # it is written to, and nothing takes its place
[ -p a.pipe ] || { kill $reader; fail "a file is where the pipe was"; }
wait $reader; [ -s piped.run ] || fail "nothing came through the pipe"
run hocket export --all .; expect 1; has err "Is a directory"
run hocket export $A /no/such/dir/x; expect 1; has err "No such file"
run hocket export $A /dev/full; expect 1; has err "No space left"
run hocket import a.run; expect 1; has err "there is a run $A already: --new"
run hocket import a.run --new; expect 0; NEW=$(cat out); run hocket show "$NEW"; expect 0; has out "Eat sardines."
run hocket import a.run --store other.db; expect 0; same "$(cat out)" $A
same "$(stat -c %a other.db)" 600
run hocket show $A --store other.db; expect 0
head -c 300 a.run >cut.run; run hocket import cut.run --store third.db; expect 1; has err "no whole run"
printf 'hello' >cut.run; run hocket import cut.run --store third.db; expect 1
run hocket runs --store third.db; empty out
sed 's/sardines/Sardines/' a.run >changed.run; run hocket import changed.run --new; expect 1; has err "checksum"
[ -z "$(ls | grep 'run[.]')" ] || fail "pieces of files are left: $(ls)"

run hocket replay " "; expect 2; has err "named by its id"
# ---- fork ------------------------------------------------------------------------------------------------------------
run hocket fork $A --at 6; expect 0; FORK=$(cat out); has err "hocket resume $FORK"
run hocket show "$FORK"; expect 0; has out "of $A at record 8"; has out "as"; has out "forked"; has out "Grilled sardines."
hasnt out "cut off"; has out "It has only been forked. Next: hocket resume $FORK"
run hocket runs --state forked; same "$(cut -c1-26 out)" "$FORK"; run hocket runs --state cut-off; hasnt out "$FORK"
run hocket wait "$FORK"; expect 1; has err "has only been forked"; run hocket watch "$FORK" --no-wait; has err "hocket resume $FORK"
run hocket show "$FORK" --json; has out '"at_n":5'; has out '"at_seq":8'
run hocket fork $A --at 1 --input "Two days"; expect 2; has err "is no conversation"; has err "--latest"
run hocket fork $A --at 1 --latest; expect 2
run hocket fork $A --at 1 --model sim/y; expect 0
run hocket show "$(cat out)" --json; has out '"model":"sim/y"'; has out '"at_n":2'
run hocket fork $A --latest --input "Two days" --model sim/y; expect 0; FORK=$(cat out)
run hocket show "$FORK" --json; has out '"input":"Two days"'; has out '"model":"sim/y"'; has out '"at_n":0'
run hocket fork $A --at 17; expect 2; has err "there is no record 17"
run hocket fork $A; expect 0; run hocket show "$(cat out)" --json; has out '"at_n":6'; has out '"at_seq":16'

# The clock was set back by five seconds between two lives.
K=01KANC3V0QZJ9E4W2X6T8B5M7K
cat >fill <<X
run $K cancelled back.lua
put
entry 0 life 1795251600000
entry 0 tell a
entry 4000 model b
entry 4000 life 1795251595000
entry 4500 model c
entry 4900 model d
event {"seq":1,$(at 0.000),"type":"workflow_started"}
event {"seq":2,$(at 4.000),"type":"output","text":"one"}
event {"seq":3,"time":"2026-11-21T08:59:59.500Z","type":"output","text":"two"}
event {"seq":4,"time":"2026-11-21T08:59:59.900Z","type":"output","text":"three"}
release
X
what=fill; "$FILL" "$HOCKET_STORE" <fill || fail "no run whose clock went back"
for pair in 1:2 2:3 3:5 4:6; do
  run hocket fork $K --at ${pair%:*}; expect 0; BACK=$(cat out); run hocket show "$BACK" --json; has out "\"at_n\":${pair#*:}"
  run hocket rm "$BACK"
done
run hocket rm $K; expect 0

# ---- rm ---------------------------------------------------------------------------------------------------------------
run hocket rm "$NEW" ZZ; expect 1; has err "there is no run ZZ"; run hocket show "$NEW"; expect 0
run hocket rm "$NEW" $A; expect 0; empty out; empty err
run hocket show $A; expect 1
run hocket show "$FORK"; expect 0; has out "Two days" # what it reads of its parent stays

# ---- A run that somebody has -------------------------------------------------------------------------------------------
mkfifo lines; "$FILL" "$HOCKET_STORE" <lines >held & filler=$!
exec 3>lines
printf 'run %s running long.md\nput\nevent {"type":"output","text":"hello"}\nhold\n' $D >&3
until_true grep -q held held
run hocket runs -s running; expect 0; has out $D
run hocket show $D; has out "process $filler on"
run hocket rm $D; expect 1; has err "process $filler on"
run hocket signal $D go; expect 0; has err "its process reads it"
kill -9 $filler; wait $filler 2>/dev/null; exec 3>&-
run hocket runs -s cut-off; has out $D
run hocket rm $D; expect 0

# ---- What a model or a stranger wrote -----------------------------------------------------------------------------------
E=01KARC3V0QZJ9E4W2X6T8B5M7E esc=$(printf '\033') long=$(head -c 300000 /dev/zero | tr '\0' x)
deep=$(head -c 5000 /dev/zero | tr '\0' '[')
cat >fill <<X
run $E done ${esc}[2Jtarget
input a${esc}]0;title$(printf '\007')b
put
event {"type":"output","text":"\u001b[31mred \u202eback"}
event {"type":"output","text":"$long"}
event {"type":"output",
event ${esc}[2J
event $deep
event []
event {"type":7}
event {"seq":"x","op":{},"agent":[],"type":"agent_started","caller":7,"task_ids":7,"message":{},"board":{}}
event {"op":"o1","agent":"${esc}","type":"agent_started","caller":"o2","task_ids":[{},"a",1e400],"board":"b"}
event {"op":"o2","agent":"two","type":"agent_started","caller":"o1"}
event {"op":"o1","type":"model_reply","usage":[1],"calls":"many"}
event {"op":"o1","type":"model_reply","usage":{"input":1e300,"output":-5,"cost":"free"}}
event {"type":"tasks_created","board":1e9,"tasks":[7,{"id":"x"},{"id":9007199254740993,"text":{}}]}
event {"type":"tasks_created","tasks":"none"}
event {"type":"task_updated","board":1,"id":{},"status":[]}
event {"type":"document_updated","document":"x","slot":"y","version":"z","change":7}
event {"type":"document_updated","slot":{"a":{"b":[]}},"content":"\u0000x"}
event {"type":"question_asked","id":7}
event {"type":"question_asked","id":"\u001b[1m","questions":"q"}
event {"type":"question_asked","id":"q1","questions":[1,{},"\u001b"]}
event {"type":"agent_finished","op":"nobody"}
event {"type":"error","message":"\u001b]52;c;AAAA\u0007","code":{}}
event {"type":"\u001b[0m","time":"yesterday"}
event {"type":"final_answer","content":"\u001b[5mfin\u009b31m"}
release
X
what=fill; "$FILL" "$HOCKET_STORE" <fill || fail "no hostile run"
for option in "" "--json" "--at 9" "--agent two"; do
  run hocket show $E $option; expect 0; empty err
  if LC_ALL=C grep -q "$esc\|$(printf '\302\233')\|$(printf '\007')" out; then fail "an escape came through"; fi
done
run hocket show $E; has out "^[[31mred"; has out "of which 6 cannot be read"
run hocket runs; has out "^[[2Jtarget"
if LC_ALL=C grep -q "$esc" out; then fail "an escape came through"; fi
run hocket show $E --json; hasnt out "$esc"
need_pty
for columns in 40 80 200; do
  what="a terminal of $columns columns"
  stty_columns=$columns; "$PTY" -- sh -c "stty cols $columns; exec \"$HOCKET\" show $E" >out 2>err </dev/null || fail "it ended badly"
  if LC_ALL=C tr -d '\r' <out | sed "s/$esc\[[0-9;]*m//g" | grep -q "$esc"; then fail "an escape came through"; fi
done
run hocket rm $E; expect 0

# ---- What cannot be used ---------------------------------------------------------------------------------------------------
printf 'this is a text of somebody, and it is longer than the head of a database: %s' "$long" >text.db; chmod 600 text.db
run hocket runs --store text.db; expect 1; has err "no database"
cp text.db before; run hocket rm $B --store text.db; expect 1; cmp -s text.db before || fail "it was written to"
run hocket import a.run --store text.db; expect 1; cmp -s text.db before || fail "it was written to"
head -c 5000 "$HOCKET_STORE" >damaged.db; chmod 600 damaged.db
run hocket runs --store damaged.db; expect 1; has err "damaged"
ln -s "$HOCKET_STORE" link.db; run hocket runs --store link.db; expect 1; has err "symbolic link"
# What may only be read can be looked at, and everything else says so; root may write everywhere.
theirs=$(mktemp -d /tmp/hocket-user-XXXXXX) user=
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then user="setpriv --reuid 65534 --regid 65534 --clear-groups"; fi
mkdir -m 700 "$theirs/locked"; cp "$HOCKET_STORE" "$theirs/locked/runs.db"; printf 'return "at once"\n' >"$theirs/end.lua"
printf 'return function(text) return require("hocket").step("hear", function() return "heard " .. text end) end\n' >"$theirs/talk.lua"
[ -z "$user" ] || chown -R 65534:65534 "$theirs"
locked() { $user env HOME="$theirs" HOCKET_STORE="$theirs/locked/runs.db" "$HOCKET" "$@"; }
may() { chmod "$1" "$theirs/locked/runs.db"; chmod "$2" "$theirs/locked"; }
if { [ "$(id -u)" != 0 ] || [ -n "$user" ]; } && $user test -x "$HOCKET"; then
  for modes in "600 500" "400 700" "400 500"; do
    # shellcheck disable=SC2086 # two words
    may $modes
    run locked runs; expect 0; has out desk.md; empty err
    run locked show $C; expect 0; has out "a5  coder wants to call write_file"
    run locked export $C "$theirs/c.run"; expect 0; run hocket import --store copy.db "$theirs/c.run"; expect 0; rm -f "$theirs/c.run" copy.db
    run locked store check; expect 0; has out "OK: no problems found"
    for change in "answer $C q7 text" "say $C text" "cancel $C" "rm $C" "resume $C" "fork $C" "store vacuum" "work" "run $theirs/end.lua" "import a.run"; do
      case $change in import*) cp a.run "$theirs/a.run"; chmod 644 "$theirs/a.run"; change="import --new $theirs/a.run" ;; esac
      # shellcheck disable=SC2086 # words
      run timeout 20 $user env HOME="$theirs" HOCKET_STORE="$theirs/locked/runs.db" "$HOCKET" $change; expect 1; has err "runs.db may only be read"
    done
    same "$(ls "$theirs/locked")" runs.db
    mkdir -p "$theirs/.local/state/hocket"; cp -p "$theirs/locked/runs.db" "$theirs/.local/state/hocket/runs.db"
    [ -z "$user" ] || chown -R 65534:65534 "$theirs/.local"
    chmod 700 "$theirs/.local/state/hocket"; chmod 400 "$theirs/.local/state/hocket/runs.db"
    run $user env -u HOCKET_STORE HOME="$theirs" "$HOCKET" run -q "$theirs/end.lua"; expect 0; has out "at once"; has err "runs are not kept"
    # Also where it was looked at before, and so is known to be open: nothing of the run was kept, and it goes on without.
    if command -v curl >/dev/null; then
      what="hocket serve"; $user env -u HOCKET_STORE HOME="$theirs" "$HOCKET" serve --no-token --listen 127.0.0.1:0 "$theirs/talk.lua" >served 2>&1 & server=$!
      until_true grep -qs '^serving' served; url=$(sed -n 's/^serving //p' served)
      curl -sS --max-time 60 "$url/api/runs" >out; has out desk.md
      curl -sS --max-time 60 -X POST -H "Content-Type: application/json" "$url/v1/chat/completions" -d '{"model":"talk","messages":[{"role":"user","content":"hi"}]}' >out; has out "heard hi"
      kill $server; wait $server; has served "runs are not kept: "; has served "may only be read"
    fi
    rm -rf "$theirs/.local"
  done
fi
rm -rf "$theirs"
mkdir shared; chmod 777 shared; cp "$HOCKET_STORE" shared/runs.db
run hocket runs --store shared/runs.db; expect 1; has err "others may write"

# ---- Many ---------------------------------------------------------------------------------------------------------------------
what=many; echo "many 10000 1795251600000" | "$FILL" "$WORK/many.db" || fail "no 10,000 runs"
began=$(date +%s%N); run hocket runs --store many.db --limit 0; expect 0; same "$(wc -l <out)" 10000
took=$((($(date +%s%N) - began) / 1000000))
[ "$SANITIZE" ] || [ $took -lt 5000 ] || fail "10,000 runs took $took ms"
run hocket runs --store many.db; same "$(wc -l <out)" 50; has err "older ones"
run hocket runs --store many.db --state done --limit 120; same "$(wc -l <out)" 120

# What looks like a URL is no file's name: nothing is made, and no password is told.
mkdir urls; cd urls
echo 'return "done"' >../done.lua
for url in mysql://u:secret@h/x postgres:/u:secret@h/x; do
  for command in "run ../done.lua" runs "run --detach ../done.lua" "export 01 x" "store check" chat; do
    run hocket $command --store "$url"; expect 2; hasnt err secret; has err "cannot be kept in a '${url%%:*}:…'"
  done
  HOCKET_STORE=$url run hocket doctor; hasnt out secret; hasnt err secret; has out "${url%%:*}:…"
done
run hocket runs --store "Postgres://u:secret@127.0.0.1:1/x"; expect 1; has err "127.0.0.1"; has err "refused"; hasnt err secret
run hocket runs --store ""; expect 2; has err "the store has no name"
same "$(ls -A | grep -vc -e '^out$' -e '^err$')" 0
cd ..

# What is no store is seen before anything is done; what is seen later is said in the result, too.
what=named; echo "no database at all" >text; mkdir folder
echo 'io.open("ran", "w"):close() return "done"' >touch.lua
refused() { # STORE EXIT_CODE TEXT
  rm -f ran; run hocket run --json touch.lua --store "$1"; expect $2; empty out; has err "$3"; [ ! -e ran ] || fail "it ran"
  run hocket runs --store "$1"; expect $2; has err "$3"
}
refused text 1 "is no database"; refused folder 2 "is a folder: name a file in it"; refused folder/ 2 "is a folder: name a file in it"
run hocket run --json touch.lua --store /proc/x.db; expect 1; has out '"ok":false'; has out '"text":"done"'; has out 'cannot make'; hasnt out '"error":null'
: >empty.db; chmod 600 empty.db; run hocket run touch.lua --store empty.db; expect 0
# A disk that is full is told as that, also where SQLite does not say so.
if unshare -m true 2>/dev/null; then
  mkdir tiny
  cat >tiny.sh <<'X'
mount -t tmpfs -o size=1500k,mode=700 none tiny && "$HOCKET" run -q touch.lua --store tiny/r.db && cat /dev/zero >tiny/fill 2>/dev/null
for command in "run -q touch.lua" runs "store check"; do "$HOCKET" $command --store tiny/r.db; done
rm tiny/fill; "$HOCKET" runs --store tiny/r.db
X
  run unshare -m sh tiny.sh; same "$(grep -c "the disk is full" err)" 3; has out " done "
fi
# Nobody has named one, and there is no place for one.
unset HOCKET_STORE
for home in "" relative /nonexistent/home; do
  HOME=$home run hocket run touch.lua; expect 0; has out done; has err "runs are not kept: there is no home"
  HOME=$home run hocket run touch.lua --store off; expect 0; hasnt err "not kept"
done
finish
