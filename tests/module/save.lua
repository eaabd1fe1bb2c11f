-- Save games in every Lua: hocket.open makes a host with a Lua state of its own, whose runs can be saved and go on in another one.
-- Run in 5.1 to 5.4 and LuaJIT.
local before = {}
for name in pairs(_G) do before[name] = true end
local hocket = require "hocket"
local host = hocket.host
local scene = dofile(arg[0]:match "^(.*)/[^/]*$" .. "/scene.lua")
local test = scene.test

local function raises(part, fn, ...)
  local ok, err = pcall(fn, ...)
  assert(not ok, "expected an error with " .. part)
  assert(tostring(err):find(part, 1, true), ("expected '%s' in '%s'"):format(part, tostring(err)))
end

test("saves, and goes on in another host", function()
  local first = assert(hocket.open { store = "memory", thread = true })
  local echo = assert(first:agent { name = "echo", prompt = "p", model = "sim" })
  local asked
  local run = assert(first:start(echo, "hello", { conversation = true, on_event = function(event) asked = event.type == "input_requested" and event.id or asked end }))
  while not asked do first:wait(10) end
  local saved = assert(run:save())
  assert(saved:find("hocket save", 1, true) == 1)
  local later, wrong
  assert(first:save(function(bytes, err) later, wrong = bytes, err end))
  assert(later == nil)
  while not later do first:wait(10) end
  assert(wrong == nil and #later > 100)
  assert(run:answer(asked, "")) -- it goes on
  local said = assert(run:wait()).text
  local nothing, err = run:save()
  assert(nothing == nil and err.code == "state")
  first:close()

  local second = assert(hocket.open { store = "memory" })
  nothing, err = second:restore(saved:sub(1, -2))
  assert(nothing == nil and err.code == "parse", err and err.code)
  nothing, err = second:save()
  assert(nothing == nil and err.code == "state")
  asked = nil
  local again = 0
  local runs = assert(second:restore(saved, { on_done = function(result) again = again + (result and 1 or 0) end }))
  assert(#runs == 1)
  runs[1].on_event = function(event) asked = event.type == "input_requested" and event.id or asked end
  while not asked do second:wait(10) end
  assert(runs[1]:answer(asked, ""))
  assert(assert(runs[1]:wait()).text == said and again == 1)
  second:close()
  raises("string expected", hocket.open, { store = 5 })
  raises("at least 0", hocket.open, { store_days = -1 })
  raises("string expected", second.restore, second, 5)
end)

test("values are those of hocket.json", function()
  local other = assert(hocket.open {})
  local heard
  assert(other:tool { name = "look", description = "Looks.", parameters = { type = "object" }, run = function(args)
    heard = args
    return { none = hocket.json.null, list = hocket.json.array {}, n = 3 }
  end })
  local script = assert(other:load("look.lua", [[
    local hocket = require "hocket"
    local served = hocket.sim.serve { reply = function(q)
      if q.last.role == "user" then return { calls = { { name = "look", arguments = hocket.json.decode '{"a":null,"b":[],"c":2}' } } } end
      return "got " .. q.last.text
    end }
    hocket.provider("own", { protocol = "openai_chat", base = served.base })
    return hocket.run(hocket.agent { name = "scout", prompt = "p", model = "own/m", tools = { "look" } }, "go").text
  ]]))
  local text = assert(other:run(script, "")).text
  assert(text == 'got {"list":[],"n":3,"none":null}', text)
  assert(heard.a == hocket.json.null and heard.c == 2 and hocket.json.encode(heard.b) == "[]")
  other:close()
  raises("closed", other.run, other, script, "")
end)

test("a call of a tool that is open in a save is made again if the tool says that it may be", function()
  local text = [[
    local hocket = require "hocket"
    local served = hocket.sim.serve { reply = function(q)
      if q.last.role == "user" then return { calls = { { name = "look", arguments = {} } } } end
      return q.last.text
    end }
    hocket.provider("own", { protocol = "openai_chat", base = served.base })
    return hocket.run(hocket.agent { name = "scout", prompt = "p", model = "own/m", tools = { "look" } }, "go").text
  ]]
  for _, idempotent in ipairs { true, false } do
    local saved, target
    local function open(run)
      local one = assert(hocket.open { store = "memory" })
      assert(one:tool { name = "look", description = "Looks.", idempotent = idempotent, run = run })
      target = assert(one:load("looks.lua", text))
      return one
    end
    local called = 0
    local first = open(function() called = called + 1 end)
    local run = assert(first:start(target, ""))
    while called == 0 do first:wait(10) end
    saved = assert(run:save())
    first:close()
    local again = 0
    local second = open(function() again = again + 1 return "a fish" end)
    local said = assert(assert(second:restore(saved))[1]:wait()).text
    assert(again == (idempotent and 1 or 0), again)
    assert(said:find(idempotent and "a fish" or "not known whether this was done", 1, true), said)
    second:close()
  end
  local one = assert(hocket.open {})
  raises("idempotent", one.tool, one, { name = "look", description = "Looks.", idempotent = "yes", run = print })
  one:close()
end)

test("runs of a host without a store, and in the program's own state, cannot be saved", function()
  local run = assert(host:start(assert(host:agent { name = "one", prompt = "p", model = "sim" }), "hello"))
  for _, object in ipairs { host, run } do
    local nothing, err = object:save()
    assert(nothing == nil and err.code == "unsupported", err and err.code)
    if host.telemetry then assert(err.message:find("hocket.open", 1, true), err.message) end -- in the same state
  end
  local nothing, err = host:restore "x"
  assert(nothing == nil and err.code == (host.telemetry and "unsupported" or err.code))
  assert(run:wait())
end)

-- A host that is open, has a run and was never closed ends with the program's state.
local left = assert(hocket.open { store = "memory" })
assert(left:start(assert(left:agent { name = "left", prompt = "p", model = "sim" }), "hello", { conversation = true }))
left:wait(10)

test("makes no globals", function()
  for name in pairs(_G) do assert(before[name], "a new global: " .. tostring(name)) end
end)

print(("%s: %d passed"):format((rawget(_G, "jit") or {}).version or _VERSION, scene.ran))
