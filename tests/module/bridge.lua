-- What the binding for other Luas has to hold beside same.lua: several tasks of an engine, values as they cross, hosts
-- beside each other. Written for all of them, run by each that is installed.
local tmpname = dofile((arg[0]:match "^(.*)[/\\]" or ".") .. "/temp.lua")
local before = {}
for name in pairs(_G) do before[name] = true end
local hocket = require "hocket"
local host = hocket.host
local windows = package.config:sub(1, 1) == "\\"
assert(windows or host:timeout() == 0) -- where there is a descriptor it has to be pumped once; then there is nothing to do
assert(host:fd() >= 0 or windows)
host:pump(1)
assert(host:timeout() == nil, host:timeout())
local scene = dofile(arg[0]:match "^(.*)/[^/]*$" .. "/scene.lua")
local test, pump_until = scene.test, scene.pump_until

local function raises(part, fn, ...)
  local ok, err = pcall(fn, ...)
  assert(not ok, "expected an error with " .. part)
  assert(tostring(err):find(part, 1, true), ("expected '%s' in '%s'"):format(part, tostring(err)))
end

test("the modules of scripts are for scripts", function()
  for _, name in ipairs { "hocket.process", "hocket.live", "hocket.console", "hocket.patterns.router" } do raises("'" .. name .. "' is for scripts that hocket runs", require, name) end
end)

scene.serve()
local npc = assert(host:agent { name = "npc", prompt = "You sell fish.", model = "own/m" })

test("is asked, with frames between", function()
  local run, frames = hocket.start(npc, "slowly"), 0
  assert(not run:done() and run:result() == nil)
  pump_until(function()
    frames = frames + 1
    return run:done()
  end)
  assert(frames > 10 and run:result().text == "heard: slowly")
end)

test("is awaited in coroutines of the engine", function()
  local ended = 0
  local tasks = {}
  for i = 1, 5 do
    tasks[i] = coroutine.create(function()
      local result = assert(hocket.start(npc, "task " .. i):await(coroutine.yield, "waiting"))
      assert(result.text == "heard: task " .. i)
      ended = ended + 1
    end)
  end
  pump_until(function()
    for _, task in ipairs(tasks) do
      if coroutine.status(task) ~= "dead" then
        local ok, what = coroutine.resume(task)
        assert(ok, what)
        assert(what == nil or what == "waiting")
      end
    end
    return ended == 5
  end)
end)

test("carries values", function()
  local value = { n = 3, x = 0.5, s = "a\"b\\c\n\0d", list = { 1, 2, { 3 } }, yes = true, none = hocket.json.null }
  local back = assert(hocket.json.decode(hocket.json.encode(value)))
  assert(back.n == 3 and back.x == 0.5 and back.s == value.s and back.yes == true and back.none == hocket.json.null)
  assert(#back.list == 3 and back.list[3][1] == 3)
  assert(hocket.json.encode({}) == "{}" and hocket.json.encode({ 1 }) == "[1]")
  local named = {} -- in the order of names, whatever the table has
  for c in ("qwertyuiopasdfghjklzxcvbnm"):gmatch "." do named[c] = 1 end
  assert(hocket.json.encode(named):gsub("[^%l]", "") == "abcdefghijklmnopqrstuvwxyz")
  local nothing, err = hocket.json.decode "{"
  assert(nothing == nil and err.code == "parse")
  raises("no JSON", hocket.json.encode, { f = print })
  raises("no JSON", hocket.json.encode, 0 / 0)
  raises("nested", function() local t = {} t.t = t hocket.json.encode(t) end)
end)

test("says what is wrong", function()
  local run, err = hocket.run("nowhere.lua", "x")
  assert(run == nil and err.message:find("nowhere", 1, true))
  local target
  target, err = host:load("bad.md", "---\nname: bad\ncolour: red\n---\nx\n")
  assert(target == nil and err.code == "agent" and err.message:find("bad.md:3", 1, true))
  raises("string expected", hocket.start, 5)
  raises("unknown option", hocket.open, { colour = "red" })
  raises("function expected", hocket.start, npc, "x", { on_done = 5 })
  hocket.start(npc, "x", { on_done = function() error("from a callback") end })
  raises("from a callback", function() for _ = 1, 1000 do host:wait(10) end end)
end)

test("offers itself, and takes that back", function()
  local dir = tmpname()
  os.remove(dir)
  if windows then
    local _, err = host:offer "/there/game"
    return assert(err.code == "unsupported" and err.message:find("Windows", 1, true), err.message)
  end
  assert(host:offer(dir .. "/game", { look = true }))
  assert(host:offer(dir .. "/game"))
  local _, err = host:offer "a b"
  assert(err.code == "invalid", err.code)
  assert(host:withdraw(dir .. "/game"))
  _, err = host:withdraw()
  assert(err.code == "not_found", err.code)
  assert(os.remove(dir)) -- nothing is left in it
end)

test("has hosts that share nothing, and close", function()
  local other = assert(hocket.open { thread = true })
  local echo = assert(other:agent { name = "echo", prompt = "p", model = "sim" })
  assert(other:run(echo, "hello").text:find("hello", 1, true))
  local run = other:start(echo, "unfinished")
  other:close()
  assert(select(2, run:result()).code == "cancelled")
  raises("closed", function() other:pump() end)
end)

test("makes no globals", function()
  for name in pairs(_G) do assert(before[name], "a new global: " .. tostring(name)) end
end)

print(("%s: %d passed"):format((rawget(_G, "jit") or {}).version or _VERSION, scene.ran))
