--- Generations of every kind of target: what is validated before it is taken, and that a run keeps to what it
--- began with, whatever its files say meanwhile.
local t = require "harness"
local fiber = require "hocket.internal.core.fiber"
local flow = require "hocket.flow"
local fs = require "hocket.fs"
local hocket = require "hocket"
local live = require "hocket.live"

local function agent(name, prompt, more)
  return ("---\nname: %s\n%s---\n%s\n"):format(name, more or "", prompt)
end

local here = "local here = debug.getinfo(1, 'S').source:match '^@(.*)/'\n"

-- A project as `hocket new` makes it: a script, and agents below it.
local function project(script)
  local dir = t.dir()
  dir:write("main.lua", here .. (script or "local team = require('hocket').agents(here .. '/agents')\nreturn team.editor.prompt\n"))
  dir:write("agents/editor.md", agent("editor", "Edit one.", "agents: [critic]\n"))
  dir:write("agents/critic.md", agent("critic", "Doubt one."))
  return dir
end

local function open(path)
  local alive = assert(live.open(tostring(path)))
  return setmetatable({}, { __index = function(_, key)
    local value = alive[key]
    return type(value) == "function" and function(_, ...) return value(alive, ...) end or value
  end, __close = function() alive:close() end })
end

local function answer(target, input)
  local run = hocket.start(target, input or "go")
  local reply, err = run:wait()
  return reply and reply.text, err
end

local may_go, begun = false, 0

--- What scripts here call to wait in their middle.
function _G.waiting_here()
  begun = begun + 1
  while not may_go do fiber.sleep(0.002) end
end

-- Starts a script that waits in its middle, and gives what lets it go on and answers what it answered.
local function waiting(target)
  may_go = false
  local before = begun
  local run = hocket.start(target, "go")
  t.eventually(function() return begun > before or run:done() end)
  return function()
    may_go = true
    local reply, err = run:wait()
    return reply and reply.text, err
  end
end

-- ---- What is validated ------------------------------------------------------------------------------

t.test("a project with a script: agents in half are not taken, and runs go on with the last good ones", function()
  local dir <close> = project()
  local alive <close> = open(dir)
  t.equal(answer(dir.path), "Edit one.")
  dir:write("agents/editor.md", "---\nname: editor\nagents: [crit")
  local event = alive:check()
  t.equal(event.type, "agent_reload_failed")
  t.equal(event.file, dir.path .. "/agents/editor.md")
  t.equal(answer(dir.path), "Edit one.")
  dir:write("agents/editor.md", agent("editor", "Edit two.", "agents: [critic]\n"))
  t.equal(alive:check().type, "agent_reloaded")
  t.equal(answer(dir.path), "Edit two.")
end)

t.test("what hocket check refuses is not taken: unknown agents, circles, tools, scripts that do not compile", function()
  local dir <close> = project()
  local alive <close> = open(dir)
  for text, part in pairs {
    [agent("editor", "Edit.", "agents: [nobody]\n")] = "unknown agent 'nobody'",
    [agent("editor", "Edit.", "tools: [hammer]\n")] = "unknown tool 'hammer'",
    [agent("editor", "Edit.", "handoff: editor\n")] = "circle",
  } do
    dir:write("agents/editor.md", text)
    local event = alive:check()
    t.equal(event.type, "agent_reload_failed")
    t.has(event.message, part)
  end
  dir:write("agents/editor.md", agent("editor", "Edit.", "tools: [hammer]\n"))
  dir:write("tools.lua", "local tool = require 'hocket.tool'\ntool.set('hammer', function() return {} end)\n") -- now it is known
  t.equal(alive:check().type, "agent_reloaded")
  dir:write("tools.lua", "return {")
  t.equal(alive:check().file, dir.path .. "/tools.lua")
  t.equal(alive:current().number, 2)
end)

