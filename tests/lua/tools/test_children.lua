--- What a caller chooses for one call, children that begin with the caller's conversation, and children that are asked again.
local t = require "harness"
local s = require "scripted"
local hocket = require "hocket"
local agents = require "hocket.agent"
local json = require "hocket.json"

local call = s.call

-- All agents are in one team, whoever names whom; `main` is asked.
local function run_main(defs, parts)
  s.reply = function(request) return (parts[request.model] or function() return "from " .. request.model end)(request) end
  local team, main = {}, nil
  for _, name in ipairs { "helper", "third", "boss", "main" } do
    local def = defs[name]
    if def then
      def.name, def.model, def.prompt, def.team = name, def.model or "scripted/" .. name, def.prompt or name, team
      main = agents.load(def)
    end
  end
  return s.run(function() return hocket.run(main, "Go") end)
end

local function tool_named(request, name) return request.tools[name] end

-- The main agent delegates once, with these arguments, and gives back what it hears.
local function delegating(args, look)
  args.agent_name, args.prompt = args.agent_name or "helper", args.prompt or "Help"
  return function(r)
    if look then look(r) end
    if r.last.role == "user" then return { calls = { call("delegate", args) } } end
    return r.last.text
  end
end

-- ---- per_call ---------------------------------------------------------------------------------------

local open = { model = { "scripted/other", "scripted/third" }, reasoning = { "low", "high" }, output = true, limits = true }

