--- Hooks: what they may say at each point, that rules and approval see what they have changed, and what happens when they fail.
local t = require "harness"
local s = require "scripted"
local hocket = require "hocket"
local fiber = require "hocket.internal.core.fiber"
local hooks = require "hocket.internal.run.hooks"
local runs = require "hocket.internal.run.run"
local runner = require "hocket.internal.runner.run_agent"

local called -- what the tool was called with
hocket.tool.set("hooked_tool", function()
  return hocket.tool.new { name = "hooked_tool", effects = { "write" }, description = "x",
    parameters = { type = "object", required = { "path" }, properties = { path = { type = "string" } } },
    run = function(args)
      called = args.path
      return "wrote " .. args.path
    end }
end)

local function use_tool(request)
  if request.last.role ~= "tool" then return { calls = { s.call("hooked_tool", { path = "a.txt" }) } } end
  return "The tool said: " .. request.last.text
end

-- Lets an agent answer in a run with these hooks: its text, its error, the run, and the requests that its model got.
local function run(given, options, reply, def)
  local asked, text, failed = {}, nil, nil
  called = nil
  s.reply = function(request)
    asked[#asked + 1] = request
    return (reply or use_tool)(request)
  end
  local spec = { tools = { "hooked_tool" } }
  for name, value in pairs(def or {}) do spec[name] = value end
  local team = s.team { worker = spec }
  runs.on_begin("test hooks", function(made)
    if given then hooks.of(made):add(assert(hooks.read(given, "the test"))) end
  end)
  local one = s.run(function(made)
    local got, err = runner.hooked(made, "do it", function(input) return hocket.orchestrate.call(team.worker, input) end)
    text, failed = got and got.text, err
    return got or { text = "" }
  end, options or { approve = "allow" })
  runs.on_begin("test hooks", nil)
  return text, failed, one, asked
end

local function decided(one, point)
  local list = {}
  for _, event in ipairs(s.events(one, "hook_decided")) do
    if event.point == point then list[#list + 1] = event.decision end
  end
  return table.concat(list, " ")
end

t.test("without hooks nothing is asked", function()
  local text, err, one = run(nil)
  t.equal(err, nil)
  t.equal(text, "The tool said: wrote a.txt")
  t.equal(one.hooks, false)
end)

t.test("before a tool: deny, and the model reads why", function()
  local text, _, one = run { before_tool = function() return { deny = "not on Sundays" } end }
  t.equal(called, nil, "it was not called")
  t.has(text, "not on Sundays")
  t.equal(decided(one, "before_tool"), "deny")
  t.has(s.events(one, "tool_denied")[1].reason, "a hook denied it")
end)

t.test("before a tool: other arguments, which rules and approval see", function()
  local change = { before_tool = function(event) return { arguments = { path = event.arguments.path:gsub("a", "b") } } end }
  local text = run(change)
  t.equal(called, "b.txt")
  t.has(text, "A hook changed the arguments")
  text = run(change, { approve = { "hooked_tool(path=b*)=deny", "allow" } })
  t.equal(called, nil, "the rule saw the changed arguments")
  t.has(text, "was not allowed")
  run(change, { approve = { "hooked_tool(path=a*)=deny", "allow" } })
  t.equal(called, "b.txt", "the rule is not asked about the former ones")
  run({ before_tool = function() return { arguments = { other = 1 } } end })
  t.equal(called, nil, "arguments have to fit the schema")
end)

-- Two calls side by side, of a tool that touches its path: most that were at work at once, and the order.
local at_once, most, written = 0, 0, {}
hocket.tool.set("touching_tool", function()
  return hocket.tool.new { name = "touching_tool", effects = { "write" }, description = "x",
    parameters = { type = "object", required = { "path" }, properties = { path = { type = "string" } } },
    conflicts = function(args) return { args.path } end,
    run = function(args)
      at_once = at_once + 1
      most = math.max(most, at_once)
      hocket.flow.sleep(0.05)
      at_once = at_once - 1
      written[#written + 1] = args.path
      return "wrote " .. args.path
    end }
end)

local function two(paths)
  at_once, most, written = 0, 0, {}
  return function(request)
    if request.last.role == "tool" then return "done" end
    return { calls = { s.call("touching_tool", { path = paths[1] }), s.call("touching_tool", { path = paths[2] }) } }
  end
end

t.test("the order of calls side by side goes by the arguments of the hooks", function()
  local worker = { tools = { "touching_tool" } }
  run(nil, nil, two { "a", "b" }, worker)
  t.equal(most, 2)
  run({ before_tool = function() return { arguments = { path = "same" } } end }, nil, two { "a", "b" }, worker)
  t.equal(most, 1, "they touch the same by now")
  run({ before_tool = function(event) return { arguments = { path = event.arguments.path .. #written .. math.random(1 << 30) } } end }, nil, two { "a", "a" }, worker)
  t.equal(most, 2, "they touch the same no more")
end)

t.test("the order of calls side by side goes by the arguments of a person", function()
  local made
  local asking = fiber.detach(run, { before_agent = function() made = runs.current() end }, { approve = "ask", interactive = true }, two { "a", "b" }, { tools = { "touching_tool" } })
  t.eventually(function() return made and made.questions.a2 end)
  t.ok(made:answer("a2", "yes"))
  t.eventually(function() return at_once == 1 end)
  t.ok(made:answer("a1", 'edit {"path": "b"}'))
  asking:wait()
  t.same({ most, written }, { 1, { "b", "b" } }, "the first waits for the second, which has begun")
  t.has(s.events(made, "tool_started")[2].arguments, '"b"')
end)

t.test("events and the loop detector have the arguments that the call is made with", function()
  local _, _, one = run { before_tool = function() return { arguments = { path = "b.txt" } } end }
  t.equal(s.events(one, "tool_started")[1].arguments, '{"path":"b.txt"}')
  t.equal(s.events(one, "tool_call")[1].arguments, '{"path":"b.txt"}')
  local function again(path)
    local n = 0
    return function()
      n = n + 1
      return n < 6 and { calls = { s.call("hooked_tool", { path = path(n) }) } } or "the end"
    end
  end
  local _, err, looping = run({ before_tool = function() return { arguments = { path = "same" } } end }, nil, again(function(n) return "x" .. n end))
  t.has(hocket.json.encode(s.events(looping, "warning")), "the same call of 'hooked_tool' was made 3 times", err and err.message)
  local n = 0
  local text = run({ before_tool = function()
    n = n + 1
    return { arguments = { path = "y" .. n } }
  end }, nil, again(function() return "same" end))
  t.equal(text, "the end", "they are others by now")
end)

t.test("hooks of calls side by side are asked side by side, and a denied one does not keep the others", function()
  local began = fiber.now()
  local _, _, one = run({ before_tool = function(event)
    hocket.flow.sleep(0.3)
    if event.arguments.path == "a" then return { deny = "not a" } end
  end }, nil, two { "a", "b" }, { tools = { "touching_tool" } })
  t.same(written, { "b" })
  t.ok(fiber.now() - began < 10)
  t.equal(#s.events(one, "tool_started"), 1)
end)

t.test("before a tool: a hook cannot allow what rules deny", function()
  for _, said in ipairs { {}, true, { context = "go" } } do
    local text = run({ before_tool = function() return said end }, { approve = "deny" })
    t.equal(called, nil)
    t.has(text, "was not allowed")
  end
  local text = run({ before_tool = function() return { allow = true } end })
  t.equal(called, nil, "what it does not know denies")
  t.has(text, "takes no 'allow'")
end)

t.test("a person's arguments pass the hooks again, which can only deny them", function()
  local seen = {}
  local given = { before_tool = function(event)
    seen[#seen + 1] = event.arguments.path .. (event.by or "")
    return event.arguments.path == "a.txt" and { arguments = { path = "b.txt" } } or { deny = "not this" }
  end }
  local made
  given.before_agent = function() made = runs.current() end
  local asking = fiber.detach(run, given, { approve = "ask", interactive = true })
  t.eventually(function() return made and made.questions.a1 end)
  t.has(s.events(made, "approval_requested")[1].arguments, "b.txt", "the question has the arguments of the hook")
  t.ok(made:answer("a1", 'edit {"path": "c.txt"}'))
  asking:wait()
  t.same(seen, { "a.txt", "c.txtperson" })
  t.equal(called, nil)
end)

t.test("before a tool: an answer in its place, and context", function()
  local text = run { before_tool = function() return { answer = "from the cache", context = "Mind the date." } end }
  t.equal(called, nil)
  t.equal(text, "The tool said: from the cache\nMind the date.")
end)

t.test("after a tool: another result, and context", function()
  local text = run { after_tool = function(event)
    t.equal(event.result, "wrote a.txt")
    return { answer = event.result:upper(), context = "Be brief." }
  end }
  t.equal(called, "a.txt")
  t.equal(text, "The tool said: WROTE A.TXT\nBe brief.")
end)

t.test("match names the tools", function()
  run { before_tool = { match = "other_*", run = function() return { deny = "no" } end } }
  t.equal(called, "a.txt")
  run { before_tool = { { match = { "x", "hooked_*" }, run = function() return { deny = "no" } end } } }
  t.equal(called, nil)
end)

t.test("a hook that crashes denies before a call, and warns after it", function()
  local text, _, one = run { before_tool = function() error "boom" end }
  t.equal(called, nil)
  t.has(text, "boom")
  text, _, one = run { after_tool = function() error "boom" end }
  t.equal(text, "The tool said: wrote a.txt")
  t.has(s.events(one, "warning")[1].message, "boom")
  run { before_tool = function() return nil, "cannot say" end }
  t.equal(called, nil, "nil and an error is a failure, too")
end)

t.test("a hook that runs out of its time denies before a call, and warns after it", function()
  for _, fn in ipairs { function() while true do end end, function() hocket.flow.sleep(20) end,
    function() while true do pcall(function() while true do end end) end end } do
    local text = run { timeout = 0.05, before_tool = fn }
    t.equal(called, nil)
    t.has(text, "failed")
    local _, _, one = run { timeout = 0.05, after_tool = fn }
    t.equal(called, "a.txt")
    t.has(s.events(one, "warning")[1].message, "the hook of the test failed")
  end
end)

t.test("a hook that gives too much denies before a call, and warns after it", function()
  local MiB = 1 << 20
  local function too_long(key, value, most)
    called = nil
    local text = run { before_tool = function() return { [key] = value } end }
    t.equal(called, nil, key)
    t.has(text, ("%s: it is longer than %d MiB"):format(key, most))
  end
  too_long("deny", ("x"):rep(MiB + 1), 1)
  too_long("context", ("x"):rep(MiB + 1), 1)
  too_long("arguments", { path = ("x"):rep(MiB + 1) }, 1)
  too_long("answer", ("x"):rep(32 * MiB + 1), 32)
  too_long("answer", { ("x"):rep(20 * MiB), ("y"):rep(20 * MiB) }, 32)
  local text, err, one = run { after_tool = function() return { answer = ("x"):rep(40 * MiB) } end }
  t.equal(err, nil, "the run goes on")
  t.equal(text, "The tool said: wrote a.txt")
  t.has(s.events(one, "warning")[1].message, "the hook of the test failed at after_tool of hooked_tool: answer: it is longer than 32 MiB")
end)

t.test("a hook may answer with as much as a long result has", function()
  local long = ("\1"):rep(32 << 20)
  local text, err, one = run { after_tool = function() return { answer = long } end }
  t.equal(err, nil)
  t.equal(s.events(one, "warning")[1], nil)
  t.has(text, "[\226\128\166 ")
  t.has(text, "33554432 bytes")
end)

t.test("before a model: deny, answer, settings, context", function()
  local _, err, _, asked = run({ before_model = function() return { deny = "no model today" } end })
  t.equal(err.code, "denied")
  t.has(err.message, "no model today")
  t.equal(#asked, 0, "nobody was asked")
  local text, _, one, none = run({ before_model = function() return { answer = "Known already." } end })
  t.equal(text, "Known already.")
  t.equal(#none, 0)
  t.equal(one:usage().calls, 0)
  _, _, _, asked = run({ before_model = function(event)
    t.equal(event.messages[1].text, "do it")
    return { arguments = { max_tokens = 50, temperature = 0.5 }, context = "Today is Monday." }
  end }, nil, nil, { max_tokens = 20 })
  t.has(asked[1].system, "Today is Monday.")
  t.equal(asked[1].raw.max_tokens, 20, "a limit only becomes smaller")
  t.equal(asked[1].raw.temperature, 0.5)
  _, err = run({ before_model = function() return { arguments = { model = "other/x" } } end })
  t.equal(err.code, "denied", "another model is none of its")
end)

t.test("after a model: another text, which calls no tool; the streamed text waits for it", function()
  local heard = {}
  local text = run({ after_model = function(event)
    t.equal(event.calls[1].name, "hooked_tool")
    return { answer = "I call nothing." }
  end })
  t.equal(text, "I call nothing.")
  t.equal(called, nil)
  s.reply = function() return "secret words" end
  local team = s.team { teller = {} }
  runs.on_begin("test hooks", function(made)
    hooks.of(made):add(assert(hooks.read({ after_model = function() return { answer = "[removed]" } end }, "the test")))
  end)
  s.run(function() return hocket.orchestrate.call(team.teller, "hi", { on_delta = function(_, words) heard[#heard + 1] = words end }) end)
  runs.on_begin("test hooks", nil)
  t.equal(table.concat(heard), "[removed]")
end)

t.test("around an agent: deny, input, answer, context, another answer", function()
  local echo = function(request) return "Heard: " .. request.last.text end
  local _, err = run({ before_agent = function() return { deny = "closed" } end }, nil, echo)
  t.equal(err.code, "denied")
  local text = run({ before_agent = function(event) return { arguments = { input = event.input .. "!" }, context = "Softly." } end }, nil, echo)
  t.equal(text, "Heard: do it!\n\nSoftly.")
  text = run({ before_agent = function() return { answer = "No need." } end }, nil, echo)
  t.equal(text, "No need.")
  text = run({ after_agent = function(event) return { answer = event.result:upper() } end }, nil, echo)
  t.equal(text, "HEARD: DO IT")
  text = run({ after_agent = function(event)
    return event.error and { answer = "It failed: " .. event.error.code }
  end, before_model = function() return { deny = "x" } end }, nil, echo)
  t.equal(text, "It failed: denied")
end)

t.test("an answer of an agent with output has to fit", function()
  local output = { type = "object", required = { "n" }, properties = { n = { type = "integer" } } }
  local text = run({ before_agent = function() return { answer = { n = 4 } } end }, nil, nil, { output = output })
  t.equal(text, '{"n":4}')
  local _, err = run({ before_agent = function() return { answer = { n = "four" } } end }, nil, nil, { output = output })
  t.equal(err.code, "denied")
end)

t.test("around a run: deny, input, answer, another answer", function()
  local echo = function(request) return "Heard: " .. request.last.text end
  local _, err, _, asked = run({ before_run = function() return { deny = "not now" } end }, nil, echo)
  t.equal(err.code, "denied")
  t.equal(#asked, 0)
  local text = run({ before_run = function(event) return { arguments = { input = event.input .. "?" } } end }, nil, echo)
  t.equal(text, "Heard: do it?")
  text = run({ before_run = function() return { answer = "Done before." } end }, nil, echo)
  t.equal(text, "Done before.")
  text = run({ after_run = function(event) return { answer = event.result .. " (checked)" } end }, nil, echo)
  t.equal(text, "Heard: do it (checked)")
end)

t.test("what is raised is asked about as an error, and raised again where no hook answers", function()
  local seen = {}
  local function noting(answer)
    local function note(event)
      seen[#seen + 1] = event.point .. " " .. event.error.code .. " " .. tostring(event.error.message:find("no such luck", 1, true) ~= nil)
      return answer and { answer = answer }
    end
    return { after_run = note, after_agent = note }
  end
  local function raising(given, raised)
    seen = {}
    runs.on_begin("test hooks", function(made) hooks.of(made):add(assert(hooks.read(given, "the test"))) end)
    local ok, text, err = pcall(function()
      local text, failed
      s.run(function(made)
        local got, wrong = runner.hooked(made, "do it", function() error(raised, 0) end)
        text, failed = got and got.text, wrong
        return got
      end)
      return text, failed
    end)
    runs.on_begin("test hooks", nil)
    return ok, text, err
  end
  for _, raised in ipairs { "no such luck", { code = "invalid", message = "no such luck" } } do
    local ok, text = raising(noting(), raised)
    t.same(seen, { ("after_run %s true"):format(type(raised) == "table" and "invalid" or "script") })
    t.equal(ok and text or nil, nil)
    ok, text = raising(noting "It broke.", raised)
    t.same({ ok, text }, { true, "It broke." })
  end
end)

t.test("around a compaction: deny, another summary, context for it", function()
  local asked, summary, points
  local function talk(given)
    asked, summary, points = 0, nil, {}
    s.reply = function(request)
      if request.last.text:find "is going to be taken out" then
        summary = request.last.text
        return "the summary of the model"
      end
      asked = asked + 1
      return "yes " .. ("word "):rep(400)
    end
    local team = s.team { talker = { context = { window = 4000, at = 0.5, keep = 0.1 } } }
    runs.on_begin("test hooks", function(made) hooks.of(made):add(assert(hooks.read(given, "the test"))) end)
    local one = s.run(function()
      local history = hocket.llm.history()
      for i = 1, 8 do assert(hocket.orchestrate.call(team.talker, "question " .. i, { history = history })) end
      return { text = "" }
    end)
    runs.on_begin("test hooks", nil)
    return one
  end
  local one = talk { after_compaction = function(event) points[#points + 1] = event.tokens_after < event.tokens_before end,
    before_compaction = function() return { context = "Keep all names of ships." } end }
  t.ok(#s.events(one, "compaction_finished") > 0, "it was made shorter")
  t.has(summary, "Keep all names of ships.")
  t.equal(points[1], true)
  one = talk { before_compaction = function() return { answer = "the summary of a hook" } end }
  t.equal(summary, nil, "no model wrote one")
  t.equal(s.events(one, "compaction_finished")[1].summary, true)
  one = talk { before_compaction = function() return { deny = "keep everything" } end }
  t.equal(#s.events(one, "compaction_started"), 0)
end)

t.test("what a hook does itself asks no hooks", function()
  local times = 0
  local team = s.team { helper = {} }
  local text = run({ before_tool = function()
    times = times + 1
    local said = assert(hocket.run(team.helper, "may it?"))
    return { deny = said.text }
  end, before_model = function(event) t.equal(event.agent, "worker") end }, nil, function(request)
    if request.system == "helper" then return "the helper says no" end
    return use_tool(request)
  end)
  t.has(text, "the helper says no")
  t.equal(times, 1)
end)

t.test("a table of hooks is checked", function()
  for _, case in ipairs { { 5, "a table of hooks" }, { { befor_tool = print }, "did you mean 'before_tool'" }, { { before_tool = 5 }, "a function" },
    { { before_tool = { run = print, when = 1 } }, "unknown key 'when'" }, { { timeout = 0 }, "above 0" }, { { before_tool = { run = print, match = {} } }, "match" } } do
    local _, wrong = hooks.read(case[1], "x")
    t.has(wrong, case[2])
  end
end)

return t.finish()
