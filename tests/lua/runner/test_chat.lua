--- Conversations as runs: turns, what is kept between them, and every way in which one ends.
local t = require "harness"
local patterns = require "patterns_support"
local s = require "scripted"
local conversation = require "hocket.conversation"
local fiber = require "hocket.internal.core.fiber"
local fs = require "hocket.fs"
local hocket = require "hocket"
local json = require "hocket.json"
local talk = require "hocket.internal.runner.chat"

local function target()
  return { kind = "agent", path = "x.md", dir = ".", agent = s.team { host = { description = "Talks" } }.host }
end

-- A conversation in a fiber of its own: the run, and its fiber.
local function start(what, options, input, script)
  local made
  options = options or {}
  options.conversation = true
  local one = fiber.detach(function()
    s.run(function(run) made = run return talk.run(run, what or target(), input, script) end, options)
  end)
  t.eventually(function() return made end)
  return made, one
end

local function wait_for_input(run, n)
  t.eventually(function() return run.questions["i" .. n] end)
end

local function say(run, n, text)
  wait_for_input(run, n)
  t.ok(run:answer("i" .. n, text))
end

local function finished(run)
  return s.events(run, "turn_finished")
end

local function roles(request)
  local list = {}
  for i, message in ipairs(request.messages) do list[i] = message.role end
  return table.concat(list, " ")
end

