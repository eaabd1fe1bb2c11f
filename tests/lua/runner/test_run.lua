-- Runs: the events of all endings, hocket.run in and outside of a run, `hocket run` and its targets.
local t = require "harness"
local fiber = require "hocket.internal.core.fiber"
local flow = require "hocket.flow"
local fs_core = require "hocket.internal.core.fs"
local hocket = require "hocket"
local journal = require "hocket.internal.core.journal"
local json = require "hocket.json"
local model = require "model"
local run_command = require "hocket.internal.runner.run_target"
local runner = require "hocket.internal.runner.run_agent"
local runs = require "hocket.internal.run.run"
local p = require "patterns_support"
local s = require "scripted"
local sim = require "hocket.sim"

local here = debug.getinfo(1, "S").source:match "^@(.*)/" or "."

local function events_of(j)
  local list, cursor = {}, 0
  while true do
    local line, seq = j:next(cursor)
    if not line then return list end
    cursor = seq
    list[#list + 1] = json.decode(line)
    t.equal(list[#list].seq, #list)
  end
end

local function types(list)
  local words = {}
  for i, event in ipairs(list) do words[i] = event.type end
  return words
end

-- What `hocket run` does with a target: result or error, the partial result, the events.
local function command(target, input, options)
  local j = journal.new { run = "r1" }
  local result, err, partial = run_command({ target = target, input = input, options = options }, j)
  return { result = result, err = err, partial = partial, events = events_of(j) }
end

local function script(dir, text, input, options)
  return command(dir:write("x.lua", text), input, options)
end

-- ---- Endings ---------------------------------------------------------------------------------

t.test("a script's results, in all forms", function()
  local dir <close> = t.dir()
  for text, expected in pairs {
    ["return 'text'"] = "text", ["return { text = 'x' }"] = "x", ["return 3"] = "3", [""] = "",
    ["return { a = 1 }"] = '{"a":1}', ["return false"] = "false", ["return ..."] = "in", ["return arg[1]"] = "in",
    ["#!/usr/bin/env hocket\nreturn 1"] = "1", ["\239\187\191return 1"] = "1", ["\239\187\191#!/usr/bin/env hocket\r\nreturn 1\r\n"] = "1",
    ["return function(text) return text .. 'put' end"] = "input",
  } do
    local r = script(dir, text, "in")
    t.equal(assert(r.result, r.err and r.err.message).text, expected, text)
    t.equal(r.result.ok, true)
    t.equal(r.result.finish, "stop")
    t.equal(r.events[#r.events].type, "workflow_finished")
  end
end)

t.test("success: started, answer, finished", function()
  local dir <close> = t.dir()
  local r = script(dir, "return 'yes'", "hello")
  t.same(types(r.events), { "workflow_started", "final_answer", "workflow_finished" })
  t.equal(r.events[1].message, "hello")
  t.equal(r.events[2].content, "yes")
  t.equal(r.events[1].run, "r1")
  t.same(r.events[3].tasks, {})
  t.same(r.events[3].document_versions, {})
end)

t.test("a run's first and last event are the run's own", function()
  local dir <close> = t.dir()
  local r = script(dir, "print(pcall(require('hocket').events.emit, 'workflow_finished', {})) return 'yes'")
  t.same(types(r.events), { "workflow_started", "output", "final_answer", "workflow_finished" })
  t.has(r.events[2].text, "the event 'workflow_finished' belongs to the run")
end)

t.test("what a script prints is an event, in its place", function()
  local dir <close> = t.dir()
  local r = script(dir, "print('one', 2, nil) return 'x'")
  t.same(types(r.events), { "workflow_started", "output", "final_answer", "workflow_finished" })
  t.equal(r.events[2].text, "one\t2\tnil")
end)

t.test("failure: error, then finished", function()
  local dir <close> = t.dir()
  local r = script(dir, "return nil, { code = 'io', message = 'no disk' }")
  t.equal(r.result, nil)
  t.equal(r.err.code, "io")
  t.same(types(r.events), { "workflow_started", "error", "workflow_finished" })
  t.equal(r.events[2].message, "no disk")
  t.equal(r.events[2].code, "io")
  t.equal(r.partial.ok, false)
  t.equal(r.partial.error.code, "io")
  r = script(dir, "return nil, 'plain'")
  t.equal(r.err.message, "plain")
  t.equal(r.events[2].type, "error")
end)

t.test("a script error: file and line, then finished", function()
  local dir <close> = t.dir()
  local r = script(dir, "local x\nlocal y = x.z")
  t.equal(r.err.code, "script")
  t.has(r.err, "/x.lua:2:") -- Lua shortens the path of a deep folder
  t.same(types(r.events), { "workflow_started", "error", "workflow_finished" })
  for _, text in ipairs { "error 'plain'", "error({ code = 'io', message = 'thrown' })", "error()", "error({})", "error(setmetatable({}, {__tostring = function() return 'obj' end}))", "error(42)" } do
    r = script(dir, text)
    t.equal(r.result, nil)
    t.equal(type(r.err), "table", text)
    t.equal(type(r.err.message), "string", text)
    t.equal(type(r.err.code), "string", text)
    t.same(types(r.events), { "workflow_started", "error", "workflow_finished" }, text)
  end
end)

t.test("a syntax error: file and line", function()
  local dir <close> = t.dir()
  local r = script(dir, "local x =\n\nreturn ]")
  t.equal(r.err.code, "agent")
  t.has(r.err, "x.lua:3:")
  t.equal(r.events[#r.events].type, "workflow_finished")
end)

t.test("bytecode is refused", function()
  local dir <close> = t.dir()
  local r = script(dir, string.dump(function() return 1 end))
  t.equal(r.result, nil)
  t.equal(r.err.code, "agent")
  t.has(r.err, "x.lua:1: this is compiled Lua")
end)

t.test("what is no answer, and errors of all forms, say what they are", function()
  local dir <close> = t.dir()
  for text, part in pairs {
    ["return { print }"] = "the script returned a table that is no JSON: cannot encode a function",
    ["return io.stdout"] = "the script returned a userdata, which is no answer",
    ["return coroutine.create(print)"] = "the script returned a thread",
    ["error { code = 'own' }"] = "own",
    ["error(setmetatable({}, { __tostring = function() return 'in words' end }))"] = "in words",
    ["os.exit(0)"] = "x.lua:1: os.exit is not for scripts",
    ["error {}"] = "an error that is a table without a message",
  } do
    local r = script(dir, text)
    t.equal(r.result, nil)
    t.has(r.err, part)
    t.ok(not r.err.message:find("hocket/", 1, true), r.err.message)
  end
end)

t.test("what is wrong before a run has begun is told between its first event and its last", function()
  local dir <close> = t.dir()
  local path, list = dir:write("x.lua", "return 1"), fs_core.info
  for _, r in ipairs { command(path, "x", { prices = { x = 3 } }), command(path, "x", { jobs = -1 }) } do
    t.equal(r.result, nil)
    t.same(types(r.events), { "workflow_started", "error", "workflow_finished" })
  end
  local closing <close> = setmetatable({}, { __close = function() fs_core.info = list end })
  fs_core.info = function() error({ code = "io", message = "no descriptor is left", retryable = true }, 0) end
  local r = command(path, "x")
  t.equal(r.err.message, "no descriptor is left")
  t.same(types(r.events), { "workflow_started", "error", "workflow_finished" })
end)

t.test("targets that are none", function()
  local dir <close> = t.dir()
  for path, part in pairs { [dir.path .. "/nowhere.lua"] = "there is no file, folder or agent", [dir:write("notes.txt", "x")] = "neither a script",
    [""] = "must not be empty", [dir:write("empty/readme.txt", "x"):match "^(.*)/"] = "there is no agent here" } do
    local r = command(path, "x")
    t.equal(r.result, nil)
    t.equal(r.err.code, (path == "" or path:find "nowhere") and "invalid" or "agent", path)
    t.has(r.err, part)
    t.same(types(r.events), { "workflow_started", "error", "workflow_finished" })
  end
end)

t.test("a broken agent file: file, line and column", function()
  local dir <close> = t.dir()
  local file = dir:write("a.md", "---\nname: a\nmodle: x/y\n---\nx")
  for _, target in ipairs { file, dir.path } do
    local r = command(target, "x")
    t.equal(r.err.code, "agent")
    t.has(r.err, file .. ":3:1: unknown key 'modle': did you mean 'model'?")
  end
end)

t.test("an agent file and a directory as targets", function()
  local m <close> = model.serve(function(request) return request.system .. "|" .. request.last.text end)
  local dir <close> = t.dir()
  dir:write("lead.md", "---\nname: lead\nagents: [other]\n---\nI lead {{what}}.")
  dir:write("other.md", "---\nname: other\n---\nI help.")
  local options = { model = m.id, variables = { what = "all" } }
  t.equal(command(dir.path, "hi", options).result.text, "I lead all.|hi")
  t.equal(command(dir.path .. "/", "hi", options).result.text, "I lead all.|hi")
  t.equal(command(dir.path .. "/other.md", "hi", options).result.text, "I help.|hi")
  local r = command(dir.path .. "/lead.md", "hi", { model = m.id })
  t.has(r.err, dir.path .. "/lead.md:5: the variable 'what' has no value")
  r = command(dir.path .. "/lead.md", nil, options)
  t.equal(r.err.code, "invalid")
  t.has(r.err, "an agent needs an input")
  dir:write("third.md", "---\nname: third\n---\nx")
  r = command(dir.path, "hi", options)
  t.has(r.err, "which agent begins? lead, third")
  dir:write("sim.lua", "return print")
  local script = dir:write("all.lua", "return 'all of them'")
  r = command(dir.path, "hi", options)
  t.has(r.err, "or call one 'main', or run the script " .. script)
  dir:write("main.lua", "return 'main script'")
  t.equal(command(dir.path, "hi", options).result.text, "main script")
end)

t.test("models by agent and turns from the options", function()
  local m <close> = model.serve(function() return "first" end)
  local n <close> = model.serve(function() return "second" end)
  local dir <close> = t.dir()
  local file = dir:write("a.md", "---\nname: a\nmodel: openai/never\n---\nx")
  t.equal(command(file, "x", { model = m.id }).result.text, "first")
  t.equal(command(file, "x", { model = m.id, models = { a = n.id } }).result.text, "second")
end)

t.test("a cancel: error, then finished, and nothing goes on", function()
  local dir <close> = t.dir()
  local closed
  _G.hocket_test_closed = function() closed = true end
  local file = dir:write("x.lua", [[
    local flow = require "hocket.flow"
    flow.spawn(function()
      local closing <close> = setmetatable({}, { __close = hocket_test_closed })
      flow.sleep(60)
    end)
    flow.sleep(60)
    return "never"]])
  local j = journal.new {}
  local one = flow.spawn(run_command, { target = file, input = "x" }, j)
  flow.sleep(0.02)
  one:cancel()
  local none, err, partial = one:wait()
  t.fails("cancelled", "", none, err)
  t.equal(partial.ok, false)
  t.equal(partial.finish, "cancelled")
  t.equal(closed, true)
  local events = events_of(j)
  t.same(types(events), { "workflow_started", "error", "workflow_finished" })
  t.equal(events[2].code, "cancelled")
  _G.hocket_test_closed = nil
end)

t.test("a cancel of an agent at work closes its socket and ends its operation", function()
  local m <close> = model.raw(function(listener, request)
    listener:begin(request.id, 200, { ["content-type"] = "text/event-stream" })
    while listener:write(request.id, model.chunk "x") do flow.sleep(0.002) end
  end)
  local dir <close> = t.dir()
  local file = dir:write("a.md", "---\nname: a\n---\nx")
  local j = journal.new {}
  local one = flow.spawn(run_command, { target = file, input = "x", options = { model = m.id } }, j)
  t.eventually(function() return m.open == 1 end)
  one:cancel()
  one:join()
  t.eventually(function() return m.open == 0 end)
  local events = events_of(j)
  t.equal(events[#events].type, "workflow_finished")
  t.equal(events[#events - 1].type, "error")
end)

t.test("a time limit of the run: error, then finished, and a result", function()
  local dir <close> = t.dir()
  local r = script(dir, "require('hocket.flow').sleep(60)", "x", { timeout = 0.02 })
  t.equal(r.err.code, "timeout")
  t.same(types(r.events), { "workflow_started", "error", "workflow_finished" })
  t.equal(r.partial.error.code, "timeout")
end)

t.test("nothing follows the end, also when children go on emitting", function()
  local dir <close> = t.dir()
  local r = script(dir, [[
    local hocket = require "hocket"
    local ticks = 0
    hocket.flow.spawn(function() while true do hocket.events.emit("tick") ticks = ticks + 1 hocket.flow.sleep(0.001) end end)
    repeat hocket.flow.sleep(0.01) until ticks > 3 -- timers may be coarse
    return "x"]])
  t.equal(r.events[#r.events].type, "workflow_finished")
  t.ok(#r.events > 4)
end)

t.test("a small journal never ends a run", function()
  local dir <close> = t.dir()
  local j = journal.new { max_bytes = 2000 }
  local file = dir:write("x.lua", "for i = 1, 100 do print(('x'):rep(100)) end print(('y'):rep(5000)) return 'done'")
  t.equal(assert(run_command({ target = file }, j)).text, "done")
  t.equal(j:finished(), true)
end)

t.test("the result object", function()
  local m <close> = model.serve(function() return { text = "x", usage = { input = 7, output = 3 } } end)
  local dir <close> = t.dir()
  local r = script(dir, [[
    local hocket = require "hocket"
    local board = hocket.board()
    board:create("lead", { { text = "a", assigned_to = "b" } })
    local doc = hocket.document { { "part", { "one", "two" } } }
    doc:append({ part = "two" }, "b", "text")
    local a = hocket.agent { name = "a", prompt = "p" }
    hocket.run(a, "1")
    return hocket.run(a, "2")]], "x", { model = m.id })
  local result = assert(r.result, r.err and r.err.message)
  t.equal(result.usage.input, 14)
  t.equal(result.usage.output, 6)
  t.equal(result.usage.calls, 2)
  t.equal(result.tasks[1].text, "a")
  t.equal(result.document.version, 1)
  t.equal(result.document.slots[1].content, "text")
  t.equal(result.error, json.null)
  t.ok(result.seconds >= 0)
  t.ok(json.encode(result))
  t.equal(#events_of(journal.new {}), 0)
end)

-- ---- hocket.run -------------------------------------------------------------------------------

local function echo()
  return model.serve(function(request) return "echo " .. request.last.text end), hocket.agent { name = "a", prompt = "p" }
end

t.test("in a run of its own", function()
  local m <close>, a = echo()
  local seen = {}
  local reply = assert(hocket.run(a, "hi", { model = m.id, on_event = function(e) seen[#seen + 1] = e.type end }))
  t.equal(reply.text, "echo hi")
  t.same(seen, types(events_of(reply.run.journal)))
  t.equal(seen[#seen], "workflow_finished")
  t.equal(reply.usage_total.calls, 1)
end)

t.test("inside of a run, on_event receives the events of its own call", function()
  local function lead(request)
    local own = request.model -- lead1 calls w1
    if request.turn == 1 then return { calls = { s.call("create_tasks", { tasks = { { text = "Look", assigned_to = "w" .. own:sub(-1) } } }) } } end
    return request.turn == 2 and { calls = { s.call("call_w" .. own:sub(-1), { task_ids = { 1 }, message = "Go" }) } } or "all"
  end
  p.play { lead1 = lead, lead2 = lead }
  local defs = {}
  for _, n in ipairs { "1", "2" } do defs["lead" .. n], defs["w" .. n] = { tools = { "facilitator" }, agents = { "w" .. n } }, { tools = { "specialist" } } end
  local agents, seen, given = p.agents(defs), { {}, {}, {} }, hocket.board()
  local one = s.run(function()
    local works = {}
    for i = 1, 2 do
      works[i] = function() return hocket.run(agents["lead" .. i], "go", { on_event = function(e) table.insert(seen[i], e) end }) end
    end
    works[3] = function() return hocket.run(agents.w1, "go", { board = given, on_event = function(e) table.insert(seen[3], e) end }) end
    flow.all(works)
    return { text = "" }
  end)
  for i = 1, 2 do
    local kinds = {}
    for _, e in ipairs(seen[i]) do
      kinds[e.type] = (kinds[e.type] or 0) + 1
      t.ok(e.agent:sub(-1) == tostring(i), json.encode(e))
    end
    t.equal(kinds.task_completed, 2)
    t.equal(kinds.tasks_created, 1)
    t.ok(kinds.task_updated > 1 and kinds.document_updated == nil)
  end
  t.equal(seen[3][1].type, "task_pending")
  for _, e in ipairs(seen[3]) do t.equal(e.op, seen[3][1].op) end
  local left = {}
  for _, e in ipairs(s.events(one)) do left[e.seq] = e.type end
  for i = 1, 3 do
    for _, e in ipairs(seen[i]) do left[e.seq] = nil end
  end
  local types_left = {}
  for _, type in pairs(left) do types_left[#types_left + 1] = type end
  table.sort(types_left)
  t.same(types_left, { "workflow_finished", "workflow_started" })
end)

t.test("inside of a run, on_event sees all of its call up to the answer", function()
  local m <close>, a = echo()
  local one, seen = runs.new {}, {}
  local reply = assert(runner.workflow(one, "x", function()
    one:emit("before", {})
    local inner = assert(hocket.run(a, "hi", { model = m.id, on_event = function(e) seen[#seen + 1] = e.type end }))
    one:emit("after", {})
    return inner
  end))
  t.equal(reply.text, "echo hi")
  local all = types(events_of(one.journal))
  local first, last
  for i, type in ipairs(all) do
    if type == "before" then first = i + 1 elseif type == "after" then last = i - 1 end
  end
  t.same(seen, table.move(all, first, last, 1, {}))
end)

t.test("what on_event raises is told, once, and costs nobody the answer", function()
  local m <close>, a = echo()
  local calls, warned = 0, 0
  local reply = assert(hocket.run(a, "hi", { model = m.id, on_event = function() calls = calls + 1; error "from the listener" end }))
  t.equal(reply.text, "echo hi")
  t.equal(calls, 1)
  local line, cursor = reply.run.journal:next(0)
  while line do
    local event = hocket.json.decode(line)
    line, cursor = reply.run.journal:next(cursor)
    if event.type == "warning" and event.message:find("from the listener", 1, true) then warned = warned + 1 end
  end
  t.equal(warned, 1)
end)

t.test("deltas", function()
  local m <close>, a = echo()
  local text = ""
  assert(hocket.run(a, "hi", { model = m.id, on_delta = function(_, piece) text = text .. piece end }))
  t.equal(text, "echo hi")
end)

t.test("tools and variables from the caller", function()
  local m <close> = model.serve(function(request)
    return request.last.role == "user" and { calls = { { name = "add", arguments = { a = 1, b = 2 } } } } or request.last.text
  end)
  local add = hocket.tool { name = "add", description = "adds", run = function(args) return args.a + args.b end }
  local a = hocket.agent { name = "a", prompt = "{{x}} {{tool_descriptions}}" }
  local reply = assert(hocket.run(a, "hi", { model = m.id, tools = { add }, variables = { x = "y" } }))
  t.equal(reply.text, "3")
  t.equal(m.requests[1].system, "y - add: adds")
end)

t.test("a timeout", function()
  local m <close> = model.raw(function(listener, request)
    listener:begin(request.id, 200, { ["content-type"] = "text/event-stream" })
    while listener:write(request.id, ": wait\n\n") do flow.sleep(0.002) end
  end)
  local a = hocket.agent { name = "slow", prompt = "p" }
  t.fails("timeout", "slow was not done within 0.05 seconds", hocket.run(a, "x", { model = m.id, timeout = 0.05 }))
  t.eventually(function() return m.open == 0 end)
end)

t.test("misuse raises at the caller's line", function()
  local a = hocket.agent { name = "a", prompt = "p" }
  local function raised_at(fn, part)
    local ok, err = pcall(fn)
    t.equal(ok, false)
    t.has(err, part)
    t.has(err, ("test_run.lua:%d:"):format(debug.getinfo(fn, "S").linedefined))
  end
  raised_at(function() hocket.run(3, "x") end, "bad argument #1 to 'run' (an agent expected, got number")
  raised_at(function() hocket.run({}, "x") end, "an agent expected")
  raised_at(function() hocket.run(a) end, "bad argument #2 to 'run' (string expected, got nil)")
  raised_at(function() hocket.run(a, "x", { modell = 1 }) end, "unknown option 'modell' for 'run'")
  raised_at(function() hocket.run(a, "x", { board = {} }) end, "bad option 'board' for 'run' (hocket.board expected, got table)")
  raised_at(function() hocket.run(a, "x", { document = hocket.board() }) end, "bad option 'document' for 'run' (hocket.document expected, got hocket.board)")
  raised_at(function() hocket.run(a, "x", { timeout = "1" }) end, "bad option 'timeout' for 'run' (number expected, got string)")
  raised_at(function() hocket.run(a, "x", { timeout = -1 }) end, "bad option 'timeout' for 'run' (seconds must not be negative)")
  raised_at(function() hocket.run(a, "x", 3) end, "bad argument #3 to 'run'")
  raised_at(function() hocket.events.emit "x" end, "there is no run here")
end)

t.test("an agent by its path, outside of a run and inside", function()
  local m <close> = model.serve(function(q) return "said " .. q.last.text end)
  local dir <close> = t.dir()
  local path = dir:write("a.md", "---\nname: a\nmodel: " .. m.id .. "\n---\nYou.\n")
  t.equal(hocket.run(path, "outside").text, "said outside")
  local r = script(dir, ("return require('hocket').run(%q, 'inside')"):format(path))
  t.equal(assert(r.result, r.err and r.err.message).text, "said inside")
  r = script(dir, ("return require('hocket').run(%q, 'x')"):format(dir:write("other.lua", "return 1")))
  t.equal(r.err.code, "unsupported")
  t.fails("invalid", "there is no file, folder or agent", hocket.run(dir.path .. "/none.md", "x"))
end)

t.test("in a coroutine of one's own", function()
  local m <close> = model.serve(function(q) return "said " .. q.last.text end)
  local a = hocket.agent { name = "a", prompt = "p", model = m.id }
  local function talk(first)
    local heard = coroutine.yield(assert(hocket.run(a, first)).text)
    return assert(hocket.run(a, heard)).text
  end
  local one, other = coroutine.wrap(talk), coroutine.wrap(talk)
  t.same({ one "1", other "2", one "3", other "4" }, { "said 1", "said 2", "said 3", "said 4" })
  local dir <close> = t.dir()
  local r = script(dir, ([[
    local hocket = require "hocket"
    local a = hocket.agent { name = "a", prompt = "p", model = %q }
    local texts = {}
    for text in coroutine.wrap(function() for i = 1, 3 do coroutine.yield(hocket.run(a, "n" .. i).text) end end) do texts[#texts + 1] = text end
    return table.concat(texts, ", ")]]):format(m.id))
  t.equal(assert(r.result, r.err and r.err.message).text, "said n1, said n2, said n3")
end)

t.test("events of one's own, and reading them while they come", function()
  local one = runs.new {}
  local seen = {}
  runner.workflow(one, "x", function()
    flow.spawn(function() for e in hocket.events.each() do seen[#seen + 1] = e.type end end)
    hocket.events.emit("mine", { a = 1 })
    flow.sleep(0.005)
    t.equal(#hocket.events.all(), 2)
    return { text = "x" }
  end)
  t.same(seen, { "workflow_started", "mine" })
end)

t.test("many runs side by side do not mix", function()
  local m <close>, a = echo()
  local list = {}
  for i = 1, 20 do list[i] = i end
  local replies = flow.map(list, function(i) return assert(hocket.run(a, "n" .. i, { model = m.id })) end)
  for i = 1, 20 do
    local events = events_of(replies[i].run.journal)
    t.equal(events[1].message, "n" .. i)
    t.equal(events[#events - 1].content, "echo n" .. i)
  end
end)

-- ---- The scripted model and the examples -----------------------------------------------------------

t.test("scripts for the scripted model", function()
  local dir <close> = t.dir()
  t.ok(sim.load(dir:write("a.lua", "return function() return 'x' end")))
  t.ok(sim.load(dir:write("b.lua", "return { reply = function() end, latency = 1 }")))
  t.fails("agent", "must return a function", sim.load(dir:write("c.lua", "return 3")))
  t.fails("agent", "d.lua:1:", sim.load(dir:write("d.lua", "return return")))
  t.fails("agent", "e.lua:1: oh", sim.load(dir:write("e.lua", "error 'oh'")))
  t.fails("not_found", "f.lua", sim.load(dir.path .. "/f.lua"))
  local m <close> = model.serve(function() error "in the script" end)
  t.fails("http", "in the script", model.session(m):send "x")
  local n <close> = model.serve(function() return 7 end)
  t.fails("http", "returned number", model.session(n):send "x")
end)

t.test("the scripted model refuses what real ones refuse", function()
  local http = hocket.http
  local m <close> = model.serve(function() return "x" end)
  local function post(body) return http.request { url = m.base .. "/chat/completions", method = "POST", body = body } end
  for _, body in ipairs { "", "{", "[]", "{}", '{"messages":[]}', '{"messages":3}', '{"messages":[3]}', '{"messages":[{"role":"tool","tool_call_id":"x"}]}',
    '{"messages":[{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"x","arguments":"{}"}}]},{"role":"user","content":"x"}]}',
    '{"messages":[{"role":"assistant","tool_calls":[{}]}]}', '{"messages":[{"role":"user","content":[3]}]}', '{"messages":[{"role":"user","content":"x"}],"tools":[3]}' } do
    local answer = assert(post(body))
    t.equal(answer.status, 400, body)
    t.ok(json.decode(answer.body).error.message)
  end
  t.equal(http.request { url = m.base .. "/models" }.status, 200)
  t.equal(http.request { url = m.base .. "/nothing" }.status, 404)
  t.equal(http.request { url = m.base .. "/chat/completions" }.status, 404)
end)

-- The process's own scripted model is served once, for as long as the process lives; here
-- without the example's pauses.
do
  local dir <close> = t.dir()
  require("hocket.internal.sim.script").path = dir:write("sim.lua", ([[
    local script = dofile %q
    script.latency, script.pause = 0.01, 0
    return script]]):format(here .. "/../../../examples/travel/sim.lua"))
  assert(sim.base())
end

t.test("the travel example, end to end", function()
  for request, expected in pairs {
    ["Three days in Lisbon, with children"] = { "# 3 days in Lisbon", "Day 3" },
    ["Four days in Porto, with children, no museums"] = { "# 4 days in Porto", "Day 4" },
    ["A weekend in Vigo"] = { "# 2 days in Vigo", "Day 2" },
  } do
    local r = command(here .. "/../../../examples/travel/travel.lua", request, { model = "sim" })
    local result = assert(r.result, r.err and r.err.message)
    t.has(result.text, expected[1])
    t.has(result.text, expected[2])
    t.has(result.text, result.document.text) -- the answer contains what the document contains
    t.lacks(result.document.text, "[food]")
    local first, starts, ends, merged = {}, 0, 0, 0
    for i, event in ipairs(r.events) do
      first[event.type] = first[event.type] or i
      if event.type == "agent_started" then
        starts = starts + 1
        t.equal(ends, 0, "one ended before another began")
      elseif event.type == "agent_finished" then
        ends = ends + 1
      elseif event.change == "consolidate" then
        merged = merged + 1
      end
    end
    t.equal(starts, 3)
    t.equal(ends, 3)
    t.ok(merged >= 1)
    for _, type in ipairs { "workflow_started", "tasks_created", "agent_started", "tool_call", "task_updated", "document_updated",
      "agent_message", "agent_finished", "facilitator_message", "final_answer", "workflow_finished" } do
      t.ok(first[type], type .. " is missing")
    end
    for _, one in ipairs(result.tasks) do t.equal(one.status, "done") end
  end
end)

t.test("all examples are well", function()
  local check = require("hocket.internal.commands.check").check
  local examples = hocket.fs.list(here .. "/../../../examples")
  for _, name in ipairs(examples) do
    local result, err = check { paths = { here .. "/../../../examples/" .. name } }
    t.ok(result, err and err.message)
    t.ok(result.agents + result.scripts >= 1 or name == "kill/", name) -- that one is a shell script
  end
  t.ok(#examples >= 2)
end)

t.test("what failed reads as \"code: message\", wherever it was made", function()
  local broken = hocket.agent { name = "broken", prompt = "{{missing}}" }
  local _, err = hocket.run(broken, "x")
  t.has(tostring(err), "agent: broken:1: the variable 'missing' has no value")
  local one = hocket.agent { name = "one", prompt = "x", model = "nosuch/x" }
  _, err = hocket.run(one, "x")
  t.has(tostring(err), "provider: one: unknown provider 'nosuch'")
  _, err = hocket.run(hocket.agent { name = "two", prompt = "x", model = "sim" }, "x", { budget = { turns = 0 } })
  t.has(tostring(err), "budget: ")
end)

-- What is left here is ended by the host.
do
  local m = model.raw(function() flow.sleep(3600) end) -- never closed
  fiber.detach(function() model.session(m):send "x" end)
  fiber.detach(function() flow.map({ 1, 2, 3 }, function() flow.sleep(3600) end) end)
  fiber.detach(function() journal.new {}:wait(0) end)
  t.eventually(function() return m.open == 1 end)
end

return t.finish()
