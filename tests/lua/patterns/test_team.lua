--- Teams: two and seven members, each way to end, failing members, overflow.
local t = require "harness"
local s = require "scripted"
local p = require "patterns_support"
local hocket = require "hocket"

local call = s.call

local function say(text, vote)
  local calls = { call("broadcast", { message = text }) }
  if vote then calls[2] = call("vote_conclude", { reason = "all is said" }) end
  return { calls = calls }
end

-- The round that a member's newest message tells it of.
local function round_of(r)
  local round
  for _, message in ipairs(r.messages) do
    if message.role == "user" then round = message.text:match "This is round (%d+)" or round end
  end
  return tonumber(round)
end

-- A member that says something in every round, and votes in that one.
local function member(votes_in)
  return function(r)
    if r.last.role == "tool" then return "done" end
    local round = round_of(r)
    return say(("%s in round %d"):format(r.model, round), round == votes_in)
  end
end

local function panel(names, more)
  local settings = { members = names, max_rounds = 4 }
  for key, value in pairs(more or {}) do settings[key] = value end
  local defs = { chief = { team = settings } }
  for _, name in ipairs(names) do defs[name] = {} end
  return p.agents(defs)
end

local seven = { "m1", "m2", "m3", "m4", "m5", "m6", "m7" }

local function all(names, part, others)
  local parts = others or {}
  for _, name in ipairs(names) do parts[name] = parts[name] or part end
  return parts
end

