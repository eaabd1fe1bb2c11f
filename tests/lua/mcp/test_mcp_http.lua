-- Our MCP server over HTTP: who is let in, sessions of clients before 2026-07-28, streams, clients that go away.
local t = require "harness"
local client = require "hocket.internal.mcp.client"
local fiber = require "hocket.internal.core.fiber"
local http = require "hocket.http"
local json = require "hocket.json"
local process = require "hocket.process"
local server_http = require "hocket.internal.mcp.server_http"
local service = require "hocket.internal.serve.mcp_service"

local cancelled, unanswered = 0, nil

local function text_part(value) return { content = { { type = "text", text = value } } } end

local tools = {
  { name = "say", description = "Says it", parameters = { type = "object", properties = { text = { type = "string" } } }, run = function(args, at)
    at:progress(1, 1, "here")
    return args.text
  end },
  { name = "ask", description = "Asks", run = function(_, at)
    local result, err = at:elicit { message = "Who?", requestedSchema = { type = "object", properties = { name = { type = "string" } }, required = { "name" } } }
    unanswered = err and err.message
    return result and result.content and result.content.name or result and result.action, err
  end },
  { name = "big", description = "Says much", run = function() return ("x"):rep(9 << 20) end },
  { name = "odd", description = "Gives what is no JSON", run = function() return { content = { { type = "text", text = print } } } end },
  { name = "wait", description = "Waits", run = function()
    local left <close> = setmetatable({}, { __close = function() cancelled = cancelled + 1 end })
    fiber.sleep(30)
    return text_part "late"
  end },
  { name = "change", description = "Changes", run = function(_, at)
    at:changed "tools"
    at:changed("resources", "shop://list")
    return "changed"
  end },
  { name = "placed", description = "Has a header", parameters = { type = "object", properties = { region = { type = "string", ["x-mcp-header"] = "Region" } } },
    run = function(args) return args.region end },
}

local function serve(token, fn)
  local made = assert(service.open { name = "shop", tools = tools, resources = { { uri = "shop://list", name = "list", read = function() return "screws" end } } })
  local url, given
  local serving = fiber.spawn(function()
    server_http.serve(made.server, { token = token, on_listen = function(at, used) url, given = at, used end })
  end)
  local closing <close> = setmetatable({}, { __close = function()
    made:close()
    serving:cancel()
    serving:join()
  end })
  t.eventually(function() return url ~= nil end)
  fn(url, given)
end

local META = { ["io.modelcontextprotocol/protocolVersion"] = "2026-07-28", ["io.modelcontextprotocol/clientCapabilities"] = json.decode "{}" }

local function post(url, message, headers)
  local all = { ["content-type"] = "application/json", accept = "application/json, text/event-stream" }
  for name, value in pairs(headers or {}) do all[name] = value or nil end
  local answer = assert(http.request { url = url, method = "POST", headers = all, body = type(message) == "string" and message or json.encode(message), timeout = 10 })
  return answer.status, json.decode(answer.body), answer.headers
end

local function modern(id, method, params, headers)
  params = params or {}
  params._meta = params._meta or META
  local all = { ["mcp-protocol-version"] = "2026-07-28", ["mcp-method"] = method, ["mcp-name"] = params.name or params.uri }
  for name, value in pairs(headers or {}) do all[name] = value end
  return { jsonrpc = "2.0", id = id, method = method, params = params }, all
end

