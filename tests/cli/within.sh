# Agents that the function of a plain tool, or of a step, asks in a run that is kept: their events, accounts, numbers, boards and labels
# are as in a run that is not kept, and a replay tells the same. What the caller may use and do binds them.
. "$(dirname "$0")/lib.sh"
id_in() { grep -oE '01[0-9A-Z]{24}' "$1" | head -n 1; }
wrote() { [ -s "$1" ]; }

# By the words of its prompt: who leads asks the tool `expert`, who knows calls `look`, who plans does one of two tasks.
cat >sim.lua <<'X'
local function count(request)
  local n = 0
  for _, m in ipairs(request.messages) do if m.role == "tool" then n = n + 1 end end
  return n
end
local function calls(name, arguments)
  return { calls = { { name = name, arguments = arguments or require("hocket.json").decode "{}" } } }
end
local plan = {
  calls("create_tasks", { tasks = { { text = "do it", assigned_to = "worker" }, { text = "leave it", assigned_to = "worker" } } }),
  calls("call_worker", { task_ids = { 1 }, message = "go" }),
}
local waits = { calls "wait", calls "expert" }
return function(request)
  local n = count(request)
  if request.system:find "You wait" then return waits[n + 1] or "told: " .. request.last.text end
  if request.system:find "You lead" then return n == 0 and calls "expert" or "told: " .. request.last.text end
  if request.system:find "You plan" then return plan[n + 1] or "planned" end
  if request.system:find "You know" and n == 0 then return calls "look" end
  return "seen: " .. request.last.text
end
X
cat >agents.lua <<'X'
local hocket = require "hocket"
local made = {}
made.look = hocket.tool { name = "look", description = "Looks.", effects = { "run" }, run = function() return "a view" end }
made.knows = hocket.agent { name = "knows", prompt = "You know.", tools = { made.look } }
function made.lead(run)
  local expert = hocket.tool { name = "expert", description = "Asks.", run = run }
  return hocket.agent { name = "lead", prompt = "You lead.", tools = { expert } }
end
function made.ask(options)
  local reply, err = hocket.run(made.knows, "Say", options)
  return reply and reply.text or err.code .. ": " .. err.message
end
return made
X
script() { printf 'local hocket, a = require "hocket", require "agents"\n' >"$1.lua"; cat >>"$1.lua"; }
plain() { sed -E 's/"(time|run)":"[^"]*"/"\1":""/g; s/"(seconds|first_seconds|total_seconds)":[0-9.e-]+/"\1":0/g' "$1"; }
# NAME EXIT-CODE [OPTIONS]: NAME.lua does the same in both modes, and in a replay.
both() {
  name=$1; wanted=$2; shift 2
  run "$HOCKET" run --json --events unkept --store off "$@" "$name.lua" x; expect "$wanted"; plain out >unkept.out; plain unkept >unkept.events
  run "$HOCKET" run --json --events kept "$@" "$name.lua" x; expect "$wanted"; plain out >kept.out; plain kept >kept.events
  cmp -s unkept.out kept.out || { diff unkept.out kept.out | cut -c1-2000; fail "$name: another result where the run is kept"; }
  cmp -s unkept.events kept.events || { diff unkept.events kept.events | head -5; fail "$name: other events where the run is kept"; }
  run "$HOCKET" replay "$(id_in kept)"; expect 0
}

