--- Looking into a running host: what can be asked, who is let in, and that nobody who attaches holds it up.
local t = require "harness"
local fiber = require "hocket.internal.core.fiber"
local flow = require "hocket.flow"
local fs = require "hocket.fs"
local hocket = require "hocket"
local json = require "hocket.json"
local sim = require "hocket.sim"
local sockets = require "hocket.internal.core.socket"
local system = require "hocket.internal.core.system"

assert(sim.base()) -- the server of scripted models stays
require "hocket.live"

-- An offered host: fn(attached, path, name).
local function offered(fn, options)
  local dir <close> = t.dir()
  local path = dir.path .. "/door/game.sock"
  local name = assert(hocket.host:offer(path, options))
  local taken_back <close> = setmetatable({}, { __close = function() hocket.host:withdraw(name) end })
  local game <close> = assert(hocket.attach.open(path))
  fn(game, path, dir)
end

local function ask(game, command)
  local answer, err = game:ask(command, 10)
  if not answer then error(command .. ": " .. tostring(err), 2) end
  return answer.text, answer.value
end

-- The next line that a stream gives, within a time.
local function line_of(stream, seconds)
  local due = fiber.now() + (seconds or 5)
  while true do
    local line, err = stream:line()
    if line or err then return line, err end
    if fiber.now() >= due then return nil, { code = "timeout" } end
    stream:wait(0.1)
  end
end

local function raw(path)
  local stream, err = sockets.connect(path)
  if not stream then return nil, err end
  local hello = line_of(stream)
  return stream, hello and json.decode(hello)
end

-- A run that goes on until it is told to end.
local function long_run()
  local agent = hocket.agent { name = "guide", model = "sim/default", prompt = "You guide." }
  local dir = t.dir()
  dir:write("main.lua", [[
local hocket = require "hocket"
local board = hocket.board { limit = 5 }
board:create("lead", { { text = "Find the \27[2Jcastle", assigned_to = "guide" } })
while true do hocket.flow.sleep(0.01) end]])
  local run = hocket.start(dir.path, "go", { model = "sim/default" })
  local planned
  t.eventually(function()
    for _, event in ipairs(run:events()) do planned = planned or event.type == "tasks_created" end
    return planned
  end)
  return run, dir, agent
end