t.test("headers of arguments: a deep schema wants none, and one below a list is refused", function()
  local headers = require "hocket.internal.mcp.tool_headers"
  local schema = { type = "string", ["x-mcp-header"] = "Leaf" }
  for _ = 1, 60 do schema = { type = "object", properties = { x = schema } } end
  t.equal(#assert(headers.of(schema)), 1)
  local _, wrong = headers.of { type = "object", properties = { x = { type = "array", items = { type = "string", ["x-mcp-header"] = "A" } } } }
  t.equal(wrong, "x-mcp-header stands where no argument is")
end)

for _, era in ipairs { "modern", "legacy" } do
  t.test(era .. ": our own client, with all that it can be asked", function()
    serve(nil, function(url, token)
      local asked, heard, news = nil, 0, 0
      local c = assert(client.connect { name = "ours", era = era, url = url, headers = { Authorization = "Bearer " .. token },
        changed = function(what) news = news + (what == "tools" and 1 or 0) end, elicit = function(params)
        asked = params.message
        return { action = "accept", content = { name = "Ada" } }
      end })
      local closing <close> = setmetatable({}, { __close = function() c:close() end })
      t.equal(#assert(c:tools()), 7)
      t.equal(assert(c:call("say", { text = "hällo" }, { on_progress = function() heard = heard + 1 end })).content[1].text, "hällo")
      t.equal(heard, 1)
      t.equal(assert(c:call "ask").content[1].text, "Ada")
      t.equal(asked, "Who?")
      t.equal(assert(c:call("placed", { region = "Öst" })).content[1].text, "Öst")
      t.equal(assert(c:read "shop://list")[1].text, "screws")
      assert(c:call "change")
      t.eventually(function() return news > 0 end, 5, "news of a changed list")
    end)
  end)
end

t.test("a notification of a session that is none has one answer, which says so", function()
  serve(false, function(url)
    local _, _, headers = post(url, { jsonrpc = "2.0", id = 1, method = "initialize", params = { protocolVersion = "2025-06-18", capabilities = {}, clientInfo = { name = "x", version = "1" } } })
    local session = { ["mcp-session-id"] = headers["mcp-session-id"], ["mcp-protocol-version"] = "2025-06-18" }
    for _, wrong in ipairs { { jsonrpc = "2.0", method = "tools/list", params = "x" }, { jsonrpc = "2.0", method = { 1 } }, { jsonrpc = { 1 }, method = "tools/list" }, { jsonrpc = "2.0", error = 7 } } do
      local status, told = post(url, wrong, session)
      t.equal(status, 400, json.encode(wrong))
      t.equal(told.error.code, type(wrong.params) == "string" and -32602 or -32600)
    end
    t.equal(post(url, { jsonrpc = "2.0", method = "notifications/initialized" }, session), 202)
    t.equal((post(url, { jsonrpc = "2.0", id = 2, method = "tools/list" }, session)), 200)
  end)
end)

t.test("who subscribes to an address hears of it, and nobody else", function()
  serve(false, function(url)
    for _, era in ipairs { "legacy", "modern" } do
      local seen = {}
      local c = assert(client.connect { name = "ours", era = era, url = url, updated = function(uri) seen[#seen + 1] = uri end })
      local closing <close> = setmetatable({}, { __close = function() c:close() end })
      assert(c:call "change")
      local listener
      if era == "legacy" then
        assert(c:ask("resources/subscribe", { uri = "shop://list" }))
      else
        listener = fiber.spawn(function() c:ask("subscriptions/listen", { notifications = { resourceSubscriptions = { "shop://list", 7, "shop://other" } } }) end)
        fiber.sleep(0.1)
      end
      t.equal(#seen, 0, "not before")
      assert(c:call "change")
      t.eventually(function() return #seen == 1 end)
      t.equal(seen[1], "shop://list")
      if listener then listener:cancel() else assert(c:ask("resources/unsubscribe", { uri = "shop://list" })) end
      fiber.sleep(0.1)
      assert(c:call "change")
      fiber.sleep(0.1)
      t.equal(#seen, 1, "not after")
    end
  end)
end)

t.test("who is let in", function()
  serve(nil, function(url, token)
    local own = { authorization = "Bearer " .. token }
    local function status(more)
      local message, headers = modern(1, "tools/list", nil, own)
      for name, value in pairs(more or {}) do headers[name] = value or nil end
      return (post(url, message, headers))
    end
    t.equal(status(), 200)
    t.equal(status { authorization = false }, 401)
    t.equal(status { authorization = "Bearer " .. token .. "x" }, 401)
    t.equal(status { authorization = "Bearer" }, 401)
    t.equal(status { origin = "http://evil.example" }, 403)
    t.equal(status { origin = "null" }, 403)
    t.equal(status { origin = "http://localhost.evil.example" }, 403)
    t.equal(status { origin = "http://localhost:3000" }, 200)
    t.equal(status { origin = "https://localhost:3000" }, 403)
    t.equal(status { host = "evil.example" }, 403)
    t.equal(status { host = "localhost" }, 200)
    t.equal(status { ["content-type"] = "text/plain" }, 415)
    t.equal(status { accept = "text/html" }, 406)
    local message, headers = modern(1, "tools/list", nil, own)
    t.equal((post(url:gsub("/mcp$", "/other"), message, headers)), 404)
    t.equal(http.request({ url = url, headers = own }).status, 405)
    t.equal(http.request({ url = url, method = "PUT", headers = own, body = "" }).status, 405)
  end)
end)

t.test("headers and messages have to say the same", function()
  serve(false, function(url)
    local function code(id, method, params, headers)
      local status, answer = post(url, modern(id, method, params, headers))
      return status, answer.error and answer.error.code
    end
    local function check(status, wanted, ...)
      local got, error_code = code(...)
      t.equal(got, status)
      t.equal(error_code, wanted)
    end
    check(200, nil, 1, "tools/list")
    check(400, -32020, 1, "tools/list", nil, { ["mcp-method"] = "tools/call" })
    check(400, -32020, 1, "tools/list", nil, { ["mcp-protocol-version"] = "2025-11-25" })
    check(400, -32020, 1, "tools/call", { name = "say", arguments = { text = "x" } }, { ["mcp-name"] = "ask" })
    check(400, -32020, 1, "tools/call", { name = "placed", arguments = { region = "a" } }, { ["mcp-param-region"] = "b" })
    check(400, -32020, 1, "tools/call", { name = "placed", arguments = { region = "a" } })
    check(200, nil, 1, "tools/call", { name = "placed", arguments = { region = "a" } }, { ["mcp-param-region"] = "=?base64?YQ==?=" })
    check(404, -32601, 1, "tools/destroy")
    check(404, -32601, 1, "ping")
    check(400, -32602, 1, "tools/list", { _meta = { x = 1 } })
    check(200, -32602, 1, "tools/call", { name = "nobody" })
    check(400, -32021, 1, "tools/call", { name = "ask", arguments = json.decode "{}" })
    t.equal((post(url, "{", { ["mcp-protocol-version"] = "2026-07-28" })), 400)
    t.equal((post(url, "7")), 400)
    t.equal((post(url, modern(nil, "notifications/x"))), 202)
  end)
end)

t.test("sessions begin, are known, and end", function()
  serve(false, function(url)
    local began = { jsonrpc = "2.0", id = 1, method = "initialize", params = { protocolVersion = "2025-06-18", capabilities = json.decode "{}", clientInfo = { name = "x", version = "1" } } }
    local status, answer, headers = post(url, began)
    t.equal(status, 200)
    t.equal(answer.result.protocolVersion, "2025-06-18")
    local id = headers["mcp-session-id"]
    t.equal(#id, 48)
    local session = { ["mcp-session-id"] = id, ["mcp-protocol-version"] = "2025-06-18" }
    t.equal((post(url, { jsonrpc = "2.0", method = "notifications/initialized" }, session)), 202)
    t.equal(select(2, post(url, { jsonrpc = "2.0", id = 2, method = "tools/list" }, session)).result.tools[1].name, "say")
    t.equal((post(url, { jsonrpc = "2.0", id = 3, method = "tools/list" })), 400, "without one")
    t.equal((post(url, { jsonrpc = "2.0", id = 3, method = "tools/list" }, { ["mcp-session-id"] = "guessed" })), 404)
    t.equal((post(url, { jsonrpc = "2.0", id = 3, method = "tools/list" }, { ["mcp-session-id"] = id, ["mcp-protocol-version"] = "1900-01-01" })), 400)
    t.equal((post(url, { jsonrpc = "2.0", id = "s1", result = {} }, session)), 202, "an answer to nothing")
    t.equal(http.request({ url = url, method = "DELETE", headers = session }).status, 204)
    t.equal((post(url, { jsonrpc = "2.0", id = 4, method = "tools/list" }, session)), 404)
    t.equal((post(url, { jsonrpc = "2.0", id = 5, method = "initialize", params = {} })), 200)
  end)
end)

local function session_with(url, version)
  local status, _, headers = post(url, { jsonrpc = "2.0", id = 1, method = "initialize", params = { protocolVersion = version, capabilities = json.decode "{}",
    clientInfo = { name = "x", version = "1" } } })
  return status == 200 and { ["mcp-session-id"] = headers["mcp-session-id"] }
end

local function call(id, name)
  return { jsonrpc = "2.0", id = id, method = "tools/call", params = { name = name, arguments = { text = "here" } } }
end

t.test("nobody waits for an answer that will not come", function()
  serve(false, function(url)
    local session = session_with(url, "2025-03-26")
    local function asked(what, ends)
      local before, status, answer = cancelled, nil, nil
      local asking = fiber.spawn(function() status, answer = post(url, what, session) end)
      fiber.sleep(0.2)
      ends()
      t.eventually(function() return status ~= nil and cancelled > before end)
      asking:join()
      t.equal(status, 200)
      return answer
    end
    local function cancel() t.equal((post(url, { jsonrpc = "2.0", method = "notifications/cancelled", params = { requestId = 7 } }, session)), 202) end
    asked(call(7, "wait"), cancel)
    local answers = asked({ call(7, "wait"), call(8, "say") }, cancel)
    t.equal(#answers, 1)
    t.equal(answers[1].id, 8)
    asked({ call(7, "wait") }, cancel)
    t.equal((post(url, { { jsonrpc = "2.0", method = "notifications/initialized" } }, session)), 202, "a batch without a request")
    asked(call(9, "wait"), function() t.equal(http.request({ url = url, method = "DELETE", headers = session }).status, 204) end)
  end)
end)

t.test("clients that begin anew each time lock nobody out", function()
  serve(false, function(url)
    local first, busy = session_with(url, "2025-06-18"), session_with(url, "2025-06-18")
    local waiting = fiber.spawn(post, url, call(2, "wait"), busy)
    fiber.sleep(0.1)
    for _ = 1, 999 do t.ok(session_with(url, "2025-06-18")) end
    local list = { jsonrpc = "2.0", id = 3, method = "tools/list" }
    t.equal((post(url, list, first)), 404, "it was idle for longest")
    t.equal((post(url, list, busy)), 200)
    waiting:cancel()
  end)
end)

t.test("a client that goes away cancels what it has asked (2026-07-28)", function()
  serve(false, function(url)
    local before = cancelled
    local message, headers = modern(1, "tools/call", { name = "wait", arguments = json.decode "{}" })
    headers["content-type"], headers.accept = "application/json", "application/json, text/event-stream"
    t.fails("timeout", "", http.request { url = url, method = "POST", headers = headers, body = json.encode(message), timeout = 0.3 })
    t.eventually(function() return cancelled == before + 1 end)
  end)
end)

t.test("a client of before that goes away hears nothing more, and is waited for by nobody", function()
  for version, form in pairs { ["2025-11-25"] = "%s", ["2025-03-26"] = "[%s]" } do serve(false, function(url) -- also in a batch
    local _, _, headers = post(url, { jsonrpc = "2.0", id = 1, method = "initialize", params = { protocolVersion = version,
      capabilities = { elicitation = json.decode "{}" }, clientInfo = { name = "x", version = "1" } } })
    local message = form:format(json.encode { jsonrpc = "2.0", id = 2, method = "tools/call", params = { name = "ask", arguments = json.decode "{}" } })
    unanswered = nil
    t.fails("timeout", "", http.request { url = url, method = "POST", body = message, timeout = 0.3, headers = { ["mcp-session-id"] = headers["mcp-session-id"],
      ["content-type"] = "application/json", accept = "application/json, text/event-stream" } })
    t.eventually(function() return unanswered ~= nil end)
    t.matches(unanswered, "the client is gone")
  end) end
end)

t.test("an answer that is too large, or no JSON, is an error", function()
  serve(false, function(url)
    for name, words in pairs { big = "larger than fits", odd = "the server failed" } do
      local status, answer = post(url, modern(7, "tools/call", { name = name, arguments = json.decode "{}" }))
      t.equal(status, 200)
      t.equal(answer.id, 7)
      t.matches(answer.error.message, words)
    end
  end)
end)

t.test("agents are served over HTTP by the program, which shows the token on stderr alone", function()
  local dir <close> = t.dir()
  dir:write("agents/poet.md", "---\nname: poet\ndescription: Writes poems\nmodel: sim\n---\nYou write poems.")
  local program = assert(process.open { argv = { process.launcher(), "mcp", "serve", "--port", "0", dir.path .. "/agents" }, env = { "PATH=/usr/bin:/bin" }, cwd = "/tmp",
    sandbox = "limits", network = true, sockets = true })
  local closing <close> = setmetatable({}, { __close = function() program:close() end })
  t.eventually(function() return program:stderr():find "token" ~= nil end)
  local url, token = program:stderr():match "serving (http://127.0.0.1:%d+/mcp)\ntoken: (%w+)"
  t.fails("http", "HTTP 401", client.connect { name = "ours", url = url, headers = { Authorization = "Bearer x" } })
  local c = assert(client.connect { name = "ours", url = url, headers = { Authorization = "Bearer " .. token } })
  t.equal(assert(c:call("poet", { input = "rain" })).content[1].text, "(simulated) You said: rain")
  c:close()
  program:stop()
  t.equal(assert(program:wait(5)).code, 0)
end)

-- ---- Servers of 2024-11-05 -------------------------------------------------------------------------

-- One that takes messages at `place`, and answers on the stream of a GET alone.
local function old_server(place, fn)
  local listener = assert(require("hocket.internal.core.server").new { port = 0, address = "127.0.0.1" })
  local stream
  local function answer(message)
    local results = {
      initialize = { protocolVersion = "2024-11-05", capabilities = { tools = json.decode "{}" }, serverInfo = { name = "old", version = "1" } },
      ["tools/list"] = { tools = { { name = "echo", inputSchema = { type = "object" } }, { name = "lost", inputSchema = { type = "object" } } } },
      ["tools/call"] = text_part("it said " .. tostring(message.params and message.params.arguments and message.params.arguments.text)),
    }
    local result = message.id and results[message.method]
    if result then listener:write(stream, ("event: message\ndata: %s\n\n"):format(json.encode { jsonrpc = "2.0", id = message.id, result = result })) end
  end
  local serving = fiber.spawn(function()
    while true do
      local request = listener:accept()
      if not request then return end
      local message = request.method == "POST" and json.decode(request.body)
      if request.method == "GET" and request.path == "/sse" then
        stream = request.id
        listener:begin(stream, 200, { ["content-type"] = "text/event-stream" })
        listener:write(stream, (": hello\n\nevent: endpoint\ndata: %s\n\n"):format(place))
      elseif message and request.path == "/messages?s=1" and message.params and message.params.name ~= "lost" or message and message.method == "notifications/initialized" then
        listener:respond(request.id, 202, {}, "Accepted")
        answer(message)
      else
        listener:respond(request.id, message and request.path == "/messages?s=1" and 500 or 405, {}, "no")
      end
    end
  end)
  local closing <close> = setmetatable({}, { __close = function()
    serving:cancel()
    serving:join()
    listener:close()
  end })
  fn(("http://127.0.0.1:%d/sse"):format(listener:port()), function() listener:finish(stream) end)
end

t.test("a server of 2024-11-05, which says all on one stream", function()
  old_server("/messages?s=1", function(url, hang_up)
    local c = assert(client.connect { name = "old", url = url })
    local closing <close> = setmetatable({}, { __close = function() c:close() end })
    t.equal(c.version, "2024-11-05")
    t.equal(assert(c:call("echo", { text = "hello" })).content[1].text, "it said hello")
    t.fails("http", "HTTP 500", c:call "lost")
    hang_up()
    t.eventually(function() return c:ended() end, 60)
    t.fails("server", "ended its stream", c:call "echo")
  end)
end)

t.test("messages for a server of 2024-11-05 go to no other", function()
  for _, place in ipairs { "http://127.0.0.1:1/messages", "https://", "http://user@evil.example/" } do
    old_server(place, function(url)
      local c, err = client.connect { name = "old", url = url }
      t.equal(c, nil)
      t.ok(err.message:find "405" or err.message:find "another server", err.message)
    end)
  end
end)

return t.finish()