# Two in a row: the numbers of what comes behind them, too. Their accounts stand below their caller's.
script twice <<'X'
local lead = a.lead(function() return a.ask() end)
hocket.run(lead, "Go")
local reply = assert(hocket.run(lead, "Again"))
local function show(one)
  local below = {}
  for _, child in ipairs(one.children) do below[#below + 1] = show(child) end
  return ("%s %d(%s)"):format(one.agent or "run", one.own.calls, table.concat(below, " "))
end
return reply.text .. " " .. show(hocket.this_run():tree())
X
both twice 0 --approve allow; has kept.out "run 0(lead 2(knows 2()) lead 2(knows 2()))"

# The caller's budget: calls, and tokens; the run's; its own. A tool of its that needs approval, and nobody is there.
script turns <<'X'
return hocket.run(a.lead(function() return a.ask() end), "Go", { budget = { turns = 3 } })
X
both turns 5 --approve allow; has kept.events "the budget of lead"
script own <<'X'
return hocket.run(a.lead(function() return a.ask { budget = { turns = 1 } } end), "Go")
X
both own 0 --approve allow; has kept.events "the budget of knows is as good as used up"
both twice 5 --approve allow --max-tokens 400
script denied <<'X'
return hocket.run(a.lead(function() return a.ask() end), "Go")
X
both denied 0; has kept.out "'look' was not allowed"

# A team in a tool: its board, what it has not done, its document.
script plan <<'X'
local team = {}
team.worker = hocket.agent { name = "worker", description = "w", prompt = "You work.", tools = { "specialist" }, team = team }
local planner = hocket.agent { name = "planner", prompt = "You plan.", tools = { "facilitator" }, agents = { "worker" }, team = team }
return hocket.run(a.lead(function() return assert(hocket.run(planner, "Plan")).text end), "Go")
X
both plan 0; has kept.out '"it was never begun"'; has kept.out '"text":"do it"'

# A step; a job of its own; the broker that the script had before.
script jobs <<'X'
local jobs = hocket.broker()
local first = hocket.step("first", function() return a.ask() end)
local second = a.lead(function()
  local id = assert(jobs:submit { run = function() return a.ask() end })
  return (jobs:wait(id))
end)
return first .. assert(hocket.run(second, "Go")).text
X
both jobs 0 --approve allow; has kept.out "told: seen: a view"

# Killed in the middle: the model hears that nobody knows, what it was paid for stays in its account, and what it held is free again.
script killed <<'X'
local slow = hocket.tool { name = "look", description = "Looks.", run = function()
  local f <close> = assert(io.open("looked", "a"))
  f:write("looked\n")
  f:close()
  if not io.open "again" then hocket.flow.sleep(1000) end
  return "a view"
end }
local knows = hocket.agent { name = "knows", prompt = "You know.", tools = { slow } }
local lead = a.lead(function() return assert(hocket.run(knows, "Say")).text end)
local reply, err = hocket.run(lead, "Go", { budget = { turns = 4 } })
local usage = hocket.this_run():tree().children[1]
return (reply and reply.text or err.message) .. " " .. usage.own.calls .. "+" .. usage.children[1].own.calls
X
rm -f ev; "$HOCKET" run -q --events ev killed.lua x >out 2>err </dev/null & pid=$!
until_true wrote looked; sleep 0.1; kill -KILL $pid; wait $pid 2>/dev/null; : >again
id=$(id_in ev)
run "$HOCKET" resume "$id"; expect 0; has out "told: error: it is not known whether this was done"; has out "2+1"
same "$(wc -l <looked)" 1
run "$HOCKET" replay "$id"; expect 0

# Whoever imports a run has not allowed what its owner had, to no agent in a tool either.
script foreign <<'X'
local expert = hocket.tool { name = "expert", description = "Asks.", run = function() return a.ask() end }
local wait = hocket.tool { name = "wait", description = "Asks a person.", steps = true, run = function() return hocket.ask "Go on?" end }
local lead = hocket.agent { name = "lead", prompt = "You wait.", tools = { wait, expert, a.look } }
return hocket.run(lead, "Go")
X
run "$HOCKET" run -q --approve allow foreign.lua x; expect 75; id=$(id_in err)
run "$HOCKET" answer "$id" q1 yes; expect 0
run "$HOCKET" export "$id" foreign.run; expect 0
run "$HOCKET" resume -q "$id"; expect 0; has out "told: seen: a view"
HOCKET_STORE=$PWD/other.db; export HOCKET_STORE
run "$HOCKET" import foreign.run; expect 0
run "$HOCKET" resume -q "$id"; expect 0; has out "'look' was not allowed"
finish
