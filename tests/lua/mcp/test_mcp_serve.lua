-- Our MCP server: agents and teams as tools, for our own client in both eras, and for clients that send what they like.
local t = require "harness"
local client = require "hocket.internal.mcp.client"
local fiber = require "hocket.internal.core.fiber"
local fs = require "hocket.fs"
local json = require "hocket.json"
local process = require "hocket.process"

local here = debug.getinfo(1, "S").source:match "^@(.*)/[^/]*$" or "."
local travel = fs.real(here .. "/../../../examples/travel")

local model = [[
return function(q)
  local text = q.last.text
  if q.system:find "You rate" then return '{"stars": 4}' end
  if q.system:find "You ask" and q.last.role ~= "tool" then
    return { calls = { { name = "ask_user", arguments = { question = "Which city?" } } } }
  end
  if q.system:find "You act" and q.last.role ~= "tool" then
    return { calls = { { name = "write_file", arguments = { path = "made.txt", content = "made" } } } }
  end
  if q.system:find "You wait" then return { text = "late", latency = 30 } end
  return "I say: " .. text
end
]]

local files = {
  ["agents/sim.lua"] = model,
  ["agents/poet.md"] = "---\nname: poet\ndescription: Writes poems\n---\nYou write poems.",
  ["agents/rate.md"] = "---\nname: rate\ndescription: Rates a text\ninput: {type: object, required: [text], properties: {text: {type: string}}}\n"
    .. "output: {type: object, required: [stars], properties: {stars: {type: integer}}}\n---\nYou rate texts.",
  ["agents/guide.md"] = "---\nname: guide\ndescription: Asks first\ntools: [ask_user]\n---\nYou ask before you answer.",
  ["agents/clerk.md"] = "---\nname: clerk\ndescription: Writes files\ntools: [write_file]\n---\nYou act.",
  ["agents/slow.md"] = "---\nname: slow\ndescription: Takes long\n---\nYou wait.",
  ["agents/tongue.md"] = "---\nname: tongue\ndescription: Speaks a language\nvariables:\n  tongue:\n---\nYou speak {{tongue}}.",
  ["prompts/journey.md"] = "# Plans a journey\nPlan {{days}} days in {{city}}.\n",
}

local made = {} -- folders of the test that runs

-- Everything of a test in a folder of its own.
local function project(more)
  local dir = t.dir()
  table.insert(made, dir)
  for name, text in pairs(files) do dir:write(name, text) end
  for name, text in pairs(more or {}) do dir:write(name, text) end
  return dir
end

-- As t.test, and its folders go.
local function test_of(name, fn)
  t.test(name, function()
    local closing <close> = setmetatable({}, { __close = function()
      for _, dir in ipairs(made) do getmetatable(dir).__close(dir) end
      made = {}
    end })
    fn()
  end)
end

local function read(dir, name)
  local file = io.open(dir.path .. "/" .. name)
  if not file then return nil end
  local closing <close> = file
  return file:read "a"
end

