--- Handoffs: one hop, many, circles, failures in between.
local t = require "harness"
local fence = require "hocket.fence"
local s = require "scripted"
local p = require "patterns_support"
local hocket = require "hocket"

t.test("one hop: the next agent gets the request and the response, and its answer is the answer", function()
  local asked = p.play { a = "a draft", b = "the answer" }
  local agents = p.agents { a = { handoff = "b" }, b = {} }
  local reply, _, run = p.run(agents.a, "Write it")
  t.equal(reply.text, "the answer")
  t.equal(reply.agent, "b")
  t.equal(asked.a[1].last.text, "Write it")
  local told = asked.b[1].last.text
  t.equal(p.framed(told, "request", "the user"), "Write it")
  t.equal(p.framed(told, "response", "a"), "a draft")
  t.same(p.story(run), { "a handoff", "b agent_started", "b agent_finished" })
  local handoff = s.events(run, "handoff")[1]
  t.equal(handoff.from .. handoff.to, "ab")
  t.equal(s.events(run, "agent_started")[1].trigger, "handoff")
  t.equal(s.events(run, "agent_message")[1].content, "a draft")
  t.equal(s.events(run, "final_answer")[1].content, "the answer")
end)

t.test("a text of any length reaches the event, the model and the next agent as it is", function()
  local agents = p.agents { a = { handoff = "b" }, b = {} }
  for _, n in ipairs { 100, 511, 512, 513, 4000, 8191, 8192, 8193, 70000 } do
    for _, mark in ipairs { "x", "\\", '"', "\n\27é" } do -- of one length, one after the other
      local text = ("%s%s%s"):format(mark, ('a "word"\n'):rep(n // 10), mark):sub(1, n) .. "."
      local asked = p.play { a = text, b = function(r) return r.last.text end }
      local reply, _, run = p.run(agents.a, text)
      local told = asked.b[1].last.text
      t.ok(asked.a[1].last.text == text and p.framed(told, "request", "the user") == text and p.framed(told, "response", "a") == text)
      t.ok(s.events(run, "agent_started")[1].message == told and reply.text == fence.without(told))
    end
  end
end)

t.test("a chain of forty: each gets the request and the one response before it", function()
  local defs, n = {}, 40
  for i = 1, n do defs[("a%02d"):format(i)] = { handoff = i < n and ("a%02d"):format(i + 1) or nil } end
  local asked = p.play {}
  local agents = p.agents(defs)
  local reply, _, run = p.run(agents.a01, "Go on")
  t.equal(reply.text, "from a40")
  t.equal(#s.events(run, "handoff"), n - 1)
  t.equal(run:usage().calls, n)
  for i = 2, n do
    local told = asked[("a%02d"):format(i)][1].last.text
    t.equal(p.framed(told, "request", "the user"), "Go on")
    t.equal(p.framed(told, "response", ("a%02d"):format(i - 1)), ("from a%02d"):format(i - 1))
    if i > 2 then t.lacks(told, ("from a%02d"):format(i - 2)) end
  end
end)

t.test("only the last one streams, and only its answer has the form that is asked for", function()
  local asked = p.play { a = "one two", b = "three four" }
  local agents = p.agents { a = { handoff = "b" }, b = {} }
  local streamed = {}
  p.run(agents.a, "Go", { on_delta = function(kind, piece)
    if kind == "text" then streamed[#streamed + 1] = piece end
  end })
  local whole = table.concat(streamed)
  t.has(whole, "four")
  t.lacks(whole, "one")
  t.equal(#asked.a, 1)
end)

t.test("a failure says which stages it has crossed", function()
  p.play { c = p.broken }
  local agents = p.agents { a = { handoff = "b" }, b = { handoff = "c" }, c = { handoff = "d" }, d = {} }
  local reply, err, run = p.run(agents.a)
  t.equal(reply, nil)
  t.has(err, "a -> b -> c (handoff): ")
  t.has(err, "broken")
  t.equal(err.stages[1].to, "c")
  t.equal(#s.events(run, "model_reply"), 2)
end)

t.test("an agent's own failure ends the chain before it began", function()
  p.play { a = p.broken }
  local agents = p.agents { a = { handoff = "b" }, b = {} }
  local _, err, run = p.run(agents.a)
  t.has(err, "broken")
  t.equal(#s.events(run, "handoff"), 0)
end)

t.test("a circle is refused when it is run into, with the whole path", function()
  p.play {}
  local agents = p.agents { a = { handoff = "b" }, b = { handoff = "c" }, c = {} }
  agents.c.handoff = "a" -- past the check of files
  local _, err = p.run(agents.a)
  t.has(err, "the handoffs go in a circle: a -> b -> c -> a")
  t.equal(err.code, "agent")
  agents.c.handoff = "nobody"
  _, err = p.run(agents.a)
  t.has(err, "there is no agent 'nobody'")
end)

t.test("circles over other edges end at the depth guard, which names them", function()
  p.play { r = function() return { calls = { s.call("route_to", { agent = "x", reason = "so" }) } } end }
  local agents = p.agents { a = { advisors = { "b" } }, b = {}, r = { router = true, agents = { "x" } }, x = {}, m = { team = { members = { "n" }, max_rounds = 1 } }, n = {} }
  agents.b.handoff = "a"
  local _, err = p.run(agents.a)
  t.equal(err, nil, "an advisor's failure is told, and the rest goes on")
  agents.x.handoff = "r"
  _, err = p.run(agents.r)
  t.has(err, "more than 16 deep: r > x > r > x")
  agents.n.handoff = "m"
  local reply = p.run(agents.m)
  t.equal(reply.agent, "m")
end)

t.test("by hand: agents one after the other", function()
  local asked = p.play {}
  local one = hocket.agent { name = "one", model = "scripted/one", prompt = "1" }
  local two = hocket.agent { name = "two", model = "scripted/two", prompt = "2" }
  local three = hocket.agent { name = "three", model = "scripted/three", prompt = "3" }
  local run, reply = s.run(function() return hocket.patterns.handoff.run({ one, two, three }, "Go") end)
  p.check(run)
  t.equal(reply.agent, "three")
  t.equal(p.framed(asked.three[1].last.text, "response", "two"), "from two")
  t.raises("a list of agents", hocket.patterns.handoff.run, {}, "Go")
end)

t.test("a response that is not whole is handed on as such; a last one that is not whole says so", function()
  local asked = p.play { a = { text = "Half an ans", finish = "length" }, b = "whole" }
  local reply = p.run(p.agents({ a = { handoff = "b" }, b = {} }).a)
  t.equal(reply.text, "whole")
  t.equal(reply.cut, nil)
  t.has(asked.b[1].last.text, "(It is not whole: the answer was cut by the token limit (max_tokens).)")
  p.play { a = "whole", b = { text = "Half an ans", finish = "length" } }
  reply = p.run(p.agents({ a = { handoff = "b" }, b = {} }).a)
  t.equal(reply.cut.reason, "length")
end)

local half = { text = "Half an ans", finish = "length" }

local function partial_of(run)
  local events = s.events(run, "workflow_finished")
  return events[1].partial or {}
end

t.test("an answer that was made of a stage that was cut is partial", function()
  for cut, defs in pairs {
    a = { a = { handoff = "b" }, b = {} }, b = { a = { handoff = "b" }, b = { handoff = "c" }, c = {} },
    x = { a = { router = true, agents = { "x" }, handoff = "b" }, x = { handoff = "y" }, y = {}, b = {} }, -- a chain in the first stage of another
  } do
    p.play { [cut] = half, a = defs.x and { calls = { s.call("route_to", { agent = "x", reason = "so" }) } } or cut == "a" and half or nil }
    local reply, _, run = p.run(p.agents(defs).a)
    t.equal(reply.cut, nil)
    t.equal(reply.stage_cut.agent, cut)
    local partial = partial_of(run)
    t.equal(#partial, 1, cut)
    t.equal(partial[1].agent, cut)
    t.equal(partial[1].error, (cut == "a" and "a" or "a -> " .. cut) .. " was cut short: the answer was cut by the token limit (max_tokens)")
  end
  p.play {}
  local reply, _, run = p.run(p.agents({ a = { handoff = "b" }, b = {} }).a)
  t.equal(reply.stage_cut, nil)
  t.equal(#partial_of(run), 0)
end)

t.test("whoever called such a chain hears that it has failed, and may ask again", function()
  local tries = 0
  local function twice(request)
    if request.turn > 2 then return "all" end
    return { calls = { s.call("delegate", { agent_name = "w", prompt = "Go" }) } }
  end
  for _, mends in ipairs { false, true } do
    tries = 0
    local asked = p.play { a = twice, w = function()
      tries = tries + 1
      return (tries == 1 or not mends) and half or "whole"
    end, v = "of v" }
    local reply, _, run = p.run(p.agents({ a = { agents = { "w" } }, w = { handoff = "v" }, v = {} }).a)
    t.equal(reply.text, "all")
    local told = asked.a[2].last.text
    t.has(told, "w was cut short: the answer was cut by the token limit")
    t.equal(p.framed(told, "unfinished", "the answer so far"), "of v")
    t.equal(#partial_of(run), mends and 0 or 2)
  end
end)

t.test("a script asks a chain again, with success", function()
  local tries = 0
  p.play { a = function()
    tries = tries + 1
    return tries == 1 and half or "whole"
  end }
  local a = p.agents({ a = { handoff = "b" }, b = {} }).a
  local run = s.run(function()
    hocket.run(a, "Go")
    return hocket.run(a, "Go")
  end)
  t.equal(#partial_of(run), 0)
end)

return t.finish()
