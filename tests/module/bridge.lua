-- The binding for other Luas. Written for all of them, run by each that is installed.
local before = {}
for name in pairs(_G) do before[name] = true end
local hocket = require "hocket"
local host = hocket.host
local ran = 0

local function test(name, fn)
  local ok, err = xpcall(fn, debug.traceback)
  if not ok then
    io.stderr:write(("FAILED %s: %s\n"):format(name, tostring(err)))
    os.exit(1)
  end
  ran = ran + 1
end

local function raises(part, fn, ...)
  local ok, err = pcall(fn, ...)
  assert(not ok, "expected an error with " .. part)
  assert(tostring(err):find(part, 1, true), ("expected '%s' in '%s'"):format(part, tostring(err)))
end

-- The scripted model: agents of this test say what they hear, or call the tool that they have.
assert(host:timeout() == 0) -- it has to be pumped once; then there is nothing to do
host:pump(1)
assert(host:timeout() == nil, host:timeout())

local served
local model = assert(host:load("model.lua", [[
  local hocket = require "hocket"
  local served = hocket.sim.serve { reply = function(q)
    if q.last.text == "slowly" then hocket.flow.sleep(0.2) end
    if q.last.text == "never" then hocket.flow.sleep(1000) end
    if q.tools.look and q.last.role == "user" then
      return { calls = { { name = "look", arguments = { place = q.last.text } } } }
    end
    return "heard: " .. q.last.text
  end }
  hocket.provider("own", { protocol = "openai_chat", base = served.base })
  hocket.events.emit("ready")
  hocket.flow.sleep(1000)
]]))
host:start(model, "", { on_event = function(event) served = served or event.type == "ready" end })
while not served do host:wait() end
local npc = assert(host:agent { name = "npc", prompt = "You sell fish.", model = "own/m" })

local function pump_until(check)
  local due = os.time() + 10
  while not check() do
    host:pump(1)
    assert(os.time() < due, "not in time")
  end
end

test("blocks", function()
  local result, err = hocket.run(npc, "Good day")
  assert(result and result.text == "heard: Good day", err and err.message)
  assert(result.usage.calls == 1 and result.ok == true)
end)

test("is asked, with frames between", function()
  local run, frames = hocket.start(npc, "slowly"), 0
  assert(not run:done() and run:result() == nil)
  pump_until(function()
    frames = frames + 1
    return run:done()
  end)
  assert(frames > 10 and run:result().text == "heard: slowly")
end)

test("calls", function()
  local types, text, streamed = {}, nil, ""
  hocket.start(npc, "call me", {
    deltas = true,
    on_event = function(event)
      types[#types + 1] = event.type
      if event.type == "model_delta" then streamed = streamed .. event.text end
    end,
    on_done = function(result) text = result.text end,
  })
  pump_until(function() return text end)
  assert(text == "heard: call me" and streamed == text)
  assert(types[1] == "workflow_started" and types[#types] == "workflow_finished")
end)

test("keeps events", function()
  local run = hocket.start(npc, "keep", { events = true })
  run:wait()
  local events = run:events()
  local seq = 0
  for _, event in ipairs(events) do seq = seq + 1 assert(event.seq == seq) end
  assert(seq > 3 and #run:events() == 0)
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

test("lets agents call functions of the engine", function()
  local places, open_call = {}, nil
  assert(host:tool { name = "look", description = "Looks.",
    parameters = { type = "object", properties = { place = { type = "string" } }, required = { "place" } },
    run = function(args, call)
      places[#places + 1] = args.place
      assert(call.agent == "scout")
      if args.place == "sea" then return "a fish" end
      if args.place == "table" then return { fish = 3, "no" == nil } end
      if args.place == "dark" then return nil, "it is dark" end
      if args.place == "raise" then error("oh no") end
      open_call = call -- answered later
    end })
  local scout = assert(host:agent { name = "scout", prompt = "You look.", model = "own/m", tools = { "look" } })
  assert(hocket.run(scout, "sea").text == "heard: a fish")
  assert(hocket.run(scout, "dark").text == "heard: error: it is dark")
  assert(hocket.run(scout, "raise").text:find("oh no", 1, true))
  local run = hocket.start(scout, "far")
  pump_until(function() return open_call end)
  for _ = 1, 20 do host:pump(1) end
  assert(not run:done() and open_call:answer("a ship"))
  assert(run:wait().text == "heard: a ship")
  assert(open_call:answer("again") == false)
  assert(table.concat(places, " ") == "sea dark raise far")
  local ok, err = host:tool { name = "look", description = "Again.", run = function() end }
  assert(not ok and err.code == "exists")
  run, open_call = hocket.start(scout, "far"), nil
  pump_until(function() return open_call end)
  assert(host:remove_tool "look")
  assert(run:wait().text:find("taken this tool back", 1, true))
  assert(open_call:answer("too late") == false)
  ok, err = host:remove_tool "look"
  assert(not ok and err.code == "not_found")
end)

test("cancels", function()
  local run = hocket.start(npc, "never")
  for _ = 1, 50 do host:pump(1) end
  assert(run:cancel())
  local result, err = run:wait()
  assert(result == nil and err.code == "cancelled")
end)

test("carries values", function()
  local value = { n = 3, x = 0.5, s = "a\"b\\c\n\0d", list = { 1, 2, { 3 } }, yes = true, none = hocket.json.null }
  local back = assert(hocket.json.decode(hocket.json.encode(value)))
  assert(back.n == 3 and back.x == 0.5 and back.s == value.s and back.yes == true and back.none == hocket.json.null)
  assert(#back.list == 3 and back.list[3][1] == 3)
  assert(hocket.json.encode({}) == "{}" and hocket.json.encode({ 1 }) == "[1]")
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
  local dir = os.tmpname()
  os.remove(dir)
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

print(("%s: %d passed"):format((rawget(_G, "jit") or {}).version or _VERSION, ran))
