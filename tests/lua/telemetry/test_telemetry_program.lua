-- Telemetry of the program: runs that are kept, servers, and what a person hears.
local t = require "harness"
local collectors = require "collector"
local fs = require "hocket.fs"
local json = require "hocket.json"
local process = require "hocket.process"
local served = require "served"

t.limit = 1000

local PARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
local TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
local PATIENCE = "HOCKET_TELEMETRY_WAIT=600" -- a machine may be slow
local here = debug.getinfo(1, "S").source:match "^@(.*)/[^/]*$"

local function project()
  local dir = t.dir()
  dir:write("guide/guide.md", "---\nname: guide\ndescription: Asks first\ntools: [ask_user]\nagents: [fish]\n---\nYou ask before you answer.")
  dir:write("guide/fish.md", "---\nname: fish\ndescription: Knows fish\n---\nYou know fish.")
  dir:write("guide/sim.lua", [[return function(q)
    if not q.system:find "You ask" then return "cod" end
    local n = 0
    for _, message in ipairs(q.messages) do n = n + (message.role == "tool" and 1 or 0) end
    if n == 0 then return { calls = { { name = "delegate", arguments = { agent_name = "fish", prompt = "which?" } } } } end
    if n == 1 then return { calls = { { name = "ask_user", arguments = { question = "Which city?" } } } } end
    return "I say: " .. q.last.text
  end]])
  dir:write("one.md", "---\nname: one\ndescription: Answers\n---\nYou answer.")
  return dir
end

