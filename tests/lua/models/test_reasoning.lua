--- What a model thinks aloud, in the tags of its text, reaches nobody: no value, plan, answer or other agent's input has it.
local t = require "harness"
local s = require "scripted"
local p = require "patterns_support"
local hocket = require "hocket"
local json = require "hocket.json"
local model = require "model"

local DRAFT = "a rejected draft"

-- As a reply, with thoughts before its text.
local function aloud(reply)
  if type(reply) == "string" then reply = { text = reply } end
  reply.text = ("<think>%s</think>\n\n%s"):format(DRAFT, reply.text or "")
  return reply
end

-- Models that all think aloud. Returns what each was asked.
local function play(parts)
  local asked = p.play(parts)
  local inner = s.reply
  s.reply = function(request) return aloud(inner(request)) end
  return asked
end

local function check(asked, ...)
  for name, requests in pairs(asked) do
    for _, request in ipairs(requests) do
      t.ok(not json.encode(request.messages):find(DRAFT, 1, true), name .. " reads what another one has thought")
    end
  end
  for _, value in ipairs { ... } do
    t.ok(not json.encode(value):find(DRAFT, 1, true), "a thought is in what came out: " .. json.encode(value))
  end
end

-- The events that tell what was said.
local function said(run)
  local list = {}
  for _, name in ipairs { "message", "agent_message", "final_answer", "team_message", "tool_call" } do
    for _, event in ipairs(s.events(run, name)) do list[#list + 1] = event end
  end
  return list
end

t.test("an answer, and its reasoning", function()
  local m <close> = model.serve(function() return "<think>" .. DRAFT .. "</think>\nYes." end)
  for _, stream in ipairs { true, false } do
    local session = model.session(m, { stream = stream })
    local reply = assert(session:send "?")
    t.equal(reply.text, "Yes.")
    t.equal(reply.reasoning, DRAFT)
    t.equal(session:send("And?").text, "Yes.")
    t.ok(not json.encode(m.requests[#m.requests].messages):find(DRAFT, 1, true))
  end
end)

t.test("what streams", function()
  local heard = { text = "", reasoning = "" }
  local m <close> = model.serve(function() return { text = "<think>" .. DRAFT .. "</think>\nYes: <b>yes</b> <", fragment = 3 } end)
  local session = model.session(m, { on_delta = function(kind, piece) heard[kind] = heard[kind] .. piece end })
  t.equal(assert(session:send "?").text, "Yes: <b>yes</b> <")
  t.same(heard, { text = "Yes: <b>yes</b> <", reasoning = DRAFT })
end)

t.test("a value", function()
  local schema = { type = "object", required = { "floor" }, properties = { floor = { type = "integer" } } }
  for _, wrote in ipairs { '<think>{"floor": 3}? No.</think>{"floor": 9}', '{"floor": 3}? No.</think>{"floor": 9}', '<reasoning>\n```json\n{"floor": 3}\n```\n</reasoning>\n{"floor": 9}' } do
    p.play { lift = wrote }
    local agents = p.agents { lift = { output = schema } }
    t.equal(p.run(agents.lift).value.floor, 9, wrote)
  end
  -- cut while it thinks: there is no value
  local asked = p.play { lift = function(request)
    return not request.last.text:find "was empty" and { text = '<think>{"floor": 3}? N', finish = "length" } or '{"floor": 9}'
  end }
  t.equal(p.run(p.agents { lift = { output = schema } }.lift).value.floor, 9)
  t.equal(#asked.lift, 2)
end)

local floor = { type = "object", required = { "floor" }, properties = { floor = { type = "integer" } } }

t.test("a value that the server took for reasoning as a whole", function()
  local asked = p.play { lift = { reasoning = ' {"floor": 9}\n', text = "" } }
  local reply, _, run = p.run(p.agents { lift = { output = floor } }.lift)
  t.equal(reply.value.floor, 9)
  t.equal(reply.text, '{"floor": 9}')
  t.equal(reply.reasoning, nil)
  t.equal(#asked.lift, 1)
  t.equal(#s.events(run, "warning"), 1)
  t.has(s.events(run, "warning")[1].message, "lift's answer has no text")
  -- as the last answer, which a limit asks for
  asked = p.play { lift = function(request)
    return request.turn == 1 and { calls = { s.call("delegate", { agent_name = "w", prompt = "Go" }) } } or { reasoning = '{"floor": 9}', text = "" }
  end }
  reply = p.run(p.agents { lift = { output = floor, agents = { "w" }, max_turns = 2 }, w = {} }.lift)
  t.equal(reply.value.floor, 9)
  t.equal(#asked.lift, 2)
end)

t.test("reasoning that is no value", function()
  local thoughts = {
    { text = '<think>{"floor": 3}</think>' }, -- in tags
    { text = '<think>x</think>', reasoning = '{"floor": 3}' },
    { text = "", reasoning = 'Perhaps {"floor": 3}' },
    { text = "", reasoning = '```json\n{"floor": 3}\n```' },
    { text = "", reasoning = '{"floor": 3} {"floor": 9}' },
    { text = "", reasoning = '{"floor": "three"}' },
    { text = "", reasoning = '{"floor": 3}', finish = "length" },
  }
  for i, thought in ipairs(thoughts) do
    local asked
    asked = p.play { lift = function() return #asked.lift == 1 and thought or '{"floor": 9}' end }
    local reply, err = p.run(p.agents { lift = { output = floor } }.lift)
    t.equal(reply and reply.value.floor, 9, i .. tostring(err))
    t.equal(#asked.lift, 2, i)
  end
  -- text is no JSON document, whatever the schema takes
  local asked
  asked = p.play { a = function() return #asked.a == 1 and { text = "", reasoning = "Hm." } or "Yes." end }
  t.equal(p.run(p.agents { a = { output = { type = "string" } } }.a).value, "Yes.")
  t.equal(#asked.a, 2)
  -- and it is asked for once more, not for ever
  asked = p.play { lift = { text = "", reasoning = "Hm." } }
  local reply, err = p.run(p.agents { lift = { output = floor } }.lift)
  t.equal(reply, nil)
  t.has(err.message, "answered with nothing, twice")
  t.equal(#asked.lift, 2)
end)

t.test("reasoning as a whole is no plan and no route", function()
  local plan = json.encode { type = "task", tasks = { { id = "a", specialist = "web", description = "Do" } } }
  local asked = p.play { planner = { text = "", reasoning = plan }, web = "done" }
  local any = { type = "object" }
  local team = p.agents { planner = { description = "Plans", output = any, prompt = "Plan for:\n{{specialists}}" }, web = { description = "Searches" } }
  local _, reply, err = s.run(function() return hocket.patterns.planner.run { request = "Go", team = team } end)
  t.equal(reply, nil)
  t.has(err.message, "answered with nothing, twice")
  t.equal(asked.web, nil)
  local route = json.encode { agent = "x", reason = "so" }
  asked = p.play { r = { text = "", reasoning = route } }
  p.run(p.agents { r = { router = true, agents = { "x" } }, x = { output = any } }.r)
  t.equal(asked.x, nil)
end)

t.test("events: what it thinks is a part of its own", function()
  p.play {
    boss = function(request)
      return request.turn == 1 and { text = "<think>Who?</think>", calls = { s.call("delegate", { agent_name = "w", prompt = "Go" }) } } or "all"
    end,
    w = { reasoning = ("ä"):rep(3000), text = "<think>" .. DRAFT .. "</think>Done." },
  }
  local _, _, run = p.run(p.agents { boss = { agents = { "w" } }, w = { display_name = "W." } }.boss)
  local told, log = s.events(run, "agent_reasoning"), s.events(run, "task_log")
  t.equal(#told, 2)
  t.same({ told[1].agent, told[1].content }, { "boss", "Who?" })
  t.same({ told[2].agent, told[2].display_name, told[2].content }, { "w", "W.", ("ä"):rep(2000) })
  t.equal(#log, 1)
  t.same({ log[1].agent, log[1].message }, { "w", ("ä"):rep(250) })
  -- in the history, too
  local history = require("hocket.internal.core.llm").history()
  local m <close> = model.serve(function() return "<think>" .. DRAFT .. "</think>Yes." end)
  assert(model.session(m, { history = history }):send "?")
  t.same({ history:messages()[2].reasoning, history:messages()[2].text }, { DRAFT, "Yes." })
end)

t.test("a plan", function()
  local function plan(id) return json.encode { type = "task", tasks = { { id = id, specialist = "web", description = "Do " .. id } } } end
  s.reply = function(request)
    if request.model == "planner" then return ("<think>%s? No, %s.</think>%s"):format(plan "draft", DRAFT, plan "good") end
    return aloud "done"
  end
  local team = s.team { planner = { description = "Plans", prompt = "Plan for:\n{{specialists}}" }, web = { description = "Searches" } }
  local _, reply = s.run(function() return hocket.patterns.planner.run { request = "Go", team = team } end)
  t.equal(#reply.tasks, 1)
  t.equal(reply.tasks[1].id, "good")
  check({}, reply.text, reply.tasks)
end)

t.test("talk of a planner", function()
  s.reply = function() return aloud "Hello!" end
  local team = s.team { planner = { description = "Plans", prompt = "Plan." }, web = { description = "Searches" } }
  local _, reply = s.run(function() return hocket.patterns.planner.run { request = "Hi", team = team } end)
  t.equal(reply.text, "Hello!")
end)

t.test("a chain with advisors and a router", function()
  local asked = play { r = function() return { calls = { s.call("route_to", { agent = "x", reason = "so" }) } } end }
  local agents = p.agents { a = { advisors = { "v" }, handoff = "r" }, v = {}, r = { router = true, agents = { "x" }, handoff = "z" }, x = {}, z = {} }
  local reply, _, run = p.run(agents.a)
  t.equal(reply.text, "from z")
  check(asked, reply.text, said(run))
end)

t.test("a team", function()
  local asked = play {}
  local agents = p.agents { lead = { team = { members = { "m", "n" }, max_rounds = 2, termination_mode = "max_rounds" } }, m = {}, n = {} }
  local reply, _, run = p.run(agents.lead)
  t.has(asked.n[2].last.text, "from m")
  check(asked, reply.text, said(run))
end)

t.test("a facilitator, and who delegates", function()
  local function lead(request)
    if request.turn == 1 then return { calls = { s.call("create_tasks", { tasks = { { text = "Look", assigned_to = "w" } } }) } } end
    if request.turn == 2 then return { calls = { s.call("call_w", { task_ids = { 1 }, message = "Go" }) } } end
    return "all"
  end
  local asked = play { lead = lead }
  local reply, _, run = p.run(p.agents { lead = { tools = { "facilitator" }, agents = { "w" } }, w = { tools = { "specialist" } } }.lead)
  t.equal(reply.text, "all")
  check(asked, said(run))
  asked = play { boss = function(request)
    return request.turn == 1 and { calls = { s.call("delegate", { agent_name = "w", prompt = "Go" }) } } or "all"
  end }
  reply, _, run = p.run(p.agents { boss = { agents = { "w" } }, w = {} }.boss)
  t.equal(reply.text, "all")
  check(asked, said(run))
end)

t.test("messages to others that are arguments of a tool", function()
  local thought = "<think>" .. DRAFT .. "</think> "
  local asked = p.play {
    boss = function(request)
      return request.turn == 1 and { calls = { s.call("delegate", { agent_name = "w", prompt = thought .. "Go" }), s.call("delegate", { agent_name = "w", prompt = thought }) } } or "all"
    end,
  }
  p.run(p.agents { boss = { agents = { "w" } }, w = {} }.boss)
  t.equal(asked.w[1].last.text, "Go")
  t.equal(#asked.w, 1)
  t.has(asked.boss[2].last.text, "'prompt' has nothing but what you have thought")
  local function says(request)
    return request.last.role == "user" and { calls = { s.call("broadcast", { message = thought .. "from " .. request.model }), s.call "vote_conclude" } } or "ok"
  end
  asked = p.play { m = says, n = says }
  p.run(p.agents { lead = { team = { members = { "m", "n" }, max_rounds = 1 } }, m = {}, n = {} }.lead)
  t.has(asked.lead[1].last.text, "from m")
  check { lead = asked.lead }
  asked = p.play { r = function() return { calls = { s.call("route_to", { agent = "x", reason = "so", message = thought .. "Mind the date" }) } } end }
  p.run(p.agents { r = { router = true, agents = { "x" } }, x = {} }.r)
  t.has(asked.x[1].last.text, "Mind the date")
  check { x = asked.x }
  asked = p.play { lead = function(request)
    if request.turn == 1 then return { calls = { s.call("create_tasks", { tasks = { { text = "Look", assigned_to = "w" } } }) } } end
    return request.turn == 2 and { calls = { s.call("call_w", { task_ids = { 1 }, message = thought .. "Do task 1" }) } } or "all"
  end }
  p.run(p.agents { lead = { tools = { "facilitator" }, agents = { "w" } }, w = { tools = { "specialist" } } }.lead)
  t.equal(asked.w[1].last.text, "Do task 1")
end)

t.test("what is left of an answer that was cut", function()
  local asked = play { a = function() return { text = "Half", finish = "length" } end }
  local reply = p.run(p.agents { a = { handoff = "b" }, b = {} }.a)
  t.has(asked.b[1].last.text, "Half")
  check(asked, reply.text)
end)

return t.finish()
