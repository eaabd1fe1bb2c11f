--- What a person says to agents at work: who hears it, when, and what becomes of what nobody hears.
local t = require "harness"
local flow = require "hocket.flow"
local hocket = require "hocket"
local fiber = require "hocket.internal.core.fiber"
local orchestrate = require "hocket.orchestrate"
local s = require "scripted"
local sim = require "hocket.sim"
local tool = require "hocket.tool"

local call, calls, events = s.call, s.calls, s.events

-- The last message of a request.
local function last(request)
  return request.messages[#request.messages]
end

local function text_of(message)
  if message.text then return message.text end
  local texts = {}
  for i, part in ipairs(message.parts or {}) do texts[i] = part.text or "" end
  return table.concat(texts, "\n")
end

-- A tool during which something is said.
tool.set("dig", function()
  return tool { name = "dig", description = "digs", run = function()
    local run = orchestrate.current_run()
    if s.meanwhile then s.meanwhile(run) end
    return "dug"
  end }
end)

local function digger(more)
  local def = { tools = { "dig" } }
  for name, value in pairs(more or {}) do def[name] = value end
  return def
end

local function digs(request)
  if calls(request, "dig") == 0 then return { calls = { call "dig" } } end
  return "heard: " .. text_of(last(request))
end

-- Runs one agent that digs once, while fn(run) says something.
local function dig(fn, more)
  s.meanwhile = fn
  return s.run(function() return orchestrate.call(s.team({ lead = digger(more) }).lead, "Dig!") end)
end

s.reply = digs

t.test("it is heard before the next model call, behind the results, and told of", function()
  local id
  local run, reply = dig(function(run) id = assert(run:say "Deeper, please.") end)
  t.equal(id, "u1")
  t.has(reply.text, "[While you are at work the user says to you:]\n\nDeeper, please.")
  local received, delivered = events(run, "user_message_received"), events(run, "user_message_delivered")
  t.equal(#received, 1)
  t.equal(received[1].text, "Deeper, please.")
  t.equal(received[1].id, "u1")
  t.same(delivered[1].ids, { "u1" })
  t.equal(delivered[1].agent, "lead")
  t.equal(delivered[1].text, nil)
  local requests = events(run, "model_request")
  t.ok(received[1].seq < delivered[1].seq and delivered[1].seq < requests[2].seq and delivered[1].seq > requests[1].seq)
  t.equal(#events(run, "user_message_dropped"), 0)
end)

t.test("several are heard in their order, each once", function()
  s.reply = digs
  local _, reply = dig(function(run)
    for i = 1, 3 do t.equal(run:say("word " .. i), "u" .. i) end
  end)
  t.has(reply.text, "word 1\n\nword 2\n\nword 3")
end)

t.test("who was about to answer goes on, also on its last turn", function()
  for _, max in ipairs { 1, 40 } do
    local n = 0
    s.reply = function(request)
      n = n + 1
      if n <= 2 then assert(s.run_now:say("again " .. n)) end -- while the model answers
      return n == 3 and text_of(last(request)) or "answer " .. n
    end
    local run, reply = s.run(function(run)
      s.run_now = run
      return orchestrate.call(s.team({ lead = { max_turns = max } }).lead, "Hello")
    end)
    t.has(reply.text, "again 2")
    t.equal(n, 3)
    t.equal(reply.finish, "stop")
    t.equal(#events(run, "user_message_delivered"), 2)
    t.equal(events(run, "agent_message")[1].content, "answer 1")
  end
end)

t.test("the one last answer of who has no turn left is given with it", function()
  s.reply = function(request)
    local said = {}
    for i, message in ipairs(request.messages) do said[i] = text_of(message) end
    return calls(request, "dig") == 0 and { calls = { call "dig" } } or table.concat(said, "|")
  end
  local _, reply = dig(function(run) assert(run:say "Hurry.") end, { max_turns = 2 })
  t.has(reply.text, "Hurry.|[no answer after 2 turns")
  t.equal(reply.finish, "turns")
end)

-- ---- To whom ----------------------------------------------------------------------------------------

local function nested(fn)
  local team = s.team { lead = { agents = { "writer" }, tools = { "delegate" } }, writer = digger() }
  s.reply = function(request)
    if request.model == "lead" then
      if calls(request, "delegate") == 0 then return { calls = { call("delegate", { agent_name = "writer", prompt = "write" }) } } end
      local messages = request.messages
      return "lead: " .. text_of(messages[#messages]) .. " | " .. text_of(messages[#messages - 1])
    end
    return digs(request)
  end
  return s.run(function() return orchestrate.call(team.lead, "Go!", {}) end)
end

t.test("by name, by path, by the operation's id; who is not named works at the run itself", function()
  for _, to in ipairs { "writer", "lead/writer", "lead > writer", "o2" } do
    s.meanwhile = function(run) assert(run:say("Shorter.", to)) end
    local run, reply = nested()
    t.has(reply.text, "heard: [While", to)
    t.equal(events(run, "user_message_delivered")[1].agent, "writer", to)
    t.equal(events(run, "user_message_received")[1].agent, "writer", to)
  end
  s.meanwhile = function(run) assert(run:say "Shorter.") end
  local run, reply = nested()
  t.has(reply.text, "lead: [While you are at work")
  t.equal(events(run, "user_message_delivered")[1].agent, "lead")
end)

t.test("who is not there, has ended, or is several", function()
  local wrong = {}
  s.meanwhile = function(run)
    for _, to in ipairs { "wrter", "nobody", "writer/lead", "o9", "ead" } do wrong[to] = select(2, run:say("x", to)) end
    for name, text in pairs { empty = "", blank = " \n", bytes = "\255", long = ("x"):rep(70000) } do wrong[name] = select(2, run:say(text)) end
    wrong.number = select(2, run:say(12))
  end
  local run = nested()
  t.equal(wrong.wrter.code, "not_found")
  t.has(wrong.wrter.message, "did you mean 'writer'?")
  t.has(wrong.wrter.message, "lead (o1), lead/writer (o2)")
  t.equal(wrong.nobody.code, "not_found")
  t.equal(wrong["writer/lead"].code, "state")
  t.equal(wrong.o9.code, "not_found")
  t.equal(wrong.ead.code, "not_found")
  for _, name in ipairs { "empty", "blank", "bytes", "number" } do t.equal(wrong[name].code, "invalid", name) end
  t.equal(wrong.long.code, "limit")
  t.equal(#events(run, "user_message_received"), 0)
end)

t.test("who has ended says so; several of a name are told apart", function()
  local ended, several, heard
  s.reply = function(request)
    if request.model ~= "twin" then return "done" end
    if calls(request, "dig") > 0 then return "heard: " .. text_of(last(request)) end
    return { calls = { call "dig" } }
  end
  local at = 0
  s.meanwhile = function(run)
    at = at + 1
    if at == 1 then -- both are at work when something is said
      repeat fiber.sleep(0.005) until at > 1
      return
    end
    ended, several = select(2, run:say("x", "first")), select(2, run:say("x", "twin"))
    heard = assert(run:say("only you", "o3"))
  end
  local run = s.run(function()
    local team = s.team { first = {}, twin = digger() }
    assert(orchestrate.call(team.first, "Hello"))
    local both = flow.all { function() return orchestrate.call(team.twin, "a") end, function() return orchestrate.call(team.twin, "b") end }
    return both and { text = "ok" } or nil
  end)
  t.equal(ended.code, "state")
  t.has(ended.message, "'first' has ended")
  t.equal(several.code, "invalid")
  t.has(several.message, "twin (o2), twin (o3)")
  t.ok(heard)
  local delivered = events(run, "user_message_delivered")
  t.equal(#delivered, 1)
  t.equal(delivered[1].op, "o3")
end)

t.test("while nobody works it waits for who does next; who gives his work away leaves it to the next", function()
  s.reply = function(request) return request.model .. ": " .. text_of(last(request)) end
  local _, reply = s.run(function(run)
    assert(run:say "In French.")
    return orchestrate.call(s.team({ lead = {} }).lead, "Hello")
  end)
  t.has(reply.text, "lead: Hello\n\n[While")
  t.has(reply.text, "In French.")
  local team = s.team { after = {}, lead = {} }
  local said
  s.reply = function(request)
    if request.model == "after" and not said then said = assert(s.run_now:say "To whoever is there.") end
    return request.model .. ": " .. text_of(last(request))
  end
  local run, answer = s.run(function(run)
    s.run_now = run
    return orchestrate.call(team.lead, "Hello", { handoff = { team.after } })
  end)
  t.equal(said, "u1")
  t.has(answer.text, "after: ")
  t.equal(events(run, "user_message_delivered")[1].agent, "after")
end)

-- ---- What nobody hears ------------------------------------------------------------------------------

t.test("what nobody heard is told of as lost", function()
  local run = s.run(function(run)
    assert(run:say "Is anybody there?")
    return { text = "no" }
  end)
  t.has(events(run, "user_message_dropped")[1].reason, "the run ended")
  s.meanwhile = nil
  s.reply = function(request)
    assert(s.run_now:say("Listen.", "lead"))
    return calls(request, "dig") == 0 and { calls = { call "dig" } } or "x"
  end
  run = s.run(function(one)
    s.run_now = one
    return orchestrate.call(s.team({ lead = { max_turns = 2, tools = { "dig" } } }).lead, "Hello")
  end)
  local lost = events(run, "user_message_dropped")
  t.equal(#lost, 1)
  t.equal(lost[1].agent, "lead")
  t.has(lost[1].reason, "lead ended before it heard this")
end)

t.test("a hundred wait at most", function()
  local err
  s.reply = digs
  dig(function(run)
    for i = 1, 100 do assert(run:say("n " .. i)) end
    err = select(2, run:say "one more")
  end)
  t.equal(err.code, "limit")
end)

-- ---- In all protocols -------------------------------------------------------------------------------

t.test("it stands where each protocol lets it stand", function()
  for _, protocol in ipairs { "openai_chat", "openai_responses", "anthropic", "gemini", "ollama" } do
    local said
    local served = assert(sim.serve { reply = function(request)
      if calls(request, "dig") == 0 then return { calls = { call "dig", call "dig" } } end
      said = (said or 0) + 1
      if said == 1 then assert(s.run_now:say "Second.") end
      return said == 1 and "not yet" or text_of(last(request))
    end })
    local closing <close> = setmetatable({}, { __close = function() served:close() end })
    local name = "steer_" .. protocol
    local base = protocol:find "^openai" and served.base or protocol == "gemini" and served.root .. "/v1beta" or served.root
    hocket.provider(name, { protocol = protocol, base = base })
    s.meanwhile = function(run) assert(run:say "First.") end
    local run, reply, err = s.run(function(run)
      s.run_now = run
      return orchestrate.call(s.team({ lead = digger() }).lead, "Dig!", { override_model = name .. "/m" })
    end)
    t.ok(reply, protocol .. ": " .. tostring(err and err.message))
    t.has(reply.text, "Second.", protocol)
    local ids = {}
    for _, one in ipairs(events(run, "user_message_delivered")) do
      for _, id in ipairs(one.ids) do ids[#ids + 1] = id end
    end
    t.same(ids, { "u1", "u2", "u3" }, protocol)
  end
end)

return t.finish()
