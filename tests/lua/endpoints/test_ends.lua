-- Every way in which a run ends, at every door: what the table says (hocket.internal.base.ending) is what clients see. Prints both.
local t = require "harness"
local acp_client = require "acp_client"
local client = require "hocket.internal.mcp.client"
local collectors = require "collector"
local delegation = require "hocket.tools.delegate_to_agent"
local ending = require "hocket.internal.base.ending"
local fiber = require "hocket.internal.core.fiber"
local fs = require "hocket.fs"
local hocket = require "hocket"
local json = require "hocket.json"
local process = require "hocket.process"
local serving = require "serving"

local here = debug.getinfo(1, "S").source:match "^@(.*)/[^/]*$"

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
  ask = function() return { calls = { { name = "ask_user", arguments = { question = "Which?" } } } } end,
  call = function() return { calls = { { name = "weather", arguments = { city = "Rome" } } } } end,
  hang = hang,
  ["hand over"] = function(q) return q.last.role == "tool" and "Handed over." or { calls = { { name = "hand", arguments = {} } } } end,
  nothing = function() return "" end,
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

local served = assert(hocket.sim.serve { reply = reply })
hocket.provider("ends", { protocol = "openai_chat", base = served.base })
hocket.provider("dead", { protocol = "openai_chat", base = "http://127.0.0.1:1/v1" })

local function agent(name, more)
  return ("---\nname: %s\ndescription: An agent\nretries: 0\n%s---\nYou are %s."):format(name, more or "", name)
end

local files = {
  ["agents/guide.md"] = agent("guide", "tools: [ask_user, delegate]\nagents: [helper]\n"),
  ["agents/helper.md"] = agent "helper",
  ["agents/poor.md"] = agent("poor", "tools: [list_directory]\nbudget: {turns: 2}\n"),
  ["agents/brief.md"] = agent("brief", "tools: [list_directory]\nmax_turns: 2\n"),
  ["bad.lua"] = "-- Raises.\nreturn function() error 'no such luck' end",
}

-- The ends: their row, the agent, what it is asked. `no`: doors that have no such end, and why. `retryable`: the error itself says so.
local http_alone = { task = "inside of a run", eval = "it has no caller", a2a = "its clients bring no tools", acp = "its clients bring no tools", mcp = "its clients bring no tools", delegate = "inside of a run", cli = "it has no caller", api = "it has no caller" }
local asks = "questions are answered with nothing there, and the run goes on"

local cases = {
  { "done", "guide", "whole" },
  { "partial", "guide", "missing", no = { delegate = "the agent's own answer is whole", task = "the agent's own answer is whole" } },
  { "calls", "guide", "call", tools = true, no = http_alone },
  { "cut", "guide", "cut" },
  { "refused", "guide", "refuse" },
  { "filtered", "guide", "filter" },
  { "budget", "poor", "work" },
  { "turns", "brief", "work" },
  { "timeout", "guide", "hang", world = "late", no = { delegate = "it is the run that ends", task = "it is the run that ends" } },
  { "cancelled", "guide", "hang", cancel = true, no = { delegate = "it is the run that ends", task = "it is the run that ends", cli = "tests/cli/signals.sh", eval = "it is then not done" } },
  { "waits", "guide", "ask", no = { task = asks, eval = asks, chat = asks, chat_stream = asks, responses = asks, responses_stream = asks, anthropic = asks, anthropic_stream = asks, mcp = asks, delegate = asks, api = "the run goes on" } },
  { "auth", "guide", "key" },
  { "rate_limit", "guide", "rate" },
  { "overload", "guide", "busy" },
  { "network", "guide", "whole", world = "dead", retryable = true },
  { "protocol", "guide", "unsaid", retryable = true },
  { "model", "guide", "nothing" },
  { "failed", "bad", "whole", no = { delegate = "no agent", task = "no agent" } },
}

-- ---- The doors -----------------------------------------------------------------------------------

local tools = {
  chat = { { type = "function", ["function"] = { name = "weather", parameters = { type = "object" } } } },
  responses = { { type = "function", name = "weather", parameters = { type = "object" } } },
  anthropic = { { name = "weather", input_schema = { type = "object" } } },
  agui = { { name = "weather", description = "The weather", parameters = { type = "object" } } },
}