t.test("without per_call the tools are as ever", function()
  local looked = false
  run_main({ main = { agents = { "helper" } }, helper = { description = "Helps" } }, { main = delegating({}, function(r)
    local names = {}
    for name in pairs(tool_named(r, "delegate").parameters.properties) do names[#names + 1] = name end
    table.sort(names)
    looked = table.concat(names, " ")
  end) })
  t.equal(looked, "agent_name prompt")
end)

t.test("a caller chooses model, effort, schema and limits within the file", function()
  local seen
  local run, reply = run_main({ main = { agents = { "helper" } }, helper = { description = "Helps", per_call = open, budget = { turns = 5 } } }, {
    main = delegating({ model = "scripted/other", reasoning = "low", output = { type = "object", required = json.array { "n" }, properties = { n = { type = "integer" } } }, limits = { turns = 3 } },
      function(r)
        local properties = tool_named(r, "delegate").parameters.properties
        t.equal(json.encode(properties.model.enum), '["scripted/other","scripted/third"]')
        t.equal(json.encode(properties.reasoning.enum), '["low","high"]')
        t.equal(properties.context, nil)
        t.equal(tool_named(r, "submit_task").parameters.properties.limits.type, "object")
      end),
    other = function(r)
      seen = r
      return '{"n": 7}'
    end,
  })
  t.has(reply.text, '{"n": 7}')
  t.equal(seen.model, "other")
  t.equal(seen.reasoning, "low")
  t.equal(#s.events(run, "task_completed"), 2)
end)

t.test("what the file does not allow is refused, and nothing is asked", function()
  local asked = 0
  local function helper()
    asked = asked + 1
    return "x"
  end
  local parts = { helper = helper, other = helper, dear = helper }
  local defs = function(allowed) return { main = { agents = { "helper" } }, helper = { description = "Helps", per_call = allowed } } end
  for _, one in ipairs {
    { { model = "scripted/dear" }, open, "/model: " },
    { { reasoning = "max" }, open, "/reasoning: " },
    { { output = { type = "object" } }, { limits = true }, "does not allow another schema of its answer for one call (per_call in its file)" },
    { { limits = { cost = 1 } }, { output = true }, "does not allow other limits for one call" },
    { { model = "scripted/other" }, { output = true }, "does not allow the model 'scripted/other' for one call" },
    { { context = "fork" }, { output = true }, "does not allow context 'fork' for one call" },
    { { output = { type = 3 } }, open, "the output is no JSON Schema" },
    { { limits = { turns = 0 } }, open, "/limits/turns: " },
  } do
    parts.main = delegating(one[1])
    local _, reply = run_main(defs(one[2]), parts)
    t.has(reply.text, one[3])
  end
  t.equal(asked, 0)
end)

t.test("of two limits the smaller counts", function()
  local turns = 0
  local defs = { main = { agents = { "helper" } }, helper = { description = "Helps", per_call = { limits = true }, budget = { turns = 2 }, tools = { hocket.tool {
    name = "look", description = "Look", run = function() return "a thing" end } } } }
  run_main(defs, { main = delegating { limits = { turns = 50 } }, helper = function()
    turns = turns + 1
    return turns < 9 and { calls = { call("look", {}) } } or "done"
  end })
  t.equal(turns, 2)
end)

t.test("the key is checked", function()
  local function wrong(text)
    local _, problems = agents.parse(("---\nname: a\nper_call: %s\n---\nx"):format(text), "a.md")
    return agents.explain(problems)
  end
  t.equal(wrong "{model: sim/a, reasoning: low, context: fork}", "")
  t.has(wrong "{modle: sim/a}", "unknown key 'modle': did you mean 'model'?")
  t.has(wrong "{context: all}", "must be none or fork")
  t.has(wrong "{model: []}", "must name at least 1")
end)

-- ---- context: fork -------------------------------------------------------------------------------------

local look = hocket.tool { name = "look", description = "Look", effects = { "read" }, run = function() return "a thing" end }
local write = hocket.tool { name = "write", description = "Write", run = function() return "written" end }

-- The main agent looks first, and then lets the helper begin with that.
local function forking(more)
  return function(r)
    if s.calls(r, "look") == 0 then return { text = "Let me look.", calls = { call("look") } } end
    if s.calls(r, "delegate") == 0 then
      local args = { agent_name = "helper", prompt = "Say more", context = "fork" }
      for name, value in pairs(more or {}) do args[name] = value end
      return { text = "I let the helper.", calls = { call("delegate", args), call("look") } }
    end
    for _, message in ipairs(r.messages) do
      if message.role == "tool" and message.text ~= "a thing" then return message.text end
    end
    return r.last.text
  end
end

t.test("a fork begins with the caller's conversation, byte by byte, and with its own task", function()
  local mains, child = {}, nil
  local run, reply = run_main({
    main = { agents = { "helper" }, tools = { look, write }, prompt = "You lead.", reasoning = "high" },
    helper = { description = "Helps", per_call = { context = "fork" }, model = "scripted/main", prompt = "You help as {{name}}.", tools = { look } },
  }, { main = function(r)
    if r.last.text:find "From here on you are" then
      child = r
      return "more"
    end
    mains[#mains + 1] = r
    return forking()(r)
  end })
  t.has(reply.text, "more")
  local before = mains[2] -- that was answered by the delegation
  t.equal(child.system, before.system)
  t.equal(json.encode(child.tools), json.encode(before.tools))
  t.equal(child.reasoning, before.reasoning)
  t.equal(#child.messages, #before.messages + 1)
  for i, message in ipairs(before.messages) do t.equal(json.encode(child.messages[i]), json.encode(message)) end
  t.has(child.last.text, "You help as helper.")
  t.has(child.last.text, "You may call these tools: look.")
  t.has(child.last.text, "The task:\nSay more")
  local forked = s.events(run, "conversation_forked")
  t.equal(#forked, 1)
  t.equal(forked[1].caller, "main")
  t.equal(forked[1].messages, #before.messages)
end)

t.test("a fork without a model of its own has the caller's, and no right more than its file says", function()
  local denied
  local defs = { main = { agents = { "helper" }, tools = { look, write } }, helper = { description = "Helps", per_call = { context = "fork" }, tools = { look } } }
  s.reply = function(r)
    if not r.messages[#r.messages].text:find "From here on" and not (r.messages[5] and r.messages[#r.messages - 1].calls and r.messages[#r.messages - 1].calls[1].name == "write") then return forking()(r) end
    if r.last.role == "user" then return { calls = { call("write") } } end
    denied = r.last.text
    return "done"
  end
  local team = s.team(defs)
  local plain = {}
  for key, value in pairs(team.helper) do plain[key] = value end
  local run = s.run(function() return hocket.run(team.main, "Go") end)
  t.has(denied, "there is no tool 'write'. The tools are: look.")
  for _, one in ipairs(s.events(run, "tool_called")) do t.equal(one.tool ~= "write" or one.agent == "helper", true) end
end)

t.test("a schema for a fork is said in words, and holds", function()
  local child
  local _, reply = run_main({
    main = { agents = { "helper" }, tools = { look } },
    helper = { description = "Helps", per_call = { context = "fork", output = true }, model = "scripted/main" },
  }, { main = function(r)
    for _, message in ipairs(r.messages) do
      if message.role == "user" and message.text:find "From here on" then
        child = child or r
        return r.last.text:find "cannot be used" and '{"n": 1}' or "no JSON"
      end
    end
    return forking { output = { type = "object", required = json.array { "n" } } }(r)
  end })
  t.has(reply.text, '{"n": 1}')
  t.equal(child.schema, nil)
  t.has(child.last.text, 'fits this schema, and nothing else:\n{"required":["n"],"type":"object"}')
end)

t.test("who leads others, and a script, begin no fork", function()
  local _, reply = run_main({
    main = { agents = { "boss" }, tools = { look } },
    boss = { description = "Helps", per_call = { context = "fork" }, agents = { "third" }, router = true }, third = { description = "third" },
  }, { main = forking { agent_name = "boss" } })
  t.has(reply.text, "boss cannot begin with its caller's conversation: it has 'router'")
  local team = s.team { helper = { per_call = { context = "fork" } } }
  local err
  s.run(function()
    err = select(2, hocket.orchestrate.call(team.helper, "x", { fork = true }))
    return "x"
  end)
  t.equal(err.message, "helper cannot begin with its caller's conversation: no agent with a conversation calls it")
end)

-- ---- ask_again ---------------------------------------------------------------------------------------------

local function texts(r)
  local list = {}
  for i, message in ipairs(r.messages) do list[i] = message.text end
  return table.concat(list, " | ")
end

local function id_of(text) return math.tointeger(tonumber(text:match "^%[id=(%d+)%]")) end

t.test("a delegated agent is asked again, by its id and by its name", function()
  local heard, trigger = {}, {}
  local run, reply = run_main({ main = { agents = { "helper" }, tools = { "ask_again" } }, helper = { description = "Helps" } }, {
    main = function(r)
      if r.last.role == "user" then return { calls = { call("delegate", { agent_name = "helper", prompt = "One" }) } } end
      local n = s.calls(r, "ask_again")
      if n == 0 then return { calls = { call("ask_again", { id = id_of(r.last.text), text = "Two" }) } } end
      if n == 1 then return { calls = { call("ask_again", { id = "helper", text = "Three" }) } } end
      return r.last.text
    end,
    helper = function(r)
      heard[#heard + 1] = texts(r)
      return "answer " .. #heard
    end,
  })
  t.has(reply.text, "answer 3")
  t.equal(heard[3], "One | answer 1 | Two | answer 2 | Three")
  for _, one in ipairs(s.events(run, "agent_started")) do trigger[#trigger + 1] = one.trigger end
  t.equal(table.concat(trigger, " "), "delegate ask_again ask_again")
end)

t.test("without ask_again no id is shown", function()
  local _, reply = run_main({ main = { agents = { "helper" } }, helper = { description = "Helps" } }, { main = delegating {} })
  t.equal(reply.text, "from helper")
end)

t.test("a background task and one that failed can be asked again; what is unknown, or at work, is said", function()
  local n, wrong = 0, {}
  local _, reply = run_main({ main = { agents = { "helper", "third" }, tools = { "delegate", "ask_again" } }, helper = { description = "Helps" }, third = { description = "third" } }, {
    main = function(r)
      n = n + 1
      if n == 1 then return { calls = { call("submit_task", { agent_name = "helper", prompt = "One" }), call("ask_again", { id = 99, text = "x" }) } } end
      if n == 2 then
        wrong[1] = r.last.text
        return { calls = { call("wait_tasks") } }
      end
      if n == 3 then return { calls = { call("ask_again", { id = math.tointeger(tonumber(texts(r):match "task_id=(%d+)")), text = "Two" }) } } end
      return r.last.text
    end,
    helper = function(r)
      if #r.messages == 1 then return { status = 400, error = "broken" } end
      return texts(r)
    end,
  })
  t.has(wrong[1], "there is no finished agent '99' that you have called")
  t.has(reply.text, "One")
  t.has(reply.text, "Two")
end)

t.test("only whoever has called an agent asks it again", function()
  local inner
  run_main({ main = { agents = { "helper", "third" }, tools = { "ask_again" } }, helper = { description = "Helps" }, third = { description = "third", tools = { "ask_again" } } }, {
    main = function(r)
      if r.last.role == "user" then return { calls = { call("delegate", { agent_name = "helper", prompt = "One" }) } } end
      if s.calls(r, "delegate") == 1 then return { calls = { call("delegate", { agent_name = "third", prompt = "Two" }) } } end
      return "x"
    end,
    third = function(r)
      if r.last.role == "user" then return { calls = { call("ask_again", { id = "helper", text = "x" }) } } end
      inner = r.last.text
      return "x"
    end,
  })
  t.has(inner, "there is no finished agent 'helper' that you have called and that can be asked again (there are: none")
end)

t.test("advisors, members of a team, specialists and agents that route or hand off are asked again", function()
  local function again(name) return function(r)
    if s.calls(r, "ask_again") == 0 then return { calls = { call("ask_again", { id = name, text = "Two" }) } } end
    return r.last.text
  end end
  local function helper(r) return texts(r):find("Two", 1, true) and "HEARD " .. r.messages[1].text:sub(1, 4) or "first" end
  local function answer(defs, parts)
    local _, reply, err = run_main(defs, parts)
    return reply and reply.text or err.message
  end
  t.has(answer({ main = { advisors = { "helper" }, tools = { "ask_again" } }, helper = {} }, { main = again "helper", helper = helper }), "HEARD")
  s.reply = function(r) return ({ lead = again "one", one = helper, two = helper })[r.model](r) end
  local function make(name, tools) return hocket.agent { name = name, model = "scripted/" .. name, prompt = name, tools = tools } end
  local _, reply = s.run(function() return hocket.patterns.team.run(make("lead", { "ask_again" }), { make "one", make "two" }, "Go", { max_rounds = 1 }) end)
  t.has(reply.text, "HEARD")
  t.has(answer({ main = { agents = { "helper" }, tools = { "facilitator", "ask_again" } }, helper = { description = "x" } }, { helper = helper, main = function(r)
    if s.calls(r, "create_tasks") == 0 then return { calls = { call("create_tasks", { tasks = json.array { { text = "T", assigned_to = "helper" } } }) } } end
    if s.calls(r, "call_helper") == 0 then return { calls = { call("call_helper", { task_ids = json.array { 1 }, message = "One" }) } } end
    if s.calls(r, "ask_again") == 0 then return { calls = { call("ask_again", { id = id_of(r.last.text), text = "Two" }) } } end
    return r.last.text
  end }), "HEARD")
  local function delegates(r)
    if r.last.role == "user" then return { calls = { call("delegate", { agent_name = "boss", prompt = "One" }) } } end
    return again "boss"(r)
  end
  t.has(answer({ main = { agents = { "boss" }, tools = { "delegate", "ask_again" } }, boss = { description = "x", agents = { "helper" }, router = true, fallback = "helper" }, helper = { description = "h" } },
    { main = delegates, boss = function() return '{"agent": "helper"}' end, helper = helper }), "HEARD")
  t.has(answer({ main = { agents = { "boss" }, tools = { "delegate", "ask_again" } }, boss = { description = "x", handoff = "helper" }, helper = { description = "h" } },
    { main = delegates, boss = function(r) return "boss " .. r.last.text end, helper = helper }), "HEARD")
end)

t.test("two questions at once to one agent: the second is told to wait", function()
  local _, reply = run_main({ main = { agents = { "helper" }, tools = { "ask_again" } }, helper = { description = "Helps" } }, {
    main = function(r)
      if r.last.role == "user" then return { calls = { call("delegate", { agent_name = "helper", prompt = "One" }) } } end
      if s.calls(r, "ask_again") == 0 then return { calls = { call("ask_again", { id = "helper", text = "Two" }), call("ask_again", { id = "helper", text = "Three" }) } } end
      return texts(r)
    end,
    helper = function(r)
      hocket.flow.sleep(0.05)
      return texts(r)
    end,
  })
  t.has(reply.text, "One | One | Two")
  t.has(reply.text, "helper is at work: wait for its answer before you ask it again")
end)

t.test("a fork is asked again in its conversation", function()
  local lengths = {}
  local _, reply = run_main({
    main = { agents = { "helper" }, tools = { look, "ask_again" } }, helper = { description = "Helps", per_call = { context = "fork" }, model = "scripted/helper" },
  }, { main = function(r)
    if s.calls(r, "ask_again") == 1 then return r.last.text end
    if s.calls(r, "delegate") == 1 then return { calls = { call("ask_again", { id = "helper", text = "And then?" }) } } end
    return forking()(r)
  end, helper = function(r)
    lengths[#lengths + 1] = #r.messages
    return "told " .. #r.messages
  end })
  t.equal(lengths[2], lengths[1] + 2)
  t.has(reply.text, "told " .. lengths[2])
end)

t.test("a script's own id may be a number in words", function()
  s.reply = texts
  local helper = s.team { helper = { description = "Helps" } }.helper
  local first, second, wrong
  s.run(function()
    hocket.orchestrate.call(helper, "One", { child_id = "7" })
    hocket.orchestrate.call(helper, "Uno", { child_id = "07" })
    first, second = hocket.orchestrate.ask_again("7", "Two"), hocket.orchestrate.ask_again("07", "Due")
    wrong = select(2, hocket.orchestrate.ask_again(7, "Three"))
    return "x"
  end)
  t.equal(first.text, "One | One | Two")
  t.equal(second.text, "Uno | Uno | Due")
  t.has(wrong.message, "there is no finished agent '7'")
end)

return t.finish()
