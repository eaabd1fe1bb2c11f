--- Scripts in other languages: hocket.loaders, as main scripts, modules, tools, watched, trusted; Fennel and Teal where
--- their compilers are installed.
local t = require "harness"
local fiber = require "hocket.internal.core.fiber"
local hocket = require "hocket"
local live = require "hocket.live"
local sim = require "hocket.sim"

assert(sim.base()) -- the server of scripted models stays

-- A language whose lines are `say WORD`, `give WORD`, `fail`, or Lua behind `>`; line for line.
function hocket.loaders.said(text, name)
  local lines, n = {}, 0
  for line in (text .. "\n"):gmatch "([^\n]*)\n" do
    n = n + 1
    local word, rest = line:match "^(%S+)%s*(.*)$"
    if word == "say" then lines[n] = ("print(%q)"):format(rest)
    elseif word == "give" then lines[n] = ("return %q"):format(rest)
    elseif word == "fail" then lines[n] = "error 'it fails'"
    elseif word == ">" then lines[n] = rest
    elseif line == "" then lines[n] = ""
    else return nil, ("%s:%d: '%s' is no word of this language"):format(name, n, word) end
  end
  return table.concat(lines, "\n")
end

local function run(path, options)
  local reply, err = hocket.start(path, "go", options or { model = "sim/default" }):wait()
  return reply and reply.text, err
end

t.test("a main script, by name and in a directory", function()
  local dir <close> = t.dir()
  dir:write("one.said", "give hello")
  t.equal(run(dir.path .. "/one.said"), "hello")
  dir:write("main.said", "> local input = ...\n> return 'heard ' .. input")
  t.equal(run(dir.path), "heard go")
  dir:write("main.lua", "return 'Lua goes first'")
  t.equal(run(dir.path), "Lua goes first")
end)

