-- One program for all Luas: it must run alike in 5.4, where hocket lives in the same state, and in 5.1, 5.2, 5.3 and
-- LuaJIT, where it lives beside it. Written for all of them.
local tmpname = dofile((arg[0]:match "^(.*)[/\\]" or ".") .. "/temp.lua")
local here = arg[0]:match "^(.*)/[^/]*$"
local interface = dofile(here .. "/interface.lua")
local hocket = require "hocket"
local host = hocket.host
local in_same_state = host.telemetry ~= nil
local scene = dofile(here .. "/scene.lua")
local test, pump_until = scene.test, scene.pump_until

local function set(list)
  local found = {}
  for _, name in ipairs(list) do found[name] = true end
  return found
end

local function is(kind, value)
  if kind ~= "callable" then return type(value) == kind end
  local meta = getmetatable(value)
  return type(value) == "function" or meta and type(meta.__call) == "function"
end

-- The methods that an object has.
local function methods(object)
  local found = {}
  for name, value in pairs((getmetatable(object) or {}).__index or object) do
    if type(value) == "function" then found[name] = true end
  end
  return found
end

-- Methods of one that are no part of the interface, as what they are called by is internal.
local internal = set { "end_with", "keep_delta", "delta_teller", "of" }

local function compare(what, object, names, within)
  local found, wanted = methods(object), set(names)
  for _, name in ipairs(in_same_state and within or {}) do wanted[name] = true end
  for name in pairs(wanted) do assert(found[name], ("%s:%s is missing"):format(what, name)) end
  for name in pairs(found) do
    assert(wanted[name] or internal[name], ("%s:%s does not stand in interface.lua"):format(what, name))
  end
end

local server = scene.serve()
local npc = hocket.agent { name = "npc", prompt = "You sell fish.", model = "own/m" }
local target = assert(host:agent { name = "seller", prompt = "You sell fish.", model = "own/m" })

test("has the names", function()
  for name, kind in pairs(interface.hocket) do
    assert(is(kind, hocket[name]), ("hocket.%s is no %s"):format(name, kind))
  end
  for name, kind in pairs(interface.json) do assert(is(kind, hocket.json[name]), "hocket.json." .. name) end
  compare("host", host, interface.host, interface.within.host)
  compare("run", server, interface.run)
  assert(host:prepare() and host:prepare()) -- once more is nothing
  local stats = host:stats()
  for _, name in ipairs(interface.stats) do assert(type(stats[name]) == "number", name) end
  assert(hocket.version():find "^%d+%.%d+%.%d+$")
end)

test("has no others", function()
  if in_same_state then return end -- there `hocket` is the whole interface for scripts
  for name in pairs(hocket) do assert(interface.hocket[name], "hocket." .. name .. " does not stand in interface.lua") end
  for name in pairs(hocket.json) do assert(name == "null" or interface.json[name], name) end
end)

test("json", function()
  local json = hocket.json
  assert(json.encode { list = json.array {}, none = json.null } == '{"list":[],"none":null}'
    or json.encode { list = json.array {}, none = json.null } == '{"none":null,"list":[]}')
  local value = assert(json.decode '{"a":[],"b":[1,2.5],"c":null,"d":"x"}')
  assert(json.encode(value.a) == "[]" and value.b[2] == 2.5 and value.c == json.null and value.d == "x")
  local nothing, err = json.decode "{"
  assert(nothing == nil and err.code == "parse" and err.message)
end)

test("an agent, by its object and by its name", function()
  for _, what in ipairs { npc, target } do
    local result = assert(host:run(what, "Good day"))
    assert(result.text == "heard: Good day" and result.usage.calls == 1, result.text)
  end
  assert(hocket.run(npc, "And you").text == "heard: And you")
end)

test("an agent's file, by its path", function()
  local path = tmpname()
  local file = assert(io.open(path, "w"))
  file:write("---\nname: porter\nmodel: own/m\n---\nYou carry.\n")
  file:close()
  local result, err = hocket.run(path, "This way", {})
  os.remove(path)
  assert(result and result.text == "heard: This way", err and err.message)
  local nothing, wrong = hocket.run(path, "Gone", {})
  assert(nothing == nil and wrong.message:find(path, 1, true), wrong and wrong.message)
end)

