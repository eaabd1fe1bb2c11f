-- require "hocket" in a stock lua5.4: without a loop, with one, in coroutines of the program's own.
local tmpname = dofile((arg[0]:match "^(.*)[/\\]" or ".") .. "/temp.lua")
local before = {}
for name in pairs(_G) do before[name] = true end
local hocket = require "hocket"
local host = hocket.host
local windows = package.config:sub(1, 1) == "\\"
local ran = 0

local function test(name, fn)
  local ok, err = xpcall(fn, debug.traceback)
  if not ok then
    io.stderr:write(("FAILED %s: %s\n"):format(name, err))
    os.exit(1)
  end
  ran = ran + 1
end

local function raises(part, fn, ...)
  local ok, err = pcall(fn, ...)
  assert(not ok, "expected an error with " .. part)
  assert(tostring(err):find(part, 1, true), ("expected '%s' in '%s'"):format(part, tostring(err)))
end

local served
local function answer(request)
  if request.last.text == "slowly" then hocket.flow.sleep(0.2) end
  if request.last.text == "never" then hocket.flow.sleep(1000) end
  if request.tools.look_up and request.last.role == "user" then
    return { calls = { { name = "look_up", arguments = { what = request.last.text } } } }
  end
  return "heard: " .. request.last.text
end

-- A scripted model of this test's own: its server lives in a fiber that ends with the host.
local fiber = require "hocket.internal.core.fiber"
fiber.run(function() served = assert(hocket.sim.serve { reply = answer }) end)
hocket.provider("own", { protocol = "openai_chat", base = served.base })
local npc = hocket.agent { name = "npc", prompt = "You sell fish.", model = "own/m" }

local function pump_until(check, seconds)
  local due = os.time() + (seconds or 10)
  while not check() do
    host:pump(1)
    assert(os.time() < due, "not in time")
  end
end

test("blocks where there is no loop", function()
  local reply, err = hocket.run(npc, "Good day")
  assert(reply and reply.text == "heard: Good day", err)
end)

test("what waits in a fiber has one here too", function()
  local ended, err = hocket.mcp.serve { tools = { { name = "x" } } }
  assert(ended == nil and err.code == (windows and "unsupported" or "invalid"), err)
end)

test("blocks in a coroutine of the program's own", function()
  local co = coroutine.wrap(function() return hocket.run(npc, "from inside").text end)
  assert(co() == "heard: from inside")
end)

test("is asked", function()
  local run = hocket.start(npc, "slowly")
  local frames = 0
  assert(not run:done() and run:result() == nil)
  pump_until(function()
    frames = frames + 1
    return run:done()
  end)
  assert(frames > 10, "pump has blocked")
  assert(run:result().text == "heard: slowly")
  assert(run:result().usage_total.calls == 1)
end)

