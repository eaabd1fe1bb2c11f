# What a model wrote and what is made of it, in runs that are kept: as it is made, when the run goes on in another
# process, and in a replay.
. "$(dirname "$0")/lib.sh"
HOCKET_STORE=$PWD/state/runs.db; export HOCKET_STORE
id_in() { grep -oE '01[0-9A-Z]{24}' "$1" | head -n 1; }

# A run that waits for a person in its middle (exit code 75), goes on in another process, and is replayed: the words are
# the same each time. Its answer is in out.
thrice() {
  run hocket run -q "$@"; expect 75; id=$(id_in err)
  run hocket answer "$id" q1 yes; expect 0
  run hocket resume -q "$id"; cp out resumed
  run hocket replay "$id"; has err "all as they were told"
  cp resumed out
}

# Arguments that were no strict JSON go back as they were read, else as an object that holds them: servers refuse the
# conversation for good otherwise.
mkdir arguments; cat >arguments/main.lua <<'X'
local hocket, json = require "hocket", require "hocket.json"
local echo = hocket.tool { name = "echo", description = "Echoes.", parameters = { type = "object" }, run = function(args) return json.encode(args) end }
local wait = hocket.tool { name = "wait", description = "Waits.", steps = true, run = function() return hocket.ask "Go on?" end }
return assert(hocket.run(hocket.agent { name = "a", prompt = "You echo.", tools = { echo, wait } }, "go")).text
X
cat >arguments/sim.lua <<'X'
local json = require "hocket.json"
local wrote = { "{'seat': 4}", '{"seat": 4, "row": "b' }
return function(request)
  local seen = {}
  for _, message in ipairs(request.messages) do
    for _, call in ipairs(message.calls or {}) do
      if type(call.arguments) ~= "table" then return { status = 400, error = "the arguments in the history are no JSON" } end
      if call.name == "echo" then seen[#seen + 1] = json.encode(call.arguments) end
    end
  end
  if wrote[request.turn] then return { calls = { { name = "echo", arguments = wrote[request.turn] } } } end
  if request.turn == 3 then return { calls = { { name = "wait", arguments = {} } } } end
  return table.concat(seen, " ")
end
X
for model in sim/x sim-vllm/x sim-openai-responses/x sim-anthropic/claude-sonnet-5 sim-bedrock/anthropic.claude-sonnet-5; do
  thrice --model $model arguments/main.lua
  has out '{"seat":4} {"invalid_json":"{\"seat\": 4, \"row\": \"b"}'
done

# What a model thinks aloud is no value and no plan.
mkdir thinks; cat >thinks/main.lua <<'X'
local hocket, json = require "hocket", require "hocket.json"
local wait = hocket.tool { name = "wait", description = "Waits.", steps = true, run = function() return hocket.ask "Go on?" end }
local lift = hocket.agent { name = "lift", prompt = "LIFT", tools = { wait },
  output = { type = "object", required = { "floor" }, properties = { floor = { type = "integer" } } } }
local floor = assert(hocket.run(lift, "Where does it stop?")).value.floor
local web = hocket.agent { name = "web", description = "Looks.", prompt = "WEB" }
local lead = hocket.agent { name = "lead", description = "Plans.", prompt = "LEAD" }
local reply = assert(hocket.patterns.planner.run { request = "Go", planner = lead, team = { web = web }, specialists = { "web" } })
return floor .. " " .. json.encode(reply.text)
X
cat >thinks/sim.lua <<'X'
local json = require "hocket.json"
local function plan(id) return json.encode { type = "task", tasks = { { id = id, specialist = "web", description = "Do " .. id } } } end
return function(request)
  for _, message in ipairs(request.messages) do
    if message.text:find "draft" then return { status = 400, error = "a draft came back: " .. message.text } end
  end
  if request.system:find "LEAD" then return ("<think>\n%s? No.\n</think>\n\n%s"):format(plan "draft", plan "good") end
  if request.system:find "WEB" then return "draft: nothing.</think>found for " .. request.last.text:match "^[^\n]*" end
  if request.turn == 1 then return { text = "<think>A draft: stop and ask?</think>", calls = { { name = "wait", arguments = {} } } } end
  return '<think>Perhaps {"floor": 3}, a draft? No: the lift stops at nine.</think>\n{"floor": 9}'
end
X
thrice --model sim/x thinks/main.lua; has out '9 "'; has out "found for Do good"; hasnt out draft

finish
