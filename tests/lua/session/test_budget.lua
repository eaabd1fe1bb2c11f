-- Budgets, stop, cancel and loops, over the scripted model.
local t = require "harness"
local fiber = require "hocket.internal.core.fiber"
local flow = require "hocket.flow"
local hocket = require "hocket"
local json = require "hocket.json"
local model = require "model"
local prices = require "hocket.prices"
local s = require "scripted"

local call = s.call
prices.set("scripted/*", { input = 1, output = 1 })

local requests

-- Answers by the agent's name, which is its prompt; what it is asked is kept.
local function play(parts)
  requests = {}
  s.reply = function(request)
    requests[#requests + 1] = request
    local part = parts[request.system] or "?"
    local reply = type(part) == "function" and part(request) or part
    if type(reply) == "string" then reply = { text = reply } end
    reply.usage = reply.usage or { input = 100, output = 20 }
    return reply
  end
end

-- A model asked without tools: what every provider does with tool_choice "none".
local function is_last(request)
  return request.raw.tool_choice == "none"
end

-- Works with a tool for ever, and answers when it may not any more.
local function worker(text)
  local n = 0
  return function(request)
    if is_last(request) then return text or "what I have" end
    n = n + 1
    return { text = "step " .. n, calls = { call("work", { n = n }) } }
  end
end

local number = { type = "object", properties = { n = { type = "integer" } } }
local function work_tool(run)
  return hocket.tool { name = "work", description = "Works", parameters = number, run = run or function(args) return "done " .. args.n end }
end

local function alone(budget, tool)
  return s.team { a = { tools = { tool or work_tool() }, budget = budget } }.a
end

-- Every call of a conversation has its result, as the wire has it.
local function check_wire()
  for _, request in ipairs(requests) do
    local open = 0
    for _, message in ipairs(request.messages) do
      if message.role == "tool" then
        open = open - 1
      else
        t.equal(open, 0, "a call without a result")
        open = #(message.calls or {})
      end
    end
    t.equal(open, 0, "a call without a result at the end")
  end
end

-- ---- Limits -------------------------------------------------------------------------------------

t.test("turns of a run: the last one is asked without tools, and says that it was cut", function()
  play { a = worker() }
  local agent = alone()
  local run, reply = s.run(function() return hocket.run(agent, "Go") end, { budget = { turns = 4 } })
  t.equal(#requests, 4)
  t.ok(is_last(requests[4]) and not is_last(requests[3]))
  t.ok(requests[4].raw.tools, "the tools stay declared")
  t.has(requests[4].last.text, "This is your last turn")
  t.equal(reply.finish, "budget")
  t.has(reply.text, "what I have\n\n(Cut short: the budget of the run is as good as used up: 4 turns, 3 used.)")
  t.equal(reply.cut.reason, "budget")
  t.equal(s.events(run, "agent_cut")[1].reason, "budget")
  t.equal(run:usage().calls, 4)
  check_wire()
end)

t.test("a model that calls tools in its last turn: they are not run, and what it has said is its answer", function()
  local n, ran = 0, 0
  play { a = function(request)
    n = n + 1
    return { text = n == 2 and "half a thought" or "", calls = { call("work", { n = n }) } }
  end }
  local agent = alone(nil, work_tool(function(args) ran = ran + 1 return "done " .. args.n end))
  local history = require("hocket.llm").history()
  local _, reply = s.run(function() return hocket.run(agent, "Go", { history = history }) end, { budget = { turns = 4 } })
  t.equal(#requests, 4)
  t.equal(ran, 3)
  t.equal(reply.finish, "budget")
  t.has(reply.text, "half a thought\n\n(Cut short:")
  t.equal(history:messages()[#history].role, "tool")
end)

t.test("tokens and cost end in time", function()
  for _, budget in ipairs { { tokens = 1000 }, { cost = 0.001 } } do
    play { a = worker() }
    local agent = alone()
    local run, reply = s.run(function() return hocket.run(agent, "Go") end, { budget = budget })
    local usage = run:usage()
    t.equal(reply.finish, "budget")
    t.ok(usage.input + usage.output <= 1000, "used " .. usage.input + usage.output)
    t.ok(usage.input + usage.output >= 500)
  end
end)

t.test("zero means zero: nobody is asked", function()
  for _, budget in ipairs { { turns = 0 }, { tokens = 0 }, { cost = 0 }, { seconds = 0 } } do
    play { a = worker() }
    local agent = alone()
    local _, reply, err = s.run(function() return hocket.run(agent, "Go") end, { budget = budget })
    t.fails("budget", "the budget of the run is used up: 0", reply, err)
    t.equal(#requests, 0)
  end
end)

t.test("an agent without tools simply answers in its last turn", function()
  play { a = "whole" }
  local agent = s.team({ a = {} }).a
  local _, reply = s.run(function() return hocket.run(agent, "Go") end, { budget = { turns = 1 } })
  t.equal(reply.text, "whole")
  t.equal(reply.finish, "stop")
end)

t.test("a limit on cost needs a price", function()
  prices.set("scripted/*", nil)
  play { a = "x" }
  local agent = s.team({ a = {} }).a
  local _, reply, err = s.run(function() return hocket.run(agent, "Go") end, { budget = { cost = 1 } })
  t.fails("budget", "the price of scripted/a is not known: give it with --price scripted/a=IN,OUT", reply, err)
  t.equal(#requests, 0)
  prices.set("scripted/*", { input = 1, output = 1 })
end)

t.test("wall time is looked at before each turn", function()
  play { a = worker() }
  local agent = alone({ seconds = 0.2 }, work_tool(function() flow.sleep(0.15) return "slept" end))
  local _, reply = s.run(function() return hocket.run(agent, "Go") end)
  t.equal(reply.finish, "budget")
  t.has(reply.text, "the budget of a is as good as used up: 0.2 seconds")
  t.ok(#requests <= 4, #requests)
end)

t.test("tool calls", function()
  local ran = 0
  play { a = worker() }
  local agent = alone({ tool_calls = 2 }, work_tool(function() ran = ran + 1 return ran end))
  local run, reply = s.run(function() return hocket.run(agent, "Go") end)
  t.equal(ran, 2)
  t.equal(run:usage().tool_calls, 2)
  t.equal(reply.finish, "budget")
  t.has(reply.text, "2 tool calls, 2 used")
  check_wire()
end)

t.test("a warning, once, when most of it is used", function()
  play { a = worker() }
  local agent = alone { turns = 10, warn_at = 0.5 }
  local run = s.run(function() return hocket.run(agent, "Go") end)
  local warnings = s.events(run, "warning")
  t.equal(#warnings, 1)
  t.equal(warnings[1].message, "a has used 5 of 10 turns")
  t.equal(warnings[1].code, "budget")
end)

t.test("what is no budget is refused", function()
  play { a = "x" }
  local agent = s.team({ a = {} }).a
  for _, bad in ipairs { { turns = -1 }, { turns = 1.5 }, { tokens = "5" }, { euros = 1 }, { warn_at = 2 } } do
    s.run(function()
      t.raises("bad option 'budget'", hocket.run, agent, "Go", { budget = bad })
    end)
    t.raises("bad option 'budget'", s.run, function() end, { budget = bad })
  end
  t.equal(#requests, 0)
end)

-- ---- Over the tree ----------------------------------------------------------------------------------

t.test("whoever delegates can still answer when those below have used all there is", function()
  play {
    main = function(request)
      if is_last(request) then return "in the end" end
      return { calls = { call("delegate", { agent_name = "a", prompt = "Go" }) } }
    end,
    a = worker "so far",
  }
  local team = s.team { a = { description = "a", tools = { work_tool() } }, main = { description = "m", agents = { "a" } } }
  local run, reply = s.run(function() return hocket.run(team.main, "Go") end, { budget = { turns = 8 } })
  t.equal(reply.finish, "budget")
  t.has(reply.text, "in the end")
  t.equal(run:usage().calls, 8)
  local told = requests[8].messages[#requests[8].messages - 1].text
  t.has(told, "a was cut short: the budget of the run")
  t.has(told, "so far")
  check_wire()
end)

t.test("a facilitator's specialist that is cut has not done its tasks", function()
  local step = 0
  play {
    lead = function(request)
      if request.last.role == "tool" and step == 2 then return "heard: " .. request.last.text end
      step = step + 1
      if step == 1 then
        return { calls = { call("create_tasks", { tasks = { { text = "Find food", assigned_to = "food" } } }) } }
      end
      return { calls = { call("call_food", { task_ids = { 1 }, message = "Do task 1" }) } }
    end,
    food = function(request)
      return is_last(request) and "half of it" or { calls = { call "read_tasks" } }
    end,
  }
  local team = s.team { food = { description = "f", budget = { turns = 2 } }, lead = { description = "l", tools = { "facilitator" }, agents = { "food" } } }
  local run, reply = s.run(function() return hocket.run(team.lead, "Go") end)
  t.has(reply.text, "food was cut short: the budget of food")
  t.equal(run:tasks()[1].status, "failed")
  t.equal(run:tree().children[1].children[1].trigger, "dispatch")
end)

-- Gives the work to "a", and says what it heard.
local function delegates(request)
  if request.last.role == "tool" then return "heard: " .. request.last.text end
  return { calls = { call("delegate", { agent_name = "a", prompt = "Go" }) } }
end

t.test("an agent's own budget is its own: it is cut, and its caller goes on", function()
  play {
    main = delegates,
    a = worker(),
  }
  local team = s.team { a = { description = "a", tools = { work_tool() }, budget = { turns = 2 } }, main = { description = "m", agents = { "a" } } }
  local run, reply = s.run(function() return hocket.run(team.main, "Go") end)
  t.equal(reply.finish, "stop")
  t.has(reply.text, "a was cut short: the budget of a")
  t.equal(run:usage().calls, 4)
end)

-- A server that tells no usage, or zeros.
local function unmetered(usage)
  return model.raw(function(l, request)
    l:respond(request.id, 200, { ["content-type"] = "application/json" }, json.encode { id = "x", model = "m", usage = usage,
      choices = { { index = 0, finish_reason = "stop", message = { role = "assistant", content = ("reply "):rep(50) } } } })
  end)
end

t.test("limits bind by estimate where a server tells no usage, which is said once", function()
  for _, usage in ipairs { false, { prompt_tokens = 0, completion_tokens = 0, total_tokens = 0 } } do
    for _, budget in ipairs { { tokens = 2000 }, { cost = 0.002 } } do
      local m <close> = unmetered(usage or nil)
      prices.set(m.id, { input = 1, output = 1 })
      local agent = hocket.agent { name = "a", prompt = "You.", model = m.id }
      local n, err = 0, nil
      local run = s.run(function()
        for i = 1, 40 do
          local reply
          reply, err = hocket.run(agent, "number " .. i .. (" word"):rep(200))
          if not reply then return nil, err end
          n = n + 1
        end
        return { text = "" }
      end, { budget = budget })
      t.fails("budget", "the budget of the run", nil, err)
      t.ok(n >= 4 and n <= 6, n)
      local used = run:usage()
      t.ok(used.input + used.output > 1300 and used.input + used.output <= 2100, used.input + used.output)
      local said = 0
      for _, event in ipairs(s.events(run, "warning")) do said = said + (event.message:find("tells no usage", 1, true) and 1 or 0) end
      t.equal(said, 1)
      t.equal(s.events(run, "model_reply")[1].usage.input or 0, 0, "what was not told stays unknown")
    end
  end
end)

t.test("what a server tells is taken, and where nothing binds nothing is guessed", function()
  local m <close> = unmetered { prompt_tokens = 7, completion_tokens = 3, total_tokens = 10 }
  local agent = hocket.agent { name = "a", prompt = "You.", model = m.id }
  local run = s.run(function() return hocket.run(agent, "x") end, { budget = { tokens = 2000 } })
  t.same({ run:usage().input, run:usage().output, #s.events(run, "warning") }, { 7, 3, 0 })
  local n <close> = unmetered(nil)
  agent = hocket.agent { name = "b", prompt = "You.", model = n.id }
  run = s.run(function() return hocket.run(agent, "x") end)
  t.same({ run:usage().input, run:usage().output, #s.events(run, "warning") }, { 0, 0, 0 })
end)

t.test("a call is sent with what is left, and not at all where its input alone is too much", function()
  play { a = "ok" }
  local agent = s.team { a = {} }.a
  local _, reply = s.run(function() return hocket.run(agent, "Go") end, { budget = { tokens = 60 } })
  t.ok(reply)
  t.ok(requests[1].raw.max_tokens <= 44, requests[1].raw.max_tokens)
  local _, none, err = s.run(function() return hocket.run(agent, ("Go "):rep(100)) end, { budget = { tokens = 60 } })
  t.fails("budget", "has no room for a call with some 9", none, err)
  t.has(err.message, "tokens of input: 60 tokens, 0 used")
  t.equal(#requests, 1, "it was not sent")
end)

t.test("side by side they stay within, as each holds what it may need", function()
  play { a = function(request)
    flow.sleep(0.02)
    return { text = "x", usage = { input = 10, output = math.min(200, request.raw.max_tokens) } }
  end }
  local agent = s.team({ a = { max_tokens = 200 } }).a
  local list = {}
  for i = 1, 20 do list[i] = i end
  local done, refused = 0, 0
  local run = s.run(function()
    flow.map(list, function()
      local reply, err = hocket.run(agent, "Go")
      if reply then done = done + 1 else
        t.equal(err.code, "budget")
        refused = refused + 1
      end
      return true
    end)
    return { text = "" }
  end, { budget = { tokens = 1400 } })
  local usage = run:usage()
  t.ok(usage.input + usage.output <= 1400 + 210, usage.input + usage.output) -- by one call at most
  t.ok(done >= 5, done)
  t.equal(done + refused, 20)
end)

t.test("what is set aside comes back", function()
  local left = {}
  play { a = function() return "x" end }
  local agent = s.team({ a = {} }).a
  s.run(function(run)
    assert(hocket.run(agent, "Go", { budget = { turns = 6, reserve = true }, on_event = function(event)
      if event.type == "model_request" then left[#left + 1] = run.accounts:left(1, "turns") end
    end }))
    left[#left + 1] = run.accounts:left(1, "turns")
    return { text = "" }
  end, { budget = { turns = 10 } })
  t.same(left, { 4, 9 })
end)

t.test("what could not be set aside whole is said, with who had no more and what to do", function()
  play {
    main = delegates,
    a = worker(),
  }
  local function told(turns)
    local team = s.team { a = { description = "a", tools = { work_tool() }, budget = { turns = 4, reserve = true } },
      main = { description = "m", agents = { "a" }, budget = { turns = turns } } }
    local run, said = s.run(function() return hocket.run(team.main, "Go") end), {}
    for i, event in ipairs(s.events(run, "warning")) do said[i] = event.message end
    return table.concat(said, "\n")
  end
  local mend = " left to set aside for it: raise the budget of main, or let a reserve less)"
  t.has(told(2), "the budget of a is used up: 0 turns, 0 used (it reserves 4 turns, and main had 0" .. mend)
  t.has(told(3), "the budget of a is as good as used up: 1 turn, 0 used (it reserves 4 turns, and main had 1" .. mend)
  t.ok(not told(7):find("set aside", 1, true))
end)

-- ---- Stop, cancel, loops -----------------------------------------------------------------------------

t.test("stop: the turn is finished, then there is a last answer", function()
  play { a = worker() }
  local agent = alone(nil, work_tool(function(args)
    if args.n == 2 then hocket.this_run():stop() end
    return "done " .. args.n
  end))
  local run, reply = s.run(function() return hocket.run(agent, "Go") end)
  t.equal(reply.finish, "stopped")
  t.has(reply.text, "what I have")
  t.equal(#requests, 3)
  t.equal(requests[3].messages[#requests[3].messages - 1].text, "done 2")
  t.equal(#s.events(run, "run_stopped"), 1)
  check_wire()
end)

t.test("stop reaches everybody, in every depth, and ends a wait for a hold", function()
  play {
    main = function(request)
      if is_last(request) then return "main: over" end
      return { calls = { call("delegate", { agent_name = "a", prompt = "1" }), call("delegate", { agent_name = "a", prompt = "2" }) } }
    end,
    a = worker "a: over",
  }
  local team = s.team { a = { description = "a", tools = { work_tool(function() flow.sleep(0.05) return "x" .. fiber.now() end) } },
    main = { description = "m", agents = { "a" } } }
  local run, reply = s.run(function(run)
    flow.spawn(function() flow.sleep(0.2) run:stop() end)
    return hocket.run(team.main, "Go")
  end)
  t.equal(reply.finish, "stopped")
  t.has(reply.text, "main: over")
  check_wire()
end)

t.test("cancel: now, down to the sockets, and what was said stays valid", function()
  play { a = function(request)
    if #request.messages > 2 then flow.sleep(0.5) end
    return worker()(request)
  end }
  local agent, history = alone(), require("hocket.llm").history()
  local before = fiber.now()
  local run, reply, err = s.run(function(run)
    flow.spawn(function() flow.sleep(0.1) run:cancel() end)
    return hocket.run(agent, "Go", { history = history })
  end)
  t.fails("cancelled", "", reply, err)
  t.ok(fiber.now() - before < 0.4)
  t.equal(run:usage().calls, 2)
  t.equal(run:usage().unpriced, 1)
  local _, again = s.run(function()
    s.reply = function(request) requests[#requests + 1] = request return "and on" end
    return hocket.run(agent, "Go on", { history = history })
  end)
  t.equal(again.text, "and on")
  check_wire()
end)

t.test("a loop is told once, then the agent gives its last answer", function()
  play { a = function(request)
    if is_last(request) then return "I was going in circles" end
    return { calls = { call("work", { n = 1 }) } }
  end }
  local agent = alone()
  local run, reply = s.run(function() return hocket.run(agent, "Go") end)
  t.equal(reply.finish, "loop")
  t.has(reply.text, "I was going in circles")
  t.equal(#requests, 5)
  t.has(requests[4].last.text, "You have made this same call 3 times")
  t.equal(s.events(run, "agent_cut")[1].reason, "loop")
  check_wire()
end)

t.test("max_turns gives a last answer as well, within the turns", function()
  play { a = worker() }
  local agent = s.team({ a = { tools = { work_tool() }, max_turns = 3 } }).a
  local _, reply = s.run(function() return hocket.run(agent, "Go") end)
  t.equal(#requests, 3)
  t.equal(reply.finish, "turns")
  t.has(reply.text, "(max_turns)")
end)

-- ---- Random trees ---------------------------------------------------------------------------------------

local counted = { "input", "output", "calls", "tool_calls" }

local function check_tree(node)
  for _, field in ipairs(counted) do
    local sum = node.own[field]
    for _, child in ipairs(node.children) do sum = sum + child.total[field] end
    t.equal(node.total[field], sum, field)
  end
  for _, child in ipairs(node.children) do check_tree(child) end
end

-- Agents that work, delegate, fail, answer, as chance has it.
local function chaos(chance)
  return function(request)
    if chance(10) == 1 then return { status = 500, error = "boom" } end
    local usage = { input = chance(120), output = chance(60) }
    if is_last(request) or chance(4) == 1 or not request.raw.tools then return { text = "answer", usage = usage } end
    local calls = {}
    for i = 1, chance(3) do
      if request.tools.delegate and chance(2) == 1 then
        calls[i] = call("delegate", { agent_name = request.system == "top" and "middle" or "leaf", prompt = "do " .. chance(1000) })
      else
        calls[i] = call("work", { n = chance(1000000) })
      end
    end
    flow.sleep(chance(3) / 1000)
    return { text = "", calls = calls, usage = usage }
  end
end

local function random_run(seed)
  math.randomseed(seed)
  local chance = function(n) return math.random(n) end
  local tool = work_tool(function(args)
    if args.n % 7 == 0 then error "broken" end
    return "done " .. args.n
  end)
  local act = chaos(chance)
  play { top = act, middle = act, leaf = act }
  local team = s.team {
    leaf = { description = "l", tools = { tool }, budget = chance(2) == 1 and { turns = chance(4) } or nil, retries = 0, max_tokens = 60 },
    middle = { description = "m", tools = { tool }, agents = { "leaf" }, budget = chance(2) == 1 and { tokens = chance(3000), reserve = chance(2) == 1 } or nil, retries = 0, max_tokens = 60 },
    top = { description = "t", tools = { tool }, agents = { "middle", "leaf" }, retries = 0, max_tokens = 60 },
  }
  local limit = { turns = 5 + chance(25), tokens = 500 + chance(4000), cost = 0.004 }
  local end_at = chance(3)
  local run, reply, err = s.run(function(run)
    if end_at == 1 then flow.spawn(function() flow.sleep(chance(40) / 1000) run:cancel() end) end
    if end_at == 2 then flow.spawn(function() flow.sleep(chance(40) / 1000) run:stop() end) end
    local first, wrong = hocket.run(team.top, "Go")
    return first, wrong
  end, { budget = limit })
  local usage = run:usage()
  t.ok(reply or err, "an end")
  t.ok(usage.calls <= limit.turns, ("%d of %d turns"):format(usage.calls, limit.turns))
  t.ok(usage.input + usage.output <= limit.tokens + 180, ("%d of %d tokens"):format(usage.input + usage.output, limit.tokens))
  check_tree(run:tree())
  check_wire()
  local started, ended, pending = {}, {}, 0
  for _, event in ipairs(s.events(run)) do
    if event.type == "task_pending" then
      started[event.task], pending = true, pending + 1
    elseif event.type == "task_completed" or event.type == "task_failed" or event.type == "task_cancelled" then
      t.equal(ended[event.task], nil, "ended twice")
      ended[event.task] = true
    end
  end
  for task in pairs(started) do t.ok(ended[task], "a job without an end") end
  t.eventually(function() -- fibers that were cancelled need a moment to end
    return run.accounts:left(1, "turns") == limit.turns - run:usage().calls
  end, 2, "something is held after the end")
  return pending
end

t.test("random trees: within budget, every job ends once, sums are exact, nothing is held at the end", function()
  local jobs = 0
  for seed = 1, 60 do
    local ok, result = pcall(random_run, seed)
    if not ok then error(("seed %d: %s"):format(seed, type(result) == "table" and result.message or result), 0) end
    jobs = jobs + result
  end
  t.ok(jobs > 60, jobs) -- how many depends on when runs are stopped
end)

return t.finish()