t.test("the history is kept from turn to turn, and an empty text ends it", function()
  local heard
  s.reply = function(request) heard = request return "reply " .. #request.messages end
  local run, one = start(nil, nil, "first")
  say(run, 1, "second")
  say(run, 2, "")
  one:wait()
  local turns = finished(run)
  t.equal(#turns, 2)
  t.equal(turns[1].content, "reply 1")
  t.equal(turns[2].content, "reply 3")
  t.equal(turns[2].usage.calls, 1)
  t.equal(turns[2].finish, "stop")
  t.equal(roles(heard), "user assistant user")
  t.equal(s.events(run, "input_received")[1].text, "second")
  t.equal(s.events(run, "conversation_started")[1].agents[1].name, "host")
  t.equal(s.events(run, "final_answer")[1].content, "reply 3")
  t.equal(next(run.questions), nil)
end)

-- ---- A facilitator --------------------------------------------------------------------------

-- Three turns with a facilitator that may create two tasks in each: two that are done, one more, and two more of which one is too many. Says what
-- its model was told of the board and the document in the last turn.
local function facilitated(talk_with)
  local seen = {}
  s.reply = function(request)
    if request.model == "food" then
      if request.last.role == "user" then return { calls = { s.call("write_section", { part = "morning", content = "Bread " .. request.last.text }) } } end
      return "done"
    end
    local n, turn = 0, request.messages
    for i = #turn, 1, -1 do
      if turn[i].role == "user" then break end
      n = n + (turn[i].role == "tool" and 1 or 0)
      seen[#seen + 1] = i == #turn and turn[i].text or nil
    end
    local asked
    for _, message in ipairs(turn) do asked = message.role == "user" and message.text or asked end
    local function task(text) return { text = text, assigned_to = "food" } end
    local steps = {
      one = { s.call("create_tasks", { tasks = { task "a", task "b" } }), s.call("call_food", { task_ids = { 1, 2 }, message = "first" }) },
      two = { s.call("create_tasks", { tasks = { task "c" } }), s.call("call_food", { task_ids = { 3 }, message = "second" }) },
      three = { s.call("create_tasks", { tasks = { task "d", task "e", task "f" } }), s.call "get_plan_status", s.call "read_document" },
    }
    local step = steps[asked][n + 1]
    return step and { calls = { step } } or "answer " .. asked
  end
  local dir <close> = t.dir()
  local path = dir:write("lead.md", "---\nmodel: scripted/lead\ntools: [facilitator]\nagents: [food]\ntask_limit: 2\ndocument: [{part: [morning, evening]}]\n---\nYou lead.")
  dir:write("food.md", "---\nmodel: scripted/food\ndescription: Food\ntools: [specialist]\n---\nYou know food.")
  talk_with(require("hocket").agents(dir.path).lead, { "one", "two", "three" }, path)
  return table.concat(seen, "\n"), seen
end

local function by_hand(agent, inputs)
  s.run(function()
    local one <close> = assert(conversation.new(agent))
    for _, text in ipairs(inputs) do
      local reply, err = one:send(text)
      t.equal(reply and reply.text, "answer " .. text, tostring(err))
    end
    return { text = "x" }
  end)
end

local function as_chat(agent, inputs)
  local run, one = start({ kind = "agent", path = "x.md", dir = ".", agent = agent }, nil, inputs[1])
  for i = 2, #inputs do say(run, i - 1, inputs[i]) end
  say(run, #inputs, "")
  one:wait()
end

local function started(_, inputs, path)
  local asked, n = nil, 1
  local run = assert(require("hocket").start(path, inputs[1], { conversation = true, on_event = function(event)
    if event.type == "input_requested" then asked = event.id end
  end }))
  while not run:done() do
    t.eventually(function() return asked or run:done() end)
    n = n + 1
    if asked then assert(run:answer(asked, inputs[n] or "")) end
    asked = nil
  end
end

for name, talk_with in pairs { ["hocket.conversation"] = by_hand, ["hocket chat"] = as_chat, ["hocket.start"] = started } do
  t.test(name .. ": a facilitator goes on with its board and its document", function()
    local told, seen = facilitated(talk_with)
    t.has(told, "created:\n3 (food): c")
    t.has(told, "2 more can be created")
    t.has(told, "3/3 done")
    t.has(seen[#seen], "Bread first")
    t.has(seen[#seen], "Bread second")
  end)
end

local function lead_with(document)
  return patterns.agents { lead = { tools = { "facilitator" }, agents = { "food" }, document = document }, food = { tools = { "specialist" } } }.lead
end

t.test("a facilitator's conversation is made shorter without another board or document", function()
  s.reply = function() return "answer" end
  s.run(function(run)
    local one <close> = assert(conversation.new(lead_with { { day = "integer" } }))
    t.ok(one:send "one")
    t.equal(one:compact(), true)
    t.equal(#run.boards, 1)
    t.equal(#run.documents, 1)
    return { text = "x" }
  end)
end)

t.test("a facilitator whose file has other sections now has a document of these", function()
  local told
  s.reply = function(request)
    told = json.encode(request.raw.tools)
    return "answer"
  end
  s.run(function(run)
    local one <close> = assert(conversation.new(lead_with { { day = "integer" } }))
    for i, document in ipairs { { { day = "integer" } }, { { part = { "morning", "evening" } } } } do
      one:adopt(lead_with(document))
      t.ok(one:send "go")
      t.equal(#run.documents, i)
      t.equal(told:find('"day"', 1, true) ~= nil, i == 1)
      t.equal(told:find('"part"', 1, true) ~= nil, i == 2)
    end
    return { text = "x" }
  end)
end)

t.test("who answers in its place knows the conversation: a router's choice, and those who are handed on to", function()
  local heard = {}
  s.reply = function(request)
    if request.tools.route_to then
      return { calls = { { name = "route_to", arguments = { agent = request.last.text:find "bill" and "billing" or "legal", reason = "so" } } } }
    end
    heard[request.model] = roles(request)
    if request.last.text == "my bill, slowly" then return { text = "late", latency = 1 } end
    return request.model .. " " .. #request.messages
  end
  local team = patterns.agents { desk = { router = true, agents = { "billing", "legal" } }, billing = { handoff = "last" }, legal = {}, last = {} }
  local run, one = start({ kind = "agent", path = "x.md", dir = ".", agent = team.desk }, nil, "my bill")
  say(run, 1, "a contract")
  say(run, 2, "the bill again")
  say(run, 3, "my bill, slowly")
  t.eventually(function() return heard.billing == "user assistant user assistant user" end)
  t.ok(run:interrupt())
  say(run, 4, "another bill")
  say(run, 5, "")
  one:wait()
  local turns = finished(run)
  t.equal(turns[1].content, "last 1")
  t.equal(turns[2].content, "legal 1")
  t.equal(turns[3].content, "last 3")
  t.equal(turns[4].error.code, "cancelled")
  t.equal(turns[5].content, "last 5")
  t.equal(heard.billing, "user assistant user assistant user assistant user")
end)

t.test("who has answered knows the conversation also when its file was read anew", function()
  local heard
  s.reply = function(request)
    if request.model == "first" then return "draft" end
    heard = roles(request)
    return "done"
  end
  local function read() return patterns.agents { first = { handoff = "last" }, last = {} } end
  s.run(function()
    local one <close> = conversation(read().first)
    t.ok(one:send "one")
    one:adopt(read().first)
    t.ok(one:send "two")
  end)
  t.equal(heard, "user assistant user")
end)

t.test("a turn that is interrupted leaves a transcript that can go on", function()
  local heard
  s.reply = function(request)
    heard = request
    if request.last.text == "slow" then return { text = "late", latency = 1 } end
    return "ok"
  end
  local run, one = start(nil, nil, "slow")
  t.fails("state", "no turn", (function() run.turn, run.was = nil, run.turn local a, b = run:interrupt() run.turn = run.was return a, b end)())
  t.eventually(function() return run.turn and #s.events(run, "model_request") == 1 end)
  t.ok(run:interrupt())
  say(run, 1, "again")
  say(run, 2, "")
  one:wait()
  local turns = finished(run)
  t.equal(turns[1].error.code, "cancelled")
  t.equal(turns[2].content, "ok")
  t.equal(roles(heard), "user assistant user")
  t.has(heard.messages[2].text, "interrupted by the user")
end)

t.test("an interruption in the middle of a tool call: the call has its result", function()
  local hocket = require "hocket"
  local heard, began
  local slow = hocket.tool { name = "slow", description = "slow", run = function()
    began = true
    hocket.flow.sleep(30)
  end }
  local what = target()
  what.agent = s.team { host = { description = "Talks", tools = { slow } } }.host
  s.reply = function(request)
    heard = request
    if request.last.text == "go" then return { calls = { s.call "slow" } } end
    return "ok"
  end
  local run, one = start(what, nil, "go")
  t.eventually(function() return began end)
  t.ok(run:interrupt())
  say(run, 1, "again")
  say(run, 2, "")
  one:wait()
  t.equal(roles(heard), "user assistant tool assistant user")
  t.has(heard.messages[3].text, "cancelled")
end)

t.test("a turn that fails or takes too long ends alone", function()
  s.reply = function(request)
    if request.last.text == "fail" then return { status = 400, error = "no such thing" } end
    if request.last.text == "slow" then return { text = "late", latency = 1 } end
    return "ok"
  end
  local run, one = start(nil, { timeout = 0.2, retries = 0 }, "slow")
  say(run, 1, "fine")
  say(run, 2, "")
  one:wait()
  t.equal(finished(run)[1].error.code, "timeout")
  t.equal(finished(run)[2].content, "ok")
end)

t.test("options change between turns, all or none", function()
  local models = {}
  s.reply = function(request) models[#models + 1] = request.model return "ok" end
  local run, one = start(nil, nil, "first")
  wait_for_input(run, 1)
  t.fails("invalid", "cannot be changed", run:change { model = "scripted/other", target = "x" })
  t.fails("invalid", "'model' cannot be that", run:change { model = "nonsense" })
  t.fails("provider", "unknown provider 'scriptd' in model 'scriptd/x': did you mean 'scripted'?", run:change { model = "scriptd/x" })
  t.ok(run:change { model = "scripted/other" })
  say(run, 1, "second")
  say(run, 2, "")
  one:wait()
  t.same(models, { "host", "other" })
  t.equal(s.events(run, "run_changed")[1].model, "scripted/other")
end)

t.test("agents are read anew, and a broken file leaves all as it was", function()
  local dir <close> = t.dir()
  local path, prompt = dir.path .. "/host.md", nil
  local function write(text) assert(fs.write(path, text)) end
  write "---\nname: host\nmodel: scripted/host\n---\nOne."
  s.reply = function(request) prompt = request.system return "ok" end
  local run, one = start({ kind = "agent", path = path, dir = dir.path, agent = require("hocket.agent").load(path) }, nil, "first")
  wait_for_input(run, 1)
  t.equal(prompt, "One.")
  write "---\nname: host\nmodel: scripted/host\n---\nTwo."
  t.ok(run:change { reload = true })
  t.eventually(function() return #s.events(run, "agent_reloaded") == 1 end)
  t.same(s.events(run, "agent_reloaded")[1].changed, { "host" })
  say(run, 1, "second")
  wait_for_input(run, 2)
  t.equal(prompt, "Two.")
  write "---\nnmae: host\n---\nThree."
  t.ok(run:change { reload = true })
  t.eventually(function() return #s.events(run, "agent_reload_failed") == 1 end)
  t.has(s.events(run, "agent_reload_failed")[1].message, "nmae")
  say(run, 2, "third")
  say(run, 3, "")
  one:wait()
  t.equal(prompt, "Two.")
end)

t.test("a script's function is a partner, and hands its state on", function()
  local made, closed = 0, false
  local function script()
    made = made + 1
    local number, one = made, { state = { turns = 0 } }
    function one.chat(text)
      one.state.turns = one.state.turns + 1
      if text == "bad" then error "broken" end
      return ("%d.%d %s"):format(number, one.state.turns, text)
    end
    function one.on_reload(old)
      if made == 3 then error "not that one" end
      one.state = old
    end
    function one.close() closed = true end
    return one
  end
  local dir <close> = t.dir()
  local run, one = start({ kind = "script", path = dir:write("x.lua", "return 'the file of it'"), dir = dir.path }, nil, "a", script)
  say(run, 1, "bad")
  wait_for_input(run, 2)
  t.ok(run:change { reload = true })
  t.eventually(function() return #s.events(run, "agent_reloaded") == 1 end)
  say(run, 2, "b")
  wait_for_input(run, 3)
  t.ok(run:change { reload = true })
  t.eventually(function() return #s.events(run, "agent_reload_failed") == 1 end)
  say(run, 3, "c")
  say(run, 4, "")
  one:wait()
  local turns = finished(run)
  t.equal(turns[1].content, "1.1 a")
  t.equal(turns[2].error.code, "script")
  t.has(turns[2].error.message, "broken")
  t.equal(turns[3].content, "2.3 b")
  t.equal(turns[4].content, "2.4 c")
  t.ok(closed)
end)

t.test("each message of a conversation with a workflow is the input of a call of its own", function()
  local workflow = require "hocket.workflow"
  local made = workflow { description = "Counts on", input = { type = "object", required = { "n" }, properties = { n = { type = "integer" } } },
    run = function(input) return { n = input.n + 1 } end }
  local run, one = start({ kind = "script", path = "workflows/w.lua", dir = "workflows" }, nil, '{"n":1}', function() return made end)
  say(run, 1, '{"n":"one"}')
  say(run, 2, '{"n":3}')
  say(run, 3, "")
  one:wait()
  local turns = finished(run)
  t.same({ turns[1].content, turns[3].content }, { '{"n":2}', '{"n":4}' })
  t.has(turns[2].error.message, "/n: expected integer")
end)

t.test("a script that is no conversation is run with each message", function()
  local asked = {}
  local function script(_, text)
    asked[#asked + 1] = text
    if text == "two" then return nil, { code = "script", message = "not this one" } end
    if text == "three" then return { n = 3 } end
    return conversation.new(target().agent):send(text)
  end
  s.reply = function() return "an answer" end
  local run, one = start({ kind = "script", path = "x.lua" }, nil, "one", script)
  say(run, 1, "two")
  say(run, 2, "three")
  say(run, 3, "four")
  say(run, 4, "")
  one:wait()
  local turns = finished(run)
  t.same(asked, { "one", "two", "three", "four" })
  t.same({ turns[1].content, turns[3].content, turns[4].content }, { "an answer", '{"n":3}', "an answer" })
  t.same({ turns[1].ok, turns[2].ok, turns[2].error.message }, { true, false, "not this one" })
  t.same({ turns[1].usage.calls, turns[3].usage.calls, turns[4].usage.calls }, { 1, 0, 1 })
end)

t.test("before the first message a script calls no agent, and is run with that message", function()
  local asked, failures = {}, {}
  local function script(_, text)
    asked[#asked + 1] = text or false
    local reply, err = hocket.run(target().agent, text or "its own question")
    failures[#failures + 1] = err and err.message
    return reply, err
  end
  local sent = 0
  s.reply = function(request)
    sent = sent + 1
    return "about " .. request.last.text
  end
  local run, one = start({ kind = "script", path = "x.lua" }, nil, nil, script)
  wait_for_input(run, 1)
  t.equal(sent, 0)
  say(run, 1, "one")
  say(run, 2, "two")
  say(run, 3, "")
  one:wait()
  t.same(asked, { false, "one", "two" })
  t.same(failures, { "no agent is called before the first message" })
  local turns = finished(run)
  t.same({ turns[1].content, turns[2].content, #turns, sent }, { "about one", "about two", 2, 2 })
  t.equal(#s.events(run, "agent_started"), 0)
end)

t.test("what a script says before the first message is no answer to it", function()
  local events = require "hocket.events"
  local function script(_, text)
    if not text then events.emit("final_answer", { content = "too early" }) end
    return hocket.run(target().agent, "x") and nil
  end
  s.reply = function() return "unused" end
  local run, one = start({ kind = "script", path = "x.lua" }, nil, nil, script)
  say(run, 1, "one")
  say(run, 2, "")
  one:wait()
  t.equal(finished(run)[1].content, "")
end)

t.test("a script that asks an agent for its greeting is a conversation from the first message on", function()
  local function script()
    local greeting, err = hocket.run(target().agent, "greet")
    if not greeting then error(err, 0) end
    return function(text) return greeting.text .. " " .. text end
  end
  s.reply = function() return "hello" end
  local run, one = start({ kind = "script", path = "x.lua" }, nil, nil, script)
  say(run, 1, "Ada")
  say(run, 2, "Bo")
  say(run, 3, "")
  one:wait()
  local turns = finished(run)
  t.same({ turns[1].content, turns[2].content }, { "hello Ada", "hello Bo" })
  t.equal(#s.events(run, "model_request"), 1)
end)

t.test("a script that returns nothing says so, in a conversation as well", function()
  s.reply = function() return "unused" end
  local run, one = start({ kind = "script", path = "x.lua" }, nil, "one", function(_, text)
    hocket.run(target().agent, text)
  end)
  say(run, 1, "")
  one:wait()
  t.same({ finished(run)[1].ok, finished(run)[1].content }, { true, "" })
  t.has(s.events(run, "warning")[1].message, "x.lua returned nothing and printed nothing: return the answer")
end)

t.test("a script that answers with the text of a reply that was cut has a turn that was cut", function()
  s.reply = function(request)
    return request.last.text == "long" and { text = "the first half of an answer", finish = "length" } or "whole"
  end
  local function ask(_, text)
    local reply = hocket.run(target().agent, text)
    return "It says: " .. reply.text
  end
  for _, script in ipairs { ask, function() return function(text) return ask(nil, text) end end } do
    local run, one = start({ kind = "script", path = "x.lua" }, nil, "long", script)
    say(run, 1, "short")
    say(run, 2, "")
    one:wait()
    local turns = finished(run)
    t.same({ turns[1].finish, turns[1].cut.code, turns[2].finish, turns[2].cut }, { "length", "limit", "stop" })
  end
end)

t.test("a script that fails before the first message ends the conversation", function()
  local _, reply, err = s.run(function(run) return talk.run(run, { kind = "script", path = "x.lua" }, nil, function() return nil, { code = "script", message = "not today" } end) end)
  t.fails("script", "not today", reply, err)
  _, reply, err = s.run(function(run) return talk.run(run, { kind = "script", path = "x.lua" }, nil, function() error({ code = "script", message = "raised" }, 0) end) end)
  t.fails("script", "raised", reply, err)
end)

t.test("a cancel ends the conversation wherever it is", function()
  s.reply = function(request) return request.last.text == "slow" and { text = "late", latency = 1 } or "ok" end
  for _, text in ipairs { "slow", "quick" } do
    local run, one = start(nil, nil, text)
    t.eventually(function() return #s.events(run, "model_request") == 1 end)
    if text == "quick" then wait_for_input(run, 1) end
    one:cancel()
    one:join()
    t.equal(next(run.questions), nil)
    local events = s.events(run)
    t.equal(events[#events].type, "workflow_finished")
  end
end)

return t.finish()
