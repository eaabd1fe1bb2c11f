--- Routers: right choices, wrong ones, none; fallbacks; tools before the choice.
local t = require "harness"
local s = require "scripted"
local p = require "patterns_support"
local hocket = require "hocket"
local json = require "hocket.json"
local model = require "model"

local function route(agent, more)
  local arguments = { agent = agent, reason = "it fits" }
  for name, value in pairs(more or {}) do arguments[name] = value end
  return { calls = { s.call("route_to", arguments) } }
end

local function desk(more)
  local frontmatter = { router = true, agents = { "legal", "billing" }, description = "Decides" }
  for name, value in pairs(more or {}) do frontmatter[name] = value end
  return p.agents { desk = frontmatter, legal = { description = "Contracts" }, billing = { description = "Invoices" } }
end

t.test("one turn, one tool; the chosen agent gets the request as it was", function()
  local asked = p.play { desk = route "billing" }
  local agents = desk()
  local reply, _, run = p.run(agents.desk, "My invoice is wrong")
  t.equal(reply.text, "from billing")
  t.equal(reply.agent, "billing")
  t.equal(#asked.desk, 1)
  local tools = {}
  for name in pairs(asked.desk[1].tools) do tools[#tools + 1] = name end
  t.same(tools, { "route_to" })
  t.same(asked.desk[1].tools.route_to.parameters.properties.agent.enum, { "legal", "billing" })
  t.has(asked.desk[1].tools.route_to.description, "billing: Invoices")
  t.equal(asked.billing[1].last.text, "My invoice is wrong")
  local routed = s.events(run, "routed")[1]
  t.equal(routed.to, "billing")
  t.equal(routed.reason, "it fits")
  t.equal(s.events(run, "agent_started")[1].trigger, "route")
  t.equal(run:usage().calls, 2)
end)

t.test("requests at once, by the same tool: each goes where its own router says", function()
  local flow = require "hocket.flow"
  p.play { desk = function(request)
    local asked = request.messages[1].text
    return route(asked:find "contract" and "legal" or asked:find "sports" and "nobody" or "billing")
  end }
  local agents = desk()
  local texts = { "My contract", "My invoice", "the sports", "Another contract" }
  local replies, errors
  s.run(function()
    replies, errors = flow.map(texts, function(text) return hocket.run(agents.desk, text) end)
    return { text = "" }
  end)
  t.equal(replies[1].agent, "legal")
  t.equal(replies[2].agent, "billing")
  t.equal(replies[4].agent, "legal")
  t.equal(replies[3], nil, "its own mistakes, and no one else's, end it")
  t.has(errors[3].message, "chose no agent")
end)

-- A server that holds its models to a schema: Ollama's protocol says that it is one.
local function bound(script)
  local asked = {}
  local m = model.serve(function(request)
    asked[#asked + 1] = request
    return script(request, #asked)
  end, nil, { protocol = "ollama" })
  return m, asked
end

t.test("at a server that holds its model to a schema the choice is a value of it", function()
  local m <close>, asked = bound(function() return [[{"reason":"it is about money","agent":"billing"}]] end)
  p.play {}
  local reply, err, run = p.run(desk({ model = m.id }).desk, "My invoice is wrong")
  t.ok(reply, tostring(err))
  t.equal(reply.text, "from billing")
  t.equal(reply.agent, "billing")
  t.same(asked[1].tools, {})
  t.equal(json.encode(asked[1].schema.properties), [[{"reason":{"maxLength":300,"type":"string"},"agent":{"enum":["legal","billing"],"type":"string"}}]])
  t.has(asked[1].system, "- billing: Invoices")
  t.equal(asked[1].raw.options.num_predict, 4096, "what is written has an end")
  t.equal(asked[1].last.text, "My invoice is wrong")
  local routed = s.events(run, "routed")[1]
  t.same({ routed.to, routed.reason }, { "billing", "it is about money" })
end)

t.test("a value that is no choice is told once, then the fallback answers", function()
  local function answers(list)
    p.play {}
    return bound(function(_, n) return list[n] end)
  end
  local m <close>, asked = answers { "Billing, I think.", [[{"reason":"x","agent":"legal"}]] }
  t.equal(p.run(desk({ model = m.id }).desk).agent, "legal")
  t.has(asked[2].last.text, "That was no choice")
  local other <close> = answers { "Billing.", [[{"agent":"sales","reason":"x"}]] }
  t.equal(p.run(desk({ fallback = "billing", model = other.id }).desk).agent, "billing")
  local third <close> = answers { "Billing.", "Billing!" }
  t.fails("model", "desk chose no agent", p.run(desk({ model = third.id }).desk))
  local fourth <close> = answers { "", "" }
  t.equal(p.run(desk({ fallback = "billing", model = fourth.id }).desk).agent, "billing")
end)

t.test("a message for the target stands in a frame beside the untouched request", function()
  local asked = p.play { desk = route("legal", { message = "An old customer.</message>" }) }
  p.run(desk().desk, "Is this lawful?")
  local told = asked.legal[1].last.text
  t.equal(told:sub(1, 15), "Is this lawful?")
  t.equal(p.framed(told, "message", "desk"), "An old customer.</message>")
end)

t.test("a router keeps nothing back of a budget: what it does not use is there for whom it chooses", function()
  p.play { desk = route "legal" }
  local reply = p.run(desk({ budget = { turns = 2 } }).desk)
  t.equal(reply.agent, "legal")
  p.play { desk = function(r) return route(r.turn == 1 and "sales" or "legal") end }
  t.equal(p.run(desk({ budget = { turns = 3 } }).desk).agent, "legal")
end)

t.test("a router that has one turn left chooses in it, and whom it chose is refused", function()
  local asked = p.play { desk = route "legal" }
  local reply, err = p.run(desk({ budget = { turns = 1 } }).desk)
  t.fails("budget", "desk -> legal (router): the budget of desk is used up: 1 turn", reply, err)
  t.equal(asked.desk[1].raw.tool_choice["function"].name, "route_to")
end)

-- What each of the router's turns had to call.
local function forced(more, part, options)
  local asked, list = p.play { desk = part or route "legal" }, {}
  s.run(function() return hocket.run(desk(more).desk, "Is this lawful?") end, options)
  for i, one in ipairs(asked.desk) do
    local choice = one.raw.tool_choice
    list[i] = type(choice) == "table" and choice["function"].name or choice or "free"
  end
  return table.concat(list, " ")
end

t.test("the call of route_to is forced, in each turn where nothing else can be done", function()
  t.equal(forced(), "route_to")
  t.equal(forced({}, function(r) return r.turn == 1 and "Legal, I think." or route "legal" end), "route_to route_to")
  hocket.tool.set("look_up", function() return hocket.tool { name = "look_up", description = "Look", run = function() return "seen" end } end)
  local function looks(r) return r.turn < 3 and { calls = { s.call "look_up" } } or route "legal" end
  t.equal(forced({ tools = { "look_up" }, max_turns = 3 }, looks), "free free route_to")
  t.equal(forced { reasoning = "low" }, "free", "it is to think first")
  t.equal(forced { reasoning = "none" }, "route_to")
end)

t.test("a wrong choice is told once, and made good", function()
  local asked = p.play { desk = function(r) return route(r.turn == 1 and "sales" or "legal") end }
  local reply, _, run = p.run(desk().desk)
  t.equal(reply.agent, "legal")
  t.equal(#asked.desk, 2)
  t.has(asked.desk[2].last.text, "billing")
  t.equal(s.events(run, "routed")[1].fallback, nil)
end)

t.test("a missing choice is told once, and made good", function()
  local asked = p.play { desk = function(r) return r.turn == 1 and "I think legal could do this." or route "legal" end }
  local reply = p.run(desk().desk)
  t.equal(reply.agent, "legal")
  t.has(asked.desk[2].last.text, "call route_to")
end)

local wrongs = {
  twice_wrong = function() return route "sales" end,
  never = function() return "I would rather answer myself." end,
  wrong_then_never = function(r) return r.turn == 1 and route "sales" or "Well." end,
  nothing = function() return "" end,
  blank = function() return " \n" end,
  no_json = function() return { calls = { { name = "route_to", arguments = "{agent" } } } end,
  other_tool = function() return { calls = { s.call("answer") } } end,
}

for name, part in pairs(wrongs) do
  t.test("without a valid choice the fallback answers: " .. name, function()
    local asked = p.play { desk = part }
    local reply, _, run = p.run(desk({ fallback = "legal" }).desk, "Help")
    t.equal(reply.agent, "legal")
    t.equal(#asked.desk, 2)
    t.equal(asked.legal[1].last.text, "Help")
    t.equal(s.events(run, "routed")[1].fallback, true)
  end)
  t.test("without a valid choice and a fallback it is an error: " .. name, function()
    local asked = p.play { desk = part }
    local _, err = p.run(desk().desk)
    t.equal(err.code, "model")
    t.has(err, "desk chose no agent")
    t.equal(#asked.desk, 2)
    t.equal(asked.legal, nil)
  end)
end

t.test("of two choices in one turn the first valid one counts", function()
  p.play { desk = { calls = { s.call("route_to", { agent = "sales", reason = "?" }), s.call("route_to", { agent = "legal", reason = "law" }),
    s.call("route_to", { agent = "billing", reason = "money" }) } } }
  local reply, _, run = p.run(desk().desk)
  t.equal(reply.agent, "legal")
  t.equal(#s.events(run, "routed"), 1)
end)

t.test("with tools and turns it looks first, and can choose in the last turn", function()
  local looked = 0
  hocket.tool.set("look_up", function()
    return hocket.tool { name = "look_up", description = "Look", run = function()
      looked = looked + 1
      return "seen " .. looked
    end }
  end)
  local asked = p.play { desk = function(r)
    if r.turn < 3 then return { calls = { s.call "look_up" } } end
    return route "legal"
  end }
  local reply = p.run(desk({ tools = { "look_up" }, max_turns = 3 }).desk)
  t.equal(reply.agent, "legal")
  t.equal(looked, 2)
  t.has(asked.desk[3].last.text, "Choose now")
  -- one that never chooses is told, and then given up
  asked = p.play { desk = function() return { calls = { s.call "look_up" } } end }
  local _, err = p.run(desk({ tools = { "look_up" }, max_turns = 3 }).desk)
  t.has(err, "chose no agent")
  t.equal(#asked.desk, 4)
end)

t.test("a provider's failure is no missing choice", function()
  p.play { desk = p.broken }
  local _, err = p.run(desk({ fallback = "legal" }).desk)
  t.has(err, "broken")
end)

t.test("the target's failure names the way there", function()
  p.play { desk = route "legal", legal = p.broken }
  local _, err = p.run(desk().desk)
  t.has(err, "desk -> legal (router): ")
end)

t.test("a caller's restrictions do not take route_to away", function()
  p.play { desk = route "legal" }
  local agents = desk()
  local run, reply = s.run(function() return hocket.orchestrate.call(agents.desk, "Go", { allowed = {} }) end)
  p.check(run)
  t.equal(reply.agent, "legal")
end)

t.test("by hand", function()
  p.play { one = route "three" }
  local one = hocket.agent { name = "one", model = "scripted/one", prompt = "1" }
  local two = hocket.agent { name = "two", model = "scripted/two", prompt = "2" }
  local three = hocket.agent { name = "three", model = "scripted/three", prompt = "3" }
  local run, reply = s.run(function() return hocket.patterns.router.run(one, { two, three }, "Go") end)
  p.check(run)
  t.equal(reply.agent, "three")
  p.play { one = "no" }
  run, reply = s.run(function() return hocket.patterns.router.run(one, { two }, "Go", { fallback = three }) end)
  p.check(run)
  t.equal(reply.agent, "three")
end)

return t.finish()
