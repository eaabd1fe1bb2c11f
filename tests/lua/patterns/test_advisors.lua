--- Advisors: all well, one failing, one late, required ones, a quorum.
local t = require "harness"
local s = require "scripted"
local p = require "patterns_support"
local fiber = require "hocket.internal.core.fiber"
local hocket = require "hocket"

local function board(advisors)
  return p.agents {
    chief = { advisors = advisors or { "law", "risk", "tech" } }, law = {}, risk = {}, tech = {},
  }
end

t.test("all are asked side by side on the same input, and stand under the document's headings", function()
  local open, most = 0, 0
  local function advise(r)
    open = open + 1
    most = math.max(most, open)
    fiber.sleep(0.05)
    open = open - 1
    return "advice of " .. r.model
  end
  local asked = p.play { law = advise, risk = advise, tech = advise, chief = "decided" }
  local reply, _, run = p.run(board().chief, "Buy it?")
  t.equal(reply.text, "decided")
  t.equal(reply.agent, "chief")
  t.equal(most, 3)
  for _, name in ipairs { "law", "risk", "tech" } do t.equal(asked[name][1].last.text, "Buy it?") end
  local told = asked.chief[1].last.text
  local at = 0
  for _, heading in ipairs { "## ORIGINAL USER REQUEST", "## ANALYSIS GATHERED", "### From law", "### From risk", "### From tech" } do
    local found = told:find(heading, 1, true)
    t.ok(found and found > at, heading)
    at = found
  end
  t.equal(p.framed(told, "request", "the user"), "Buy it?")
  t.equal(p.framed(told, "advice", "risk"), "advice of risk")
  t.equal(run:usage().calls, 4)
  t.same(s.events(run, "advice_gathered")[1].advisors, {
    { agent = "law", ok = true }, { agent = "risk", ok = true }, { agent = "tech", ok = true } })
  t.equal(s.events(run, "agent_started")[1].trigger, "advisor")
end)

t.test("one that fails is reported in its own section", function()
  local asked = p.play { risk = p.broken }
  local reply, _, run = p.run(board().chief, "Buy it?")
  t.equal(reply.text, "from chief")
  local told = asked.chief[1].last.text
  t.has(told, "### From risk\n\n(No analysis: it failed.)")
  t.has(p.framed(told, "error", "risk"), "broken")
  t.equal(p.framed(told, "advice", "tech"), "from tech")
  local list = s.events(run, "advice_gathered")[1].advisors
  t.equal(list[2].ok, false)
  t.has(list[2].error, "broken")
end)

t.test("a late one is cancelled and reported", function()
  local late <close> = p.hold()
  local asked = p.play { tech = late.reply }
  local began = fiber.now()
  local reply = p.run(board { agents = { "law", "tech" }, timeout = 0.2 }.chief)
  t.equal(reply.text, "from chief")
  t.ok(fiber.now() - began < 5)
  t.has(asked.chief[1].last.text, "(No analysis: it was not done in time.)")
end)

t.test("when all fail the agent still answers", function()
  p.play { law = p.broken, risk = p.broken, tech = p.broken }
  t.equal(p.run(board().chief).text, "from chief")
end)

t.test("the agent has its own turn, however much its advisors would use", function()
  local asked = p.play {}
  local agents = p.agents { chief = { advisors = { "law", "risk", "tech" }, budget = { turns = 3 } }, law = {}, risk = {}, tech = {} }
  local reply, _, run = p.run(agents.chief)
  t.equal(reply.text, "from chief")
  t.equal(#(asked.law or {}) + #(asked.risk or {}) + #(asked.tech or {}), 2)
  t.equal(run:usage().calls, 3)
end)

t.test("a required one that fails ends it, and cancels the others", function()
  local late <close> = p.hold()
  local asked = p.play { risk = p.broken, tech = late.reply }
  local began = fiber.now()
  local _, err, run = p.run(board { agents = { "law", "risk", "tech" }, required = { "risk" } }.chief)
  t.has(err, "a required advisor failed: chief -> risk (advisor): ")
  t.has(err, "broken")
  t.ok(fiber.now() - began < 5)
  t.equal(asked.chief, nil)
  t.equal(#s.events(run, "task_cancelled"), 1)
end)

t.test("a quorum: with fewer it fails, as soon as that is sure", function()
  p.play { risk = p.broken }
  t.equal(p.run(board { agents = { "law", "risk", "tech" }, quorum = 2 }.chief).text, "from chief")
  local late <close> = p.hold()
  p.play { risk = p.broken, law = p.broken, tech = late.reply }
  local began = fiber.now()
  local _, err = p.run(board { agents = { "law", "risk", "tech" }, quorum = 2 }.chief)
  t.has(err, "1 of 3 advisors could still answer, and 2 have to")
  t.ok(fiber.now() - began < 5)
end)

t.test("a long analysis is cut, and says so", function()
  local asked = p.play { law = ("ä"):rep(200000) }
  p.run(board { "law" }.chief)
  t.has(asked.chief[1].last.text, "[cut here: 262142 of 400000 bytes]")
end)

t.test("a cancel reaches all of them", function()
  local late <close> = p.hold()
  p.play { law = late.reply, risk = late.reply, tech = late.reply }
  local agents = board()
  local get, one = s.start(function() return hocket.run(agents.chief, "Go") end)
  t.eventually(function() return late.waiting == 3 end)
  one:cancel()
  one:join(5)
  p.check(get())
  t.equal(#s.events(get(), "task_cancelled"), 4)
end)

t.test("by hand", function()
  local asked = p.play { risk = p.broken }
  local function make(name) return hocket.agent { name = name, model = "scripted/" .. name, prompt = name } end
  local chief, law, risk = make "chief", make "law", make "risk"
  local run, reply = s.run(function() return hocket.patterns.advisors.run(chief, { law, risk }, "Go") end)
  p.check(run)
  t.equal(reply.text, "from chief")
  t.equal(p.framed(asked.chief[1].last.text, "advice", "law"), "from law")
  local _, none, err = s.run(function() return hocket.patterns.advisors.run(chief, { law, risk }, "Go", { required = { "risk" } }) end)
  t.equal(none, nil)
  t.has(err, "a required advisor failed")
end)

return t.finish()
