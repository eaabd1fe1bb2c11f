--- Handoffs of which the model chooses: what is offered, what is passed on, models that lie, loop and are cut.
local t = require "harness"
local s = require "scripted"
local p = require "patterns_support"
local agents = require "hocket.agent"
local hocket = require "hocket"
local json = require "hocket.json"

local function hand(agent, response)
  return { calls = { s.call("handoff_to", { agent = agent, reason = "it fits", response = response or "so far" }) } }
end

local function desk(more, others)
  local defs = { desk = { handoff = { { agent = "legal", when = "it is about contracts" }, "billing" } }, legal = { description = "Contracts" }, billing = { description = "Invoices" } }
  for name, value in pairs(more or {}) do defs.desk[name] = value end
  for name, value in pairs(others or {}) do defs[name] = value end
  return p.agents(defs)
end

t.test("the model picks: the agent gets the request and the response, and its answer is the answer", function()
  local asked = p.play { desk = hand("billing", "two payments in May") }
  local reply, _, run = p.run(desk().desk, "I paid twice")
  t.equal(reply.text, "from billing")
  t.equal(reply.agent, "billing")
  local tool = asked.desk[1].tools.handoff_to
  t.same(tool.parameters.properties.agent.enum, { "legal", "billing" })
  t.has(tool.description, "legal: Contracts Choose it when: it is about contracts; billing: Invoices")
  t.equal(#asked.desk, 1, "its work ends with the call")
  local told = asked.billing[1].last.text
  t.equal(p.framed(told, "request", "the user"), "I paid twice")
  t.equal(p.framed(told, "response", "desk"), "two payments in May")
  t.same(p.story(run), { "desk handoff", "billing agent_started", "billing agent_finished" })
  local event = s.events(run, "handoff")[1]
  t.same({ event.from, event.to, event.reason, event.pass }, { "desk", "billing", "it fits" })
  t.equal(asked.billing[1].tools.handoff_to, nil)
end)

t.test("it may answer itself: then nothing is handed on, and its answer streams", function()
  p.play { desk = "of the desk" }
  local streamed = {}
  local reply, _, run = p.run(desk().desk, "Go", { on_delta = function(kind, piece)
    if kind == "text" then streamed[#streamed + 1] = piece end
  end })
  t.equal(reply.text, "of the desk")
  t.equal(reply.agent, "desk")
  t.equal(table.concat(streamed), "of the desk")
  t.equal(#s.events(run, "handoff"), 0)
  t.equal(reply.stage_cut, nil)
end)

t.test("a model that names nobody learns of it, and may choose again; a second choice in one turn does not count", function()
  local asked = p.play { desk = function(request)
    if request.turn == 1 then return hand "sales" end
    return { calls = { hand("legal", "the first").calls[1], hand("billing", "the second").calls[1] } }
  end }
  local reply = p.run(desk().desk)
  t.equal(reply.agent, "legal")
  t.has(asked.desk[2].last.text, "error")
  t.equal(p.framed(asked.legal[1].last.text, "response", "desk"), "the first")
end)

t.test("a model that loops comes to an end: wrong choices fail, and at its limit its last answer is the answer", function()
  p.play { desk = function(request)
    return request.last.text:find "last turn" and "enough" or { text = "I look", calls = hand("sales" .. request.turn).calls }
  end }
  t.fails("model", "wrong tool calls in 3 turns", p.run(desk().desk))
  local reply, _, run = p.run(desk({ max_turns = 2 }).desk)
  t.has(reply.text, "Cut short")
  t.equal(reply.cut.reason, "turns")
  t.equal(#s.events(run, "handoff"), 0)
end)

t.test("an empty answer in a conversation that is passed on does not fail the handoff", function()
  for _, pass in ipairs { "conversation", "summary" } do
    local turns = 0
    local asked = p.play { desk = function()
      turns = turns + 1
      return turns == 1 and { text = "" } or "at last"
    end, billing = "from billing", summary = "summed up" }
    local reply, err = p.run(p.agents { desk = { handoff = { agent = "billing", pass = pass } }, billing = {} }.desk)
    t.equal(reply and reply.text, "from billing", tostring(err))
    t.has((asked.summary or asked.billing)[1].last.text, "at last")
  end
end)

t.test("each agent is offered once in a chain: two that hand to each other end", function()
  local asked = p.play { a = hand "b", b = function(request) return request.tools.handoff_to and hand "c" or "b alone" end, c = "from c" }
  local team = p.agents { a = { handoff = { "b", "c" } }, b = { handoff = { "c" } }, c = {} }
  team.b.handoff[2] = { agent = "a", pass = "response" } -- past the check of files
  local reply, _, run = p.run(team.a)
  t.equal(reply.agent, "c")
  t.same(asked.b[1].tools.handoff_to.parameters.properties.agent.enum, { "c" })
  t.equal(#s.events(run, "handoff"), 2)
  team.c.handoff = { { agent = "a", pass = "response" }, { agent = "b", pass = "response" } }
  p.run(team.a)
  t.equal(asked.c[2].tools.handoff_to, nil, "nobody is left")
end)

t.test("a cut: of the chosen one with its path, and of a stage before it", function()
  local half = { text = "Half", finish = "length" }
  p.play { desk = hand "legal", legal = half }
  local reply = p.run(desk().desk)
  t.equal(reply.cut.reason, "length")
  t.same(reply.cut.path, { "desk", "legal" })
  p.play { desk = hand "legal", legal = half }
  local last, _, run = p.run(desk(nil, { legal = { handoff = "billing" } }).desk)
  t.equal(last.agent, "billing")
  t.same(last.stage_cut.path, { "desk", "legal" })
  t.equal(s.events(run, "workflow_finished")[1].partial[1].agent, "legal")
end)

t.test("a failure of the chosen one says which stages it has crossed", function()
  p.play { desk = hand "legal", legal = p.broken }
  local _, err = p.run(desk().desk)
  t.has(err, "desk -> legal (handoff): ")
  t.same(err.path, { "desk", "legal" })
end)

t.test("the conversation is passed on, its beginning left out where it is long", function()
  local team = desk { handoff = { { agent = "legal", pass = "conversation", prompt = "Judge it." } } }
  local asked = p.play { desk = hand("legal", "x") }
  local _, _, run = p.run(team.desk, "My contract")
  local told = asked.legal[1].last.text
  local said = p.framed(told, "conversation", "desk")
  t.has(said, "user: My contract")
  t.has(said, "assistant called handoff_to")
  t.has(told, "\n\n## YOUR TASK\n\nJudge it.")
  t.equal(s.events(run, "handoff")[1].pass, "conversation")
  asked = p.play { desk = hand("legal", "x") }
  p.run(team.desk, ("y"):rep(120000))
  said = p.framed(asked.legal[1].last.text, "conversation", "desk")
  t.has(said, "[1 earlier messages are left out]")
  t.lacks(said, "yyyy")
  asked = p.play { desk = hand("legal", ("é"):rep(60000) .. " signed on Monday") }
  p.run(team.desk, "My contract")
  said = p.framed(asked.legal[1].last.text, "conversation", "desk")
  t.has(said, "[its beginning is left out] é")
  t.has(said, "é signed on Monday")
  t.ok(#said <= 100200 and utf8.len(said), "its end, within the bound")
  asked = p.play { a = ("z"):rep(120000) .. " in the end" }
  p.run(p.agents({ a = { handoff = { agent = "b", pass = "conversation" } }, b = {} }).a, "Go")
  t.has(p.framed(asked.b[1].last.text, "conversation", "a"), "z in the end")
end)

t.test("a summary is made by the agent's own model, and is a call that counts", function()
  local asked = p.play { desk = function(request) return request.system:find "You sum up" and "in short" or hand("legal", "x") end }
  local _, _, run = p.run(desk({ handoff = { { agent = "legal", pass = "summary" } } }).desk, "My contract")
  t.equal(p.framed(asked.legal[1].last.text, "summary", "desk"), "in short")
  t.has(p.framed(asked.desk[2].last.text, "turns", "desk"), "user: My contract")
  t.equal(run:usage().calls, 3)
  p.play { desk = function(request) return request.system:find "You sum up" and p.broken or hand("legal", "x") end }
  local _, err = p.run(desk({ handoff = { { agent = "legal", pass = "summary" } } }).desk)
  t.has(err, "desk -> legal (handoff)")
end)

t.test("one handoff that is fixed may pass the conversation, too", function()
  local asked = p.play { a = "done" }
  p.run(p.agents({ a = { handoff = { agent = "b", pass = "conversation" } }, b = {} }).a, "Go")
  t.has(p.framed(asked.b[1].last.text, "conversation", "a"), "assistant: done")
end)

-- A team with a module beside its agents.
local function with_module(text, more)
  local dir <close> = t.dir()
  dir:write("rules.lua", text)
  for name, head in pairs { desk = "handoff: [{agent: legal, available: rules.may, pass: rules.short}, {agent: billing, pass: rules.short}]", legal = "", billing = "" } do
    dir:write(name .. ".md", ("---\nmodel: scripted/%s\n%s\n---\nYou are %s."):format(name, head, name))
  end
  return more(hocket.agents(dir.path))
end

t.test("a function of a module beside the file says who is offered, and what is passed on", function()
  with_module([[return { may = function(about) return about.request == "contract" end,
    short = function(about) return about.from .. ">" .. about.to .. ":" .. about.response:upper() .. #about.messages end }]], function(team)
    local asked = p.play { desk = hand("billing", "abc") }
    p.run(team.desk, "bill")
    t.same(asked.desk[1].tools.handoff_to.parameters.properties.agent.enum, { "billing" })
    t.equal(p.framed(asked.billing[1].last.text, "response", "desk"), "desk>billing:ABC3")
    p.run(team.desk, "contract")
    t.same(asked.desk[2].tools.handoff_to.parameters.properties.agent.enum, { "legal", "billing" })
  end)
end)

t.test("a function that raises, fails, is missing or returns no text ends the chain with its name", function()
  for body, wrong in pairs {
    ["short = function() error('broken', 0) end"] = "broken", ["short = function() return nil, 'not now' end"] = "not now",
    ["short = function() return 7 end"] = "returned number", ["long = 1"] = "no function 'short'",
  } do
    with_module("return { may = function() return true end, " .. body .. " }", function(team)
      p.play { desk = hand "legal" }
      local _, err = p.run(team.desk)
      t.has(err, wrong)
      t.has(err, "desk -> legal (handoff)")
    end)
  end
end)

t.test("what it hands on has the form of its output, and so has its own answer", function()
  local output = { type = "object", required = { "sum" }, properties = { sum = { type = "integer" } } }
  local asked = p.play { desk = function(request)
    if request.turn == 1 then return { calls = { s.call("handoff_to", { agent = "legal", reason = "so", response = { sum = "much" } }) } } end
    return { calls = { s.call("handoff_to", { agent = "legal", reason = "so", response = { sum = 3 } }) } }
  end }
  local team = desk({ output = output }, { legal = { input = output } })
  local reply = assert(p.run(team.desk))
  t.equal(reply.agent, "legal")
  t.equal(p.framed(asked.legal[1].last.text, "response", "desk"), '{"sum":3}')
  p.play { desk = '{"sum":4}' }
  t.equal(assert(p.run(team.desk)).value.sum, 4)
end)

-- ---- What is found out when files are loaded -------------------------------------------------------

local function wrong_of(files)
  local dir <close> = t.dir()
  for name, head in pairs(files) do dir:write(name .. ".md", ("---\n%s\n---\nYou are %s."):format(head, name)) end
  local _, problems = agents.read { dir.path }
  return (agents.explain(problems):gsub(dir.path:gsub("%p", "%%%0") .. "/", ""))
end

t.test("what is wrong with a list is said with its place", function()
  for head, wrong in pairs {
    ["handoff: []"] = "a.md:2:10: 'handoff' must name at least 1 agent", ["handoff: [b, b]"] = "a.md:2:14: 'handoff[2]' names 'b' a second time",
    ["handoff: [nobody]"] = "a.md:2:11: unknown agent 'nobody'", ["handoff: [{agent: b, pass: all}]"] = "must be response, conversation, summary or module.function",
    ["handoff: {agent: b, when: x}"] = "'when' is for a list of handoffs", ["handoff: [{agent: b, available: gone.fn}]"] = "module 'gone' not found",
    ["handoff: [b]\nrouter: true\nagents: [b]"] = "a router chooses already", ["handoff: [b]\npool: gpu"] = "an agent of a pool hands its response on to one agent",
    ["handoff: [a]"] = "in a circle: a -handoff-> a", ["handoff: [{agnt: b}]"] = "unknown key 'agnt'",
  } do
    t.has(wrong_of { a = head, b = "name: b" }, wrong)
  end
end)

t.test("an output that is not what the next one takes is an error with both places", function()
  local function wrong(output, input, handoff)
    return wrong_of { a = ("handoff: %s\noutput: %s"):format(handoff or "[b]", output), b = "input: " .. input }
  end
  local object = "{type: object, required: [n], properties: {n: {type: integer}}}"
  t.equal(wrong(object, object), "")
  t.equal(wrong("{type: object, properties: {n: {type: integer}}}", object),
    "a.md:3:9: what a hands on to b is not what that takes (input, b.md:2:8): /n is required there, and optional here")
  t.equal(wrong("{type: object}", object, "b"), "a.md:3:9: what a hands on to b is not what that takes (input, b.md:2:8): /n is required there, and not promised here")
  t.has(wrong("{type: array}", object), "the value may be of the type array, and has to be object there")
  t.has(wrong(object, "{type: object, properties: {n: {enum: [1, 2]}}}"), "/n may be any value here")
  t.has(wrong("{type: object, properties: {n: {enum: [3]}}}", "{type: object, properties: {n: {enum: [1, 2]}}}"), "/n may be 3, which is not taken there")
  t.has(wrong(object, "{type: object, additionalProperties: false}"), "/n is not taken there")
  t.has(wrong(object, object, "[{agent: b, pass: summary}]"), "'pass: summary' gives a text")
  t.equal(wrong(object, "{type: string}"), "", "a text takes everything")
  t.equal(wrong(object, "{anyOf: [{type: object}]}"), "", "nothing is certain")
  t.equal(wrong("{type: integer}", "{type: number}"), "")
  t.has(wrong_of { a = "router: true\nagents: [x]\nhandoff: b", x = "output: {type: array}", b = "input: " .. object }, "x.md")
end)

t.test("the bound of calls counts the dearest choice and a summary", function()
  local bounds = require "hocket.internal.agents.bounds"
  local team = p.agents { a = { handoff = { "b", { agent = "c", pass = "summary" } }, max_turns = 3 }, b = { max_turns = 5 }, c = { max_turns = 4 } }
  local all = bounds.of(team, true)
  t.equal(all.a.model_calls, 3 + 5 + 2)
  t.same(all.a.agents, { "b", "c" })
end)

t.test("a definition in Lua may name functions themselves", function()
  local asked = p.play { one = hand "two" }
  local team = {}
  agents.load { name = "two", model = "scripted/two", prompt = "2", team = team }
  local one = agents.load { name = "one", model = "scripted/one", prompt = "1", team = team,
    handoff = { { agent = "two", pass = function(about) return about.response .. "!" end } } }
  local run = s.run(function() return hocket.run(one, "Go") end)
  p.check(run)
  t.equal(p.framed(asked.two[1].last.text, "response", "one"), "so far!")
  t.equal(json.encode(s.events(run, "handoff")[1].pass), '"function"')
end)

return t.finish()
