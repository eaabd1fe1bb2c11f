--- Mods: scripts and agents of strangers, with the option `mod`: what they can do, and what they cannot.
local t = require "harness"
local fiber = require "hocket.internal.core.fiber"
local hocket = require "hocket"
local sim = require "hocket.sim"

assert(sim.base()) -- the server of scripted models stays

--- Seconds of a script that is to be ended. Any other has ample time: on a busy machine a process may stand still for longer than it works.
local SHORT = { seconds = 0.3 }

-- What a script answers as a mod; further files beside it.
local function run(script, files, mod)
  local dir <close> = t.dir()
  dir:write("main.lua", script)
  for name, text in pairs(files or {}) do dir:write(name, text) end
  local reply, err = hocket.start(dir.path, "go", { mod = mod or { seconds = 30 }, model = "sim/default" }):wait()
  return reply and reply.text, err
end

local function agent(name, more)
  return ("---\nname: %s\nmodel: sim/default\n%s---\nYou answer.\n"):format(name, more or "")
end

t.test("what is there: values, control flow, strings, tables, time", function()
  t.equal(run [[
local parts = {}
for word in ("one two"):gmatch "%a+" do parts[#parts + 1] = word:upper() end
table.sort(parts)
local co = coroutine.wrap(function() coroutine.yield "a" return "b" end)
local made = assert(load("return ...", "chunk"))("loaded")
local ok, err = pcall(error, { code = "mine" })
return table.concat(parts, ",") .. co() .. co() .. made .. tostring(ok) .. err.code .. type(os.time()) .. math.max(1, 2)
]], "ONE,TWOabloadedfalseminenumber2")
end)

t.test("a value that holds itself crosses sixteen deep, and no further", function()
  local text = run [[
local json = require("hocket").json
local endless = { n = 1 }
endless.inner = endless
return json.encode(endless)
]]
  t.equal(select(2, (text or ""):gsub('"n":1', "")), 17)
end)

t.test("what is not there", function()
  t.equal(run [[
local there = {}
for _, name in ipairs { "io", "debug", "package", "dofile", "loadfile", "collectgarbage", "warn" } do
  if _G[name] ~= nil then there[#there + 1] = name end
end
for _, name in ipairs { "execute", "getenv", "remove", "rename", "tmpname", "exit", "setlocale" } do
  if os[name] ~= nil then there[#there + 1] = "os." .. name end
end
if string.dump or ("").dump then there[#there + 1] = "string.dump" end
for _, name in ipairs { "hocket.fs", "hocket.process", "hocket.http", "hocket.live", "hocket.internal.core.system", "io", "os", "debug" } do
  if pcall(require, name) then there[#there + 1] = name end
end
local hocket = require "hocket"
for _, name in ipairs { "fs", "process", "http", "provider", "host", "live", "sim", "tool", "this_run" } do
  if hocket[name] ~= nil then there[#there + 1] = "hocket." .. name end
end
return "there: " .. table.concat(there, " ")
]], "there: ")
end)

t.test("no compiled code, no finalizers, no way to the metatable of strings", function()
  local text = run([[
local function refused(fn, ...)
  local ok, wrong = pcall(fn, ...)
  return ok and "LET THROUGH" or tostring(wrong)
end
local binary, why = load("\27Lua")
return table.concat({ tostring(binary), tostring(why), refused(setmetatable, {}, { __gc = print }), tostring(getmetatable("")),
  refused(load, function() return nil end) }, "|")
]])
  t.has(text, "nil|load:1: this is compiled Lua")
  t.has(text, "finalizers")
  t.has(text, "|nil|")
  t.lacks(text, "LET THROUGH")
end)

t.test("code that never waits is ended, however it tries to go on", function()
  for _, script in ipairs {
    "while true do end",
    "while true do pcall(function() while true do end end) end",
    "local co = coroutine.wrap(function() while true do end end) while true do pcall(co) end",
    "xpcall(function() while true do end end, function() while true do end end) while true do end",
    "local t = setmetatable({}, { __close = function() while true do end end }) do local x <close> = t end",
    "setmetatable(_G, { __index = function() while true do end end }) return nowhere",
    "table.sort({ 3, 2, 1 }, function() while true do end end)",
    "return (('x'):gsub('x', function() while true do end end))",
    "print(setmetatable({}, { __tostring = function() while true do end end }))",
  } do
    local from = os.clock()
    local text, err = run(script, nil, SHORT)
    t.equal(text, nil, script)
    t.equal(err.code, "timeout", script)
    t.has(err.message, "0.3 seconds without waiting")
    t.ok(os.clock() - from < 5, script)
  end
end)

t.test("metamethods of a mod's do not run where nothing ends them", function()
  local endless = "local endless = setmetatable({}, { __tostring = function() while true do end end, __index = function() while true do end end,"
    .. " __len = function() while true do end end, __pairs = function() while true do end end })\nlocal hocket = require 'hocket'\n"
  for _, script in ipairs { "error(endless)", "return nil, endless", "return endless", "error({ message = endless })",
    "hocket.flow.map(endless, print)", "hocket.agent(endless)", "hocket.json.encode(endless)", "hocket.board(endless)",
    "hocket.run(hocket.agent { name = 'a', prompt = 'p', model = 'sim/default' }, 'go', endless)", "hocket.agents(endless)" } do
    local from = os.clock()
    run(endless .. script, nil, SHORT)
    t.ok(os.clock() - from < 5, script)
  end
end)

t.test("functions that may take for ever are bounded, as methods as well", function()
  for _, script in ipairs {
    "return ('x'):rep(1 << 40)", "return string.rep('x', 1 << 40)", "return ('a'):rep(30):find(('a?'):rep(30) .. ('a'):rep(30))",
    "return ('a'):rep(3000):find('.-.-.-.-.-b')", "table.move({}, 1, 1 << 60, 2)", "table.insert(setmetatable({}, { __len = function() return 1 << 60 end }), 1, 1)",
  } do
    local from = os.clock()
    local text, err = run(script)
    t.equal(text, nil, script)
    t.has(err.message, "may take too long here", script)
    t.ok(os.clock() - from < 5, script)
  end
  t.equal(run "return ('key = value'):match('^(%w+)%s*=%s*(%w+)$')", "key")
end)

t.test("afterwards nothing is left of it: strings, hooks, globals", function()
  run("string.rep = nil ; leaked = 1 ; string.upper = error ; while true do end", nil, SHORT)
  t.equal(("x"):rep(3), "xxx")
  t.equal(("x"):upper(), "X")
  t.equal(debug.gethook(), nil)
  t.equal(rawget(_G, "leaked"), nil)
  t.equal(#("x"):rep(1 << 21), 1 << 21)
end)

t.test("it may wait as long as it likes, and is not charged for it", function()
  t.equal(run("local flow = require 'hocket.flow' for _ = 1, 6 do flow.sleep(0.4) end return 'awake'", nil, { seconds = 2 }), "awake")
end)

t.test("its agents, its modules, its tools; the answers are plain", function()
  local text, err = run([[
local hocket = require "hocket"
local words = require "words"
local team = hocket.agents "agents"
local reply, err = hocket.run(team.smith, "Hello")
if not reply then return nil, err end
local alone = hocket.agent { name = "alone", prompt = "You answer.", model = "sim/default" }
local both = hocket.flow.map({ team.smith, alone }, function(one) return hocket.run(one, "Hello").text end)
for _, value in pairs(reply) do assert(type(value) ~= "function" and type(value) ~= "userdata") end
return words.greeting .. ", " .. team.smith.name .. ", " .. #both .. ", " .. type(reply.text)
]], { ["words.lua"] = "return { greeting = ('hail'):rep(1) }", ["agents/smith.md"] = agent "smith" })
  t.equal(err, nil)
  t.equal(text, "hail, smith, 2, string")
end)

t.test("nothing outside of its folder", function()
  local script = "local ok, err = pcall(require('hocket').agents, %q) return tostring(ok) .. tostring(err)"
  for _, path in ipairs { "../agents", "/etc", "agents/../../x" } do t.has(run(script:format(path)), "leads out of the mod's folder") end
  t.has(run "return tostring(select(2, pcall(require, '..secret')))", "leads out of the mod's folder")
  t.has(run "return tostring(select(2, pcall(require, 'secret')))", "not there for mods")
end)

t.test("its agents have the tools that the program names, and no others; a target that is an agent as well", function()
  local script = "return require('hocket').run(require('hocket').agent 'thief.md', 'go')"
  local files = { ["thief.md"] = agent("thief", "tools: [read_file]\n") }
  local text, err = run(script, files)
  t.equal(text, nil)
  t.has(err.message, "agents of a mod may not have the tool 'read_file'")
  text, err = run(script, files, { tools = { "read_file" } })
  t.equal(err, nil)
  t.ok(text)
  local dir <close> = t.dir()
  local reply
  reply, err = hocket.start(dir:write("thief.md", files["thief.md"]), "go", { mod = true }):wait()
  t.equal(reply, nil)
  t.equal(err.code, "denied")
end)

t.test("a scripted model of its own does not run", function()
  local dir <close> = t.dir()
  _G.mod_was_here = nil
  dir:write("sim.lua", "mod_was_here = true\nreturn function() return 'mine' end")
  dir:write("main.lua", "local hocket = require 'hocket'\nreturn hocket.run(hocket.agent { name = 'a', prompt = 'p' }, 'go')")
  local reply = hocket.start(dir.path, "go", { mod = true, model = "sim" }):wait()
  t.ok(reply == nil or reply.text ~= "mine")
  t.equal(_G.mod_was_here, nil)
end)

t.test("the option is checked", function()
  for _, wrong in ipairs { 3, { tool = {} }, { seconds = 0 }, { tools = "x" }, { tools = { 1 } } } do
    local _, err = run("return 1", nil, wrong)
    t.equal(err.code, "invalid")
    t.has(err.message, "bad option 'mod'")
  end
end)

-- Each in a time that a frame survives, whatever it tries; and what it took is given back.
t.test("what is bought cheaply: memory in single instructions, time in single calls, copies without end, forks", function()
  for script, part in pairs {
    ["local s = ('x'):rep(1 << 20) local t = {} while true do t[#t + 1] = s .. #t end"] = "the script took more than",
    ["local s = 'x' while true do s = s .. s end"] = "the script took more than",
    ["local s = 'x' while true do pcall(function() s = s .. s end) end"] = "the script took more than",
    ["local co = coroutine.wrap(function() local s = 'x' while true do s = s .. s end end) while true do pcall(co) end"] = "the script took more than",
    ["local t = {} for i = 1, 1e9 do t[i] = coroutine.create(print) end"] = "the script took more than",
    ["local s = ('x'):rep(1 << 20) while true do s = s:upper():lower():reverse() end"] = "the script took more than",
    ["local t, s = {}, ('x'):rep(1 << 20) for i = 1, 900000 do t[i] = s end return #table.concat(t)"] = "the script took more than",
    ["for i = 1, 1e9 do string.pack('c10000000', 'x') end"] = "the script took more than",
    ["return #(('x'):rep(1 << 20):gsub('x', ('y'):rep(1 << 10)))"] = "the script took more than",
    ["for i = 1, 1e9 do load('return ' .. i) end"] = "the script took more than",
    ["return ('('):rep(1 << 20):find '%b()'"] = "too long", ["return ('a'):rep(200000):find '(a*)%1b'"] = "too long",
    ["return ('a'):rep(1 << 20):find(('a'):rep(1 << 19) .. 'b', 1, true)"] = "too long",
    ["return ('').rep('', 1 << 62)"] = "too long",
    ["local t = {} for i = 1, 16 do t = { t, t, t, t, t, t, t, t } end return #require('hocket.json').encode(t)"] = "at most 100000 members",
    ["local t, s = {}, ('x'):rep(1 << 20) for i = 1, 1000 do t[i] = s end return #require('hocket.json').encode(t)"] = "16 MiB of texts",
    ["local t = {} for i = 1, 16 do t = { t, t, t, t, t, t, t, t } end return t"] = "at most 100000 members",
    ["local flow = require 'hocket.flow' local function fork() return flow.all { fork, fork } end fork()"] = "functions under way at once",
  } do
    local began, before = os.clock(), collectgarbage "count"
    local _, err = run(script, nil, part == "the script took more than" and { seconds = 0.2 } or nil)
    local took = os.clock() - began
    if not err or not err.message:find(part, 1, true) then error(("%s: expected %s, got %s"):format(script, part, err and err.message)) end
    if took > 10 then error(("%s: took %.1f s"):format(script, took)) end
    collectgarbage()
    if collectgarbage "count" - before > 20000 then error(script .. ": its memory was not given back") end
  end
  t.equal(run("return 'fine'", nil, { seconds = 10 }), "fine") -- the host's own allocator is back, and its strings
  t.equal(#("x"):rep(2 << 20), 2 << 20)
end)

-- Wherever its last instruction stands between two looks of the hook: nobody else is left with its bounds.
t.test("bounds go with the script, at whatever instruction it ends", function()
  local restricted = require "hocket.internal.runner.restricted"
  local rep = getmetatable("").__index.rep
  for _, way in ipairs { "local s = ('x'):rep(1 << 20)", "pcall(string.rep, 'x', 1 << 20)", "ours()", "error 'x'" } do
    for steps = 0, 1100 do
      local inside = restricted.new(10, 1 << 16)
      function inside.env.ours() inside:leave(string.rep, "x", 1 << 20) error "ours" end
      local chunk = assert(load(("for i = 1, %d do end %s"):format(steps, way), "=chunk", "t", inside.env))
      pcall(inside.call, inside, chunk)
      if getmetatable("").__index.rep ~= rep or debug.gethook() then error(("%s after %d steps: its bounds stay"):format(way, steps)) end
    end
  end
end)

t.test("how much memory is the program's to say; others are not counted", function()
  local script = "local t = {} for i = 1, 40000 do t[i] = { i } end return #t .. ''"
  t.equal(run(script, nil, { seconds = 10 }), "40000")
  t.has(select(2, run(script, nil, { memory = 1 << 20, seconds = 10 })), "1.04858 MB of memory")
  local _, err = run(script, nil, { memory = 1 << 20, seconds = 10 })
  t.equal(err.code, "no_memory")
  t.has(select(2, run(script, nil, { memory = 1 })), "65536 or more")
  t.equal(run([[
local hocket = require "hocket"
for i = 1, 200 do -- what is given back between two waits counts no more, and a wait begins anew
  local text = ("x"):rep(100000):upper()
  hocket.flow.sleep(0)
end
return "done"]], nil, { memory = 1 << 20, seconds = 10 }), "done")
end)

return t.finish()