test("calls", function()
  local text, types = nil, {}
  hocket.start(npc, "call me", {
    on_event = function(event) types[#types + 1] = event.type end,
    on_done = function(reply, err) text = assert(reply, err).text end,
  })
  pump_until(function() return text end)
  assert(text == "heard: call me")
  assert(types[1] == "workflow_started" and types[#types] == "workflow_finished")
end)

test("is awaited in coroutines that others own", function()
  local ended = {}
  local function scheduler_yield(seen) coroutine.yield(seen) end
  local tasks = {}
  for i = 1, 5 do
    tasks[i] = coroutine.create(function()
      local run = hocket.start(npc, "task " .. i)
      local reply = assert(run:await(scheduler_yield, "waiting"))
      ended[#ended + 1] = reply.text
    end)
  end
  pump_until(function() -- the program's own scheduler: only it resumes its coroutines
    host:pump(1)
    for _, task in ipairs(tasks) do
      if coroutine.status(task) ~= "dead" then
        local ok, what = coroutine.resume(task)
        assert(ok, what)
        assert(what == nil or what == "waiting", "something else has yielded")
      end
    end
    return #ended == 5
  end)
  raises("function expected", function() hocket.start(npc, "x"):await(5) end)
end)

test("waits on the main thread inside of flow.run", function()
  assert(hocket.flow.run(function(n) hocket.flow.sleep(0.01) return n + 1 end, 1) == 2)
  raises("this waits: call it inside of a run", hocket.flow.sleep, 0.01)
  raises("odd", function() hocket.flow.run(function() error "odd" end) end)
end)

test("talks: a conversation is answered by the id of its question", function()
  local path = tmpname()
  local f = assert(io.open(path .. ".md", "w"))
  f:write("---\nname: fishmonger\ndescription: sells fish\nmodel: own/m\n---\nYou sell fish.\n")
  f:close()
  local open, said = nil, {}
  local talk = hocket.start(path .. ".md", nil, { conversation = true, on_event = function(event)
    if event.type == "input_requested" then open = event.id end
    if event.type == "turn_finished" then said[#said + 1] = event.content end
  end })
  for i, text in ipairs { "Good day", "Anything fresh?" } do
    pump_until(function() return open end)
    local id = open
    open = nil
    assert(talk:answer(id, text))
    pump_until(function() return said[i] end)
    assert(said[i] == "heard: " .. text)
  end
  pump_until(function() return open end)
  local ok, err = talk:answer("i99", "nobody asked")
  assert(not ok and tostring(err):find "not_found", tostring(err))
  assert(talk:answer(open, ""))
  local reply = talk:wait()
  assert(reply.text == "heard: Anything fresh?")
  ok, err = talk:answer(open, "too late")
  assert(not ok and tostring(err) == "state: the run is over", tostring(err))
  os.remove(path)
  os.remove(path .. ".md")
end)

test("an error in on_event is told, and the run goes on", function()
  local calls = 0
  local run = hocket.start(npc, "Good day", { on_event = function() calls = calls + 1; error "my mistake" end })
  assert(run:wait().text == "heard: Good day")
  local told
  for _, event in ipairs(run:events()) do
    if event.type == "warning" and event.message:find("my mistake", 1, true) then told = event.message end
  end
  assert(calls == 1 and told and told:find("on_event raised", 1, true), told)
end)

test("never yields across coroutines of others", function()
  local wait = coroutine.wrap(function() return hocket.flow.sleep(0.01) end)
  raises("this waits: call it inside of a run", wait)
  -- a tool's coroutine cannot wait either: it would yield to whoever has resumed it
  local inside
  local tool = hocket.tool { name = "look_up", description = "Looks up.", parameters = { type = "object" },
    run = function(args)
      inside = { coroutine.resume(coroutine.create(function() hocket.flow.sleep(0.01) end)) }
      raises("at work", function() host:pump(1) end)
      return "found " .. args.what
    end }
  assert(hocket.run(npc, "fish", { tools = { tool } }).text == "heard: found fish")
  assert(inside[1] == false and tostring(inside[2]):find "this waits: call it inside of a run")
end)

test("tells events when asked, each once", function()
  local run, seen = hocket.start(npc, "events"), {}
  pump_until(function()
    for _, event in ipairs(run:events()) do seen[#seen + 1] = event end
    return run:done()
  end)
  for _, event in ipairs(run:events()) do seen[#seen + 1] = event end
  for i, event in ipairs(seen) do assert(event.seq == i) end
  assert(seen[#seen].type == "workflow_finished")
end)

test("cancels", function()
  local run = hocket.start(npc, "never")
  for _ = 1, 50 do host:pump(1) end
  assert(run:cancel())
  pump_until(function() return run:done() end)
  local reply, err = run:result()
  assert(reply == nil and err.code == "cancelled")
  assert(not run:cancel())
end)

test("starts targets by name", function()
  local path = tmpname()
  os.rename(path, path .. ".lua")
  path = path .. ".lua"
  local file = assert(io.open(path, "w"))
  file:write "require('hocket').flow.sleep(0.01) return 'script heard ' .. ..."
  file:close()
  local result = assert(hocket.start(path, "me"):wait())
  os.remove(path)
  assert(result.ok and result.text == "script heard me")
  local nothing, err = hocket.start("nowhere.lua", "me"):wait()
  assert(nothing == nil and err.message:find "nowhere.lua")
end)

test("says what is wrong at once", function()
  raises("an agent or a path expected", hocket.start, 5, "x")
  raises("unknown option 'colour'", hocket.start, npc, "x", { colour = "red" })
  raises("function expected", hocket.start, npc, "x", { on_done = true })
  raises("at least 0", function() host:pump(-1) end)
  raises("stock.lua:", function() local run = hocket.start(npc, 5) return run end) -- the caller's line
end)

test("tells a collector of its runs, and of what could not be told", function()
  assert(host:telemetry { OTEL_SDK_DISABLED = "true" } == nil)
  raises("table expected", host.telemetry, host, "on")
  local nobody = { OTEL_EXPORTER_OTLP_ENDPOINT = "http://127.0.0.1:1", OTEL_METRICS_EXPORTER = "none" }
  for _, close in ipairs { function(telling) return telling:close(0.01) end, function(telling) return hocket.flow.run(function() return telling:close(0.01) end) end } do
    local telling = assert(host:telemetry(nobody))
    local again, err = host:telemetry(nobody)
    assert(again == nil and err.code == "state")
    assert(hocket.run(npc, "traced").text == "heard: traced")
    local result = close(telling)
    assert(result.sent.traces == 0 and result.dropped.traces == 3, result.dropped.traces)
    assert(telling:close() == result)
  end
end)

test("sleeps in a poll of the program's own", function()
  assert(math.type(host:fd()) == "integer" and (host:fd() >= 0 or windows))
  for _ = 1, 20 do host:pump(1) end
  local idle = host:timeout() -- what is to come: an idle connection that is closed in its time
  assert(idle == nil or idle > 1000, idle)
  local run = hocket.start(npc, "poll")
  assert(host:timeout() == 0)
  while not run:done() do host:wait(50) end
  assert(run:result().text == "heard: poll")
end)

test("has the modules of the reference as fields", function()
  for _, name in ipairs { "process", "live", "console", "flow", "mcp" } do assert(hocket[name] == require("hocket." .. name), name) end
end)

test("makes no globals", function()
  for name in pairs(_G) do assert(before[name], "a new global: " .. tostring(name)) end
end)

test("closes, and begins anew", function()
  host:close()
  raises("closed", function() host:pump(1) end)
  assert(package.loaded.hocket == nil)
  local again = require "hocket"
  assert(again ~= hocket and again.run(again.agent { name = "a", prompt = "p", model = "sim" }, "hello"))
  again.host:close()
end)

print(ran .. " passed")