local function body(at, kind, more)
  more.model, more.tools = at.agent, at.case.tools and tools[kind] or nil
  return more
end

local function said(at) return { { role = "user", content = at.input } } end

-- An error's status, and what its headers say about another try.
local function failed(status, headers)
  return ("%d retry=%s%s"):format(status, headers["x-should-retry"], headers["retry-after"] and " after" or "")
end

local function expected_error(row, case)
  local retry = row.retry or case.retryable
  return ("%d retry=%s%s"):format(row.http, retry and "true" or "false", retry and " after" or "")
end

local function last(events)
  return events[#events].data
end

local doors = {}

local function door(name, expected, drive)
  doors[#doors + 1] = { name = name, expected = expected, drive = drive }
end

door("chat", function(row, case) return row.chat or expected_error(row, case) end, function(at)
  local status, got, headers = at.server:post("/v1/chat/completions", body(at, "chat", { messages = said(at) }))
  return status == 200 and got.choices[1].finish_reason or failed(status, headers)
end)

-- An error before the first word has its status, one behind it is the last event.
door("chat_stream", function(row) return row.chat or "error" end, function(at)
  local status, events = at.server:stream("/v1/chat/completions", body(at, "chat", { messages = said(at), stream = true }))
  if status ~= 200 or last(events).error then return "error" end
  t.equal(last(events), "[DONE]")
  return events[#events - 1].data.choices[1].finish_reason
end)

door("responses", function(row, case) return row.responses and ("%s %s"):format(row.responses, row.details or "-") or expected_error(row, case) end, function(at)
  local status, got, headers = at.server:post("/v1/responses", body(at, "responses", { input = at.input }))
  if status ~= 200 then return failed(status, headers) end
  return ("%s %s"):format(got.status, got.incomplete_details ~= json.null and got.incomplete_details.reason or "-")
end)

door("responses_stream", function(row) return row.responses or "error" end, function(at)
  local status, events = at.server:stream("/v1/responses", body(at, "responses", { input = at.input, stream = true }))
  if status ~= 200 or last(events).type == "error" then return "error" end
  return (last(events).type:gsub("^response%.", ""))
end)

door("anthropic", function(row, case) return row.anthropic or expected_error(row, case) end, function(at)
  local status, got, headers = at.server:post("/v1/messages", body(at, "anthropic", { max_tokens = 900, messages = said(at) }))
  return status == 200 and got.stop_reason or failed(status, headers)
end)

door("anthropic_stream", function(row) return row.anthropic or "error" end, function(at)
  local status, events = at.server:stream("/v1/messages", body(at, "anthropic", { max_tokens = 900, messages = said(at), stream = true }))
  if status ~= 200 or last(events).type == "error" then return "error" end
  return events[#events - 1].data.delta.stop_reason
end)

local function a2a(at, version)
  local message = { messageId = "m1", role = "ROLE_USER", parts = { { text = at.input } } }
  local _, got = at.server:post("/a2a/" .. at.agent, { jsonrpc = "2.0", id = 1, method = "SendMessage", params = { message = message } }, { ["a2a-version"] = version })
  return got.result.task
end

door("a2a", function(row) return ("%s %s"):format(row.a2a, row.a2a ~= "COMPLETED" and row.a2a ~= "INPUT_REQUIRED" and row.name or "-") end, function(at)
  local task = a2a(at, "1.0")
  return ("%s %s"):format(task.status.state:gsub("^TASK_STATE_", ""), task.metadata and task.metadata.hocket.ending or "-")
end)

door("agui", function(row) return row.agui end, function(at)
  local _, events = at.server:stream("/agui/" .. at.agent, { threadId = "t", runId = "r", tools = at.case.tools and tools.agui or nil, messages = { { id = "u", role = "user", content = at.input } } })
  local event = last(events)
  return event.type == "RUN_ERROR" and "error" or event.outcome.type
end)

door("acp", function(row) return row.acp or "error" end, function(at)
  local path = at.dir.path .. "/" .. (at.agent == "bad" and "bad.lua" or "agents/" .. at.agent .. ".md")
  local c <close> = acp_client.open { target = path, options = at.options }
  c:session(at.dir.path)
  at.client = c
  local result, err = c:prompt(at.input)
  at.client = nil
  return result and result.stopReason or err and "error"
end)

door("mcp", function(row) return tostring(row.mcp) end, function(at)
  local c = assert(client.connect { name = "ours", era = "modern", url = at.server.base .. "/mcp", headers = { authorization = "Bearer secret" } })
  local closing <close> = setmetatable({}, { __close = function() c:close() end })
  local result = assert(c:call(at.agent, { input = at.input }))
  return tostring(result.isError == true)
end)

door("delegate", function(row) return tostring(not row.mcp) end, function(at)
  local of = hocket.agents(at.dir.path .. "/agents")[at.agent]
  local lead = hocket.agent { name = "lead", prompt = "I lead.", retries = 0 }
  local answer
  local tool = hocket.tool { name = "hand", description = "x", steps = true, parameters = { type = "object" }, run = function()
    answer = delegation.to_agent(of, at.input, nil, { model = at.options.model })
    return "done"
  end }
  hocket.run(lead, "hand over", { tools = { tool }, model = "ends/m" })
  return tostring(answer and answer.success)
end)

door("api", function(row) return row.state end, function(at)
  local _, made = at.server:post("/api/runs", { target = at.agent, input = at.input })
  local run = at.server.desk:find(made.id)
  run:wait()
  local _, got = at.server:get("/api/runs/" .. made.id)
  return got.state
end)

-- The task that an agent was given, on the board of who has sent it.
door("task", function(row) return row.task end, function(at)
  local team = hocket.agents(at.dir.path .. "/agents")
  hocket.agent { name = "lead", model = "ends/m", prompt = ("hand to %s, say %s."):format(at.agent, at.input), tools = { "facilitator" }, agents = { at.agent }, retries = 0, team = team }
  local board = hocket.board()
  hocket.run(team.lead, "dispatch", { board = board, model = at.options.model })
  return board:tasks()[1].status
end)

-- Runs the program; returns its exit code and what it printed.
local function program(at, env, ...)
  local all = { "PATH=/usr/bin:/bin", "HOME=" .. at.dir.path, "OPENAI_API_KEY=k", "OPENAI_BASE_URL=" .. (at.case.world == "dead" and "http://127.0.0.1:1/v1" or served.base) }
  table.move(env, 1, #env, #all + 1, all)
  local argv = table.move({ ... }, 1, select("#", ...), 2, { process.launcher() })
  local opened <close> = assert(process.open { argv = argv, env = all, cwd = at.dir.path, sandbox = "limits", network = true, sockets = true })
  local out = {}
  for line in function() return opened:read_line() end do out[#out + 1] = line end
  local ended = opened:wait()
  return ended.code or ended, table.concat(out, "\n")
end

local function target_of(at)
  return at.agent == "bad" and "bad.lua" or "agents/" .. at.agent .. ".md"
end

-- What a command ends with: its code, and what --json, the store, the last event and the run's span say.
door("cli", function(row)
  return ("%d %s %s %s/%s %s"):format(row.exit, row.name, row.state, row.name, row.state, row.state == "parked" and "open" or row.mcp and "error" or "unset")
end, function(at)
  local store, collector <close> = at.dir.path .. "/runs.db", collectors.open()
  local code, out = program(at, { "OTEL_EXPORTER_OTLP_ENDPOINT=" .. collector.url, "HOCKET_TELEMETRY_WAIT=600" }, "run", "--json", "--trust", "--store", store, "--events", "events.jsonl", "--model", "openai-chat/m",
    "--timeout", at.options.timeout and tostring(at.options.timeout) or "60", target_of(at), at.input)
  local result = json.decode(out)
  local _, rows = program(at, {}, "runs", "--json", "--store", store)
  local list = json.decode(rows)
  list = list.runs or list
  local finished = json.decode(assert(fs.read(at.dir.path .. "/events.jsonl")):match "[^\n]+\n$")
  local root = collector:tree():match "^invoke_workflow[^\n]*"
  return ("%s %s %s %s/%s %s"):format(tostring(code), ending.of(result).name, list[1].state, finished.ending, finished.state, not root and "open" or root:find " ERROR " and "error" or "unset")
end)

door("eval", function(row) return row.unmeasured and "unmeasured" or row.mcp and "failed" or "passed" end, function(at)
  at.dir:write("a.eval.yaml", ("cases: [{name: a, target: %s, input: %s, timeout: %g}]"):format(target_of(at), at.input, at.options.timeout or 60))
  local _, out = program(at, { "HOCKET_TRUST=1" }, "eval", "--store", "off", "--json", "-", "--model", "openai-chat/m", "a.eval.yaml")
  local got = json.decode(out)
  return got.results[1].attempts[1].state
end)

-- ---- All of them ---------------------------------------------------------------------------------

local worlds = { usual = { model = "ends/m", trust = true }, late = { model = "ends/m", trust = true, timeout = 0.5 }, dead = { model = "dead/m", trust = true } }

local by_name = {}
for _, row in ipairs(ending.rows) do by_name[row.name] = row end

t.test("every row has an end, and every end a row", function()
  local driven = {}
  for _, case in ipairs(cases) do
    t.ok(by_name[case[1]], "no row: " .. case[1])
    driven[case[1]] = true
    for name in pairs(case.no or {}) do t.ok(#case.no[name] > 0, name) end
  end
  for _, row in ipairs(ending.rows) do t.ok(driven[row.name], "nothing ends so here: " .. row.name) end
end)

-- Ends what hangs as its person does.
local function cancel_when_waiting(at)
  t.eventually(function() return waiting > 0 end)
  if at.client then return at.client:tell("session/cancel", { sessionId = at.client.id }) end
  for _, run in ipairs(at.server.desk:all()) do
    if not run:interrupt() then run:cancel() end
  end
end

-- The words of all errors, as C has them.
local function words()
  local header, list = assert(fs.read(fs.real(here .. "/../../../include/hocket/hocket.h"))), {}
  for name in header:gmatch '\n    X%(E%u+, %-%d+, "([%l_]+)"' do list[#list + 1] = name end
  t.ok(#list > 25, #list .. " words")
  return list
end

t.test("the exit code of every error is that of its row", function()
  local dir <close> = t.dir()
  dir:write("fail.lua", "return nil, { code = ..., message = 'x' }")
  local wrong = {}
  for _, word in ipairs(words()) do
    local code = program({ dir = dir, case = {} }, {}, "run", "-q", "--store", "off", "fail.lua", word)
    local row = ending.of_error { code = word }
    if code ~= row.exit then wrong[#wrong + 1] = ("%s: %s, got %s"):format(word, row.exit, code) end
  end
  t.equal(table.concat(wrong, "; "), "")
end)

local function drive(one, case, at)
  if not case.cancel then return one.drive(at) end
  local canceller = fiber.spawn(cancel_when_waiting, at)
  local got = one.drive(at)
  canceller:join()
  return got
end

local counted = 0
for _, one in ipairs(doors) do
  t.test(one.name, function()
    local dir <close> = t.dir()
    for path, text in pairs(files) do dir:write(path, text) end
    local wrong = {}
    for world, options in pairs(worlds) do
      local server <close> = serving.open({ dir.path .. "/agents", dir.path .. "/bad.lua" }, options)
      for _, case in ipairs(cases) do
        if (case.world or "usual") == world and not (case.no and case.no[one.name]) then
          released = false
          local want = one.expected(by_name[case[1]], case)
          local got = drive(one, case, { server = server, dir = dir, agent = case[2], input = case[3], case = case, options = options })
          released = true
          t.eventually(function() return waiting == 0 end)
          counted = counted + 1
          print(("%-17s %-11s %s%s"):format(one.name, case[1], tostring(got), got ~= want and " (WRONG: " .. want .. ")" or ""))
          if got ~= want then wrong[#wrong + 1] = ("%s: %s, got %s"):format(case[1], want, tostring(got)) end
        end
      end
    end
    t.equal(table.concat(wrong, "; "), "")
  end)
end

print(("%d ends x %d doors: %d driven"):format(#cases, #doors, counted))

return t.finish()