t.test("what is wrong has the file's own line: when it is compiled, when its Lua is, when it runs", function()
  local dir <close> = t.dir()
  dir:write("a.said", "\nwhat is this")
  t.has(select(2, run(dir.path .. "/a.said")), "a.said:2: 'what' is no word")
  dir:write("a.said", "\n\n> local = 1")
  t.has(select(2, run(dir.path .. "/a.said")), "a.said:3:")
  dir:write("a.said", "\n\n\nfail")
  t.has(select(2, run(dir.path .. "/a.said")), "a.said:4: it fails")
  local found = require "hocket.internal.runner.validate".path(dir.path .. "/a.said")
  t.equal(#found.problems, 0)
  dir:write("a.said", "nothing")
  found = require "hocket.internal.runner.validate".path(dir.path .. "/a.said")
  t.equal(found.problems[1].line, 1)
  t.has(found.problems[1].message, "is no word")
end)

t.test("modules and tools: from Lua, from each other, in directories", function()
  local dir <close> = t.dir()
  dir:write("main.lua", "return require('greet').hello() .. require('deep.er') .. require('pack')")
  dir:write("greet.said", "> return { hello = function() return require 'name' end }")
  dir:write("name.said", "give Ann")
  dir:write("deep/er.said", "give -deep")
  dir:write("pack/init.said", "give -pack")
  t.equal(run(dir.path), "Ann-deep-pack")
  dir:write("main.lua", [[
local hocket = require "hocket"
local agent = hocket.agent { name = "a", prompt = "p", model = "toolish/m", tools = { (require "tools") } }
local served = hocket.sim.serve { reply = function(request)
  if request.last.role == "tool" then return "it said " .. request.last.text end
  return { calls = { { name = "look", arguments = {} } } }
end }
hocket.provider("toolish", { protocol = "openai_chat", base = served.base })
local reply, err = hocket.run(agent, "go")
served:close()
return reply and reply.text, err]])
  dir:write("tools.said", "> return require('hocket').tool.new { name = 'look', description = 'Looks.', parameters = { type = 'object' },\n" ..
    "> run = function() return 'a cat' end }")
  local text, err = run(dir.path, {})
  t.equal(text, "it said a cat", tostring(err))
end)

t.test("what raises, gives nonsense, or is missing is told", function()
  local dir <close> = t.dir()
  local loaders = hocket.loaders
  for loader, part in pairs {
    [function() error "boom" end] = "the loader raised", [function() return 1 end] = "gave a number",
    [function() return nil end] = "x.odd:1: it cannot be compiled", [function() return nil, "no place" end] = "x.odd:1: no place",
    [function() return "\27Lua" end] = "compiled Lua",
    [function() return "\n\n\nlocal = 1", function(line) return line * 10 end end] = "x.odd:40:",
    [function() return "local = 1", function() error "no" end end] = "x.odd:1:",
  } do
    loaders.odd = loader
    dir:write("x.odd", "anything")
    t.has(select(2, run(dir.path .. "/x.odd")), part)
  end
  loaders.odd = nil
  t.has(select(2, run(dir.path .. "/x.odd")), "neither a script")
  for ending, language in pairs { fnl = "Fennel", tl = "Teal" } do
    if not pcall(require, ending == "fnl" and "fennel" or "tl") then
      dir:write("x." .. ending, "1")
      t.has(select(2, run(dir.path .. "/x." .. ending)), language .. " is not installed")
    end
  end
end)

t.test("watched: a good save is live, a bad one is told with its line and the last good one stays", function()
  if t.kept then return end -- such a run goes on with the files that it began with: live/test_watched.lua
  local dir <close> = t.dir()
  dir:write("main.said", "> return require 'word'")
  dir:write("word.said", "give one")
  local alive = assert(live.open(dir.path))
  t.equal(run(dir.path), "one")
  dir:write("word.said", "give two")
  local event = alive:check()
  t.equal(event.type, "agent_reloaded")
  t.has(event.changed[1], "word.said")
  t.equal(run(dir.path), "two")
  dir:write("word.said", "\n\ngvie three")
  event = alive:check()
  t.equal(event.type, "agent_reload_failed")
  t.equal(event.line, 3)
  t.has(event.file, "word.said")
  t.equal(run(dir.path), "two")
  dir:write("main.said", "\nnonsense")
  dir:write("word.said", "give four")
  t.equal(alive:check().line, 2)
  t.equal(run(dir.path), "two")
  dir:write("main.said", "> return require 'word'")
  t.equal(alive:check().type, "agent_reloaded")
  t.equal(run(dir.path), "four")
  alive:close()
end)

t.test("trust covers them: they are part of what is looked at, and compiling waits for it", function()
  local dir <close> = t.dir()
  local compiled = 0
  hocket.loaders.counted = function()
    compiled = compiled + 1
    return "return 'ran'"
  end
  dir:write("main.counted", "x")
  local text, err = run(dir.path, { model = "sim/default", trust = false })
  if require("hocket.internal.core.system").getenv "HOCKET_TRUST" ~= "1" then
    t.equal(text, nil)
    t.equal(err.code, "denied")
    t.has(err, "main.counted")
    require "hocket.internal.runner.validate".path(dir.path)
    t.equal(compiled, 0)
  end
  t.equal(run(dir.path), "ran")
  t.ok(compiled > 0)
  hocket.loaders.counted = nil
end)

t.test("a mod's scripts are Lua alone", function()
  local dir <close> = t.dir()
  dir:write("main.said", "give out")
  local text, err = run(dir.path, { model = "sim/default", mod = true })
  t.equal(text, nil)
  t.equal(err.code, "denied")
  dir:write("main.lua", "local ok = pcall(require, 'word') local chunk, wrong = load('give x', 'x.said') return tostring(ok) .. tostring(chunk)")
  dir:write("word.said", "give out")
  require("hocket.internal.core.fiber")
  assert(os.remove(dir.path .. "/main.said"))
  t.equal(run(dir.path, { model = "sim/default", mod = true }), "falsenil")
end)

t.test("texts that the program gives", function()
  local buffers = require "hocket.internal.host.buffers"
  buffers.add("quest.said", "give a quest")
  t.equal(run "buffer:quest.said", "a quest")
  t.raises("quest.said:1:", buffers.add, "quest.said", "nonsense")
  t.equal(run "buffer:quest.said", "a quest")
end)

t.test("Fennel, where it is installed", function()
  if not pcall(require, "fennel") then return print "skipped: there is no fennel for Lua 5.4" end
  local dir <close> = t.dir()
  dir:write("main.fnl", '(local words (require :words))\n\n(.. (words.greet "Ann") "!")')
  dir:write("words.fnl", '{:greet (fn [name]\n (.. "Hello, " name))}')
  t.equal(run(dir.path), "Hello, Ann!")
  dir:write("main.fnl", "\n\n(error :boom)")
  t.has(select(2, run(dir.path)), "main.fnl:3")
  dir:write("main.fnl", "\n(let [x")
  t.matches(select(2, run(dir.path)), "main%.fnl:%d+: ")
end)

t.test("Teal, where it is installed", function()
  if not pcall(require, "tl") then return print "skipped: there is no tl for Lua 5.4" end
  local dir <close> = t.dir()
  dir:write("main.tl", 'local function greet(name: string): string\n  return "Hello, " .. name\nend\nreturn greet("Ann")')
  t.equal(run(dir.path), "Hello, Ann")
  dir:write("main.tl", "\nlocal x: = 1")
  t.matches(select(2, run(dir.path)), "main%.tl:2: ")
end)

t.ok(fiber.self())
return t.finish()
