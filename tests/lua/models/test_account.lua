-- Who has used how much: the tree of a run.
local t = require "harness"
local fiber = require "hocket.internal.core.fiber"
local flow = require "hocket.flow"
local hocket = require "hocket"
local json = require "hocket.json"
local llm = require "hocket.llm"
local model = require "model"
local prices = require "hocket.prices"
local s = require "scripted"

local call = s.call
prices.set("scripted/*", { input = 1, output = 2 })

-- Answers by the agent's name, which is its prompt.
local function play(parts)
  s.reply = function(request)
    local part = parts[request.system] or "?"
    return type(part) == "function" and part(request) or part
  end
end

local function answer(text, input, output, calls)
  return { text = text, calls = calls, usage = { input = input, output = output } }
end

local function turns(list)
  return function(request)
    local n = 1
    for _, message in ipairs(request.messages) do if message.role == "assistant" then n = n + 1 end end
    return list[math.min(n, #list)]
  end
end

local counted = { "input", "output", "calls", "tool_calls" }

-- total = own + the children's, all the way down. Returns how many there are.
-- The tree as JSON says the same as the one of tables, but for the time that went by between.
local function check_json(run)
  local function timeless(node)
    node.seconds = nil
    for _, child in ipairs(node.children) do timeless(child) end
    return json.encode(node)
  end
  local written, encoded = run.accounts:tree_json(), json.encode(run:tree())
  t.equal(timeless(assert(json.decode(written))), timeless(json.decode(encoded)))
end

local function check_tree(node)
  local n = 1
  for _, field in ipairs(counted) do
    local sum = node.own[field]
    for _, child in ipairs(node.children) do sum = sum + child.total[field] end
    t.equal(node.total[field], sum, ("%s of %s"):format(field, node.agent or "the run"))
  end
  for _, child in ipairs(node.children) do n = n + check_tree(child) end
  return n
end

t.test("a tree of delegations, tagged with what made them, whose totals add up", function()
  play {
    main = turns {
      answer("", 100, 10, { call("delegate", { agent_name = "one", prompt = "A" }), call("delegate", { agent_name = "two", prompt = "B" }) }),
      answer("done", 200, 20),
    },
    one = turns { answer("", 1000, 1, { call("delegate", { agent_name = "two", prompt = "C" }) }), answer("1", 2000, 2) },
    two = answer("2", 10000, 3),
  }
  local team = s.team { two = { description = "2" }, one = { description = "1", agents = { "two" } },
    main = { description = "0", agents = { "one", "two" } } }
  local run, reply = s.run(function() return hocket.run(team.main, "Go") end)
  local tree = run:tree()
  check_json(run)
  t.equal(check_tree(tree), 5)
  local main = tree.children[1]
  t.equal(main.agent, "main")
  t.equal(main.trigger, nil)
  t.equal(main.own.input, 300)
  t.equal(main.own.tool_calls, 2)
  t.equal(main.total.input, 23300)
  t.equal(main.total.calls, 6)
  local one = main.children[1]
  t.equal(one.agent, "one")
  t.equal(one.trigger, "delegate")
  t.equal(one.children[1].agent, "two")
  t.equal(main.children[2].own.input, 10000)
  t.equal(tree.total.cost, 0.023378)
  t.same(reply.usage.input, run:usage().input)
  for _, event in ipairs(s.events(run, "agent_started")) do t.equal(event.trigger, "delegate") end
end)

t.test("a cost that is not known is not 0, and says of how many calls", function()
  play { a = answer("x", 10, 1), b = answer("y", 20, 2) }
  prices.set("scripted/*", nil)
  prices.set("scripted/a", { input = 100, output = 100 })
  local team = s.team { a = {}, b = {} }
  local run = s.run(function()
    assert(hocket.run(team.a, "1"))
    assert(hocket.run(team.b, "2"))
    return hocket.run(team.b, "3")
  end)
  local usage = run:usage()
  t.equal(usage.cost, json.null)
  t.equal(usage.unpriced, 2)
  t.equal(usage.cost_known, 0.0011)
  t.equal(run:tree().children[1].total.cost, 0.0011)
  t.equal(run:tree().children[1].total.unpriced, nil)
  prices.set("scripted/a", nil)
end)

t.test("a call that was cancelled is a call whose cost nobody knows", function()
  play { slow = function() flow.sleep(0.6) return "late" end }
  local team = s.team { slow = {} }
  local run = s.run(function()
    flow.timeout(0.1, function() return hocket.run(team.slow, "Go") end)
    return { text = "over" }
  end)
  local usage = run:usage()
  t.equal(usage.calls, 1)
  t.equal(usage.unpriced, 1)
  t.equal(usage.cost, json.null)
  t.equal(check_tree(run:tree()), 2)
end)

-- What a run has used whose one call is answered by answers[1], [2], …: functions of listener and id, or bytes.
local function used_with(answers, fields, first_timeout)
  local m <close> = model.raw(function(listener, http, n)
    local answer = answers[math.min(n, #answers)]
    if type(answer) == "function" then return answer(listener, http.id) end
    listener:begin(http.id, 200, { ["content-type"] = "text/event-stream" })
    listener:write(http.id, answer)
    listener:finish(http.id)
  end, fields)
  prices.set(m.id, { input = 100, output = 100 })
  local run, _, err = s.run(function()
    local history = llm.history()
    history:user "x"
    local request = { retries = #answers - 1, first_timeout = first_timeout or 10 }
    return llm.call(require("hocket.model").resolve(m.id), history, request)
  end)
  prices.set(m.id, nil)
  return run:usage(), err
end

local function refuse(status)
  return function(listener, id)
    listener:respond(id, status, { ["retry-after"] = "0.01" }, json.encode { error = { message = "no" } })
  end
end

local half = model.chunk "half"
local counts = 'data: {"choices":[],"usage":{"prompt_tokens":1000,"completion_tokens":10}}\n\n'
local good = model.chunk("whole", "stop") .. counts .. "data: [DONE]\n\n"

t.test("a call that failed is one, and costs what is known of it", function()
  local cases = {
    { "refused", { refuse(400) }, { calls = 1, cost = 0.0 } },
    { "refused for good", { refuse(429), refuse(429) }, { calls = 1, cost = 0.0 } },
    { "refused, and then not", { refuse(429), refuse(503), good }, { calls = 1, cost = 0.101, input = 1000 } },
    { "an error in the stream", { half .. 'data: {"error":{"message":"no"}}\n\n' }, { calls = 1, cost = json.null, unpriced = 1, cost_known = 0.0 } },
    { "counts before an error", { counts .. 'data: {"error":{"message":"no"}}\n\n' }, { calls = 1, cost = json.null, input = 1000 } },
    { "cut", { half }, { calls = 1, cost = json.null, unpriced = 1 } },
    { "cut, and then not", { half, good }, { calls = 2, cost = json.null, unpriced = 1, cost_known = 0.101 } },
    { "broken off with its counts", { model.chunk("half", "error") .. counts .. "data: [DONE]\n\n" }, { calls = 1, cost = 0.101, input = 1000 } },
    { "broken off without", { model.chunk("half", "error") .. "data: [DONE]\n\n" }, { calls = 1, cost = json.null, unpriced = 1 } },
    { "no JSON", { "<html>" }, { calls = 1, cost = json.null } },
    { "silence", { function() flow.sleep(1) end }, { calls = 1, cost = json.null, unpriced = 1 }, nil, 0.2 },
    { "Anthropic's beginning", { 'data: {"type":"message_start","message":{"usage":{"input_tokens":50,"output_tokens":1}}}\n\n' },
      { calls = 1, cost = json.null, input = 50 }, { protocol = "anthropic" } },
  }
  flow.map(cases, function(case)
    local usage = used_with(case[2], case[4], case[5])
    for field, value in pairs(case[3]) do t.equal(usage[field], value, ("%s: %s"):format(case[1], field)) end
  end)
end)

t.test("a server that is not there is called once, for nothing; what was not sent is no call", function()
  local gone
  do
    local m <close> = model.raw(function() end)
    gone = m.id
  end
  prices.set(gone, { input = 100, output = 100 })
  local function used(request)
    return s.run(function()
      local history = llm.history()
      history:user "x"
      return llm.call(require("hocket.model").resolve(gone), history, request)
    end):usage()
  end
  local usage = used { retries = 1 }
  t.equal(usage.calls, 1)
  t.equal(usage.cost, 0.0)
  t.equal(usage.unpriced, nil)
  t.equal(used({ tools = "no JSON" }).calls, 0)
  prices.set(gone, nil)
end)

t.test("what runs at home costs nothing, also when it breaks off", function()
  local m <close> = model.bytes(half)
  prices.set(m.id, { input = 0, output = 0 })
  local run = s.run(function()
    local history = llm.history()
    history:user "x"
    return llm.call(require("hocket.model").resolve(m.id), history, { retries = 0 })
  end)
  t.equal(run:usage().cost, 0.0)
  t.equal(run:usage().calls, 1)
  prices.set(m.id, nil)
end)

t.test("a script's own calls and races are the run's", function()
  play {}
  s.reply = function(request)
    if request.model == "slow" then flow.sleep(0.6) end
    return answer(request.model, 5, 5)
  end
  local run = s.run(function()
    local history = llm.history()
    history:user "x"
    assert(llm.call(require("hocket.model").resolve "scripted/one", history, {}))
    history:user "y"
    return llm.race { "scripted/slow", "scripted/fast", history = history }
  end)
  t.equal(run:usage().calls, 3)
  t.equal(run:usage().input, 10)
  t.equal(run:tree().own.calls, 3)
  check_json(run)
end)

t.test("jobs of a script are told apart only where agents work", function()
  play { a = answer("x", 10, 1) }
  local team = s.team { a = {} }
  local run = s.run(function()
    local jobs = hocket.broker()
    local ids = assert(jobs:submit_all {
      { run = function() return 1 end },
      { run = function(job)
        local reply = assert(hocket.run(team.a, "1"))
        t.equal(job:usage().input, 10)
        return reply.text
      end },
    })
    assert(jobs:wait_for(ids))
    return { text = "over" }
  end)
  local tree = run:tree()
  t.equal(check_tree(tree), 2)
  t.equal(tree.children[1].agent, "a")
end)

t.test("a run of many agents keeps the first ones apart, and all in the sums", function()
  play { a = answer("x", 1, 1) }
  local team = s.team { a = {} }
  local run = s.run(function()
    for _ = 1, 30 do
      local list = {}
      for i = 1, 40 do list[i] = i end
      assert(flow.map(list, function() return hocket.run(team.a, "1") end))
    end
    return { text = "over" }
  end)
  local tree = run:tree()
  check_json(run)
  t.equal(tree.total.calls, 1200)
  t.ok(#tree.children < 1001, #tree.children)
  t.equal(#tree.children + tree.merged, 1200)
end)

t.test("what runs is in the tree while it runs", function()
  play { slow = function() flow.sleep(0.3) return answer("late", 7, 1) end }
  local team = s.team { slow = {} }
  local run = s.run(function(run)
    local one = flow.spawn(function() return hocket.run(team.slow, "Go") end)
    fiber.sleep(0.1)
    t.equal(run:tree().children[1].agent, "slow")
    t.equal(run:tree().total.calls, 0)
    one:wait()
    return { text = "over" }
  end)
  local node = run:tree().children[1]
  t.ok(node.seconds >= 0.25 and node.seconds < 5, node.seconds)
  t.ok(node.own.seconds >= 0.25)
end)

return t.finish()