t.test("a module that a script requires is not deleted, nor broken; once none requires it, it is", function()
  local dir <close> = project "return require('lib.util').word\n"
  dir:write("lib/util.lua", "return { word = 'one' }\n")
  local alive <close> = open(dir)
  t.equal(answer(dir.path), "one")
  dir:write("lib/util.lua", "return { word = 'two' }\n")
  t.equal(alive:check().type, "agent_reloaded")
  t.equal(answer(dir.path), "two")
  for text, part in pairs { ["return {"] = "unexpected symbol", ["error 'boom'\n"] = "boom" } do
    dir:write("lib/util.lua", text)
    local broken = alive:check()
    t.equal(broken.type, "agent_reload_failed")
    t.equal(broken.file, dir.path .. "/lib/util.lua")
    t.has(broken.message, part)
    t.equal(answer(dir.path), "two")
  end
  os.remove(dir.path .. "/lib/util.lua")
  local event = alive:check()
  t.equal(event.type, "agent_reload_failed")
  t.equal(event.file, dir.path .. "/main.lua")
  t.equal(event.line, 2)
  t.has(event.message, "module 'lib.util' not found")
  t.equal(answer(dir.path), "two")
  dir:write("main.lua", "return 'without'\n")
  t.equal(alive:check().type, "agent_reloaded")
  t.equal(answer(dir.path), "without")
end)

t.test("a module that was loaded by a name that is computed, or inside of pcall, is not deleted either", function()
  for _, script in ipairs { "return require('lib.' .. 'util').word\n", "return select(2, pcall(require, 'lib.util')).word\n" } do
    local dir <close> = project(script)
    dir:write("lib/util.lua", "return { word = 'one' }\n")
    local alive <close> = open(dir)
    t.equal(answer(dir.path), "one")
    os.remove(dir.path .. "/lib/util.lua")
    local event = alive:check()
    t.equal(event.type, "agent_reload_failed")
    t.has(event.message, "the module 'lib.util' is gone, and may be required here")
    t.equal(answer(dir.path), "one")
    dir:write("lib/util/init.lua", "return { word = 'moved' }\n")
    t.equal(alive:check().type, "agent_reloaded")
    t.equal(answer(dir.path), "moved")
  end
end)

t.test("what hocket check says of a project holds for a generation, and .mcp.json is part of it", function()
  local dir <close> = project()
  dir:write(".mcp.json", '{"mcpServers": {"notes": {"command": "true"}}}')
  dir:write("agents/critic.md", agent("critic", "Doubt.", "mcp: [notes]\n"))
  local alive <close> = open(dir)
  for text, part in pairs {
    [agent("critic", "Doubt.", "mcp: [nots]\n")] = "has no server 'nots'",
    [agent("critic", "Doubt.", "model: nosuch/x\n")] = "unknown provider 'nosuch'", [agent("critic", "Doubt.", "approve: {allow: [hammer]}\n")] = "there is no tool 'hammer'",
  } do
    dir:write("agents/critic.md", text)
    local event = alive:check()
    t.equal(event.type, "agent_reload_failed")
    t.has(event.message, part)
  end
  dir:write("agents/critic.md", agent("critic", "Doubt {{what}}.", "mcp: [notes]\n")) -- whoever starts a run may give variables
  t.equal(alive:check().type, "agent_reloaded")
  dir:write(".mcp.json", '{"mcpServers": {"other": {"command": "true"}}}')
  t.has(alive:check().message, "has no server 'notes'")
end)

t.test("agents of other programs in a hidden folder are part of a generation", function()
  local dir <close> = project()
  dir:write(".claude/agents/reader.md", "---\nname: reader\ntools: Read\n---\nRead one.\n")
  dir:write("agents/critic.md", agent("critic", "Doubt.", "agents: [../.claude/agents]\n"))
  dir:write("main.lua", here .. "return require('hocket').agents(here .. '/agents').reader.prompt\n")
  local alive <close> = open(dir)
  t.equal(answer(dir.path), "Read one.")
  dir:write(".claude/agents/reader.md", "---\nname: reader\ntools: Read\n---\nRead two.\n")
  t.equal(alive:check().type, "agent_reloaded")
  t.equal(answer(dir.path), "Read two.")
end)

