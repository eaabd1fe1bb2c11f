--- Hot reload: what changes, what stays, and what a broken file leaves alone.
local t = require "harness"
local fiber = require "hocket.internal.core.fiber"
local flow = require "hocket.flow"
local fs = require "hocket.fs"
local live = require "hocket.live"
local watches = require "hocket.internal.core.watch"

local function agent(name, prompt, more)
  return ("---\nname: %s\n%s---\n%s\n"):format(name, more or "", prompt)
end

local function team()
  local dir = t.dir()
  dir:write("main.md", agent("main", "Version one."))
  return dir
end

local function open(dir)
  local alive = assert(live.open(dir.path))
  return setmetatable({ alive = alive }, { __index = function(_, key)
    local value = alive[key]
    return type(value) == "function" and function(_, ...) return value(alive, ...) end or value
  end, __close = function() alive:close() end })
end

t.test("a wake that was meant for another wait is no quiet of a watch", function()
  local dir <close> = t.dir()
  local watch = assert(watches.new())
  local closing <close> = setmetatable({}, { __close = function() watch:close() end })
  assert(watch:add(dir.path))
  local writer = flow.spawn(function()
    fiber.sleep(0)
    dir:write("x", "y")
  end)
  fiber.self():wake()
  t.equal(watch:wait(10), true)
  writer:join()
end)

t.test("a change is a new generation, and the one before stays as it was", function()
  local dir <close> = team()
  local alive <close> = open(dir)
  local one = alive:current()
  t.equal(alive:check(), nil)
  dir:write("main.md", agent("main", "Version two."))
  local event = alive:check()
  t.equal(event.type, "agent_reloaded")
  t.equal(event.generation, 2)
  t.same(event.changed, { dir.path .. "/main.md" })
  t.equal(alive:current().number, 2)
  t.has(alive:current().target.agent.prompt, "two")
  t.has(one.target.agent.prompt, "one")
  t.ok(alive:current().hash ~= one.hash)
  t.equal(alive:check(), nil)
end)

t.test("new, removed and renamed files; what editors leave does not count", function()
  local dir <close> = team()
  local alive <close> = open(dir)
  dir:write("sub/other.md", agent("other", "Other."))
  dir:write("main.md", agent("main", "Version one.", "agents: [other]\n"))
  t.same(alive:check().changed, { dir.path .. "/main.md", "+" .. dir.path .. "/sub/other.md" })
  for _, name in ipairs { "main.md~", ".main.md.swp", "#main.md#", ".#main.md", "4913", "main.md.tmp" } do dir:write(name, "---\nname: [\n") end
  t.equal(alive:check(), nil)
  os.rename(dir.path .. "/sub/other.md", dir.path .. "/sub/another.md")
  t.same(alive:check().changed, { "+" .. dir.path .. "/sub/another.md", "-" .. dir.path .. "/sub/other.md" })
end)

t.test("what is wrong is told with file and line, once, and the next good save recovers", function()
  local dir <close> = team()
  local alive <close> = open(dir)
  dir:write("main.md", "---\nname: main\ntolls: [x]\n---\nBroken.\n")
  local event = alive:check()
  t.equal(event.type, "agent_reload_failed")
  t.equal(event.file, dir.path .. "/main.md")
  t.equal(event.line, 3)
  t.has(event.message, "tolls")
  t.equal(event.generation, 1)
  t.equal(alive:check(), nil)
  t.equal(alive:current().number, 1)
  dir:write("main.md", agent("main", "Well again."))
  t.equal(alive:check().type, "agent_reloaded")
end)

t.test("a change that could not be taken and was undone is told; one that could have been is none", function()
  local dir <close> = team()
  local alive <close> = open(dir)
  dir:write("main.md", "---\nname: [\n")
  t.equal(alive:check().type, "agent_reload_failed")
  dir:write("main.md", agent("main", "Version one."))
  local event = alive:check()
  t.equal(event.type, "agent_reloaded")
  t.equal(event.generation, 1)
  t.same(event.changed, {})
  t.equal(alive:check(), nil)
  dir:write("main.md", agent("main", "Version two."))
  t.equal(alive:check().generation, 2)
  dir:write("main.md", "---\nname: [\n")
  t.equal(alive:check().type, "agent_reload_failed")
  dir:write("main.md", agent("main", "Version one.")) -- what ran before is not what runs now
  t.equal(alive:check().generation, 3)
end)

t.test("all or nothing: one bad file keeps the good ones of the same change back", function()
  local dir <close> = team()
  local alive <close> = open(dir)
  dir:write("main.md", agent("main", "Version two.", "agents: [other]\n"))
  t.equal(alive:check().type, "agent_reload_failed") -- other is not there yet
  t.has(alive:current().target.agent.prompt, "one")
  dir:write("other.md", agent("other", "Other."))
  t.equal(alive:check().type, "agent_reloaded")
  t.has(alive:current().target.agent.prompt, "two")
end)

t.test("a removed directory is a failure, not the end", function()
  local dir <close> = team()
  local alive <close> = open(dir)
  os.remove(dir.path .. "/main.md")
  t.equal(alive:check().type, "agent_reload_failed")
  t.has(alive:current().target.agent.prompt, "one")
  dir:write("main.md", agent("main", "Back."))
  t.equal(alive:check().type, "agent_reloaded")
end)