t.test("its runs, boards, agents, and help, as texts and as values", function()
  offered(function(game)
    local run <const>, dir <close> = long_run()
    local text, value = ask(game, "runs")
    t.equal(#value, 2) -- this script's own as well
    t.equal(value[2].target, dir.path .. "/main.lua")
    t.has(text, "#" .. value[2].number)
    local number = value[2].number
    t.fails("not_found", "several runs", game:ask "board")
    text, value = ask(game, "board " .. number)
    t.equal(value[1].status, "pending")
    t.has(text, "castle")
    t.lacks(text, "\n\n")
    t.has(ask(game, "help"), "say AGENT TEXT")
    t.has(ask(game, "help board"), "the tasks of a run")
    ask(game, "run #" .. number)
    ask(game, "document " .. number)
    ask(game, "agents")
    ask(game, "stats")
    ask(game, "")
    t.fails("not_found", "did you mean 'board'", game:ask "baord")
    t.fails("not_found", "there is no run 'nothing'", game:ask "board nothing")
    ask(game, "cancel " .. number)
    run:wait()
    t.equal(#select(2, ask(game, "runs")), 1)
    t.has(ask(game, "board"), "There is no task")
  end)
end)

t.test("events as they come, also of runs that begin later, until they are not wanted", function()
  offered(function(game)
    ask(game, "events")
    local run <const>, _ <close> = long_run()
    local first = game:next()
    t.equal(first.event.type, "workflow_started")
    ask(game, "events off")
    run:cancel()
    run:wait()
    while #game.news > 0 do t.ok(game:next().event.type ~= "workflow_finished") end
  end)
end)

t.test("say: an agent answers, in its conversation where it has one", function()
  local dir <close> = t.dir()
  dir:write("guide.md", "---\nname: guide\nmodel: sim/default\n---\nYou guide.\n")
  local live = assert(require("hocket.live").open(dir.path))
  offered(function(game)
    t.has(ask(game, "agents"), "guide")
    t.has(ask(game, "say guide Good day!"), "Good day!")
    t.fails("not_found", "did you mean 'guide'", game:ask "say giude Hello")
    t.fails("invalid", "say AGENT TEXT", game:ask "say guide")
    local talk = hocket.start(dir.path .. "/guide.md", nil, { conversation = true })
    t.eventually(function()
      local _, list = ask(game, "runs")
      return list[2] and list[2].state == "waits for input"
    end)
    local text, value = ask(game, "say guide And now?")
    t.has(text, "And now?")
    t.ok(value.run)
    local turns = 0
    for _, event in ipairs(talk:events()) do turns = turns + (event.type == "turn_finished" and 1 or 0) end
    t.equal(turns, 1)
    talk:cancel()
    talk:wait()
  end)
  live:close()
end)

t.test("signal: a message, as JSON or as a text", function()
  local dir <close> = t.dir()
  dir:write("main.lua", [[
    local hocket = require "hocket"
    local one, two, three = hocket.signal "go", hocket.signal "go", hocket.signal "go"
    return one.n .. two .. tostring(three == hocket.json.null)]])
  offered(function(game)
    local run = hocket.start(dir.path, nil, {})
    t.eventually(function() return #run:events() > 0 end)
    t.fails("invalid", "signal RUN NAME", game:ask "signal 1")
    local _, list = ask(game, "runs")
    local number = list[#list].number
    ask(game, ('signal %d go {"n":1}'):format(number))
    ask(game, ("signal %d go some words"):format(number))
    ask(game, ("signal %d go"):format(number))
    t.equal(assert(run:wait()).text, "1some wordstrue")
  end)
end)

t.test("reload: what is watched is read anew, and what is wrong is told", function()
  local dir <close> = t.dir()
  dir:write("guide.md", "---\nname: guide\n---\nYou guide.\n")
  local live = assert(require("hocket.live").open(dir.path))
  offered(function(game)
    dir:write("guide.md", "---\nname: guide\n---\nYou guide in rhymes.\n")
    t.has(ask(game, "reload"), "generation 2")
    dir:write("guide.md", "---\nname: guide\nmodle: x\n---\nYou.\n")
    t.has(ask(game, "reload"), "not reloaded")
    t.has(ask(game, "reload"), "nothing has changed")
  end)
  live:close()
end)

t.test("Lua: an expression, statements, what was set before; bounded, and never the host's end", function()
  offered(function(game)
    t.equal(ask(game, "= 1 + 1"), "2")
    t.equal(ask(game, "lua x = { 1, 2 }"), "")
    t.equal(ask(game, "= #x, hocket.version()"), "2\n\"" .. hocket.version() .. "\"")
    t.equal(x, nil) -- his own
    t.equal(ask(game, "lua print('a', 1) print('b')"), "a\t1\nb")
    t.has(ask(game, "= {a={b={c={d=1}}}}"), "c = {…}")
    t.equal(#ask(game, "= ('x'):rep(1000000)"), (64 << 10) + #"\n… (cut)")
    for command, part in pairs {
      ["= while"] = "attach", ["= error 'boom'"] = "boom", ["= error {}"] = "a table was raised",
      ["lua while true do end"] = "more than 0.1 seconds",
      ["lua while true do pcall(function() while true do end end) end"] = "more than 0.1 seconds",
      ["lua coroutine.wrap(function() while true do end end)()"] = "more than 0.1 seconds",
      ["= ('a'):rep(1e10)"] = "too long", ["= ('a'):rep(100):find(('a?'):rep(30) .. ('a'):rep(30))"] = "too long",
      ["lua local t = {} for i = 1, 1e9 do t[i] = ('x'):rep(1e6) .. i end"] = "the script took more than",
      ["= setmetatable({}, { __tostring = function() while true do end end })"] = "more than 0.1 seconds",
      ["= hocket.flow.sleep(1)"] = "this waits", ["= os.exit()"] = "nil value", ["lua debug.sethook()"] = "nil value",
      ["lua local function f() return f() .. 'x' end f()"] = "",
    } do
      local answer, err = game:ask(command, 10)
      if answer then error(command .. " was answered with " .. answer.text) end
      if not err.message:find(part, 1, true) then error(("%s: expected %s, got %s"):format(command, part, err.message)) end
    end
    t.equal(ask(game, "= x[2]"), "2") -- still there
  end)
end)

t.test("tab: commands, agents, runs", function()
  offered(function(game)
    t.same(game:complete "bo", { from = 0, words = { "board" } })
    t.same(game:complete "help bo", { from = 5, words = { "board" } })
    t.same(game:complete "nothing x", { from = 8, words = json.array {} })
    local run <const>, _ <close> = long_run()
    local _, list = ask(game, "runs")
    t.same(game:complete "cancel ", { from = 7, words = { tostring(list[1].number), tostring(list[2].number) } })
    run:cancel()
    run:wait()
  end)
end)

t.test("who may only look changes nothing", function()
  offered(function(game)
    t.equal(game.rights, "look")
    ask(game, "runs")
    t.lacks(ask(game, "help"), "cancel")
    for _, command in ipairs { "cancel", "stop", "say a b", "reload", "lua 1", "= 1", "answer 1 q x" } do
      t.fails("denied", "lets you look", game:ask(command))
    end
    t.same(game:complete "canc", { from = 0, words = json.array {} })
  end, { look = true })
  t.raises("unknown option 'rot'", hocket.host.offer, hocket.host, "x", { rot = true })
  t.raises("bad option 'root'", hocket.host.offer, hocket.host, "x", { root = "some" })
end)

t.test("the socket: mode 0600 in a directory of mode 0700, which must be ours alone", function()
  offered(function(_, path, dir)
    local pipe = assert(io.popen(("stat -c '%%a' '%s' '%s/door'"):format(path, dir.path)))
    t.equal(pipe:read "a", "600\n700\n")
    pipe:close()
  end)
  local dir <close> = t.dir()
  assert(os.execute(("mkdir -m 755 '%s/open' && mkdir -m 700 '%s/real' && ln -s real '%s/link'"):format(dir.path, dir.path, dir.path)))
  t.fails("denied", "chmod 700", hocket.host:offer(dir.path .. "/open/x.sock"))
  t.ok(not hocket.host:offer(dir.path .. "/link/x.sock"))
  t.ok(not hocket.host:offer(dir.path .. "/no/such/x.sock"))
  t.fails("limit", "at most", hocket.host:offer(dir.path .. "/real/" .. ("x"):rep(120)))
  for _, name in ipairs { "", "a/b", "..", ".x", "-x", "a b", ("x"):rep(65), "a\27b" } do
    t.fails("invalid", "is no name", hocket.host:offer(name))
  end
  dir:write("real.txt", "mine")
  assert(os.execute(("mv '%s/real.txt' '%s/real/x.sock'"):format(dir.path, dir.path)))
  t.fails("exists", "no socket", hocket.host:offer(dir.path .. "/real/x.sock"))
  t.equal(fs.read(dir.path .. "/real/x.sock"), "mine")
end)

t.test("the name of one who lives is refused, that of one who died is taken over", function()
  offered(function(_, path)
    t.fails("exists", "in use by process", sockets.listen(path:match "^(.*)/", "game.sock"))
    -- what a process leaves that is killed
    local door = path:match "^(.*)/"
    local code = ("import socket; s = socket.socket(socket.AF_UNIX); s.bind('%s/dead.sock')"):format(door)
    if os.execute "command -v python3 >/dev/null" then
      assert(os.execute(('python3 -c "%s"'):format(code)))
      t.equal(fs.info(door .. "/dead.sock") ~= nil, true)
      assert(hocket.host:offer(door .. "/dead.sock"))
      t.ok(hocket.host:withdraw(door .. "/dead.sock"))
      t.equal(fs.info(door .. "/dead.sock"), nil)
    end
  end)
end)

t.test("a client that sends half lines, nonsense, or nothing at all holds nobody up", function()
  offered(function(game, path)
    local half <close>, hello = raw(path)
    t.equal(hello.hello.name, path)
    local silent <close> = raw(path)
    local _, others = raw(path), raw(path)
    ask(game, "runs")
    assert(others:send "no json")
    t.has(line_of(others), "expected one JSON object")
    assert(others:send '{"id":1}')
    t.has(line_of(others), "expected one JSON object")
    assert(others:send '{"id":[1],"command":"runs"}')
    t.has(line_of(others), "expected one JSON object")
    assert(others:send "\27[2J\0\255")
    t.has(line_of(others), "expected one JSON object")
    assert(others:send '{"id":"x","command":"runs"}')
    t.has(line_of(others), '"id":"x"')
    others:close()
    _:close()
  end)
end)

t.test("a line that never ends is cut off, and so is a ninth client", function()
  offered(function(game, path)
    local long <close> = raw(path)
    for _ = 1, 40 do
      if not long:send(("x"):rep(60000)) then break end -- each with a line end: no JSON
      fiber.sleep(0.005)
    end
    ask(game, "runs")
    local kept = {}
    for i = 1, 10 do kept[i] = table.pack(raw(path)) end
    t.has(kept[10][2].error.message, "are attached")
    ask(game, "runs")
    for _, one in ipairs(kept) do one[1]:close() end
  end)
end)

t.test("a flood of commands is paced: the host goes on", function()
  offered(function(_, path)
    local flood <close> = raw(path)
    local sent, turns = 0, 0
    local watched = flow.spawn(function()
      while true do
        fiber.sleep(0.002)
        turns = turns + 1
      end
    end)
    local until_then = fiber.now() + 0.5
    while fiber.now() < until_then do
      if flood:send '{"id":1,"command":"runs"}' then sent = sent + 1 else fiber.sleep(0.001) end
      fiber.rest()
    end
    watched:cancel()
    t.ok(sent > 1000, "only " .. sent .. " were sent")
    t.ok(turns > 5, "the host turned only " .. turns .. " times")
  end)
end)

t.test("a client that does not read loses events, and is told how many", function()
  offered(function(_, path)
    local deaf <close> = raw(path)
    assert(deaf:send '{"id":1,"command":"events"}')
    t.has(line_of(deaf), '"ok":true')
    local dir <close> = t.dir()
    dir:write("main.lua", [[
local hocket = require "hocket"
for i = 1, 3000 do hocket.events.emit("noise", { text = ("x"):rep(1000) }) if i % 100 == 0 then hocket.flow.sleep(0.001) end end
return "done"]])
    local began = fiber.now()
    local reply = hocket.start(dir.path, "go", { model = "sim/default" }):wait()
    t.equal(reply.text, "done")
    t.ok(fiber.now() - began < 2, "the run waited for a client")
    fiber.sleep(2.5) -- it is given two seconds to make room
    local noted, events = nil, 0
    local due = fiber.now() + 10
    while not noted and fiber.now() < due do
      local line = line_of(deaf, 0.5)
      if line and line:find('"note"', 1, true) then noted = line end
      if line and line:find('"event"', 1, true) then events = events + 1 end
    end
    t.has(noted, "events are dropped")
    t.ok(events < 3000)
  end)
end)

t.test("an event that is too large for the socket is left out, and said so", function()
  offered(function(game)
    ask(game, "events")
    local dir <close> = t.dir()
    dir:write("main.lua", 'require("hocket").events.emit("noise", { text = ("x"):rep(2000000) }) return "done"')
    hocket.start(dir.path, "go", { model = "sim/default" }):wait()
    local noted
    repeat
      local news = game:next()
      noted = news and news.note
    until not news or noted
    t.has(noted, "is left out")
  end)
end)

t.test("who is attached hears of the end; withdrawing twice is told", function()
  local dir <close> = t.dir()
  local path = dir.path .. "/door/x.sock"
  assert(hocket.host:offer(path))
  t.equal(hocket.host:offer(path), path) -- again: nothing
  local game <close> = assert(hocket.attach.open(path))
  t.ok(hocket.host:withdraw(path))
  t.ok(not hocket.host:withdraw(path))
  t.equal(game:next(), nil)
  t.fails("closed", "closed the connection", game:ask "runs")
  t.fails("not_found", "nothing" and "there is no", hocket.attach.open(path))
end)

t.test("the same commands from inside", function()
  local text = assert(require("hocket.console").give "help").text
  t.has(text, "board")
  t.equal(require("hocket.console").give("= 6 * 7").text, "42")
  t.fails("not_found", "no command", require("hocket.console").give "frob")
  t.fails("unsupported", "attached", require("hocket.console").give "events")
  t.raises("string expected", require('hocket.console').give, 1)
  t.ok(system.open().fibers > 0)
end)

return t.finish()
