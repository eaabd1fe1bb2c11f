--- The text of an agent with an output guard at every door: until the guard has decided, and where it objects for ever, no byte of it is sent.
local t = require "harness"
local acp_client = require "acp_client"
local fiber = require "hocket.internal.core.fiber"
local fs = require "hocket.fs"
local hocket = require "hocket"
local http = require "hocket.http"
local json = require "hocket.json"
local process = require "hocket.process"
local serving = require "serving"

hocket.broker() -- its dispatcher lives as long as the host

-- ---- The agents and their model ----------------------------------------------------------------------

-- Words that nothing but the answer has, however it is cut.
local WORDS = { "zebra", "quokka", "walrus", "ibex" }
local SECRET = table.concat(WORDS, " ")

local function seen_in(text)
  for _, word in ipairs(WORDS) do
    if text:find(word, 1, true) then return word end
  end
end

local function tool(name, arguments)
  return { { name = name, arguments = arguments or {} } }
end

local says = {
  plain = function() return SECRET end,
  reasoning = function() return { reasoning = "I think of " .. SECRET, text = SECRET } end,
  beside = function(q) return q.last.role == "tool" and SECRET or { text = "First: " .. SECRET, calls = tool("list_directory", { path = "." }) } end,
  misfit = function() return json.encode { animal = SECRET } end,
  first = function() return "Nothing yet." end,
  last = function() return SECRET end,
  down = function() return { status = 400, error = "down" } end,
  cut = function() return { text = SECRET, fault = "unsaid" } end,
  lead = function(q) return q.last.role == "tool" and "It was refused." or { calls = tool("delegate", { agent_name = "inner", prompt = "go" }) } end,
}

local sim = assert(hocket.sim.serve({ reply = function(q) return says[q.system:match "You are (%w+)"](q) end }, { fragment = 5 }))
hocket.provider("held", { protocol = "openai_chat", base = sim.base })

local function file(name, more)
  return ("---\nname: %s\ndescription: An agent\nretries: 0\n%s---\nYou are %s."):format(name, more or "", name)
end

local GUARD = "guards: {output: [checks.judge]}\n"
local files = {
  ["agents/checks.lua"] = "return { judge = function(about) return HELD_DOORS(about) end }",
  ["agents/free.md"] = file("plain"):gsub("name: plain", "name: free"),
  ["agents/plain.md"] = file("plain", GUARD),
  ["agents/asked.md"] = file("plain", "guards: {output: [{function: checks.judge, action: ask}]}\n"):gsub("name: plain", "name: asked"),
  ["agents/reasoning.md"] = file("reasoning", GUARD),
  ["agents/beside.md"] = file("beside", GUARD .. "tools: [list_directory]\n"),
  ["agents/misfit.md"] = file("misfit", GUARD .. "output: {type: object, properties: {animal: {enum: [cat]}}, required: [animal]}\n"),
  ["agents/first.md"] = file("first", GUARD .. "handoff: last\nagents: [last]\n"),
  ["agents/last.md"] = file "last",
  ["agents/down.md"] = file("down", GUARD .. "agents: [last]\nalternates: [{agent: last}]\n"),
  ["agents/cut.md"] = file("cut", GUARD),
  ["agents/lead.md"] = file("lead", "tools: [delegate]\nagents: [inner]\n"),
  ["agents/inner.md"] = file("plain", GUARD):gsub("name: plain", "name: inner"),
}

-- ---- The doors: every byte that comes to a client goes to `take` ---------------------------------------

local function rpc(method, params) return { jsonrpc = "2.0", id = 1, method = method, params = params } end

local function said(words) return { { role = "user", content = words } } end

local function follow(server, take, method, path, body, headers)
  local all = { authorization = "Bearer secret", ["content-type"] = body and "application/json" or nil }
  for name, value in pairs(headers or {}) do all[name] = value end
  local stream <close> = assert(http.open { url = server.base .. path, method = method, headers = all, body = body and json.encode(body) or nil })
  for text in function() return (stream:read()) end do take(text) end
end

local doors, order = {}, {}