local function finished(run)
  local list = s.events(run, "team_finished")
  t.equal(#list, 1)
  return list[1].reason, list[1].rounds
end

-- What a request's user messages say, put together.
local function heard(r)
  local texts = {}
  for _, message in ipairs(r.messages) do
    if message.role == "user" then texts[#texts + 1] = message.text end
  end
  return table.concat(texts, "\n")
end

for _, names in ipairs { { "m1", "m2" }, seven } do
  t.test(("%d members end by consensus"):format(#names), function()
    local asked = p.play(all(names, member(2), { chief = "the report" }))
    local reply, _, run = p.run(panel(names).chief, "Build it?")
    t.equal(reply.text, "the report")
    t.equal(reply.agent, "chief")
    local reason, rounds = finished(run)
    t.equal(reason, "consensus")
    t.equal(rounds, 2)
    t.equal(#s.events(run, "team_vote"), #names)
    t.equal(#s.events(run, "team_message"), 2 * #names)
    local told = asked.chief[1].last.text
    t.equal(#asked.chief, 1)
    t.equal(p.framed(told, "request", "the user"), "Build it?")
    for _, name in ipairs(names) do
      t.has(told, name .. " in round 1")
      t.has(told, name .. " in round 2")
    end
    t.equal(run:usage().calls, 4 * #names + 1)
  end)

  t.test(("%d members end after max_rounds, and have no votes then"):format(#names), function()
    local asked = p.play(all(names, member(), { chief = "the report" }))
    local _, _, run = p.run(panel(names, { termination_mode = "max_rounds", max_rounds = 3 }).chief)
    local reason, rounds = finished(run)
    t.equal(reason, "max_rounds")
    t.equal(rounds, 3)
    t.equal(asked[names[1]][1].tools.vote_conclude, nil)
    t.ok(asked[names[1]][1].tools.broadcast)
  end)

  t.test(("%d members without a consensus end after max_rounds"):format(#names), function()
    p.play(all(names, member(1), { [names[2]] = member() }))
    local reply, _, run = p.run(panel(names).chief)
    t.equal(reply.text, "from chief")
    t.equal(finished(run), "max_rounds")
  end)

  t.test(("the coordinator of %d decides"):format(#names), function()
    local asked = p.play(all(names, member(), { chief = function(r)
      if r.turn <= 2 then return { calls = { call("next_round", { message = "Think of cost" .. r.turn }) } } end
      return "decided"
    end }))
    local reply, _, run = p.run(panel(names, { termination_mode = "coordinator_decides" }).chief, "Build it?")
    t.equal(reply.text, "decided")
    local reason, rounds = finished(run)
    t.equal(reason, "coordinator_decides")
    t.equal(rounds, 2)
    t.has(asked.chief[2].last.text, names[2] .. " in round 1")
    t.lacks(asked.chief[3].last.text, "in round 1")
    t.has(asked.chief[3].last.text, names[1] .. " in round 2")
    t.equal(p.framed(heard(asked[names[1]][1]), "message", "chief"), "Think of cost1")
  end)
end

t.test("nobody sees half a round, everybody what was said before, and not its own words again", function()
  local asked = p.play { m1 = member(), m2 = function(r)
    if r.last.role == "tool" then return "done" end
    return { calls = say("m2 in round " .. round_of(r)).calls, latency = 0.1 }
  end }
  local _, _, run = p.run(panel({ "m1", "m2" }, { max_rounds = 3 }).chief)
  local seen = {}
  for _, name in ipairs { "m1", "m2" } do
    for _, r in ipairs(asked[name]) do
      if r.last.role == "user" then
        local round = round_of(r)
        seen[name .. round] = heard(r)
      end
    end
  end
  t.lacks(seen.m11, " in round 1\n")
  t.lacks(seen.m21, "m1 in round 1")
  t.has(seen.m12, "m2 in round 1")
  t.lacks(seen.m12, "m1 in round 1")
  t.has(seen.m22, "m1 in round 1")
  t.lacks(seen.m22, "in round 2\n</")
  local _, times = seen.m13:gsub("m2 in round 1", "")
  t.equal(times, 1, "each message once")
  t.has(seen.m13, "m2 in round 2")
  t.equal(#s.events(run, "round_started"), 3)
end)

t.test("a vote can be taken back", function()
  p.play { m1 = member(1), m2 = function(r)
    if r.last.role == "tool" then return "done" end
    return { calls = { call("vote_conclude", { ready = round_of(r) ~= 2 }) } }
  end, m3 = member(3) }
  local _, _, run = p.run(panel({ "m1", "m2", "m3" }).chief)
  local reason, rounds = finished(run)
  t.equal(reason, "consensus")
  t.equal(rounds, 3)
end)

t.test("who broadcasts nothing is heard by its answer", function()
  local asked = p.play { m1 = "just words", m2 = member(1) }
  p.run(panel({ "m1", "m2" }, { max_rounds = 1 }).chief)
  t.equal(p.framed(asked.chief[1].last.text, "message", "m1"), "just words")
end)

t.test("a member's failure is a message; it goes on in the next round, and knows all again", function()
  local tries = 0
  local asked = p.play { m1 = member(2), m2 = function(r)
    if r.last.role == "tool" then return "done" end
    tries = tries + 1
    if tries == 1 then return { status = 422, error = "not now" } end
    return say("m2 is back", true)
  end }
  local reply, _, run = p.run(panel({ "m1", "m2" }).chief, "Build it?")
  t.equal(reply.text, "from chief")
  t.equal(finished(run), "consensus")
  t.has(asked.m1[3].last.text, "### m2 failed")
  t.has(p.framed(asked.m1[3].last.text, "error", "m2"), "not now")
  local again = asked.m2[2].last.text
  t.equal(#asked.m2[2].messages, 1)
  t.equal(p.framed(again, "request", "the user"), "Build it?")
  t.has(again, "m1 in round 1")
  t.equal(s.events(run, "team_message")[2].failed, true)
end)

t.test("a member that max_tokens cuts has said something, and takes part in the next round", function()
  local team = p.agents { lead = { team = { members = { "m1", "m2" }, max_rounds = 2, termination_mode = "max_rounds" } }, m1 = {}, m2 = {} }
  local asked = p.play { m1 = { text = "half a thou", finish = "length" } }
  local reply, _, run = p.run(team.lead)
  t.ok(reply)
  t.equal(#asked.m1, 2, "both rounds")
  t.equal(#asked.m1[2].messages, 3, "its conversation goes on")
  t.equal(asked.m1[2].messages[2].text, "half a thou")
  local heard = p.framed(asked.m2[2].last.text, "message", "m1")
  t.has(heard, "half a thou\n[cut short: ")
  t.equal(s.events(run, "team_finished")[1].reason, "max_rounds")
  asked = p.play { m1 = { text = "a", finish = "length" }, m2 = { text = "b", finish = "length" } }
  t.ok(p.run(team.lead))
  t.equal(#asked.m2, 2, "a round in which all are cut is no failed one")
end)

t.test("so does a member that max_turns cuts", function()
  local team = p.agents { lead = { team = { members = { "m1", "m2" }, max_rounds = 2, termination_mode = "max_rounds" } }, m1 = { max_turns = 2 }, m2 = {} }
  local asked = p.play { m1 = function(request)
    return request.raw.tool_choice == "none" and "what I have" or { calls = { call("broadcast", { message = "news" }) } }
  end }
  t.ok(p.run(team.lead))
  t.equal(#asked.m1, 4, "two turns in each of two rounds")
end)

t.test("a member that can never answer leaves, and does not count for the consensus", function()
  p.play { m1 = member(2), m2 = { status = 401, error = "no key" } }
  local _, _, run = p.run(panel({ "m1", "m2" }).chief)
  local reason, rounds = finished(run)
  t.equal(reason, "consensus")
  t.equal(rounds, 2)
  t.equal(s.events(run, "round_started")[2].members, 1)
end)

t.test("when all fail the rounds end, and the coordinator still answers", function()
  local asked = p.play { m1 = p.broken, m2 = p.broken }
  local reply, _, run = p.run(panel({ "m1", "m2" }).chief)
  t.equal(reply.text, "from chief")
  t.equal(finished(run), "failed")
  t.has(asked.chief[1].last.text, "No member is left who could go on.")
end)

t.test("the coordinator answers also when its members have spent the budget", function()
  local asked = p.play { m1 = member(), m2 = member() }
  local agents = p.agents { chief = { team = { "m1", "m2" }, budget = { turns = 5 } }, m1 = {}, m2 = {} }
  local reply, _, run = p.run(agents.chief)
  t.equal(reply.text, "from chief")
  t.equal(#asked.chief, 1)
  t.ok(run:usage().calls <= 5, "more calls than the budget has")
end)

t.test("the coordinator's own failure is the team's", function()
  p.play { m1 = member(1), m2 = member(1), chief = p.broken }
  local _, err = p.run(panel({ "m1", "m2" }).chief)
  t.has(err, "broken")
end)

t.test("what does not fit into a round is refused, with how much is left", function()
  local asked = p.play { m1 = function(r)
    if r.turn == 1 then return say(("x"):rep(40)) end
    if r.turn == 2 then return say(("y"):rep(20)) end
    return say("short enough", true)
  end, m2 = function() return ("long words "):rep(20) end }
  asked.none = nil
  p.run(panel({ "m1", "m2" }, { max_rounds = 1, max_round_bytes = 100 }).chief)
  t.has(asked.m1[3].last.text, "too long: 10 bytes are left to you")
  local told = asked.chief[1].last.text
  t.lacks(told, "yyyy")
  local cut = p.framed(told, "message", "m2")
  t.has(cut, "[cut here")
  t.ok(#cut < 130, "the round's share")
end)

t.test("the coordinator's answer cancels what still runs", function()
  local late <close> = p.hold()
  local asked = p.play { m1 = member(), m2 = late.reply, chief = function(r)
    if r.turn == 1 then return { calls = { call("next_round", { timeout = 0.3 }) } } end
    return "enough"
  end }
  local reply, _, run = p.run(panel({ "m1", "m2" }, { termination_mode = "coordinator_decides" }).chief)
  t.equal(reply.text, "enough")
  t.has(asked.chief[2].last.text, "Round 1 goes on; at work: m2.")
  t.equal(#s.events(run, "task_cancelled"), 1)
  t.equal(finished(run), "coordinator_decides")
end)

t.test("the coordinator waits on for a round, and is told when there are no more", function()
  local asked = p.play { m1 = { text = "slow words", latency = 0.2 }, m2 = member(), chief = function(r)
    if r.turn <= 4 then return { calls = { call("next_round", { timeout = r.turn == 1 and 0.05 or nil }) } } end
    return "enough"
  end }
  local _, _, run = p.run(panel({ "m1", "m2" }, { termination_mode = "coordinator_decides", max_rounds = 2 }).chief)
  t.has(asked.chief[2].last.text, "goes on")
  t.has(asked.chief[3].last.text, "slow words")
  t.has(asked.chief[4].last.text, "The last round is over. Now write the answer.")
  t.has(asked.chief[5].last.text, "There are no more rounds")
  t.equal(finished(run), "max_rounds")
end)

t.test("a cancel in the middle of a round ends all of it", function()
  local late <close> = p.hold()
  p.play { m1 = late.reply, m2 = late.reply }
  local agents = panel { "m1", "m2" }
  local get, one = s.start(function() return hocket.run(agents.chief, "Go") end)
  t.eventually(function() return late.waiting == 2 end)
  one:cancel()
  one:join(5)
  p.check(get())
  t.equal(#s.events(get(), "task_cancelled"), 3)
end)

-- What the events of a type say, by agent: a list of a field's values.
local function told(run, type, agent, field)
  local values = {}
  for _, event in ipairs(s.events(run, type)) do
    if event.agent == agent then values[#values + 1] = event[field] end
  end
  return values
end

t.test("a conversation goes on over the rounds; what a member may do in one is counted anew, and what others have read counts", function()
  local fetched, sent = 0, 0
  local fetch = hocket.tool { name = "fetch", description = "Reads a page", max_calls = 1, taints = "web", effects = { "read" },
    run = function() fetched = fetched + 1 return "a page" end }
  local send = hocket.tool { name = "send", description = "Sends", effects = { "send" }, run = function() sent = sent + 1 return "sent" end }
  local function make(name, tool)
    return hocket.agent { name = name, model = "scripted/" .. name, prompt = name, tools = { tool } }
  end
  local asked = p.play {
    one = function(r) return r.last.role == "tool" and "read" or { calls = { call("fetch"), call("fetch") } } end,
    two = function(r) return r.last.role == "tool" and "told" or { calls = { call "send" } } end,
  }
  local run = s.run(function()
    return hocket.patterns.team.run(make("lead", send), { make("one", fetch), make("two", send) }, "Go", { termination_mode = "max_rounds", max_rounds = 3 })
  end)
  p.check(run)
  t.equal(fetched, 3)
  t.equal(#told(run, "tool_denied", "one", "tool"), 3)
  t.same(told(run, "model_request", "one", "turn"), { 1, 2, 1, 2, 1, 2 })
  t.same(told(run, "model_request", "one", "messages"), { 1, 4, 6, 9, 11, 14 })
  t.equal(#asked.one[6].messages, 14)
  local ops = told(run, "agent_started", "one", "op")
  t.ok(#ops == 3 and ops[1] ~= ops[2] and ops[2] ~= ops[3])
  t.same(told(run, "labels_added", "one", "labels"), { { "private", "web" } })
  t.equal(sent, 1)
  t.equal(#told(run, "tool_denied", "two", "tool"), 2)
end)

t.test("one agent twice in a team: neither hears the words of that name, and both hear all others", function()
  local asked = p.play { one = member(), two = member() }
  local function make(name) return hocket.agent { name = name, model = "scripted/" .. name, prompt = name } end
  local one = make "one"
  local run = s.run(function()
    return hocket.patterns.team.run(make "lead", { one, make "two", one }, "Go", { max_rounds = 2, termination_mode = "max_rounds" })
  end)
  p.check(run)
  local heard_two = 0
  for _, r in ipairs(asked.one) do
    if r.last.role == "user" and round_of(r) == 2 then
      heard_two = heard_two + 1
      t.has(r.last.text, "two in round 1")
      t.lacks(r.last.text, "one in round 1")
    end
  end
  t.equal(heard_two, 2)
end)

t.test("by hand", function()
  p.play { one = member(1), two = member(1), lead = "the report" }
  local function make(name) return hocket.agent { name = name, model = "scripted/" .. name, prompt = name } end
  local run, reply = s.run(function() return hocket.patterns.team.run(make "lead", { make "one", make "two" }, "Go", { max_rounds = 2 }) end)
  p.check(run)
  t.equal(reply.text, "the report")
  t.equal(finished(run), "consensus")
end)

return t.finish()