-- Runs the program below a folder, with telemetry where there is a collector.
local function run(dir, collector, env, ...)
  local all = { "PATH=/usr/bin:/bin", "XDG_STATE_HOME=" .. dir.path .. "/state", "HOME=" .. dir.path }
  if collector then table.move({ "OTEL_EXPORTER_OTLP_ENDPOINT=" .. collector.url, PATIENCE }, 1, 2, #all + 1, all) end
  table.move(env, 1, #env, #all + 1, all)
  return assert(process.run { argv = { process.launcher(), ... }, cwd = dir.path, sandbox = "limits", network = true, sockets = true, env = all })
end

local function id_in(text)
  return text:match "hocket resume (%w+)" or error("no run in: " .. text, 2)
end

t.test("a run that is put away goes on in its trace", function()
  local dir <close> = project()
  local collector <close> = collectors.open()
  local first = run(dir, collector, { "TRACEPARENT=" .. PARENT }, "run", "--trust", "--model", "sim", "guide", "go")
  t.equal(first.code, 75, first.stderr)
  local before = collector:spans()
  t.equal(collector:span "invoke_workflow guide", nil)
  t.equal(collector:span "invoke_agent guide", nil, "it goes on")
  t.ok(collector:span "chat default")
  local id = id_in(first.stderr)
  t.equal(run(dir, collector, {}, "answer", id, "q1", "Rome").code, 0)
  local second = run(dir, collector, {}, "resume", id)
  t.equal(second.code, 0, second.stderr)
  t.has(second.stdout, "Rome")
  collector:check()
  t.equal(collector:tree(), table.concat({
    "invoke_workflow guide", "  invoke_agent guide", "    chat default", "    chat default", "    chat default", "    execute_tool ask_user",
    "    execute_tool delegate", "      invoke_agent fish", "        chat default", "    wait question",
  }, "\n"))
  t.ok(#before > 0)
  for _, span in ipairs(collector:spans()) do
    t.equal(span.traceId, TRACE)
    t.equal(span.of["hocket.run.id"], id)
  end
  t.equal(collector:span "invoke_workflow guide".parentSpanId, PARENT:match "%-(%x+)%-01")
  t.equal(collector:span "wait question".of["hocket.wait.outcome"], "answered")
end)

t.test("a fork is a trace of its own that names where it comes from; a replay is told to nobody", function()
  local dir <close> = project()
  local collector <close> = collectors.open()
  t.equal(run(dir, collector, {}, "run", "--trust", "--model", "sim", "one.md", "go").code, 0)
  local root = collector:span "invoke_workflow one"
  local parent = root.of["hocket.run.id"]
  local fork = run(dir, nil, {}, "fork", "--latest", parent)
  t.equal(fork.code, 0, fork.stderr)
  local id = fork.stdout:match "%w+"
  t.equal(run(dir, collector, {}, "resume", id).code, 0)
  collector:check()
  local found
  for _, span in ipairs(collector:spans()) do
    if span.of["hocket.run.id"] == id and span.name:find "workflow" then found = span end
  end
  t.ok(found.traceId ~= root.traceId)
  t.equal(found.links[1].traceId, root.traceId)
  t.equal(found.links[1].spanId, root.spanId)
  local n = #collector.requests
  t.equal(run(dir, collector, {}, "replay", parent).code, 0)
  t.equal(#collector.requests, n)
end)

t.test("each turn of a conversation is whole by itself", function()
  local dir <close> = project()
  local collector <close> = collectors.open()
  local all = { "PATH=/usr/bin:/bin", "XDG_STATE_HOME=" .. dir.path .. "/state", "HOME=" .. dir.path, "OTEL_EXPORTER_OTLP_ENDPOINT=" .. collector.url, PATIENCE }
  local talk = assert(process.run { argv = { process.launcher(), "chat", "--model", "sim", "one.md" }, cwd = dir.path, sandbox = "limits", network = true, sockets = true, env = all,
    input = "good day\nand night\n" })
  t.equal(talk.code, 0, talk.stderr)
  collector:check()
  local turn = "invoke_workflow one\n  invoke_agent one\n    chat default"
  t.equal(collector:tree(), turn .. "\n" .. turn)
  for _, span in ipairs(collector:spans()) do t.ok(span.name ~= "chat default" or span.of["gen_ai.conversation.id"] == span.of["hocket.run.id"]) end
end)

t.test("what is wrong with it is said, and the run goes on", function()
  local dir <close> = project()
  local collector <close> = collectors.open()
  local wrong = run(dir, collector, { "OTEL_EXPORTER_OTLP_PROTOCOL=grpc" }, "run", "--model", "sim", "one.md", "go")
  t.equal(wrong.code, 0)
  t.has(wrong.stderr, "http/json")
  t.equal(#collector.requests, 0)
  local gone = run(dir, nil, { "OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1" }, "run", "--model", "sim", "one.md", "go")
  t.equal(gone.code, 0)
  t.has(gone.stderr, "telemetry")
  local off = run(dir, collector, { "OTEL_SDK_DISABLED=true" }, "run", "--model", "sim", "one.md", "go")
  t.equal(off.code, 0)
  t.lacks(off.stderr, "telemetry")
  t.equal(#collector.requests, 0)
end)

t.test("a server's runs are in their clients' traces, an MCP client's as well", function()
  local dir <close> = project()
  local collector <close> = collectors.open()
  do
    local s <close> = served.start_with(dir, { "OTEL_EXPORTER_OTLP_ENDPOINT=" .. collector.url, PATIENCE, "TRACEPARENT=00-" .. ("1"):rep(32) .. "-" .. ("1"):rep(16) .. "-01" }, "one.md", "--model", "sim")
    t.equal(s:post("/v1/chat/completions", { model = "one", messages = { { role = "user", content = "go" } } }, { traceparent = PARENT }).status, 200)
    t.equal(s:post("/v1/chat/completions", { model = "one", messages = { { role = "user", content = "go" } } }, { traceparent = "00-no" }).status, 200)
    local meta = { ["io.modelcontextprotocol/protocolVersion"] = "2026-07-28", ["io.modelcontextprotocol/clientCapabilities"] = json.decode "{}", traceparent = (PARENT:gsub("4bf9", "5bf9")) }
    local answer = s:post("/mcp", { jsonrpc = "2.0", id = 1, method = "tools/call", params = { name = "one", arguments = { input = "go" }, _meta = meta } },
      { ["mcp-protocol-version"] = "2026-07-28", ["mcp-method"] = "tools/call", ["mcp-name"] = "one", accept = "application/json, text/event-stream" })
    t.equal(answer.status, 200, answer.body)
    t.has(answer.body, "You said")
    local function legacy(id, method, params)
      return s:post("/mcp", { jsonrpc = "2.0", id = id, method = method, params = params or json.decode "{}" }, { accept = "application/json, text/event-stream" })
    end
    t.equal(legacy(2, "initialize", { protocolVersion = "2025-11-25", capabilities = json.decode "{}", clientInfo = { name = "x", version = "1" } }).status, 200)
    meta.traceparent = PARENT
    t.equal(s:post("/mcp", { jsonrpc = "2.0", id = 3, method = "prompts/get", params = { name = "no such", _meta = meta } },
      { ["mcp-protocol-version"] = "2026-07-28", ["mcp-method"] = "prompts/get", ["mcp-name"] = "no such", accept = "application/json, text/event-stream" }).status, 200)
    t.equal(s:get("/healthz").status, 200)
    t.equal(s:get("/api/runs/nobody?secret=1").status, 404)
    t.equal(s:get("/nowhere", { ["user-agent"] = ("x"):rep(1000) }).status, 404)
    t.equal(s:stop().code, 0)
  end
  collector:check()
  local roots = {}
  for _, span in ipairs(collector:spans()) do
    if span.name == "invoke_workflow one" then roots[#roots + 1] = span end
  end
  t.equal(#roots, 3)
  local by_trace = {}
  for _, root in ipairs(roots) do by_trace[root.traceId] = root end
  local by_id = {}
  for _, span in ipairs(collector:spans()) do by_id[span.spanId] = span end
  local above = by_id[by_trace[TRACE].parentSpanId]
  t.equal(above.name, "POST /v1/chat/completions")
  t.equal(above.kind, 2)
  t.equal(above.parentSpanId, PARENT:match "%-(%x+)%-01")
  t.equal(above.of["http.request.method"], "POST")
  t.equal(above.of["http.route"], "/v1/chat/completions")
  t.equal(above.of["url.path"], "/v1/chat/completions")
  t.equal(above.of["http.response.status_code"], 200)
  t.equal(above.of["server.address"], "127.0.0.1")
  t.ok(above.of["server.port"] > 0)
  t.equal(above.of["client.address"], "127.0.0.1")
  t.equal(above.status, nil)
  t.equal(by_trace[("1"):rep(32)], nil, "what the server was started in is not what its clients do")
  local call = collector:span "tools/call one"
  t.equal(call.kind, 2)
  t.equal(call.traceId, (TRACE:gsub("4bf9", "5bf9")))
  t.equal(by_trace[call.traceId].parentSpanId, call.spanId)
  t.equal(call.of["mcp.method.name"], "tools/call")
  local hello, prompt = collector:span "initialize", collector:span "prompts/get no such"
  t.equal(by_id[hello.parentSpanId].name, "POST /mcp")
  t.equal(hello.of["mcp.method.name"], "initialize")
  t.equal(prompt.parentSpanId, PARENT:match "%-(%x+)%-01")
  t.equal(prompt.of["error.type"], "-32602")
  t.equal(prompt.of["rpc.response.status_code"], "-32602")
  t.equal(prompt.status.code, 2)
  local missing = collector:span "GET /api/runs/{id}"
  t.equal(missing.of["http.response.status_code"], 404)
  t.equal(missing.of["error.type"], nil)
  t.equal(collector:span "GET".of["user_agent.original"], ("x"):rep(500))
  for _, request in ipairs(collector.requests) do t.lacks(request.body, "secret") end
  for _, span in ipairs(collector:spans()) do t.ok(span.of["url.path"] ~= "/healthz", "nobody wants to know") end
  local routes = {}
  for _, point in ipairs(collector:metrics()["http.server.request.duration"]) do routes[point.of["http.route"] or "-"] = tonumber(point.count) end
  t.equal(routes["/healthz"], 1)
  t.equal(routes["/v1/chat/completions"], 2)
  t.equal(routes["-"], 1)
  t.ok(collector:metrics()["mcp.server.operation.duration"])
end)

t.test("an MCP server hears which call it is part of", function()
  local dir <close> = project()
  local collector <close> = collectors.open()
  local log = dir.path .. "/seen.jsonl"
  local server = dir:write("server.lua", [[
    local json = require "hocket.json"
    for line in io.lines() do
      local one = json.decode(line)
      local file = io.open("]] .. log .. [[", "a")
      file:write(line, "\n")
      file:close()
      local result
      if one.method == "initialize" then result = { protocolVersion = "2025-11-25", capabilities = { tools = {} }, serverInfo = { name = "x", version = "1" } } end
      if one.method == "tools/list" then result = { tools = json.array { { name = "echo", description = "Echoes", inputSchema = { type = "object" } } } } end
      if one.method == "resources/list" then result = { resources = json.array { { uri = "x://a", name = "a" } } } end
      if one.method == "tools/call" then result = { content = json.array { { type = "text", text = "hello" } } } end
      if one.id then
        io.stdout:write(json.encode(result and { jsonrpc = "2.0", id = one.id, result = result } or { jsonrpc = "2.0", id = one.id, error = { code = -32601, message = "no" } }), "\n")
        io.stdout:flush()
      end
    end]])
  dir:write("m/clerk.md", ("---\nname: clerk\ndescription: Calls\nmcp:\n  own:\n    command: %s\n    args: [run, -q, --store, \"off\", %s, x]\n---\nYou call."):format(process.launcher(), server))
  dir:write("m/sim.lua", [[return function(q) return q.last.role == "tool" and "done" or { calls = { { name = "own__echo", arguments = {} } } } end]])
  local result = run(dir, collector, {}, "run", "--trust", "--approve", "allow", "--model", "sim", "m", "go")
  t.equal(result.code, 0, result.stderr)
  collector:check()
  local span = collector:span "execute_tool own__echo"
  t.equal(span.of["mcp.method.name"], "tools/call")
  t.equal(span.of["network.transport"], "pipe")
  t.equal(span.of["mcp.protocol.version"], "2025-11-25")
  local said
  for line in (fs.read(log)):gmatch "[^\n]+" do
    local one = json.decode(line)
    if one.method == "tools/call" then said = one.params._meta end
  end
  t.equal(said.traceparent, ("00-%s-%s-01"):format(span.traceId, span.spanId))
  local ids, list = {}, collector:span "tools/list"
  for line in (fs.read(log)):gmatch "[^\n]+" do
    local one = json.decode(line)
    if one.method == "initialize" then t.equal(one.params._meta, nil, "which older servers take to the letter") end
    if one.method == "tools/list" then t.equal(one.params._meta.traceparent, ("00-%s-%s-01"):format(list.traceId, list.spanId)) end
    ids[one.method] = one.id
  end
  t.equal(list.kind, 3)
  t.equal(list.of["jsonrpc.request.id"], tostring(ids["tools/list"]))
  t.equal(list.of["hocket.mcp.server"], "own")
  t.equal(list.status, nil)
  t.equal(list.traceId, span.traceId)
  local hello = collector:span "initialize"
  t.equal(hello.of["network.transport"], "pipe")
  local discover = collector:span "server/discover"
  t.equal(discover.of["rpc.response.status_code"], "-32601")
  t.equal(discover.of["error.type"], "-32601")
end)

return t.finish()