local function door(name, drive)
  doors[name], order[#order + 1] = drive, name
end

local function post(name, path, body, headers)
  door(name, function(server, agent, take) follow(server, take, "POST", path:format(agent), body(agent), headers) end)
end

post("chat", "/v1/chat/completions", function(agent) return { model = agent, messages = said "go" } end)
post("chat_stream", "/v1/chat/completions", function(agent) return { model = agent, stream = true, messages = said "go" } end)
post("responses", "/v1/responses", function(agent) return { model = agent, input = "go" } end)
post("responses_stream", "/v1/responses", function(agent) return { model = agent, stream = true, input = "go" } end)
post("anthropic", "/v1/messages", function(agent) return { model = agent, max_tokens = 900, messages = said "go" } end)
post("anthropic_stream", "/v1/messages", function(agent) return { model = agent, max_tokens = 900, stream = true, messages = said "go" } end)
post("agui", "/agui/%s", function() return { threadId = "t", runId = "r", messages = { { id = "u", role = "user", content = "go" } } } end)

local newer = { messageId = "m", role = "ROLE_USER", parts = { { text = "go" } } }
post("a2a", "/a2a/%s", function() return rpc("SendMessage", { message = newer }) end, { ["a2a-version"] = "1.0" })
post("a2a_stream", "/a2a/%s", function() return rpc("SendStreamingMessage", { message = newer }) end, { ["a2a-version"] = "1.0" })
post("a2a_older_stream", "/a2a/%s", function() return rpc("message/stream", { message = { kind = "message", messageId = "m", role = "user", parts = { { kind = "text", text = "go" } } } }) end)
post("a2a_rest_stream", "/a2a/%s/message:stream", function() return { message = newer } end, { ["a2a-version"] = "1.0" })

local meta = { ["io.modelcontextprotocol/protocolVersion"] = "2026-07-28", ["io.modelcontextprotocol/clientInfo"] = { name = "x", version = "1" }, ["io.modelcontextprotocol/clientCapabilities"] = json.decode "{}", progressToken = "p" }
door("mcp", function(server, agent, take)
  follow(server, take, "POST", "/mcp", rpc("tools/call", { name = agent, arguments = { input = "go" }, _meta = meta }), {
    accept = "application/json, text/event-stream", ["mcp-protocol-version"] = "2026-07-28", ["mcp-method"] = "tools/call", ["mcp-name"] = agent })
end)

-- What the page asks for, while the run works and afterwards.
local function look(server, take, id)
  for _, path in ipairs { "", "/records", "/snapshot", "/prompts", "/events" } do follow(server, take, "GET", "/api/runs/" .. id .. path) end
end

door("api", function(server, agent, take)
  local _, made = server:post("/api/runs", { target = agent, input = "go" })
  follow(server, take, "GET", "/api/runs/" .. made.id .. "/events?deltas=1")
  look(server, take, made.id)
end)

-- The page itself: its modules fold what it gets, by node, where that is.
local node = process.run { argv = { "node", "--version" }, env = { "PATH=/usr/local/bin:/usr/bin:/bin" }, cwd = "/tmp", sandbox = "limits" }
local FOLD = [[
import { readFileSync } from "node:fs";
import { fold, foldDelta, newState } from "./reduce.js";
import { parser } from "./sse.js";
const state = newState();
for (const event of parser()(readFileSync(process.argv[2], "utf8"))) {
  if (event.type === "message") fold(state, JSON.parse(event.data));
  else if (event.type === "delta") foldDelta(state, JSON.parse(event.data));
}
const plain = (key, value) => value instanceof Map ? [...value] : key === "caller" || key === "children" ? undefined : value;
console.log(JSON.stringify(state, plain));
]]
if node then
  local root = fs.real(debug.getinfo(1, "S").source:match "^@(.*)/[^/]*$" .. "/../../..")
  door("page", function(server, agent, take)
    local parts = {}
    local _, made = server:post("/api/runs", { target = agent, input = "go" })
    follow(server, function(text) parts[#parts + 1] = text end, "GET", "/api/runs/" .. made.id .. "/events?deltas=1")
    for _, name in ipairs(assert(fs.list(root .. "/page"))) do
      if name:find "%.js$" then server.write("page/" .. name, assert(fs.read(root .. "/page/" .. name))) end
    end
    server.write("page/package.json", '{"type":"module"}')
    server.write("page/fold.js", FOLD)
    server.write("events", table.concat(parts))
    local ran = process.run { argv = { "node", server.dir .. "/page/fold.js", server.dir .. "/events" }, env = { "PATH=/usr/local/bin:/usr/bin:/bin" }, cwd = "/tmp", sandbox = "limits" }
    take(ran.stdout .. ran.stderr)
    t.has(ran.stdout, '"outcome"')
  end)
end

door("acp", function(server, agent, take)
  local c <close> = acp_client.open { target = server.dir .. "/agents/" .. agent .. ".md", options = { model = "held/m", trust = true },
    on = { ["session/request_permission"] = function(params) return { outcome = { outcome = "selected", optionId = params.options[#params.options].optionId } } end } }
  c:session(server.dir)
  local watcher = fiber.spawn(function() -- what has come so far
    local taken = 0
    while true do
      for i = taken + 1, #c.raw do take(c.raw[i]) end
      taken = #c.raw
      fiber.sleep(0.005)
    end
  end)
  c:prompt "go"
  fiber.sleep(0.02)
  watcher:cancel()
end)

-- ---- What comes out ----------------------------------------------------------------------------------

-- Opens a server for a door, which ends with it.
local function open_server(dir)
  local server = serving.open(dir.path .. "/agents", { model = "held/m", trust = true })
  server.dir, server.write = dir.path, function(path, text) dir:write(path, text) end
  return server
end

-- Drives each door with an agent; `judge` is its guard, and gets what came so far. Gives check(name, all that came).
local function drive(agent, judge, check)
  local dir <close> = t.dir()
  for path, text in pairs(files) do dir:write(path, text) end
  for _, name in ipairs(order) do
    local server <close>, came = open_server(dir), {}
    _G.HELD_DOORS = function(about) return judge(name, about, table.concat(came)) end -- for the module checks
    doors[name](server, agent, function(text) came[#came + 1] = text end)
    check(name, table.concat(came))
  end
  _G.HELD_DOORS = nil
end

local function refused(agent, more)
  t.test("refused: " .. agent, function()
    local judged = {}
    drive(agent, function(name, about)
      judged[name] = seen_in(about.text) or judged[name]
      return "it names animals"
    end, function(name, came)
      t.ok(#came > 0, name .. ": nothing came")
      local at = came:find(seen_in(came) or "\0", 1, true)
      t.equal(at, nil, ("%s: it came: %s"):format(name, at and came:sub(math.max(at - 200, 1), at + 80)))
      if more then more(name, came, judged[name]) end
    end)
  end)
end

local function was_judged(name, came, word)
  t.ok(word, name .. ": the guard saw the text")
  t.has(came, "it names animals", name)
end

refused("plain", was_judged)
refused("reasoning", was_judged)
refused("beside", was_judged)
refused("first", was_judged)
refused("down", was_judged)
refused "misfit"
refused "cut"
refused("lead", function(name, _, word) t.ok(word, name .. ": the guard saw the text") end)

t.test("a person who is asked whether it may pass does not see it", function()
  local all = order
  order = { "chat", "chat_stream", "responses_stream", "anthropic_stream", "mcp", "acp" } -- at the others the question waits: the next test
  local back <close> = setmetatable({}, { __close = function() order = all end })
  drive("asked", function() return "it names animals" end, function(name, came)
    t.ok(#came > 0, name)
    t.equal(seen_in(came), nil, name)
  end)
end)

t.test("while it waits for a person's word nothing of it is sent, and everything when he lets it pass", function()
  local dir <close> = t.dir()
  for path, text in pairs(files) do dir:write(path, text) end
  local server <close> = open_server(dir)
  _G.HELD_DOORS = function() return "it names animals" end
  local _, made = server:post("/api/runs", { target = "asked", input = "go", options = { interactive = true } })
  local run, came = server.desk:find(made.id), {}
  t.eventually(function() return #run:waits() > 0 end)
  local function take(text) came[#came + 1] = text end
  for _, path in ipairs { "", "/records", "/snapshot", "/prompts" } do follow(server, take, "GET", "/api/runs/" .. made.id .. path) end
  t.has(table.concat(came), "it names animals")
  t.equal(seen_in(table.concat(came)), nil)
  local status = server:post(("/api/runs/%s/answers"):format(made.id), { question = run:waits()[1].id, text = "yes" })
  t.ok(status < 300, status)
  follow(server, take, "GET", "/api/runs/" .. made.id .. "/events?deltas=1")
  t.ok(seen_in(table.concat(came)))
  _G.HELD_DOORS = nil
end)

t.test("let pass: nothing comes before the guard has decided, and everything afterwards", function()
  for _, agent in ipairs { "plain", "beside", "first" } do
    local early = {}
    drive(agent, function(name, about, came)
      if not seen_in(about.text) then return true end -- who hands on has said nothing yet
      fiber.sleep(0.05)
      early[name] = seen_in(came) or early[name] or false
    end, function(name, came)
      t.equal(early[name], false, name .. ": " .. agent)
      t.equal(seen_in(came) ~= nil, true, name .. ": it came in the end: " .. came:sub(1, 300))
    end)
  end
end)

t.test("without a guard the words come at once", function()
  local dir <close> = t.dir()
  for path, text in pairs(files) do dir:write(path, text) end
  local server <close> = open_server(dir)
  local came = {}
  doors.chat_stream(server, "free", function(text) came[#came + 1] = text end)
  t.ok(seen_in(table.concat(came)), "the test finds words that are there")
end)

if not node then print "page: skipped, there is no node" end
return t.finish()
