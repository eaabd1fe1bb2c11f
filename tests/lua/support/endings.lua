-- Every way in which a run ends (the rows of hocket.internal.base.ending), as cases that any door can be driven with: agents, what they are
-- asked, and the model behind them, over HTTP. test_ends.lua has our doors, tests/mock/ends.lua those of clients that others wrote.
local t = require "harness"
local ending = require "hocket.internal.base.ending"
local fiber = require "hocket.internal.core.fiber"
local hocket = require "hocket"
local machine_policy = require "hocket.internal.models.machine_policy"
local serving = require "serving"

local endings = {}

hocket.broker() -- its dispatcher lives as long as the host

-- ---- The model -----------------------------------------------------------------------------------

local waiting, released = 0, false

local function hang()
  waiting = waiting + 1
  local left <close> = setmetatable({}, { __close = function() waiting = waiting - 1 end })
  while not released do fiber.sleep(0.005) end
  return "late"
end

local says = {
  whole = function() return "All of it." end,
  cut = function() return { text = "Half of", finish = "length" } end,
  refuse = function() return { refusal = "I will not." } end,
  filter = function() return { text = "It begins", finish = "content_filter" } end,
  key = function() return { status = 401, error = "wrong key" } end,
  rate = function() return { status = 429, error = "too many", headers = { ["retry-after-ms"] = "50" } } end,
  busy = function() return { status = 529, error = "overloaded" } end,
  unsaid = function() return { text = "It broke", fault = "unsaid" } end,
  ask = function(q) return q.last.role == "tool" and "Without it." or { calls = { { name = "ask_user", arguments = { question = "Which?" } } } } end,
  call = function() return { calls = { { name = "weather", arguments = { city = "Rome" } } } } end,
  hang = hang,
  ["hand over"] = function(q) return q.last.role == "tool" and "Handed over." or { calls = { { name = "hand", arguments = {} } } } end,
  nothing = function() return "" end,
  plan = function(q)
    return q.last.role == "tool" and "Never mind." or { calls = { { name = "create_tasks", arguments = { tasks = { { text = "all", assigned_to = "helper" } } } } } }
  end,
  dispatch = function(q)
    if q.last.role ~= "tool" then return { calls = { { name = "create_tasks", arguments = { tasks = { { text = "all", assigned_to = q.system:match "hand to (%w+)" } } } } } } end
    if #q.messages < 5 then return { calls = { { name = "call_" .. q.system:match "hand to (%w+)", arguments = { task_ids = { 1 }, message = q.system:match "say (.*)%.$" } } } } end
    return "Dispatched."
  end,
  missing = function(q)
    return q.last.role == "tool" and "Without it." or { calls = { { name = "delegate", arguments = { agent_name = "helper", prompt = "key" } } } }
  end,
  work = function(q)
    return q.last.role == "tool" and { text = "So far.", calls = { { name = "list_directory", arguments = { path = ("./"):rep(#q.messages) } } } }
      or { text = "I look.", calls = { { name = "list_directory", arguments = { path = "." } } } }
  end,
}

local function reply(q)
  for i = #q.messages, 1, -1 do
    local say = q.messages[i].role == "user" and says[q.messages[i].text]
    if say then return say(q) end
  end
  return "nothing known"
end

--- Where the model is: {base}.
endings.model = assert(hocket.sim.serve { reply = reply })
hocket.provider("ends", { protocol = "openai_chat", base = endings.model.base })
hocket.provider("dead", { protocol = "openai_chat", base = "http://127.0.0.1:1/v1" })

-- ---- The agents ----------------------------------------------------------------------------------

local function agent(name, more)
  return ("---\nname: %s\ndescription: An agent\nretries: 0\n%s---\nYou are %s."):format(name, more or "", name)
end

-- Ends in a function that its file names, between itself and the next agent.
local function by_function(name)
  return agent(name, ("handoff: {agent: helper, pass: ends.%s}\n"):format(name))
end

--- Each file's text, by its path.
endings.files = {
  ["agents/guide.md"] = agent("guide", "tools: [ask_user, delegate]\nagents: [helper]\n"),
  ["agents/helper.md"] = agent "helper",
  ["agents/poor.md"] = agent("poor", "tools: [list_directory]\nbudget: {turns: 2}\n"),
  ["agents/brief.md"] = agent("brief", "tools: [list_directory]\nmax_turns: 2\n"),
  ["agents/boss.md"] = agent("boss", "tools: [facilitator]\nagents: [helper]\napprove_plan: true\n"),
  ["agents/strict.md"] = agent("strict", "input: {type: object, required: [city]}\n"),
  ["agents/seeker.md"] = agent("seeker", "server_tools: [web_search]\n"),
  ["agents/wrong.md"] = by_function "wrong",
  ["agents/player.md"] = by_function "player",
  ["agents/closer.md"] = by_function "closer",
  ["agents/breaker.md"] = by_function "breaker",
  ["agents/ends.lua"] = [[
local hocket = require "hocket"
local ends = {}

local function worker(words) return hocket.agent { name = "worker", prompt = words, model = "ends/m" } end

-- No text, which is what the next agent is to get.
function ends.wrong() return 7 end

-- Plays a recording whose request was another one.
function ends.player()
  local tape = os.tmpname()
  assert(hocket.run(worker "Before.", "whole", { record = tape }))
  local reply, err = hocket.run(worker "After.", "whole", { replay = tape })
  os.remove(tape)
  return reply and reply.text, err
end

-- Says something in a conversation that is closed.
function ends.closer()
  local talk = hocket.conversation(worker "Talk.")
  talk:close()
  return talk:send "whole"
end

function ends.breaker() error "no such luck" end

return ends
]],
  ["bad.lua"] = "-- Raises.\nreturn function() error 'no such luck' end",
}

-- ---- The ends ------------------------------------------------------------------------------------

local function at(names, why)
  local list = {}
  for name in names:gmatch "%S+" do list[name] = why end
  return list
end

local NESTED = "delegate task"

--- The ends: their row, the agent, what it is asked. `no`: doors that have no such end, and why. `instead`: the row that doors have in its
--- place. `retryable`: the error itself says so. `world`: see below.
endings.cases = {
  { "done", "guide", "whole" },
  { "partial", "guide", "missing", instead = at(NESTED, "done") }, -- of the whole run; the agent's own answer is whole
  { "calls", "guide", "call", tools = true, no = {
    eval = "it has no caller", cli = "it has no caller", api = "it has no caller", page = "it has no caller", a2a = "its clients bring no tools", a2a_stream = "its clients bring no tools", acp = "its clients bring no tools",
    mcp = "its clients bring no tools", delegate = "a run has a caller, no agent in it", task = "a run has a caller, no agent in it" } },
  { "cut", "guide", "cut" },
  { "refused", "guide", "refuse" },
  { "filtered", "guide", "filter" },
  { "budget", "poor", "work" },
  { "turns", "brief", "work" },
  { "timeout", "guide", "hang", world = "late", no = at(NESTED, "the run ends, and the agent in it is cancelled") },
  { "cancelled", "guide", "hang", cancel = true, no = { delegate = "the run ends, and the agent in it is cancelled", task = "the run ends, and the agent in it is cancelled",
    cli = "by a signal: tests/cli/signals.sh", eval = "the evaluation is cancelled as a whole, and reports nothing" } },
  -- Where nobody can answer, a question is answered with that, and the run goes on.
  { "waits", "guide", "ask", instead = at("task eval chat chat_stream responses responses_stream anthropic anthropic_stream mcp delegate", "done") },
  { "auth", "guide", "key" },
  { "rate_limit", "guide", "rate" },
  { "overload", "guide", "busy" },
  { "network", "guide", "whole", world = "dead", retryable = true },
  { "protocol", "guide", "unsaid", retryable = true },
  { "model", "guide", "nothing" },
  { "failed", "bad", "whole", no = at(NESTED, "a script is no agent: the next case") },
  { "failed", "breaker", "whole" },
  { "declined", "boss", "plan", world = "unwilling" },
  { "request", "strict", "whole" },
  { "unsupported", "seeker", "whole" },
  { "agent", "wrong", "whole" },
  { "replay", "player", "whole" },
  { "denied", "guide", "whole", world = "forbidden" },
  { "closed", "closer", "whole" },
}

-- Options of the runs, and the policy of the machine.
local worlds = {
  usual = { options = { model = "ends/m", trust = true } },
  late = { options = { model = "ends/m", trust = true, timeout = 0.5 } },
  dead = { options = { model = "dead/m", trust = true } },
  unwilling = { options = { model = "ends/m", trust = true, approve = "deny" } },
  forbidden = { options = { model = "ends/other", trust = true }, policy = "models: [ends/m]" },
}

local by_name = {}
for _, row in ipairs(ending.rows) do by_name[row.name] = row end

-- ---- What clients see of a row -------------------------------------------------------------------

local expected = {}
endings.expected = expected

--- An error's status, and what its headers say about another try.
function endings.failed(status, headers)
  return ("%s retry=%s%s"):format(status, headers["x-should-retry"], headers["retry-after"] and " after" or "")
end

local function error_of(row, case)
  local retry = row.retry or case.retryable
  return ("%d retry=%s%s"):format(row.http, retry and "true" or "false", retry and " after" or "")
end

function expected.chat(row, case) return row.chat or error_of(row, case) end
function expected.chat_stream(row) return row.chat or "error" end
function expected.responses(row, case) return row.responses and ("%s %s"):format(row.responses, row.details or "-") or error_of(row, case) end
function expected.responses_stream(row) return row.responses or "error" end
function expected.anthropic(row, case) return row.anthropic or error_of(row, case) end
function expected.anthropic_stream(row) return row.anthropic or "error" end
function expected.a2a(row) return ("%s %s"):format(row.a2a, row.a2a ~= "COMPLETED" and row.a2a ~= "INPUT_REQUIRED" and row.name or "-") end
expected.a2a_stream = expected.a2a
function expected.agui(row) return row.agui end
function expected.acp(row) return row.acp or "error" end
function expected.mcp(row) return tostring(row.mcp) end

local tools = {
  chat = { { type = "function", ["function"] = { name = "weather", parameters = { type = "object" } } } },
  responses = { { type = "function", name = "weather", parameters = { type = "object" } } },
  anthropic = { { name = "weather", input_schema = { type = "object" } } },
  agui = { { name = "weather", description = "The weather", parameters = { type = "object" } } },
}

--- The tools that the client of a case brings, in a protocol's words.
function endings.tools(case, kind)
  return case.tools and tools[kind] or nil
end

-- ---- All of them ---------------------------------------------------------------------------------

--- The row that a door has at a case; nil: it has no such end.
function endings.row(case, door)
  local kind = door.kind or door.name
  if case.no and case.no[kind] then return nil end
  return by_name[case.instead and case.instead[kind] or case[1]]
end

-- Ends what hangs as its person does.
local function cancel_when_waiting(one)
  t.eventually(function() return waiting > 0 end)
  if one.client then return one.client:tell("session/cancel", { sessionId = one.client.id }) end
  for _, run in ipairs(one.server.desk:all()) do
    if not run:interrupt() then run:cancel() end
  end
end

local function drive(door, case, one)
  released = false
  local canceller = case.cancel and fiber.spawn(cancel_when_waiting, one)
  local got = door.drive(one)
  if canceller then canceller:join() end
  released = true
  t.eventually(function() return waiting == 0 end)
  return got
end

local function drive_world(door, name, dir, wrong)
  local world, driven = worlds[name], 0
  assert(machine_policy.set(world.policy and { { name = "policy", text = world.policy } } or {}))
  local server <close> = serving.open({ dir.path .. "/agents", dir.path .. "/bad.lua" }, world.options)
  for _, case in ipairs(endings.cases) do
    local row = (case.world or "usual") == name and endings.row(case, door)
    if row then
      local want = door.expected(row, case)
      local got = drive(door, case, { server = server, dir = dir, agent = case[2], input = case[3], case = case, options = world.options, policy = world.policy })
      driven = driven + 1
      print(("%-17s %-11s %s%s"):format(door.name, case[1], tostring(got), got ~= want and " (WRONG: " .. want .. ")" or ""))
      if got ~= want then wrong[#wrong + 1] = ("%s: %s, got %s"):format(case[1], want, tostring(got)) end
    end
  end
  return driven
end

--- Drives each door with each case, as a test of its own; prints what was seen, the table of all, and how many.
--- A door: {name, kind = its name in the cases, expected(row, case), drive(one), close()?}.
function endings.drive(doors)
  local driven = 0
  for _, door in ipairs(doors) do
    t.test(door.name, function()
      local dir <close> = t.dir()
      for path, text in pairs(endings.files) do dir:write(path, text) end
      local policy <close> = setmetatable({}, { __close = function() assert(machine_policy.set {}) end })
      local wrong = {}
      local closed <close> = setmetatable({}, { __close = door.close or function() end })
      for name in pairs(worlds) do driven = driven + drive_world(door, name, dir, wrong) end
      t.equal(table.concat(wrong, "; "), "")
    end)
  end
  local without = {}
  for _, door in ipairs(doors) do
    for _, case in ipairs(endings.cases) do
      if not endings.row(case, door) then
        without[#without + 1] = case
        print(("%-17s %-11s none: %s"):format(door.name, case[1], case.no[door.kind or door.name]))
      end
    end
  end
  print(("%d ends x %d doors: %d driven, %d that a door does not have"):format(#endings.cases, #doors, driven, #without))
  return driven, #without
end

return endings
