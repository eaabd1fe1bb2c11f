-- Every way in which a run ends, at every door: what the table says (hocket.internal.base.ending) is what clients see. Prints both.
local t = require "harness"
local acp_client = require "acp_client"
local client = require "hocket.internal.mcp.client"
local collectors = require "collector"
local delegation = require "hocket.tools.delegate_to_agent"
local endings = require "endings"
local ending = require "hocket.internal.base.ending"
local fs = require "hocket.fs"
local hocket = require "hocket"
local json = require "hocket.json"
local process = require "hocket.process"

local here = debug.getinfo(1, "S").source:match "^@(.*)/[^/]*$"

-- ---- The doors -----------------------------------------------------------------------------------

local failed = endings.failed

local function body(at, kind, more)
  more.model, more.tools = at.agent, endings.tools(at.case, kind)
  return more
end

local function said(at) return { { role = "user", content = at.input } } end

local function last(events)
  return events[#events].data
end

local doors = {}

local function door(name, expected, drive)
  doors[#doors + 1] = { name = name, expected = expected, drive = drive }
end

-- One whose clients see what the support file says.
local function wire(name, drive) door(name, endings.expected[name], drive) end

wire("chat", function(at)
  local status, got, headers = at.server:post("/v1/chat/completions", body(at, "chat", { messages = said(at) }))
  return status == 200 and got.choices[1].finish_reason or failed(status, headers)
end)

-- An error before the first word has its status, one behind it is the last event.
wire("chat_stream", function(at)
  local status, events = at.server:stream("/v1/chat/completions", body(at, "chat", { messages = said(at), stream = true }))
  if status ~= 200 or last(events).error then return "error" end
  t.equal(last(events), "[DONE]")
  return events[#events - 1].data.choices[1].finish_reason
end)

wire("responses", function(at)
  local status, got, headers = at.server:post("/v1/responses", body(at, "responses", { input = at.input }))
  if status ~= 200 then return failed(status, headers) end
  return ("%s %s"):format(got.status, got.incomplete_details ~= json.null and got.incomplete_details.reason or "-")
end)

wire("responses_stream", function(at)
  local status, events = at.server:stream("/v1/responses", body(at, "responses", { input = at.input, stream = true }))
  if status ~= 200 or last(events).type == "error" then return "error" end
  return (last(events).type:gsub("^response%.", ""))
end)

wire("anthropic", function(at)
  local status, got, headers = at.server:post("/v1/messages", body(at, "anthropic", { max_tokens = 900, messages = said(at) }))
  return status == 200 and got.stop_reason or failed(status, headers)
end)

wire("anthropic_stream", function(at)
  local status, events = at.server:stream("/v1/messages", body(at, "anthropic", { max_tokens = 900, messages = said(at), stream = true }))
  if status ~= 200 or last(events).type == "error" then return "error" end
  return events[#events - 1].data.delta.stop_reason
end)

local function sent(at)
  return { jsonrpc = "2.0", id = 1, params = { message = { messageId = "m1", role = "ROLE_USER", parts = { { text = at.input } } } } }
end

local function a2a_end(state, metadata)
  return ("%s %s"):format(state, metadata and metadata.hocket.ending or "-")
end

wire("a2a", function(at)
  local request = sent(at)
  request.method = "SendMessage"
  local _, got = at.server:post("/a2a/" .. at.agent, request, { ["a2a-version"] = "1.0" })
  local task = got.result.task
  return a2a_end(task.status.state:gsub("^TASK_STATE_", ""), task.metadata)
end)

-- Clients of the version before, and what they see come.
wire("a2a_stream", function(at)
  local request = sent(at)
  request.method, request.params.message.role, request.params.message.parts[1].kind = "message/stream", "user", "text"
  local _, events = at.server:stream("/a2a/" .. at.agent, request)
  local update = last(events).result
  return a2a_end(update.status.state:upper():gsub("-", "_"), update.metadata)
end)

wire("agui", function(at)
  local _, events = at.server:stream("/agui/" .. at.agent, { threadId = "t", runId = "r", tools = endings.tools(at.case, "agui"), messages = { { id = "u", role = "user", content = at.input } } })
  local event = last(events)
  return event.type == "RUN_ERROR" and "error" or event.outcome.type
end)

wire("acp", function(at)
  local path = at.dir.path .. "/" .. (at.agent == "bad" and "bad.lua" or "agents/" .. at.agent .. ".md")
  local c <close> = acp_client.open { target = path, options = at.options }
  c:session(at.dir.path)
  at.client = c
  local result, err = c:prompt(at.input)
  at.client = nil
  return result and result.stopReason or err and "error"
end)

wire("mcp", function(at)
  local c = assert(client.connect { name = "ours", era = "modern", url = at.server.base .. "/mcp", headers = { authorization = "Bearer secret" } })
  local closing <close> = setmetatable({}, { __close = function() c:close() end })
  local result = assert(c:call(at.agent, { input = at.input }))
  return tostring(result.isError == true)
end)

-- Who answers inside of a run: nobody, or one who refuses.
local function person(at)
  return at.options.approve == "deny" and function() return "no" end or nil
end

door("delegate", function(row) return tostring(not row.mcp) end, function(at)
  local of = hocket.agents(at.dir.path .. "/agents")[at.agent]
  local lead = hocket.agent { name = "lead", prompt = "I lead.", retries = 0 }
  local answer
  local tool = hocket.tool { name = "hand", description = "x", steps = true, parameters = { type = "object" }, run = function()
    answer = delegation.to_agent(of, at.input, nil, { model = at.options.model })
    return "done"
  end }
  hocket.run(lead, "hand over", { tools = { tool }, model = "ends/m", on_question = person(at) })
  return tostring(answer and answer.success)
end)

-- A run of /api, until it has ended or waits for a person: its path.
local function begin(at)
  local _, made = at.server:post("/api/runs", { target = at.agent, input = at.input })
  local run = at.server.desk:find(made.id)
  t.eventually(function() return run.outcome or #run:waits() > 0 end)
  return "/api/runs/" .. made.id
end

door("api", function(row) return row.name == "waits" and "waiting" or row.state end, function(at)
  local path = begin(at)
  local _, got = at.server:get(path)
  at.server:post(path .. "/cancel", {})
  return got.state
end)

-- The task that an agent was given, on the board of who has sent it.
door("task", function(row) return row.task end, function(at)
  local team = hocket.agents(at.dir.path .. "/agents")
  hocket.agent { name = "lead", model = "ends/m", prompt = ("hand to %s, say %s."):format(at.agent, at.input), tools = { "facilitator" }, agents = { at.agent }, retries = 0, team = team }
  local board = hocket.board()
  hocket.run(team.lead, "dispatch", { board = board, model = at.options.model, on_question = person(at) })
  return board:tasks()[1].status
end)

-- Runs the program; returns its exit code and what it printed.
local function program(at, env, ...)
  local all = { "PATH=/usr/bin:/bin", "HOME=" .. at.dir.path, "OPENAI_API_KEY=k", "OPENAI_BASE_URL=" .. (at.case.world == "dead" and "http://127.0.0.1:1/v1" or endings.model.base) }
  table.move(env, 1, #env, #all + 1, all)
  at.dir:write(".config/hocket/policy.yaml", at.policy and at.policy:gsub("ends/", "openai-chat/") or "")
  local argv = table.move({ ... }, 1, select("#", ...), 2, { process.launcher() })
  local opened <close> = assert(process.open { argv = argv, env = all, cwd = at.dir.path, sandbox = "limits", network = true, sockets = true })
  local out = {}
  for line in function() return opened:read_line() end do out[#out + 1] = line end
  local ended = opened:wait()
  return ended.code or ended, table.concat(out, "\n")
end

-- The model of the program's provider, which its policy may forbid.
local function model_of(at) return at.options.model:gsub("^[^/]+", "openai-chat") end

local function target_of(at)
  return at.agent == "bad" and "bad.lua" or "agents/" .. at.agent .. ".md"
end

-- What a command ends with: its code, and what --json, the store, the last event and the run's span say.
door("cli", function(row)
  return ("%d %s %s %s/%s %s"):format(row.exit, row.name, row.state, row.name, row.state, row.state == "parked" and "open" or row.mcp and "error" or "unset")
end, function(at)
  local store, collector <close> = at.dir.path .. "/runs.db", collectors.open()
  local code, out = program(at, { "OTEL_EXPORTER_OTLP_ENDPOINT=" .. collector.url, "HOCKET_TELEMETRY_WAIT=600" }, "run", "--json", "--trust", "--store", store, "--events", "events.jsonl", "--model", model_of(at),
    "--approve", at.options.approve or "ask", "--timeout", at.options.timeout and tostring(at.options.timeout) or "60", target_of(at), at.input)
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
  local _, out = program(at, { "HOCKET_TRUST=1" }, "eval", "--store", "off", "--json", "-", "--model", model_of(at), "--approve", at.options.approve or "ask", "a.eval.yaml")
  local got = json.decode(out)
  return got.results[1].attempts[1].state
end)

-- What the page shows when the run's records are all there: its modules, run by node, where that is.
local root = fs.real(here .. "/../../..")
local node = process.run { argv = { "node", "--version" }, env = { "PATH=/usr/local/bin:/usr/bin:/bin" }, cwd = "/tmp", sandbox = "limits" }

local FOLD = [[
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { fold, newState } from "./reduce.js";
for await (const path of createInterface({ input: process.stdin })) {
  const state = newState();
  for (const line of readFileSync(path, "utf8").split("\n")) if (line) fold(state, JSON.parse(line));
  console.log([state.outcome, state.agents[0]?.state ?? "nobody", state.agents.filter((one) => one.state === "working").length, state.open.size].join(" "));
}
]]

-- The process that reads records as the page does, one for all ends.
local folder, folding

local function open_page(dir)
  if folder == dir then return folding end
  for _, name in ipairs(assert(fs.list(root .. "/page"))) do
    if name:find "%.js$" then dir:write("page/" .. name, assert(fs.read(root .. "/page/" .. name))) end
  end
  dir:write("page/package.json", '{"type":"module"}')
  dir:write("page/fold.js", FOLD)
  folder, folding = dir, assert(process.open { argv = { "node", dir.path .. "/page/fold.js" }, env = { "PATH=/usr/local/bin:/usr/bin:/bin" }, cwd = "/tmp", sandbox = "limits" })
  return folding
end

-- The outcome, the state of the agent that was asked, how many are still at work, how many questions are open.
local shown = { done = "done finished", failed = "failed failed", cancelled = "cancelled cancelled", parked = "parked parked" }
if node then
  door("page", function(row, case)
    if row.name == "waits" then return " working 1 1" end -- no outcome yet
    local agent = (case[2] == "bad" or row.name == "request") and "failed nobody" or row.name == "timeout" and "failed cancelled" -- no agent; and one that was at work
    return (agent or shown[row.state]) .. " 0 0"
  end, function(at)
    local path, lines = begin(at), {}
    local _, got = at.server:get(path .. "/records?limit=1000")
    at.server:post(path .. "/cancel", {})
    for i, record in ipairs(got.records) do lines[i] = json.encode(record) end
    at.dir:write("records", table.concat(lines, "\n"))
    local page = open_page(at.dir)
    page:write(at.dir.path .. "/records\n")
    return page:read_line()
  end)
  doors[#doors].close = function() folding:close() end
end

-- ---- All of them ---------------------------------------------------------------------------------

t.test("every row has an end, and every end a row", function()
  local rows, driven = {}, {}
  for _, row in ipairs(ending.rows) do rows[row.name] = true end
  for _, case in ipairs(endings.cases) do
    t.ok(rows[case[1]], "no row: " .. case[1])
    driven[case[1]] = true
    for name, why in pairs(case.no or {}) do t.ok(#why > 0, name) end
    for name, row in pairs(case.instead or {}) do t.ok(rows[row], name) end
  end
  for name in pairs(rows) do t.ok(driven[name], "nothing ends so here: " .. name) end
end)

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

endings.drive(doors)
if not node then print "page: skipped, there is no node" end

return t.finish()
