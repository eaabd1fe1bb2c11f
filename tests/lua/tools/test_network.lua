--- Commands whose network is named hosts: what a person is asked, what is told of it, and what it says of bad names.
--- What they cannot reach is tests/attack/network.lua.
local t = require "harness"
local s = require "scripted"
local fiber = require "hocket.internal.core.fiber"
local flow = require "hocket.flow"
local network = require "hocket.internal.tools.network"
local orchestrate = require "hocket.orchestrate"
local sandbox = require "hocket.internal.tools.sandbox"
local shell = require "hocket.internal.tools.shell"
local system = require "hocket.internal.core.system"

local walls = sandbox.level "required"
if not walls then
  print "  no walls here: not tried"
  return t.finish()
end

-- An agent that runs these commands one after the other, in a run with these options: the results and the run.
local function play(commands, options)
  local results = {}
  s.reply = function(request)
    results = {}
    for _, message in ipairs(request.messages) do
      if message.role == "tool" then results[#results + 1] = message.text end
    end
    local command = commands[#results + 1]
    return command and { calls = { s.call("execute_command", { command = command }) } } or "done"
  end
  local dir <close> = t.dir()
  local team = s.team { main = { tools = { "execute_command" }, max_turns = 20 } }
  options.workdir, options.sandbox = dir.path, walls
  options.approve = options.approve or { "execute_command=allow" }
  local run, failed = s.run(function() return orchestrate.call(team.main, "go") end, options)
  return results, run, failed
end

-- A server of this machine, which may be named, and how often it was asked.
local function with_server(fn, address)
  local server = assert(require("hocket.internal.core.server").new { port = 0, address = address })
  local count = 0
  local loop = flow.spawn(function()
    while true do
      local request = server:accept()
      if not request then return end
      count = count + 1
      server:respond(request.id, 200, {}, "WELCOME")
    end
  end)
  local closed <close> = setmetatable({}, { __close = function()
    server:close()
    loop:wait()
  end })
  return fn((address or "127.0.0.1") .. ":" .. server:port(), function() return count end)
end

t.test("a named host is reached, another is not, and both are told", function()
  with_server(function(where, count)
    local results, run = play({ "curl -s http://" .. where .. "/; curl -s http://other.example/" }, { network = where })
    t.has(results[1], "WELCOME")
    t.has(results[1], "It did not reach other.example, port 80: it is not named.")
    t.equal(count(), 1)
    local refused = s.events(run, "host_refused")
    t.equal(#refused, 1)
    t.equal(refused[1].host, "other.example")
    t.equal(refused[1].port, 80)
    t.equal(refused[1].tool, "execute_command")
    t.equal(s.events(run, "labels_added")[1].labels[1], "web")
  end)
end)

t.test("the model is told which hosts there are", function()
  local dir <close> = t.dir()
  local one = assert(shell.make("execute_command", { run = { options = { workdir = dir.path, network = { "a.example", "*.b.example:8080" } } }, team = {} }))
  t.has(one.description, "these hosts alone, by a proxy that is set up: a.example, *.b.example:8080")
end)

t.test("a person is asked about another host, once for a command", function()
  local asked = {}
  local results = play({ "curl -s -m 3 http://other.invalid/a; curl -s -m 3 http://other.invalid/b", "curl -s -m 3 http://other.invalid/c" }, {
    network = "a.example",
    on_question = function(question)
      asked[#asked + 1] = question
      return #asked == 1 and "allow" or "deny"
    end,
  })
  t.equal(#asked, 2)
  t.equal(asked[1].tool, "network")
  t.has(asked[1].arguments, "other.invalid:80")
  t.has(asked[1].arguments, "curl") -- what wants to go there
  t.has(asked[1].reason, "nobody has named")
  t.lacks(results[1], "did not reach") -- it was let through; there is no such host
  t.has(results[2], "It did not reach other.invalid, port 80")
end)

t.test("always is about the host and the command that were shown", function()
  local asked = 0
  -- After the first result there are labels, which it does not cover.
  local commands = { "true", "curl -s -m 3 http://other.invalid/", "curl -s -m 3 http://other.invalid/", "curl -s -m 3 http://third.invalid/" }
  play(commands, { network = "a.example", on_question = function()
    asked = asked + 1
    return asked == 1 and "always" or "deny"
  end })
  t.equal(asked, 2)
end)

t.test("what is denied in general is not asked", function()
  local asked = 0
  local results = play({ "curl -s -m 3 http://other.invalid/" }, { network = "a.example", approve = { "deny", "execute_command=allow" },
    on_question = function()
      asked = asked + 1
      return "allow"
    end })
  t.equal(asked, 0)
  t.has(results[1], "it is not named")
end)

t.test("a question ends with its command", function()
  local withdrawn = false
  local results, run = play({ "curl -s -m 1 http://other.invalid/; true" }, { network = "a.example", on_question = function()
    local ended <close> = setmetatable({}, { __close = function() withdrawn = true end })
    fiber.sleep(20)
    return "allow"
  end })
  t.has(results[1], "exit code 0")
  t.ok(withdrawn)
  t.equal(#s.events(run, "approval_requested"), 1)
end)

t.test("a command that is cancelled takes its way with it", function()
  with_server(function(where)
    local began = flow.now()
    local result = flow.timeout(0.5, function()
      return sandbox.run { argv = { "/bin/sh", "-c", "curl -s http://" .. where .. "/; sleep 60" }, cwd = "/tmp", timeout = 60, memory = 1 << 30,
        processes = 50, file_size = 1 << 20, written = 1 << 20, run = { options = { network = where, sandbox = walls } } }
    end)
    t.ok(not result)
    t.ok(flow.now() - began < 10)
  end)
end)

t.test("an address inside is reached when the operator allows its name", function()
  local address, name
  for line in io.lines "/etc/hosts" do
    local at, called = line:match "^(127%.%d+%.%d+%.%d+)%s+([%w-]+)%s*$"
    if called and called ~= "localhost" then address, name = at, called end
  end
  if not name then return print "  no other name for this machine: not tried" end
  with_server(function(where, count)
    local real = system.getenv
    local restored <close> = setmetatable({}, { __close = function() system.getenv = real end })
    local named = name .. where:match ":%d+$"
    local results, run = play({ "curl -s -m 3 http://" .. named }, { network = named })
    t.has(results[1], "not public")
    t.equal(s.events(run, "host_refused")[1].reason, "it leads to an address that is not public")
    t.equal(count(), 0)
    system.getenv = function(variable)
      if variable == "HOCKET_WEB_ALLOW" then return name end
      return real(variable)
    end
    t.has(play({ "curl -s -m 3 http://" .. named }, { network = named })[1], "WELCOME")
  end, address)
end)

t.test("what a run may say", function()
  t.equal(network.read(nil), "none")
  t.equal(network.read(false), "none")
  t.equal(network.read "none", "none")
  t.equal(network.read(true), "all")
  t.equal(network.read "all", "all")
  t.equal(#network.read "a.example, *.b.example:8080", 2)
  for _, bad in ipairs { "", ",", "*", "*.com", "http://a/", "a:0", "a b/", "ä.example", 7, {}, { 7 }, { "a.example", "b/" } } do
    local read, err = network.read(bad)
    t.ok(not read, tostring(bad))
    t.equal(err.code, "invalid")
  end
  t.has(select(2, network.read "https://a.example/").message, "as in api.example.org")
end)

t.test("at the level limits it is refused, not widened", function()
  local result, err = sandbox.run { argv = { "/bin/true" }, cwd = "/tmp", timeout = 5, memory = 1 << 30, processes = 50, file_size = 1 << 20, written = 1 << 20,
    run = { options = { network = "a.example", sandbox = "limits" } } }
  t.ok(not result)
  t.has(err.message, "behind walls only")
end)

return t.finish()