test("a tool that is defined a second time is the newer one", function()
  local function define(words)
    return hocket.tool { name = "look", description = "Looks", parameters = { type = "object" }, run = function() return words end }
  end
  local first, second = define "fog", define "two ships"
  assert(first and second)
  if in_same_state then return end -- there a tool is a value; here agents have it by its name
  local lookout = hocket.agent { name = "lookout", prompt = "You look.", model = "own/m", tools = { second } }
  assert(hocket.run(lookout, "west").text == "heard: two ships")
  assert(not pcall(hocket.tool, { name = "look", description = "Looks", parameters = { type = "nosuch" }, run = function() end }))
  assert(hocket.run(lookout, "east").text == "heard: two ships")
  host:remove_tool "look"
end)

test("deltas and events, called and kept, with a priority", function()
  for _, what in ipairs { npc, target } do
    local streamed, types, done = "", {}, nil
    hocket.start(what, "streams", {
      deltas = true, priority = 50,
      on_event = function(event)
        types[#types + 1] = event.type
        if event.type == "model_delta" then
          assert(event.kind == "text" and event.agent and event.seq == 0)
          streamed = streamed .. event.text
        end
      end,
      on_done = function(result, err) done = { result, err } end,
    })
    pump_until(function() return done end)
    assert(streamed == "heard: streams" and done[1].text == streamed, streamed)
    assert(types[1] == "workflow_started" and types[#types] == "workflow_finished")
    local run = hocket.start(what, "kept", { deltas = true, events = true })
    local seen, last = "", 0
    pump_until(function()
      for _, event in ipairs(run:events()) do
        if event.type == "model_delta" then
          seen = seen .. event.text
        else
          assert(event.seq == last + 1)
          last = event.seq
        end
      end
      return run:done()
    end)
    for _, event in ipairs(run:events()) do last = event.seq end
    assert(#run:events() == 0)
    assert(seen == "heard: kept" and last > 3, seen)
  end
end)

test("a priority that is none", function()
  for _, wrong in ipairs { 101, -101, 1.5 } do
    local result, err = host:run(target, "x", { priority = wrong })
    assert(result == nil and err.code == "invalid" and err.message:find "priority", err and err.message)
  end
end)

test("cancel, stop, change, tree, interrupt, answer, signal", function()
  local run = assert(hocket.start(target, "never"))
  pump_until(function() return #(run:tree() or {}) > 0 or next(run:tree() or {}) end)
  assert(run:change { max_turns = 3, priority = -5 })
  local ok, err = run:change { colour = "red" }
  assert(ok == nil and err.code == "invalid")
  ok, err = run:interrupt()
  assert(ok == nil and err.code == "state", err and err.code)
  ok, err = run:answer("q9", "x")
  assert(ok == nil and err.code == "not_found")
  assert(run:signal("go", { n = { 1, "two" } }))
  assert(run:say "be quick")
  ok, err = run:say("who?", "nobody")
  assert(not ok and err.code == "not_found", err and err.code)
  ok, err = run:signal("", 1)
  assert(ok == nil and err.code == "invalid", err and err.code)
  assert(run:cancel())
  pump_until(function() return run:done() end)
  local result, why = run:result()
  assert(result == nil and why.code == "cancelled")
  run = assert(hocket.start(target, "slowly"))
  pump_until(function() return next(run:tree() or {}) end)
  assert(run:stop())
  assert(run:wait())
  assert(not run:stop() and not run:cancel() and run:tree() == nil)
  ok, err = run:change { max_turns = 3 }
  assert(ok == nil and err.code == "state")
  ok, err = run:answer("q1", "x")
  assert(ok == nil and err.code == "state")
end)

test("cancelled before it begins, and in its middle: it ends, and its last event comes", function()
  for _, what in ipairs { npc, target } do
    for _, begins in ipairs { false, true } do
      local types, why = {}, nil
      local run = hocket.start(what, "never", { on_event = function(event) types[#types + 1] = event.type end, on_done = function(_, err) why = err.code end })
      if begins then pump_until(function() return #types > 0 end) end
      assert(run:cancel() and not run:done())
      pump_until(function() return run:done() end)
      assert(why == "cancelled" and select(2, run:result()).code == "cancelled" and not run:cancel())
      assert(types[#types] == "workflow_finished" and types[#types - 1] == "error" and (types[1] == "workflow_started") == begins, table.concat(types, " "))
    end
  end
end)

test("a conversation", function()
  local asked, turns = nil, {}
  local run = hocket.start(target, "one", {
    conversation = true,
    on_event = function(event)
      if event.type == "input_requested" then asked = event.id end
      if event.type == "turn_finished" then turns[#turns + 1] = event end
    end,
  })
  pump_until(function() return asked end)
  local id = asked
  asked = nil
  assert(run:answer(id, "two"))
  pump_until(function() return asked end)
  assert(run:answer(asked, ""))
  assert(run:wait().text == "heard: two" and #turns == 2)
end)

test("awaits in a coroutine of the program's", function()
  local said
  local co = coroutine.create(function() said = hocket.start(npc, "waits"):await(coroutine.yield).text end)
  pump_until(function()
    if coroutine.status(co) ~= "dead" then assert(coroutine.resume(co)) end
    return coroutine.status(co) == "dead"
  end)
  assert(said == "heard: waits")
end)

-- ---- Tools ----------------------------------------------------------------------------------------

local later
local how = "text"
local ways = {
  text = function(args) return "a fish in " .. args.place end,
  table = function() return { fish = 3 } end,
  fails = function() return nil, "it is dark" end,
  raises = function() error("oh", 0) end,
  later = function(_, call) later = call end,
}
local look = {
  name = "look", description = "Looks around.",
  parameters = { type = "object", properties = { place = { type = "string" } }, required = { "place" } },
  run = function(args, call)
    for _, name in ipairs(interface.call) do assert(type(call[name]) == "function") end
    assert(call.agent == "scout", call.agent)
    return ways[how](args, call)
  end,
  on_cancel = function(call) later = call == later and "cancelled" or later end,
}

test("a tool, answered at once, later, and not at all", function()
  assert(host:tool(look))
  local again, err = host:tool(look)
  assert(again == nil and err.code == "exists")
  local scout = assert(host:agent { name = "scout", prompt = "You look.", model = "own/m", tools = { "look" } })
  local function said() return assert(host:run(scout, "the sea")).text end
  assert(said() == "heard: a fish in the sea")
  how = "table"
  assert(said():find('"fish":3', 1, true))
  how = "fails"
  assert(said():find "it is dark")
  how = "raises"
  assert(said():find "the tool failed: oh")
  how = "later"
  local run = assert(host:start(scout, "the sea"))
  pump_until(function() return later end)
  for _ = 1, 20 do host:pump(1) end
  assert(not run:done() and later:answer "a whale" and not later:answer "twice")
  assert(run:wait().text == "heard: a whale")
  later = nil
  run = assert(host:start(scout, "the sea"))
  pump_until(function() return later end)
  assert(later:fail "no light")
  assert(run:wait().text:find "no light")
  later = nil
  run = assert(host:start(scout, "the sea"))
  pump_until(function() return later end)
  run:cancel()
  pump_until(function() return later == "cancelled" end)
  later = nil
  run = assert(host:start(scout, "the sea"))
  pump_until(function() return later end)
  local open = later
  assert(host:remove_tool "look")
  assert(run:wait().text:find "taken this tool back")
  assert(not open:answer "too late")
  again, err = host:remove_tool "look"
  assert(again == nil and err.code == "not_found")
end)

test("hooks of the program: before and after a tool, in each run", function()
  local seen = {}
  local watched = assert(host:agent { name = "watched", prompt = "You look.", model = "own/m" })
  local function said() return host:run(watched, "the sea") end
  assert(host:hook { name = "watch", before_agent = function(event)
    seen[#seen + 1] = event.input
    return { context = "and the shore" }
  end, after_agent = function(event) return { answer = (event.result:upper()) } end })
  local again, err = host:hook { name = "watch", before_agent = function() end }
  assert(again == nil and err.code == "exists")
  local reply = assert(said())
  assert(seen[1] == "the sea" and reply.text == reply.text:upper(), reply.text)
  assert(host:remove_hook "watch")
  seen = {}
  assert(said())
  assert(#seen == 0)
  assert(host:hook { name = "no", before_agent = function() return { deny = "closed" } end })
  local none, why = said()
  assert(none == nil and why.message:find "closed", why and why.message)
  assert(host:remove_hook "no")
  assert(host:hook { name = "broken", before_agent = function() error "oh" end })
  none, why = said()
  assert(none == nil and why.code == "denied")
  assert(host:remove_hook "broken")
end)

test("a tool of hocket.tool", function()
  how = "text"
  local scout = hocket.agent { name = "scout", prompt = "You look.", model = "own/m", tools = {
    hocket.tool { name = "look", description = "Looks.", parameters = look.parameters, run = function(args) return "crabs in " .. args.place end },
  } }
  assert(hocket.run(scout, "the bay").text == "heard: crabs in the bay")
end)

-- ---- What is wrong ------------------------------------------------------------------------------------

test("errors", function()
  local nothing, err = host:load("bad.md", "---\nname: [\n---\n")
  assert(nothing == nil and err.code == "agent" and err.message:find "bad.md")
  nothing, err = host:load_dir("nowhere", here .. "/nowhere")
  assert(nothing == nil and err.message:find "nowhere", err and err.message)
  nothing, err = host:agent { name = "x", prompt = "x", colour = "red" }
  assert(nothing == nil and err.code == "agent" and err.message:find "colour")
  nothing, err = host:tool { name = "bad name", description = "x", run = print }
  assert(nothing == nil and err.code == "invalid", err and err.code)
  assert(not pcall(host.load, host, 1) and not pcall(hocket.agent, { name = "x", colour = "red" }))
  assert(not pcall(hocket.tool, { name = "bad name", description = "x", run = print }))
  local result
  result, err = host:run("nowhere.md", "x")
  assert(result == nil and err.code and err.message:find "nowhere")
end)

test("a directory", function()
  assert(host:load_dir("village", here .. "/../../examples/embed/village/agents") == "buffer:village")
end)

test("closes, and is closed then", function()
  local never, begun = hocket.start(target, "never"), hocket.start(npc, "never")
  pump_until(function() return next(begun:tree() or {}) end)
  local not_begun = hocket.start(target, "never")
  host:close()
  host:close()
  for _, run in ipairs { never, begun, not_begun } do
    local result, err = run:result()
    assert(run:done() and result == nil and err.code == "cancelled")
    assert(run:tree() == nil and type(run:events()) == "table")
  end
  for _, use in ipairs {
    function() host:pump(1) end, function() host:wait(1) end, function() host:prepare() end, function() host:load("x.lua", "") end, function() host:stats() end,
    function() hocket.start(npc, "x") end, function() hocket.agent { name = "x", prompt = "x" } end,
  } do
    local ok, err = pcall(use)
    err = type(err) == "table" and err.message or err
    assert(not ok and tostring(err):find("the hocket host is closed", 1, true), tostring(err))
  end
end)

test("another one, while the old one stays closed", function()
  local new = require "hocket"
  assert(new ~= hocket and new.host ~= host)
  local echo = new.agent { name = "echo", prompt = "Say it again.", model = "sim" }
  assert(new.run(echo, "anew").text:find "anew")
  local ok, err = pcall(hocket.start, npc, "x")
  assert(not ok and tostring(err):find("the hocket host is closed", 1, true), tostring(err))
  new.host:close()
end)

print(("%d tests passed in %s"):format(scene.ran, _VERSION))
