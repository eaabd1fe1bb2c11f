# What a run does in the order of a table's keys it does in one order: those of texts and tables lie otherwise in each process, and a
# replay is another process.
. "$(dirname "$0")/lib.sh"
HOCKET_STORE=$PWD/state/runs.db; export HOCKET_STORE
id_in() { grep -oE '01[0-9A-Z]{24}' "$1" | head -n 1; }
cp "$ROOT/tests/host/kept/scripts/sim.lua" .

# Each time other seeds; what is mended here took another order in nearly each of them.
replays() { for _ in 1 2; do run "$HOCKET" replay "$1"; expect 0; done; }

# "always" to one of several open approvals wakes those that it covers.
cat >always.lua <<'X'
local hocket = require "hocket"
local write = hocket.tool { name = "write", description = "Writes.", effects = { "write" }, parameters = { type = "object" },
  run = function() return "written" end }
local agents = {}
for i = 1, 9 do agents[i] = hocket.agent { name = "clerk", prompt = "You write.", tools = { write } } end
return table.concat(hocket.flow.map(agents, function(one) return assert(hocket.run(one, "call write {}\nsay done")).text end), " ")
X
for at in 1 5; do
  run "$HOCKET" run always.lua; expect 75; id=$(id_in err)
  run "$HOCKET" answer "$id" a$at always; expect 0
  run "$HOCKET" resume "$id"; expect 0; same "$(cat out)" "done done done done done done done done done"
  replays "$id"
done

# A change wakes all who wait for a person: some of them do something then.
cat >change.lua <<'X'
local hocket = require "hocket"
local run, seen = hocket.this_run(), {}
local function ask(i)
  return (hocket.ask.input(function()
    if not run.options.max_turns or seen[i] then return end
    seen[i] = true
    hocket.step("seen", function() return i end)
  end))
end
local asking = hocket.flow.spawn(function() return hocket.flow.map({ 1, 2, 3, 4, 5, 6, 7, 8, 9 }, ask) end)
hocket.flow.sleep(0.1)
assert(run:change { max_turns = 7 })
hocket.flow.sleep(0.1)
for i = 1, 9 do assert(run:answer("i" .. i, "on " .. i)) end
return table.concat(asking:wait(), " ")
X
run "$HOCKET" run --events ev change.lua; expect 0; replays "$(id_in ev)"

# Of a conversation with several histories, some under one name, each is made shorter by a call of a model.
mkdir chain; echo 'return function(request) return "said " .. #request.messages end' >chain/sim.lua
cat >chain/compact.lua <<'X'
local hocket = require "hocket"
local function agent(name) return hocket.agent { name = name, prompt = "You are one of a chain." } end
local chain = { agent "b", agent "b", agent "a", agent "a", agent "c", agent "d", agent "e" }
local chat <close> = assert(hocket.conversation(agent "lead", { handoff = chain }))
for i = 1, 4 do assert(chat:send("say number " .. i)) end
assert(chat:compact())
return assert(chat:send "say after").text
X
run "$HOCKET" run --events ev chain/compact.lua; expect 0; has ev compaction_finished; replays "$(id_in ev)"

# What is told of several names; and which of several places a refusal names, which the model reads.
mkdir -p agents; printf -- '---\nname: plain\n---\nSay.\n' >agents/plain.md
rm ev
run "$HOCKET" run --events ev --set one=1 --set two=2 --set three=3 --set four=4 --set five=5 agents "say so"; expect 0
same "$(grep -c '"type":"warning"' ev)" 5; replays "$(id_in ev)"
cat >places.lua <<'X'
local hocket = require "hocket"
local mover = hocket.agent { name = "mover", prompt = "You move.", tools = { "move_file" } }
local calls = {}
for i = 1, 6 do calls[i] = ('call move_file {"from": ".git/a%d", "to": ".git/b%d"}'):format(i, i) end
return assert(hocket.run(mover, table.concat(calls, "\nthen\n") .. "\nsay moved")).text
X
run "$HOCKET" run --events ev places.lua; expect 0; has ev "protected place"; replays "$(id_in ev)"
finish
