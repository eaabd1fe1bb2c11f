# What a person says to an agent at work: from another process, to a run that waits, and again in each of its lives.
. "$(dirname "$0")/lib.sh"
HOCKET_STORE=$PWD/state/runs.db; export HOCKET_STORE
id_in() { grep -oE '01[0-9A-Z]{24}' "$1" | head -n 1; }
cp "$ROOT/tests/host/kept/scripts/sim.lua" .

# Two agents, the inner of which digs until somebody lets it.
cat >dig.lua <<'E'
local hocket = require "hocket"
local dir = ...
local dig = hocket.tool { name = "dig", description = "Digs.", effects = { "read" }, run = function()
  while not hocket.fs.info(dir .. "/go") do hocket.flow.sleep(0.02) end
  return "dug"
end }
local team = {}
team.digger = hocket.agent { name = "digger", prompt = "You dig.", tools = { dig } }
return assert(hocket.run(team.digger, "call dig {}\nsay nothing was said")).text
E

start() { rm -f go; : >ev; : >ev2; "$HOCKET" run -q --events ev dig.lua "$PWD" >out 2>err & pid=$!; until_true grep -q '"model_reply"' ev; id=$(id_in ev); }
ends() { wait $pid; code=$?; what="the run"; }

# Said from another process while it works; heard behind the tool's result, before the next call.
start
run hocket say "$id" --to digger say I heard it; expect 0; has err "stored for $id; its process reads it"
until_true grep -q '"user_message_received"' ev
run hocket say "$id" --to diger hello; expect 0
until_true grep -q '"user_message_dropped"' ev
grep '"user_message_dropped"' ev >dropped; has dropped "did you mean 'digger'?"; has dropped '"text":"hello"'
: >go; ends; expect 0; has out "I heard it"; hasnt out "nothing was said"
grep -n '"type"' ev | grep -oE 'user_message_[a-z]*|model_re[a-z]*|tool_call"' | tr '\n' ' ' >order
has order "user_message_delivered model_request"
run hocket show "$id"; expect 0; has out "I heard it"
run hocket replay "$id"; expect 0; has err "all as recorded"
run hocket say "$id" too late; expect 1; has err "has ended"
# A fork that begins anew hears it where its parent did: what follows is answered from the parent's log.
run hocket fork --latest "$id"; expect 0; fork=$(cat out); : >ev2
run hocket resume -q --events ev2 "$fork"; expect 0; has out "I heard it"
same "$(grep -c '"user_message_delivered"' ev2)" 1; grep '"run_reused"' ev2 >reused; has reused '"run_anew":0'
run hocket replay "$fork"; expect 0; has err "all as recorded"
sed -i 's/You dig/You dig deep/' dig.lua; run hocket fork --latest "$id"; expect 0; fork=$(cat out); : >ev2
run hocket resume -q --events ev2 "$fork"; expect 0; has out "I heard it"
run hocket replay "$fork"; expect 0; has err "all as recorded"
sed -i 's/You dig deep/You dig/' dig.lua

# A conversation was given its next input so, while its row did not say that it waits for one: the same.
mkdir talk; cp sim.lua talk; printf -- '---\nname: talk\n---\nYou talk.\n' >talk/talk.md
printf 'say one\n' | "$HOCKET" chat talk >out 2>err; run hocket runs -n 1; id=$(id_in out)
run hocket fork "$id"; fork=$(cat out); run hocket say "$fork" say two; expect 0
what="a fork that was told something"; : >ev2
(until_true grep -q '"content":"two"' ev2) | "$HOCKET" resume --events ev2 "$fork" >out 2>err; has out two
run hocket fork --latest "$fork"; fork=$(cat out); : >ev2
run hocket resume --events ev2 "$fork"; has out one; has out two; same "$(grep -c '"type":"input_received"' ev2)" 2
run hocket replay "$fork"; expect 0; has err "all as recorded"

# Killed between saying and hearing: it is heard in the next life, once, at the same step.
start
run hocket say "$id" say once more; expect 0
until_true grep -q '"user_message_received"' ev
kill -KILL $pid; wait $pid 2>/dev/null
: >go; run hocket resume -q --events ev2 "$id"; expect 0; has out "once more"
same "$(grep -c '"user_message_delivered"' ev2)" 1
run hocket replay "$id"; expect 0; has err "all as recorded"

# Said while nobody had the run: heard when it goes on.
start
kill -KILL $pid; wait $pid 2>/dev/null
run hocket say "$id" say better late; expect 0; has err "hocket resume $id"
: >ev2; "$HOCKET" resume -q --events ev2 "$id" >out 2>err & pid=$!
until_true grep -q '"user_message_received"' ev2
: >go; ends; expect 0; has out "better late"

# A run that waits for a person, and is told something else: it waits on, and has both.
cat >ask.lua <<'E'
local hocket = require "hocket"
local ask = hocket.tool { name = "ask", description = "Asks.", steps = true, run = function() return assert(hocket.ask "Which city?") end }
local desk = hocket.agent { name = "desk", prompt = "You ask.", tools = { ask } }
return assert(hocket.run(desk, "call ask {}\nsay nothing was said")).text
E
run hocket run -q ask.lua; expect 75; id=$(id_in err)
run hocket say "$id" say in spring; expect 0
run hocket resume -q --events ev3 "$id"; expect 75; has ev3 '"user_message_received"'; hasnt ev3 '"user_message_delivered"'
run hocket answer "$id" "$(grep -oE '"id":"q[0-9]+"' ev3 | head -n 1 | grep -oE 'q[0-9]+')" Porto; expect 0
run hocket resume -q "$id"; expect 0; has out "in spring"


# Mistakes.
run hocket say "$id"; expect 2
run hocket say "$id" --to; expect 2
run hocket say 01ZZZZ hello; expect 1
run hocket say "$id" " "; expect 1
# As many wait as the run is going to keep: one more is refused and not dropped later.
echo 'return tostring(require("hocket").ask "Which town?")' >ask.lua
run "$HOCKET" run ask.lua; expect 75; id=$(id_in err)
for n in $(seq 100); do run "$HOCKET" say "$id" "$n"; [ $code = 0 ] || fail "message $n"; done
run "$HOCKET" say "$id" 101; expect 5; has err "100 messages wait for run $id, and no more can"
finish