t.test("rollback", function()
  local dir <close> = team()
  local alive <close> = open(dir)
  for i = 2, 12 do
    dir:write("main.md", agent("main", "Version " .. i .. "."))
    t.equal(alive:check().generation, i)
  end
  t.equal(#alive.kept, 8)
  local back = assert(alive:rollback(2))
  t.equal(back.number, 13)
  t.has(back.target.agent.prompt, "Version 10.")
  t.equal(alive:current(), back)
  t.equal(back.target.generation, back)
  t.equal(alive:check(), nil) -- the files have not changed
  t.fails("not_found", "no generation 8", alive:rollback(8))
  t.fails("not_found", "no generation 0", alive:rollback(0))
  dir:write("main.md", agent("main", "Version 14."))
  t.equal(alive:check().generation, 14)
end)

-- ---- Modules -----------------------------------------------------------------------------------

local script = "local m = require 'helper'\nreturn m.word()\n"

t.test("each generation has modules of its own, and no globals", function()
  local dir <close> = t.dir()
  dir:write("main.lua", script)
  dir:write("helper.lua", "leaked = 'one'\nreturn { word = function() return leaked end }\n")
  local alive <close> = open(dir)
  local one = alive:current()
  t.equal(one.require("helper").word(), "one")
  dir:write("helper.lua", "leaked = 'two'\nreturn { word = function() return leaked end }\n")
  t.equal(alive:check().type, "agent_reloaded")
  t.equal(alive:current().require("helper").word(), "two")
  t.equal(one.require("helper").word(), "one")
  t.equal(rawget(_G, "leaked"), nil)
  t.equal(package.loaded.helper, nil)
  t.equal(one.require("hocket.flow"), flow)
end)

t.test("state is handed on, and who refuses it refuses the change", function()
  local dir <close> = t.dir()
  dir:write("main.lua", script)
  local function helper(body)
    dir:write("helper.lua", "local m = { state = { n = 1 } }\nfunction m.on_reload(old)\n" .. body .. "\nend\nreturn m\n")
  end
  helper "m.state = old"
  local alive <close> = open(dir)
  alive:current().require("helper").state.n = 7
  helper "m.state = { n = old.n + 1 }"
  t.equal(alive:check().type, "agent_reloaded")
  t.equal(alive:current().require("helper").state.n, 8)
  helper "error 'I cannot read this'"
  local event = alive:check()
  t.equal(event.type, "agent_reload_failed")
  t.has(event.message, "I cannot read this")
  t.equal(alive:current().require("helper").state.n, 8)
end)

t.test("a module that does not compile, throws or never ends", function()
  local dir <close> = t.dir()
  dir:write("main.lua", script)
  dir:write("helper.lua", "return { word = function() return 'fine' end }\n")
  local alive <close> = open(dir)
  alive:current().require "helper"
  dir:write("other.lua", "return 1")
  for text, said in pairs {
    ["return {"] = "helper.lua:1:", ["x.y = 1"] = "helper.lua:1:", ["while true do end"] = "took more than",
    ["require 'other' while true do end"] = "took more than",
    ["while true do pcall(function() while true do end end) end"] = "took more than",
    ["coroutine.wrap(function() while true do end end)()"] = "took more than",
  } do
    dir:write("helper.lua", text)
    local event = alive:check()
    t.equal(event.type, "agent_reload_failed")
    t.has(event.message, said)
    t.has(event.file, "helper.lua")
  end
  t.equal(alive:current().require("helper").word(), "fine")
end)

-- ---- Watching -------------------------------------------------------------------------------------

local function watching(alive, fn)
  local events = {}
  local watcher = flow.spawn(function() assert(alive:watch(function(event) events[#events + 1] = event end)) end)
  fiber.sleep(0.02)
  fn(events, function(n) t.eventually(function() return #events >= n end, 5, "no event") end)
  watcher:cancel()
end

t.test("a save is live soon, in directories that are new as well", function()
  local dir <close> = team()
  local alive <close> = open(dir)
  watching(alive, function(events, expect)
    dir:write("main.md", agent("main", "Version two."))
    local from = fiber.now()
    expect(1)
    t.ok(fiber.now() - from < 2)
    dir:write("deep/er/other.md", agent("other", "Other."))
    dir:write("main.md", agent("main", "Three.", "agents: [other]\n"))
    t.eventually(function() return alive:current().target.agent.prompt:find "Three" end)
    local n = #events
    dir:write("deep/er/other.md", agent("other", "Another."))
    expect(n + 1)
    t.equal(events[#events].type, "agent_reloaded")
  end)
end)

t.test("a file that is renamed over another, as editors do", function()
  local dir <close> = team()
  local alive <close> = open(dir)
  watching(alive, function(events, expect)
    for i = 1, 3 do
      dir:write("main.md.new", agent("main", "Renamed " .. i))
      os.rename(dir.path .. "/main.md.new", dir.path .. "/main.md")
      expect(i)
    end
    t.has(alive:current().target.agent.prompt, "Renamed 3")
    t.equal(#events, 3)
  end)
end)

t.test("truncated at every byte, no good generation is lost", function()
  local dir <close> = team()
  local alive <close> = open(dir)
  local text = agent("main", "A prompt of some length.", "description: Does things\nmax_turns: 3\n")
  for cut = 0, #text do
    dir:write("main.md", text:sub(1, cut))
    alive:check()
    local now = alive:current()
    t.ok(now.target.agent and now.target.agent.name == "main")
  end
  t.has(alive:current().target.agent.prompt, "some length.")
end)

t.test("many reloads in flat memory", function()
  local dir <close> = team()
  local alive <close> = open(dir)
  local function rounds(n)
    for i = 1, n do
      dir:write("main.md", agent("main", "Round " .. i .. os.time()))
      alive:check()
    end
    collectgarbage()
    collectgarbage()
    return collectgarbage "count"
  end
  local before = rounds(200)
  local n = tonumber(os.getenv "HOCKET_RELOADS") or 300
  t.ok(rounds(n) - before < 64, "kilobytes are left behind")
end)

return t.finish()
