-- MCP clients against servers that are programs, good ones and others.
local t = require "harness"
local client = require "hocket.internal.mcp.client"
local flow = require "hocket.flow"
local fs = require "hocket.fs"
local process = require "hocket.process"

local here = debug.getinfo(1, "S").source:match "^@(.*)/[^/]*$"
local server = fs.real(here .. "/../support/mcp_server.lua")

local function spec(mode, more)
  local one = { name = "test", process = {
    argv = { process.launcher(), "run", "-q", "--store", "off", server, mode }, env = { "PATH=/usr/bin:/bin", "HOME=/tmp" }, cwd = "/tmp", sandbox = "limits", grace = 0.5,
  } }
  for key, value in pairs(more or {}) do one[key] = value end
  return one
end

local function with(mode, more, fn)
  local c = assert(client.connect(spec(mode, more)))
  local closing <close> = setmetatable({}, { __close = function() c:close() end })
  fn(c)
end

local function text(result)
  return result.content[1].text
end

t.test("a result without what it has to have is an error, and never an empty one", function()
  with("odd-results", nil, function(c)
    t.fails("server", "the result of 'nothing' has no list 'content'", c:call "nothing")
    t.fails("server", "has no list 'content'", c:call "no_list")
    t.equal(assert(c:call "structured").structuredContent.n, 7)
    t.equal(#assert(c:call "no_words").content, 0)
    t.fails("server", "has no list 'contents'", c:read "file:///x")
    t.fails("server", "the prompt 'x' has no list 'messages'", c:prompt "x")
  end)
  with("legacy", nil, function(c)
    t.equal(assert(c:read "file:///x")[1].text, "read")
    t.equal(#assert(c:prompt "x").messages, 0)
  end)
end)

for _, era in ipairs { "modern", "legacy" } do
  t.test(era .. ": what a server offers, and calls", function()
    with(era, nil, function(c)
      t.equal(c.version, era == "modern" and "2026-07-28" or "2025-11-25")
      t.equal(c.server.name, "test")
      local names = {}
      for i, one in ipairs(assert(c:tools())) do names[i] = one.name end
      t.equal(table.concat(names, " "), "echo fail slow ask die wrong.name! picture typed", "of both pages")
      t.equal(c.dropped[1].name, "bad", "one bad tool takes none of the others along")
      t.equal(text(assert(c:call("echo", { text = "hällo\nline" }))), "hällo\nline")
      local failed = assert(c:call "fail")
      t.equal(failed.isError, true)
      t.fails("not_found", "no tool 'nope'", c:call "nope")
      t.equal(assert(c:call "typed").structuredContent.n, 7)
    end)
  end)

  t.test(era .. ": progress, and it extends the time", function()
    with(era, nil, function(c)
      local seen = {}
      local result = assert(c:call("slow", {}, { timeout = 0.3, on_progress = function(p) seen[#seen + 1] = p.progress end }))
      t.equal(text(result), "done")
      t.equal(#seen, 5)
      seen = {}
      t.equal(text(assert(c:call("slow", { text = "a flood" }, { on_progress = function(p) seen[#seen + 1] = p.progress end }))), "done")
      t.ok(#seen < 500, #seen .. " reports are told")
      t.equal(seen[#seen], 5)
      t.fails("timeout", "0.2 s in all", c:call("slow", {}, { timeout = 1, max = 0.2, on_progress = function() end }))
      t.fails("timeout", "within 0.2 s", c:call("slow", {}, { timeout = 0.2 }))
      t.equal(text(assert(c:call("echo", { text = "still there" }))), "still there", "late answers are dropped")
    end)
  end)

  t.test(era .. ": it asks back", function()
    local asked
    local function elicit(params)
      asked = params
      return { action = "accept", content = { city = "Lisbon" } }
    end
    with(era, { elicit = elicit }, function(c)
      t.has(text(assert(c:call "ask")), "accept Lisbon")
      t.equal(asked.message, "Which city?")
    end)
    with(era, { elicit = function(params)
      flow.sleep(0.6)
      return elicit(params)
    end }, function(c)
      t.has(text(assert(c:call("ask", {}, { timeout = 0.5, max = 0.5 }))), "accept Lisbon", "how long a person takes does not count")
    end)
    with(era, { elicit = function() error "no" end }, function(c)
      local result, err = c:call "ask"
      t.ok(not result and err or text(result):find "nil", "a handler that fails is told to the server")
    end)
  end)

  t.test(era .. ": many at once", function()
    with(era, nil, function(c)
      local list = {}
      for i = 1, 200 do list[i] = tostring(i) end
      local results = flow.map(list, function(i) return text(assert(c:call("echo", { text = i }))) end)
      t.same(results, list)
    end)
  end)
end

t.test("a cancel reaches the server", function()
  local dir <close> = t.dir()
  with("hang " .. dir.path .. "/log", nil, function(c)
    assert(c:tools())
    local f = flow.spawn(function() return c:call "echo" end)
    flow.sleep(0.1)
    f:cancel()
    t.eventually(function() return (fs.read(dir.path .. "/log") or ""):find "cancelled %d" end)
    t.fails("timeout", "tools/call", c:call("echo", {}, { timeout = 0.2 }))
  end)
end)

t.test("noise, ids that nobody asked for, answers twice, floods", function()
  for _, mode in ipairs { "noise", "twice", "flood" } do
    with(mode, nil, function(c)
      for i = 1, 5 do
        local result = assert(c:call("echo", { text = tostring(i) }))
        t.equal(text(result), mode == "twice" and "first" or tostring(i))
      end
    end)
  end
end)

t.test("a server that is silent about what it does not know, or ends at it", function()
  local before = os.time()
  with("crash", nil, function(c) t.equal(text(assert(c:call("echo", { text = "a" }))), "a") end)
  t.ok(os.time() - before < 5)
  with("silent", nil, function(c) t.equal(c.version, "2025-11-25") end)
end)

t.test("a message that is too large is left out, and the rest goes on", function()
  with("huge", nil, function(c)
    t.fails("timeout", "", c:call("echo", {}, { timeout = 3 }))
    t.ok(c:tools())
  end)
end)

t.test("a server that ends says why; what waits is told", function()
  with("legacy", nil, function(c)
    local f = flow.spawn(function() return c:call "slow" end)
    local g = flow.spawn(function() return c:call "die" end)
    local _, err = g:wait()
    t.equal(err.code, "server")
    t.has(err.message, "it ended with exit code")
    t.has(err.message, "it dies")
    local _, other = f:wait()
    t.ok(other == nil or other.code == "server")
    t.fails("server", "exit code", c:call "echo")
  end)
end)

t.test("what cannot be started", function()
  local one = spec "legacy"
  one.process.argv = { "/nonexistent/server" }
  t.fails("server", "/nonexistent/server", client.connect(one))
  one = spec "legacy"
  one.process.argv = { "/bin/sh", "-c", "echo 'cannot find module x' >&2; exit 1" }
  t.fails("server", "cannot find module x", client.connect(one))
  one = spec "legacy"
  one.process.argv = { "/bin/sh", "-c", "yes" }
  local c, err = client.connect(one)
  t.equal(c, nil)
  t.equal(err.code, "server")
end)

-- How many processes have these words in their command line.
local function count(words)
  local n = 0
  for _, name in ipairs(fs.list "/proc") do
    local line = name:find "^%d" and fs.read("/proc/" .. name .. "cmdline")
    if line and line:gsub("%z", " "):find(words, 1, true) then n = n + 1 end
  end
  return n
end

t.test("it ends with everything that it started", function()
  local seconds = "100." .. math.random(1 << 40)
  with("children " .. seconds, nil, function() t.eventually(function() return count("sleep " .. seconds) >= 2 end) end)
  t.eventually(function() return count("sleep " .. seconds) == 0 end)
end)

t.test("again and again, and nothing is left", function()
  local function descriptors() return #fs.list "/proc/self/fd" end
  with("legacy", nil, function() end)
  flow.sleep(0.1)
  local before = descriptors()
  for _ = 1, tonumber(os.getenv "HOCKET_TEST_MANY" or "20") do with("legacy", nil, function() end) end
  t.eventually(function() collectgarbage() return descriptors() <= before end)
end)

-- ---- Tasks -----------------------------------------------------------------------------------

-- Calls it, and gives it up when it has said how far it is.
local function cancel_once_begun(c, name, args)
  local begun = false
  local calling = flow.spawn(function() c:call(name, args, { on_progress = function() begun = true end }) end)
  t.eventually(function() return begun end, 60)
  calling:cancel()
end

t.test("legacy: a tool that is called as a task alone", function()
  local dir <close> = t.dir()
  with("legacy-tasks " .. dir.path .. "/log", nil, function(c)
    local said = {}
    t.equal(text(assert(c:call("research", {}, { on_progress = function(p) said[#said + 1] = p.message end }))), "found by t1")
    t.equal(table.concat(said, ", "), "look 1, look 2, look 3")
    cancel_once_begun(c, "research", { text = "for ever" })
    t.eventually(function() return (fs.read(dir.path .. "/log") or ""):find "task cancelled t1" end, 60)
    t.equal(text(assert(c:call("echo", { text = "and on" }))), "and on")
  end)
end)

local long = [==[
local hocket = require "hocket"
local flow = require "hocket.flow"
local log = ...
local tools = {}
local function tool(name, task, run) tools[#tools + 1] = { name = name, description = name, task = task, run = run } end
tool("slow", 0, function(_, at)
  flow.sleep(0.05)
  at:progress(1, 2, "half of it")
  flow.sleep(0.3)
  return "slowly"
end)
tool("later", 0.1, function(_, at)
  flow.sleep(0.3)
  local given, err = at:elicit { message = "Which?", requestedSchema = { type = "object", properties = { city = { type = "string" } } } }
  return given and "to " .. given.content.city, err
end)
tool("quick", 30, function() return "at once" end)
tool("fails", 0, function()
  flow.sleep(0.05)
  return nil, "it is full"
end)
tool("breaks", 0, function()
  flow.sleep(0.05)
  return nil, { message = "broken", rpc = { code = -32603, message = "broken" } }
end)
tool("for_ever", "required", function(_, at)
  local over <close> = setmetatable({}, { __close = function()
    local file <close> = io.open(log, "a")
    file:write "ended\n"
  end })
  flow.sleep(0.05)
  at:progress(1, 2, "begun")
  flow.sleep(1e6)
end)
assert(hocket.mcp.serve { name = "long", tools = tools })
]==]

t.test("modern: calls that a server makes tasks are waited for, asked in, and cancelled", function()
  local dir <close> = t.dir()
  dir:write("long.lua", long)
  local made = spec("", { elicit = function() return { action = "accept", content = { city = "Rome" } } end })
  made.process.argv = { process.launcher(), "run", "-q", "--store", "off", dir.path .. "/long.lua", dir.path .. "/log" }
  local c = assert(client.connect(made))
  local closing <close> = setmetatable({}, { __close = function() c:close() end })
  local said = {}
  t.equal(text(assert(c:call("slow", {}, { on_progress = function(p) said[#said + 1] = p.message end }))), "slowly")
  t.equal(said[1], "half of it")
  t.equal(text(assert(c:call "quick")), "at once")
  t.equal(text(assert(c:call "later")), "to Rome")
  t.equal(assert(c:call "fails").isError, true)
  t.fails("server", "broken", c:call "breaks")
  cancel_once_begun(c, "for_ever")
  t.eventually(function() return fs.read(dir.path .. "/log") == "ended\n" end, 60)
  local answer = assert(c.peer:request("tools/list", { _meta = require("hocket.internal.mcp.protocol_version").meta(c) }))
  t.equal(#answer.tools, 6)
end)

t.test("modern: handles that are none, and those who do not know tasks", function()
  local dir <close> = t.dir()
  dir:write("long.lua", long)
  local made = spec ""
  made.process.argv = { process.launcher(), "run", "-q", "--store", "off", dir.path .. "/long.lua", dir.path .. "/log" }
  local c = assert(client.connect(made))
  local closing <close> = setmetatable({}, { __close = function() c:close() end })
  t.fails("server", "none of a task", c:ask("tasks/get", { taskId = "x" }))
  t.fails("server", "none of a task", c:ask("tasks/cancel", { taskId = 7 }))
  t.fails("server", "none of a task", c:ask("tasks/update", { inputResponses = {} }))
  c.modern_capabilities.extensions = nil
  local _, err = c:ask("tasks/get", { taskId = "x" })
  t.equal(err.rpc.code, -32021)
  _, err = c:call "for_ever"
  t.equal(err.rpc.code, -32021)
  t.equal(text(assert(c:call "slow")), "slowly", "it is waited for")
end)

return t.finish()