t.test("an agent that a script names is not deleted; with the script's line it is", function()
  local dir <close> = project()
  local alive <close> = open(dir)
  os.remove(dir.path .. "/agents/editor.md")
  local event = alive:check()
  t.equal(event.type, "agent_reload_failed")
  t.equal(event.file, dir.path .. "/main.lua")
  t.equal(event.line, 3)
  t.has(event.message, "the agent 'editor' is gone")
  t.equal(answer(dir.path), "Edit one.")
  dir:write("agents/editor.md", "---\nname: editor\nmodle: sim\n---\nEdit.\n") -- there, with a mistake
  local mistaken = alive:check().message
  t.has(mistaken, "unknown key 'modle'")
  t.ok(not mistaken:find "is gone", mistaken)
  os.remove(dir.path .. "/agents/editor.md")
  dir:write("main.lua", here .. "return require('hocket').agents(here .. '/agents').critic.prompt\n")
  t.equal(alive:check().type, "agent_reloaded")
  t.equal(answer(dir.path), "Doubt one.")
end)

t.test("a directory of agents that a script loads is not deleted", function()
  local dir <close> = project()
  local alive <close> = open(dir)
  os.remove(dir.path .. "/agents/editor.md")
  os.remove(dir.path .. "/agents/critic.md")
  os.remove(dir.path .. "/agents")
  t.equal(alive:check().type, "agent_reload_failed")
  t.equal(answer(dir.path), "Edit one.")
end)

t.test("a script, and an agent's file: what lies beside that and does not concern it may be broken", function()
  local dir <close> = project()
  do
    local alive <close> = open(dir.path .. "/main.lua")
    dir:write("agents/critic.md", "---\nname: [\n")
    t.equal(alive:check().type, "agent_reload_failed")
    t.equal(answer(dir.path .. "/main.lua"), "Edit one.")
  end
  dir:write("agents/critic.md", agent("critic", "Doubt one."))
  local alive <close> = open(dir.path .. "/agents/critic.md")
  dir:write("agents/editor.md", "---\nname: [\n")
  t.equal(alive:check().type, "agent_reloaded")
end)

