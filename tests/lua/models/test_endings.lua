--- An answer whose end is not known to be good is no answer: it is tried again, given to the next model, and
--- fails the turn, the run and the task in the end, over every protocol.
local flow = require "hocket.flow"
local hocket = require "hocket"
local llm = require "hocket.llm"
local model = require "model"
local resolve = require("hocket.model").resolve
local support = require "sim_support"
local t = require "harness"

local quick = { retries = 2, first_timeout = 5, idle_timeout = 5 }

-- Answers with a fault `times` times, then well; counts.
local function broken(fault, times)
  local seen = { n = 0 }
  return function()
    seen.n = seen.n + 1
    return { text = "the whole answer", fault = seen.n <= times and fault or nil }
  end, seen
end

local faults = { ["broken-off"] = "provider", unsaid = "truncated" }

-- Side by side: between two attempts time passes.
local function each_way(fn)
  local ways = {}
  for _, protocol in ipairs(support.protocols) do
    for _, stream in ipairs { true, false } do ways[#ways + 1] = { protocol, stream } end
  end
  flow.map(ways, function(way) fn(way[1], way[2]) end)
end

for fault, code in pairs(faults) do
  t.test(fault .. ": it is tried again", function()
    each_way(function(protocol, stream)
      local script, seen = broken(fault, 2)
      local served <close> = support.serve(script)
      local history = support.history()
      local reply = assert(support.ask(support.model(served, protocol), history, { retries = 2, stream = stream }))
      t.equal(reply.text, "the whole answer")
      t.equal(reply.attempts, 3)
      t.equal(seen.n, 3)
      t.equal(#history, 2, "what broke off is in the conversation")
    end)
  end)

  t.test(fault .. ": it fails when it goes on", function()
    each_way(function(protocol, stream)
      local script, seen = broken(fault, 99)
      local served <close> = support.serve(script)
      local history = support.history()
      local err = t.fails(code, "", support.ask(support.model(served, protocol), history, { retries = 1, stream = stream }))
      t.equal(seen.n, 2)
      t.equal(err.gave_up, "attempts")
      t.equal(#history, 1)
    end)
  end)
end

t.test("the next model is asked, and a race is won by a whole answer", function()
  local bad, seen = broken("broken-off", 99)
  local worse <close> = model.serve(bad)
  local better <close> = model.serve(function() return "whole" end)
  local history = support.history()
  local reply = assert(llm.call({ assert(resolve(worse.id)), better.id }, history, quick))
  t.equal(reply.text, "whole")
  t.equal(reply.fallbacks[1].reason, "provider")
  t.has(reply.fallbacks[1].message, "broke the answer off")
  t.equal(seen.n, 3)
  t.equal(assert(llm.race { worse.id, better.id, history = support.history(), request = { retries = 0 } }).text, "whole")
end)

t.test("models that could not be resolved are among those that were given up, in their order", function()
  local bad = broken("broken-off", 99)
  local worse <close> = model.serve(bad)
  local better <close> = model.serve(function() return "whole" end)
  local hocket = require "hocket"
  local agent = hocket.agent { name = "a", prompt = "x", model = { "nowhere/x", worse.id, better.id }, retries = 0 }
  local reply = assert(hocket.run(agent, "Hello"))
  t.equal(reply.text, "whole")
  t.same({ reply.fallbacks[1].from, reply.fallbacks[1].to, reply.fallbacks[2].from, reply.fallbacks[2].to }, { "nowhere/x", worse.id, worse.id, better.id })
  t.has(reply.fallbacks[1].message, "nowhere")
  reply = assert(hocket.run(hocket.agent { name = "b", prompt = "x", model = { "nowhere/x", better.id } }, "Hello"))
  t.equal(#reply.fallbacks, 1)
end)

t.test("half an answer that was handed out is not said twice, and still fails", function()
  local script, seen = broken("broken-off", 99)
  local m <close> = model.serve(script)
  local parts = {}
  t.fails("provider", "broke the answer off", llm.call(assert(resolve(m.id)), support.history(), { retries = 2 },
    function(_, text) parts[#parts + 1] = text end))
  t.equal(table.concat(parts), "the whol")
  t.equal(seen.n, 1)
end)

t.test("a session ends with the error, and goes on from where it was", function()
  local n = 0
  local m <close> = model.serve(function()
    n = n + 1
    return n == 1 and { text = "half", finish = "error" } or "whole"
  end)
  local s = model.session(m, { retries = 0 })
  t.fails("provider", "broke the answer off", s:send "x")
  t.equal(assert(s:send "y").text, "whole")
end)

t.test("calls of an answer that broke off are not run", function()
  local ran
  local m <close> = model.list { { calls = { { name = "x", arguments = {} } }, finish = "error" } }
  local tool = hocket.tool { name = "x", description = "x", parameters = { type = "object" }, run = function() ran = true end }
  t.fails("provider", "", model.session(m, { retries = 0, tools = { tool } }):send "x")
  t.equal(ran, nil)
end)

t.test("a server that never says how its answers end is declared as one", function()
  local function serve(traits)
    return model.raw(function(listener, http)
      listener:begin(http.id, 200, { ["content-type"] = "text/event-stream" })
      listener:write(http.id, model.chunk "all of it" .. "data: [DONE]\n\n")
      listener:finish(http.id)
    end, { traits = traits })
  end
  local usual <close> = serve()
  local silent <close> = serve { finish_reason = false }
  t.fails("truncated", "no finish reason", llm.call(assert(resolve(usual.id)), support.history(), { retries = 0 }))
  t.equal(assert(llm.call(assert(resolve(silent.id)), support.history(), { retries = 0 })).text, "all of it")
  t.raises("finish_reason", hocket.provider, "x", { protocol = "openai_chat", base = "http://x", traits = { finish_reason = "no" } })
end)

-- ---- Above sessions -------------------------------------------------------------------------

t.test("a run fails, and says what its provider did", function()
  local m <close> = model.list { { text = "half", finish = "error" } }
  local agent = hocket.agent { name = "one", prompt = "p", retries = 0 }
  t.fails("provider", "broke the answer off", hocket.run(agent, "x", { model = m.id }))
end)

t.test("a specialist whose answer broke off has not done its task", function()
  local function script(request)
    if not request.tools.create_tasks then return { text = "half of the food", finish = "error" } end
    return ({
      { calls = { { name = "create_tasks", arguments = { tasks = { { text = "Find food", assigned_to = "food" } } } } } },
      { calls = { { name = "call_food", arguments = { task_ids = { 1 }, message = "Do task 1" } } } },
    })[request.turn] or request.last.text
  end
  local m <close> = model.serve(script)
  local team = {}
  hocket.agent { name = "food", description = "food", tools = { "specialist" }, prompt = "I am food.", team = team, retries = 0 }
  local lead = hocket.agent { name = "lead", tools = { "facilitator" }, agents = { "food" }, team = team, prompt = "I lead.",
    document = { { day = "integer" } } }
  local last
  local reply = assert(hocket.run(lead, "Food", { model = m.id, on_event = function(event) last = event end }))
  t.equal(last.tasks[1].status, "failed")
  t.has(last.tasks[1].error, "broke the answer off")
  t.lacks(reply.text, "half of the food")
end)

return t.finish()