local function argv(dir, ...)
  local list = { process.launcher(), "mcp", "serve", "--model", "sim", "--trust", "--workdir", dir.path, dir.path .. "/agents" }
  return table.move({ ... }, 1, select("#", ...), #list + 1, list)
end

local function spec(dir, era, more, ...)
  local one = { name = "ours", era = era, process = {
    argv = argv(dir, ...), env = { "PATH=/usr/bin:/bin", "HOME=" .. dir.path }, cwd = dir.path, sandbox = "limits", grace = 2, network = true, sockets = true,
  } }
  for key, value in pairs(more or {}) do one[key] = value end
  return one
end

local function with(dir, era, more, fn, ...)
  local c = assert(client.connect(spec(dir, era, more, ...)))
  local closing <close> = setmetatable({}, { __close = function() c:close() end })
  fn(c)
end

local function text(result)
  return result.content[1].text
end

local function names_of(list)
  local names = {}
  for i, one in ipairs(list) do names[i] = one.name end
  return table.concat(names, " ")
end

for _, era in ipairs { "modern", "legacy" } do
  local function test(name, fn) test_of(era .. ": " .. name, fn) end

  test("agents are tools, with their schemas, and answer", function()
    local dir = project()
    with(dir, era, nil, function(c)
      local tools = assert(c:tools())
      t.equal(names_of(tools), "clerk guide poet rate slow tongue")
      t.equal(tools[3].description, "Writes poems")
      t.equal(tools[3].inputSchema.required[1], "input")
      t.equal(tools[4].inputSchema.required[1], "text", "the agent's own schema")
      t.equal(tools[4].outputSchema.properties.stars.type, "integer")
      t.equal(table.concat(tools[6].inputSchema.required, " "), "input tongue", "what its prompt cannot do without")
      t.equal(text(assert(c:call("poet", { input = "rain" }))), "I say: rain")
      local rated = assert(c:call("rate", { text = "fine" }))
      t.equal(rated.structuredContent.stars, 4)
      t.equal(text(rated), '{"stars": 4}', "the same as text")
      t.equal(text(assert(c:call("tongue", { input = "x", tongue = "Dutch" }))), "I say: x")
    end)
  end)

  test("what is wrong with a call is told", function()
    with(project(), era, nil, function(c)
      local result = assert(c:call("rate", { words = "fine" }))
      t.equal(result.isError, true)
      t.matches(text(result), "text")
      t.fails("server", "there is no tool 'nobody'", c:ask("tools/call", { name = "nobody", arguments = {} }))
      t.fails("server", "'name' has to be a text", c:ask("tools/call", { name = 7 }))
      t.fails("server", "'cursor'", c:ask("tools/list", { cursor = "x" }))
      t.fails("server", "there is no method 'tools/destroy'", c:ask "tools/destroy")
    end)
  end)

  test("progress is told to who wants it", function()
    with(project(), era, nil, function(c)
      local seen = {}
      assert(c:call("poet", { input = "rain" }, { on_progress = function(p) seen[#seen + 1] = p.message end }))
      t.ok(#seen >= 1)
      t.matches(seen[1], "poet asks sim")
    end)
  end)

  test("its questions go to the client's person", function()
    local asked
    local function elicit(params)
      asked = params
      return { action = "accept", content = { answer = "Lisbon" } }
    end
    with(project(), era, { elicit = elicit }, function(c)
      t.equal(text(assert(c:call("guide", { input = "go" }))):match "Lisbon", "Lisbon")
      t.matches(asked.message, "guide asks: Which city")
      t.equal(asked.requestedSchema.required[1], "answer")
    end)
    with(project(), era, nil, function(c)
      local result = assert(c:call("guide", { input = "go" }))
      t.matches(text(result), "nobody answers", "a client that cannot be asked")
    end)
    with(project(), era, { elicit = function() return { action = "cancel" } end }, function(c)
      t.ok(assert(c:call("guide", { input = "go" })))
    end)
  end)

  test("leave is given by its person, or not at all", function()
    local answers = { { action = "accept", content = { decision = "allow" } }, { action = "decline" }, { action = "cancel" }, { action = "accept", content = { decision = "deny", why_not = "no files" } } }
    for i, answer in ipairs(answers) do
      local dir, asked = project(), nil
      with(dir, era, { elicit = function(params)
        asked = params.message
        return answer
      end }, function(c)
        local result = assert(c:call("clerk", { input = "write" }))
        t.matches(asked, "clerk wants to call write_file")
        t.equal(read(dir, "made.txt"), i == 1 and "made" or nil, "answer " .. i)
        if i == 4 then t.matches(text(result), "no files") end
      end)
    end
    local dir = project()
    with(dir, era, nil, function(c) assert(c:call("clerk", { input = "write" })) end)
    t.equal(read(dir, "made.txt"), nil, "nobody can be asked")
    with(dir, era, nil, function(c) assert(c:call("clerk", { input = "write" })) end, "--approve", "write_file=allow")
    t.equal(read(dir, "made.txt"), "made", "what the operator names is allowed")
  end)

  test("a call that nobody waits for is ended", function()
    with(project(), era, nil, function(c)
      t.fails("timeout", "0.3 s", c:call("slow", { input = "x" }, { timeout = 0.3 }))
      t.equal(text(assert(c:call("poet", { input = "still there" }))), "I say: still there")
    end)
  end)

  test("prompts, their arguments, and how they go on", function()
    with(project(), era, nil, function(c)
      local prompts = assert(c:prompts())
      t.equal(names_of(prompts), "journey")
      t.equal(prompts[1].description, "Plans a journey")
      t.equal(names_of(prompts[1].arguments), "days city")
      local got = assert(c:prompt("journey", { days = "3", city = "Rome" }))
      t.equal(got.messages[1].content.text, "Plan 3 days in Rome.\n")
      t.fails("server", "needs the argument 'days'", c:prompt("journey", { city = "Rome" }))
      t.equal(#assert(c:complete({ type = "ref/prompt", name = "journey" }, { name = "days", value = "" })), 0)
      t.fails("server", "nothing of that name", c:complete({ type = "ref/prompt", name = "x" }, { name = "days", value = "" }))
    end)
  end)
end

test_of("document and board of a run can be read, and found by its id", function()
  local dir <close> = t.dir()
  local c = assert(client.connect { name = "ours", process = { argv = { process.launcher(), "mcp", "serve", "--model", "sim", "--trust", travel },
    env = { "PATH=/usr/bin:/bin", "HOME=" .. dir.path }, cwd = "/tmp", sandbox = "limits", network = true, sockets = true } })
  local closing <close> = setmetatable({}, { __close = function() c:close() end })
  local result = assert(c:call(assert(c:tools())[1].name, { input = "Two days in Lisbon" }))
  local links = {}
  for _, part in ipairs(result.content) do
    if part.type == "resource_link" then links[#links + 1] = part.uri end
  end
  t.equal(#links, 2)
  local board = json.decode(assert(c:read(links[1]))[1].text)
  t.ok(#board >= 2)
  t.equal(board[1].status, "done")
  t.matches(assert(c:read(links[2]))[1].text, "Baixa")
  t.equal(#assert(c:resources()), 2)
  local id = links[1]:match "runs/([^/]+)"
  t.equal(assert(c:complete({ type = "ref/resource", uri = "hocket://runs/{run}/board" }, { name = "run", value = "" }))[1], id)
  t.fails("server", "there is no resource", c:read "hocket://runs/x/board")
end)

test_of("a script is a tool: what it returns, or prints, is the result", function()
  local dir = project { ["report.lua"] = "-- Makes a report\nprint('made of', arg[1])\nprint 'twice'", ["sum/main.lua"] = "return #arg[1]" }
  local c = assert(client.connect { name = "ours", process = { argv = { process.launcher(), "mcp", "serve", "--trust", dir.path .. "/report.lua", dir.path .. "/sum" },
    env = { "PATH=/usr/bin:/bin" }, cwd = "/tmp", sandbox = "limits", network = true, sockets = true } })
  local closing <close> = setmetatable({}, { __close = function() c:close() end })
  t.equal(names_of(assert(c:tools())), "report sum")
  t.equal(c:tools()[1].description, "Makes a report")
  t.equal(text(assert(c:call("report", { input = "words" }))), "made of\twords\ntwice")
  t.equal(text(assert(c:call("sum", { input = "four" }))), "4")
end)

test_of("a change of files is a change of tools, told in either era; a broken one is not taken", function()
  for _, era in ipairs { "legacy", "modern" } do
    local dir, changed = project(), 0
    with(dir, era, { changed = function(what) if what == "tools" then changed = changed + 1 end end }, function(c)
      assert(c:tools())
      local listener = era == "modern" and fiber.spawn(function() c:ask("subscriptions/listen", { notifications = { toolsListChanged = true } }) end)
      dir:write("agents/cook.md", "---\nname: cook\ndescription: Cooks\n---\nYou cook.")
      t.eventually(function() return changed > 0 end)
      t.matches(names_of(assert(c:tools())), "clerk cook guide")
      dir:write("agents/poet.md", "---\nname: [\n")
      fiber.sleep(0.5)
      t.equal(text(assert(c:call("poet", { input = "x" }))), "I say: x", "the last good one answers")
      if listener then listener:cancel() end
    end)
  end
end)

-- ---- Clients that send what they like ----------------------------------------------------------

local function raw(dir, ...)
  return assert(process.open { argv = argv(dir, ...), env = { "PATH=/usr/bin:/bin", "HOME=" .. dir.path }, cwd = dir.path, sandbox = "limits", grace = 2, network = true, sockets = true })
end

local function answer(program)
  local line = program:read_line(64 << 20)
  return json.decode(line or error("it has ended: " .. program:stderr()))
end

local META = { ["io.modelcontextprotocol/protocolVersion"] = "2026-07-28", ["io.modelcontextprotocol/clientCapabilities"] = json.decode "{}" }

local function request(id, method, params)
  params = params or {}
  params._meta = params._meta or META
  return json.encode { jsonrpc = "2.0", id = id, method = method, params = params } .. "\n"
end

test_of("garbage is answered, and harms nobody", function()
  local program = raw(project())
  local closing <close> = setmetatable({}, { __close = function() program:close() end })
  local bad = {
    { "{", -32700 }, { "nonsense", -32700 }, { "7", -32600 }, { '"text"', -32600 }, { "null", -32600 }, { "[]", -32600 }, { '[{"jsonrpc":"2.0","id":1,"method":"ping"}]', -32600 },
    { '{"id":1,"method":"ping"}', -32600, 1 }, { '{"jsonrpc":"1.0","id":1,"method":"ping"}', -32600, 1 },
    { '{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600 }, { '{"jsonrpc":"2.0","id":{},"method":"ping"}', -32600 },
    { '{"jsonrpc":"2.0","id":1.5,"method":"ping"}', -32600 }, { '{"jsonrpc":"2.0","id":2,"method":7}', -32600, 2 },
    { '{"jsonrpc":"2.0","id":3}', -32600, 3 }, { '{"jsonrpc":"2.0","id":4,"method":"tools/list","params":[1]}', -32602, 4 },
    { '{"jsonrpc":"2.0","id":5,"method":"tools/list","params":"x"}', -32602, 5 },
    { '{"jsonrpc":"2.0","id":6,"method":"tools/list"}', -32602, 6 },
    { '{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":7}}}', -32602, 7 },
    { '{"jsonrpc":"2.0","id":8,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"1900-01-01"}}}', -32022, 8 },
    { '{"jsonrpc":"2.0","id":9,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}', -32602, 9 },
    { ("x"):rep(40 << 20), -32600 }, { ("["):rep(100000), -32700 }, { '{"jsonrpc":"2.0","id":1,"method":"\xff"}', -32700 },
  }
  for i, one in ipairs(bad) do
    assert(program:write(one[1] .. "\n"))
    local said = answer(program)
    t.equal(said.error and said.error.code, one[2], "message " .. i)
    t.equal(said.id, one[3], "message " .. i)
  end
  -- What needs no answer gets none.
  for _, one in ipairs { "", "   ", '{"jsonrpc":"2.0","method":"notifications/nothing"}', '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":99}}',
    '{"jsonrpc":"2.0","method":"notifications/cancelled"}', '{"jsonrpc":"2.0","method":"notifications/initialized"}', '{"jsonrpc":"2.0","id":1,"result":{}}',
    '{"jsonrpc":"2.0","id":"s1","error":{"code":1,"message":"x"}}', '{"jsonrpc":"2.0","method":"tools/call","params":{"name":"poet"}}' } do
    assert(program:write(one .. "\n"))
  end
  assert(program:write(request("z", "server/discover")))
  t.equal(answer(program).id, "z")
end)

test_of("a request's id is used once at a time; cancelled ones are not answered", function()
  local program = raw(project())
  local closing <close> = setmetatable({}, { __close = function() program:close() end })
  local call = request(1, "tools/call", { name = "slow", arguments = { input = "x" } })
  assert(program:write(call .. call))
  local said = answer(program)
  t.equal(said.error.code, -32600)
  t.equal(said.id, nil, "it would be taken for the answer of the first")
  assert(program:write '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}\n')
  assert(program:write(request(1, "tools/call", { name = "poet", arguments = { input = "again" } })))
  said = answer(program)
  t.equal(said.id, 1)
  t.equal(said.result.content[1].text, "I say: again")
end)

test_of("thousands of calls at once: so many are taken, and the rest is refused", function()
  local program = raw(project())
  local closing <close> = setmetatable({}, { __close = function() program:close() end })
  local writer = fiber.spawn(function()
    for i = 1, 3000 do program:write(request(i, "tools/call", { name = "poet", arguments = { input = "n" .. i } })) end
  end)
  local good, refused = 0, 0
  for _ = 1, 3000 do
    local said = answer(program)
    if said.result then
      t.equal(said.result.content[1].text, "I say: n" .. said.id)
      good = good + 1
    else
      t.matches(said.error.message, "more than 1000")
      refused = refused + 1
    end
  end
  writer:join()
  t.equal(good + refused, 3000)
  t.ok(good >= 1000)
end)

test_of("state of parked work is good for its own request, once, and for nobody's guess", function()
  local program = raw(project())
  local closing <close> = setmetatable({}, { __close = function() program:close() end })
  local meta = { ["io.modelcontextprotocol/protocolVersion"] = "2026-07-28", ["io.modelcontextprotocol/clientCapabilities"] = { elicitation = json.decode "{}" } }
  local function call(id, name, more)
    local params = { name = name, arguments = { input = "go" }, _meta = meta }
    for key, value in pairs(more or {}) do params[key] = value end
    assert(program:write(request(id, "tools/call", params)))
    return answer(program)
  end
  local first = call(1, "guide").result
  t.equal(first.resultType, "input_required")
  local key, asked = next(first.inputRequests)
  t.equal(asked.method, "elicitation/create")
  local reply = { [key] = { action = "accept", content = { answer = "Rome" } } }
  t.equal(call(2, "guide", { requestState = "guessed", inputResponses = reply }).error.code, -32602)
  t.equal(call(3, "poet", { requestState = first.requestState, inputResponses = reply }).error.code, -32602, "another tool")
  t.equal(call(4, "guide", { requestState = first.requestState, inputResponses = reply, arguments = { input = "else" } }).error.code, -32602)
  local again = call(5, "guide", { requestState = first.requestState }).result
  t.equal(again.resultType, "input_required", "without an answer it is asked again")
  local done = call(6, "guide", { requestState = again.requestState, inputResponses = { [key] = reply[key], other = { action = "accept" } } }).result
  t.equal(done.resultType, "complete")
  t.matches(done.content[1].text, "Rome")
  t.equal(call(7, "guide", { requestState = again.requestState, inputResponses = reply }).error.code, -32602, "twice")
end)

test_of("a client of before: its handshake, ping, levels, batches", function()
  local program = raw(project())
  local closing <close> = setmetatable({}, { __close = function() program:close() end })
  local function ask(one)
    assert(program:write(json.encode(one) .. "\n"))
    return answer(program)
  end
  t.equal(next(ask { jsonrpc = "2.0", id = 1, method = "ping" }.result), nil)
  t.equal(ask { jsonrpc = "2.0", id = 2, method = "tools/list" }.error.code, -32602, "before initialize")
  local began = ask { jsonrpc = "2.0", id = 3, method = "initialize", params = { protocolVersion = "2025-03-26", capabilities = json.decode "{}", clientInfo = { name = "x", version = "1" } } }
  t.equal(began.result.protocolVersion, "2025-03-26")
  t.equal(ask { jsonrpc = "2.0", id = 4, method = "initialize", params = { protocolVersion = "2025-03-26" } }.error.code, -32600)
  t.equal(ask { jsonrpc = "2.0", id = 5, method = "logging/setLevel", params = { level = "loud" } }.error.code, -32602)
  t.ok(ask { jsonrpc = "2.0", id = 6, method = "logging/setLevel", params = { level = "error" } }.result)
  t.equal(ask { jsonrpc = "2.0", id = 7, method = "server/discover" }.error.code, -32601, "not of its era")
  local both = ask { { jsonrpc = "2.0", id = 8, method = "ping" }, { jsonrpc = "2.0", method = "notifications/x" }, { jsonrpc = "2.0", id = 9, method = "tools/call", params = { name = "poet", arguments = { input = "b" } } } }
  t.equal(#both, 2, "answers of a batch are one message")
end)

test_of("the end of its input ends it, and so does SIGTERM; nothing is left", function()
  local program = raw(project())
  local closing <close> = setmetatable({}, { __close = function() program:close() end })
  assert(program:write(request(1, "tools/call", { name = "slow", arguments = { input = "x" } })))
  fiber.sleep(0.3)
  program:end_input()
  local ended = assert(program:wait(5))
  t.equal(ended.code, 0)
end)

test_of("what cannot be served is told at once", function()
  local dir = project { ["other/poet.md"] = "---\nname: poet\ndescription: Another\n---\nYou write." }
  local function start(...)
    local result = assert(process.run { argv = { process.launcher(), "mcp", "serve", ... }, cwd = dir.path, sandbox = "limits", env = { "PATH=/usr/bin:/bin" } })
    return result.code, result.stderr, result.stdout
  end
  local code, err, out = start("agents", "other/poet.md")
  t.equal(code, 3)
  t.matches(err, "two would be called 'poet'")
  t.equal(out, "")
  code, err = start "nowhere"
  t.equal(code, 2)
  t.matches(err, "there is no file, folder or agent 'nowhere'")
  t.equal(start(), 2)
end)

test_of("what is named is found beside agents with tools", function()
  local dir = project { [".mcp.json"] = json.encode { mcpServers = { demo = { command = "none" } } } }
  local result = assert(process.run { argv = { process.launcher(), "mcp", "list" }, cwd = dir.path, sandbox = "limits", env = { "PATH=/usr/bin:/bin" } })
  t.equal(result.stderr, "")
  t.matches(result.stdout, "^demo  none")
end)

-- ---- Tools of a script -----------------------------------------------------------------------------

test_of("a script serves its own tools, and what it prints is no message", function()
  local dir <close> = t.dir()
  dir:write("own.lua", [[
local hocket = require "hocket"
assert(hocket.mcp.serve {
  name = "shop", version = "2",
  tools = {
    hocket.tool { name = "stock", description = "How many", parameters = { type = "object", properties = { part = { type = "string" } } },
      run = function(args) print "looking" io.write "around\n" return args.part == "screw" and 7 or nil, "there is no such part" end },
    { name = "typed", description = "A value", output = { type = "object", properties = { n = { type = "integer" } } }, run = function() return { n = 3 } end },
    { name = "wrong", description = "Not as promised", output = { type = "object", properties = { n = { type = "integer" } } }, run = function() return { n = "x" } end },
    { name = "raises", description = "Fails", run = function() error "oh" end },
    { name = "who", description = "Asks", run = function(_, at)
      at:progress(1, 2, "half") at:log("info", "asking")
      local result, err = at:elicit { message = "Who?", requestedSchema = { type = "object", properties = { age = { type = "integer" } }, required = { "age" } } }
      return result and result.content and tostring(result.content.age) or result and result.action, err
    end },
    { name = "picture", description = "An image", run = function() return { content = { { type = "image", data = "AAAA", mimeType = "image/png" } } } end },
  },
  resources = { { uri = "shop://list", name = "list", mimeType = "text/plain", read = function() return "screws" end } },
  templates = { { uriTemplate = "shop://part/{name}", name = "part", read = function(_, _, values) return values.name end } },
  prompts = { { name = "order", description = "Orders", arguments = { { name = "part", complete = function() return { "screw", "nail" } end } }, get = function(args) return "Order " .. (args.part or "all") end } },
})
]])
  for _, era in ipairs { "modern", "legacy" } do
    local ages = { "old", 7 }
    local c = assert(client.connect { name = "shop", era = era, elicit = function() return { action = "accept", content = { age = table.remove(ages, 1) } } end,
      process = { argv = { process.launcher(), "run", "-q", "--store", "off", dir.path .. "/own.lua" }, env = { "PATH=/usr/bin:/bin", "HOME=/tmp" }, cwd = dir.path, sandbox = "limits", network = true, sockets = true } })
    local closing <close> = setmetatable({}, { __close = function() c:close() end })
    t.equal(c.server.name, "shop")
    t.equal(text(assert(c:call("stock", { part = "screw" }))), "7")
    local none = assert(c:call("stock", { part = "x" }))
    t.equal(none.isError, true)
    t.equal(text(none), "there is no such part")
    t.equal(assert(c:call "typed").structuredContent.n, 3)
    t.equal(assert(c:call "wrong").isError, true)
    t.matches(text(assert(c:call "raises")), "oh")
    t.equal(text(assert(c:call "who")), "7", "what does not fit is asked for again")
    t.equal(assert(c:call "picture").content[1].type, "image")
    t.equal(assert(c:read "shop://list")[1].text, "screws")
    t.equal(assert(c:read "shop://part/a%20b")[1].text, "a b")
    t.equal(assert(c:prompt "order").messages[1].content.text, "Order all")
    t.equal(assert(c:complete({ type = "ref/prompt", name = "order" }, { name = "part", value = "s" }))[1], "screw")
  end
end)

test_of("what is wrong with what a script serves is said where it is said", function()
  local hocket = require "hocket"
  t.raises("there is no such field", hocket.mcp.serve, { tool = {} })
  t.raises("bad field 'token'", hocket.mcp.serve, { port = 0 })
  t.fails("invalid", "needs a function 'run'", hocket.mcp.serve { tools = { { name = "x" } } })
  t.fails("invalid", "no JSON Schema", hocket.mcp.serve { tools = { { name = "x", parameters = { type = 7 }, run = function() end } } })
  t.fails("invalid", "there are two tools 'x'", hocket.mcp.serve { tools = { { name = "x", run = function() end }, { name = "x", run = function() end } } })
  t.fails("not_found", "there is no tool 'nobody'", hocket.mcp.serve { tools = { "nobody" } })
  t.fails("denied", "is for agents", hocket.mcp.serve { tools = { "execute_command" } })
end)

return t.finish()