t.test("a plan that is wrong is left out and told once; where it was named itself it is refused", function()
  local dir <close> = project()
  local steps = "plan: wall\nsteps:\n  - {id: dig, owner: %s, description: Dig}\n"
  dir:write("plans/wall.yaml", steps:format "nobody" .. "  - {id: dig, owner: nobody, description: Dig}\n")
  local path = dir.path .. "/plans/wall.yaml"
  local alive <close> = open(dir.path)
  t.equal(#alive:current().left_out, 1, "one line, however many mistakes there are")
  t.has(alive:current().left_out[1], path .. ":3:1: ")
  t.has(alive:current().left_out[1], "there is no specialist 'nobody'")
  t.equal(answer(dir.path), "Edit one.")
  local found, err = alive:target(path)
  t.equal(found, nil)
  t.has(err.message, "there is no specialist 'nobody'")
  local refused, wrong = live.open(path)
  t.equal(refused, nil)
  t.has(wrong.message, "there is no specialist 'nobody'")
  dir:write("agents/editor.md", agent("editor", "Edit two."))
  t.equal(alive:check().type, "agent_reloaded", "it does not keep the others back")
  local told = {}
  local watcher = flow.spawn(function() alive:watch(function(event) told[#told + 1] = event.type == "warning" and event.message end) end)
  local function until_told(n)
    for _ = 1, 400 do
      if #told >= n then return end
      flow.sleep(0.01)
    end
  end
  until_told(1)
  dir:write("agents/editor.md", agent("editor", "Edit three."))
  until_told(2)
  dir:write("plans/wall.yaml", steps:format "editor")
  until_told(3)
  t.equal(#alive:current().left_out, 0)
  dir:write("plans/wall.yaml", steps:format "nobody")
  until_told(5)
  watcher:cancel()
  t.same({ told[1], told[2], told[3], told[4] }, { alive:current().left_out[1], false, false, false }, "once while it is so")
  t.equal(told[5], alive:current().left_out[1])
end)

-- ---- What a run reads --------------------------------------------------------------------------------

t.test("a run that goes on reads its own generation: agents, texts, modules, what agents include", function()
  local dir <close> = project([[
local hocket, fs = require "hocket", require "hocket.fs"
waiting_here()
local style = fs.read(here .. "/style.txt")
local team = hocket.agents(here .. "/agents")
local alone = hocket.agent(here .. "/agents/critic.md")
return table.concat({ team.editor.prompt, alone.prompt, style, require("words").word, dofile(here .. "/more.lua") }, "|")
]])
  dir:write("agents/critic.md", agent("critic", "Doubt {{include part.txt}}"))
  for name, text in pairs { ["agents/part.txt"] = "part one", ["style.txt"] = "style one", ["words.lua"] = "return { word = 'word one' }",
    ["more.lua"] = "return 'more one'" } do dir:write(name, text) end
  local alive <close> = open(dir)
  local go = waiting(dir.path)
  dir:write("agents/editor.md", "---\nname: ed") -- in half, when the run comes to read it
  dir:write("agents/new.md", agent("new", "New."))
  for name, text in pairs { ["agents/part.txt"] = "part two", ["style.txt"] = "style two", ["words.lua"] = "return {", ["more.lua"] = "return" } do
    dir:write(name, text)
  end
  t.equal(alive:check().type, "agent_reload_failed")
  t.equal(go(), "Edit one.|Doubt part one|style one|word one|more one")
end)

t.test("what a run has written itself it reads as it wrote it", function()
  local dir <close> = project([[
local fs = require "hocket.fs"
local was = fs.read(here .. "/notes.txt")
assert(fs.write(here .. "/notes.txt", was .. ", and more"))
assert(fs.write(here .. "/report.md", "A report."))
assert(fs.write(here .. "/agents/late.md", "---\nname: late\n---\nLate.\n"))
return fs.read(here .. "/notes.txt") .. "|" .. fs.read(here .. "/report.md") .. "|" .. require("hocket").agents(here .. "/agents").late.prompt
]])
  dir:write("notes.txt", "notes")
  local alive <close> = open(dir)
  t.equal(answer(dir.path), "notes, and more|A report.|Late.")
  t.equal(alive:check().type, "agent_reloaded")
end)

t.test("after a run has let a program run its texts are those on disk", function()
  local dir <close> = project([[
assert(require("hocket.process").run { argv = { "/bin/sh", "-c", "echo -n by a program > " .. here .. "/notes.txt" }, timeout = 10, cwd = '/', sandbox = 'limits' })
return require("hocket.fs").read(here .. "/notes.txt")
]])
  dir:write("notes.txt", "notes")
  local alive <close> = open(dir)
  t.equal(answer(dir.path), "by a program")
end)

t.test("a target below a directory that is watched belongs to its generation", function()
  local dir <close> = project()
  dir:write("sub/two.lua", "return require('beside').word .. require('above').word")
  dir:write("sub/beside.lua", "return { word = 'beside one, ' }")
  dir:write("above.lua", "return { word = 'above one' }")
  local alive <close> = open(dir)
  local two = dir.path .. "/sub/two.lua"
  t.equal(answer(two), "beside one, above one")
  dir:write("sub/beside.lua", "return {")
  t.equal(alive:check().type, "agent_reload_failed")
  t.equal(answer(two), "beside one, above one")
  t.equal(answer(dir.path .. "/./sub//two.lua"), "beside one, above one")
  dir:write("sub/beside.lua", "return { word = 'beside two, ' }")
  t.equal(alive:check().type, "agent_reloaded")
  t.equal(answer(two), "beside two, above one")
  local target = alive:target(dir.path .. "/agents/critic.md")
  t.equal(target.agent.prompt, "Doubt one.")
  t.equal(target.generation.number, 2)
  t.fails("invalid", "there is no file, folder or agent", alive:target(dir.path .. "/agents/nobody.md"))
end)

t.test("agents of which none begins are watched as well: each is a target of its own", function()
  local dir <close> = t.dir()
  dir:write("smith.md", agent("smith", "Iron one."))
  dir:write("fisher.md", agent("fisher", "Fish one."))
  local alive <close> = open(dir)
  t.equal(alive:target(dir.path .. "/smith.md").agent.prompt, "Iron one.")
  t.fails("agent", "which agent begins?", alive:target(dir.path))
  dir:write("smith.md", agent("smith", "Iron two."))
  t.equal(alive:check().type, "agent_reloaded")
  t.equal(alive:target(dir.path .. "/smith.md").agent.prompt, "Iron two.")
  assert(alive:rollback())
  t.equal(alive:target(dir.path .. "/smith.md").agent.prompt, "Iron one.")
  dir:write("fisher.md", "---\nname: [\n")
  t.equal(alive:check().type, "agent_reload_failed")
end)

t.test("two runs of two generations side by side, each with its own", function()
  local dir <close> = project("waiting_here()\nreturn require('hocket').agents(here .. '/agents').editor.prompt\n")
  local alive <close> = open(dir)
  local go = waiting(dir.path)
  dir:write("agents/editor.md", agent("editor", "Edit two.", "agents: [critic]\n"))
  t.equal(alive:check().type, "agent_reloaded")
  local second = waiting(dir.path)
  t.equal(go(), "Edit one.")
  t.equal(second(), "Edit two.")
end)

t.test("texts that the program loads: a run keeps those that it began with", function()
  local buffers = require "hocket.internal.host.buffers"
  buffers.add("village/main.lua", "waiting_here()\nreturn require('hocket').agents('buffer:village/agents').smith.prompt")
  buffers.add("village/agents/smith.md", agent("smith", "Iron one."))
  local go = waiting "buffer:village"
  buffers.add("village/agents/smith.md", agent("smith", "Iron two."))
  t.equal(go(), "Iron one.")
  local again = waiting "buffer:village"
  t.equal(again(), "Iron two.")
end)

-- ---- Links -------------------------------------------------------------------------------------------

local function link(to, at)
  local result = assert(require("hocket.process").run { argv = { "/bin/ln", "-sfn", to, at }, timeout = 10, cwd = "/", sandbox = "limits" })
  t.equal(result.code, 0)
end

local function watching(alive, fn)
  local events = {}
  local watcher = flow.spawn(function() alive:watch(function(event) events[#events + 1] = event end) end)
  fiber.sleep(0.05)
  fn(events, function(n) t.eventually(function() return #events >= n end, 5, ("no event %d"):format(n)) end)
  watcher:cancel()
  watcher:join()
end

t.test("links to files and directories elsewhere: a change of what they name, and of where they lead", function()
  local dir <close> = t.dir()
  local other <close> = t.dir()
  other:write("far.md", agent("far", "Far one."))
  other:write("shared/near.md", agent("near", "Near one."))
  other:write("second/far.md", agent("far", "Far three."))
  dir:write("main.md", agent("main", "Main.", "agents: [far, near]\n"))
  link(other.path .. "/far.md", dir.path .. "/far.md")
  link(other.path .. "/shared", dir.path .. "/shared")
  local alive <close> = open(dir)
  local function prompt(name) return require("hocket.agent").team_of(alive:current().target.agent)[name].prompt end
  t.equal(prompt "near", "Near one.")
  watching(alive, function(events, expect)
    other:write("far.md", agent("far", "Far two."))
    expect(1)
    t.equal(prompt "far", "Far two.")
    other:write("shared/near.md", agent("near", "Near two."))
    expect(2)
    t.equal(prompt "near", "Near two.")
    link(other.path .. "/second/far.md", dir.path .. "/far.md")
    expect(3)
    t.equal(prompt "far", "Far three.")
    other:write("second/far.md", agent("far", "Far four."))
    expect(4)
    t.equal(prompt "far", "Far four.")
    for _, event in ipairs(events) do t.equal(event.type, "agent_reloaded") end
  end)
end)

t.test("a target that is itself a link: it is followed when it leads elsewhere", function()
  local dir <close> = t.dir()
  dir:write("one/main.md", agent("main", "One."))
  dir:write("two/main.md", agent("main", "Two."))
  link("one", dir.path .. "/current")
  local alive <close> = open(dir.path .. "/current")
  watching(alive, function(_, expect)
    link("two", dir.path .. "/current")
    expect(1)
    t.equal(alive:current().target.agent.prompt, "Two.")
    t.equal(live.at(dir.path .. "/current"):current().number, 2)
  end)
end)

t.test("a link in a circle, and one that leads nowhere until it does", function()
  local dir <close> = t.dir()
  dir:write("main.md", agent("main", "Main."))
  link(".", dir.path .. "/self")
  link(dir.path .. "/later/far.md", dir.path .. "/far.md")
  local alive <close> = open(dir)
  watching(alive, function(_, expect)
    dir:write("later/far.md", agent("far", "Far."))
    expect(1)
    t.has(alive:current().view.texts["far.md"], "Far.")
  end)
end)

-- ---- Being told -----------------------------------------------------------------------------------------

t.test("where the system does not tell of changes it looks, and says so once", function()
  local watches = require "hocket.internal.core.watch"
  local real, slow = watches.new, live.SLOW
  live.SLOW = 0.05
  local limit = { code = "limit", message = "cannot watch: too many directories are watched" }
  local restore <close> = setmetatable({}, { __close = function() watches.new, live.SLOW = real, slow end })
  for _, stub in ipairs {
    function() return nil, limit end,
    function()
      local watch = real()
      return setmetatable({}, { __close = function() watch:close() end, __index = {
        add = function() return nil, limit end, wait = function(_, seconds) return watch:wait(seconds) end } })
    end,
  } do
    watches.new = stub
    local dir <close> = project()
    local alive <close> = open(dir)
    watching(alive, function(events, expect)
      expect(1)
      t.equal(events[1].type, "warning")
      t.has(events[1].message, "too many directories are watched: it is looked at every 0.05 seconds")
      dir:write("agents/editor.md", agent("editor", "Edit two.", "agents: [critic]\n"))
      expect(2)
      t.equal(events[2].type, "agent_reloaded")
      fiber.sleep(0.2)
      t.equal(#events, 2)
    end)
  end
end)

t.test("a second save of the same size within one tick of the clock is seen", function()
  local dir <close> = t.dir()
  dir:write("main.md", agent("main", "Version 00."))
  local alive <close> = open(dir)
  for i = 1, 60 do
    local file = assert(io.open(dir.path .. "/main.md", "w"))
    file:write(agent("main", ("Version %02d."):format(i)))
    file:close()
    t.equal(alive:check().type, "agent_reloaded")
    t.equal(alive:current().target.agent.prompt, ("Version %02d."):format(i))
  end
end)

t.test("two that look at once, and one that is cancelled while it looks", function()
  local dir <close> = project()
  local alive <close> = open(dir)
  dir:write("agents/editor.md", agent("editor", "Edit two.", "agents: [critic]\n"))
  local events = {}
  local function look()
    local event = alive:check()
    events[#events + 1] = event
  end
  local one, two = flow.spawn(look), flow.spawn(look)
  one:wait()
  two:wait()
  t.equal(#events, 1)
  t.equal(alive:current().number, 2)
  for i = 3, 40 do -- at whatever it is just then
    dir:write("agents/editor.md", agent("editor", ("Edit %d."):format(i), "agents: [critic]\n"))
    local cut = flow.spawn(function() alive:check() end)
    fiber.sleep(i / 10000)
    cut:cancel()
    cut:join()
    alive:check()
    t.equal(answer(dir.path), ("Edit %d."):format(i))
  end
end)

t.test("what cannot be read is told", function()
  local dir <close> = t.dir()
  dir:write("main.md", agent("main", "Main."))
  local alive <close> = open(dir)
  dir:write("main.md", agent("main", ("x"):rep((1 << 20) + 10)))
  local event = alive:check()
  t.equal(event.type, "agent_reload_failed")
  t.has(event.message, "1048576 bytes")
  dir:write("main.md", agent("main", "Main."))
  t.equal(alive:check().type, "agent_reloaded")
end)

return t.finish()
