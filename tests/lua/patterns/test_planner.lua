--- The planner: talk, plans and their repair, questions, approval, forced choices.
local t = require "harness"
local s = require "scripted"
local fiber = require "hocket.internal.core.fiber"
local hocket = require "hocket"
local json = require "hocket.json"
local planner = hocket.patterns.planner

local function team()
  return s.team {
    planner = { description = "Plans", prompt = "Plan for:\n{{specialists}}" },
    web = { description = "Searches" }, file = { description = "Files" }, conversation = { description = "Talks" },
  }
end

local function task(id, specialist, depends_on)
  return { id = id, specialist = specialist, description = "Do " .. id, depends_on = depends_on and json.array(depends_on) }
end

local function plan(...)
  return json.encode { type = "task", tasks = { ... } }
end

-- What the planner answers, turn by turn; specialists say who they are. Returns its requests.
local function play(answers, others)
  local seen = {}
  s.reply = function(request)
    if request.model ~= "planner" then
      if others and others[request.model] then return others[request.model](request) end
      return "done by " .. request.model
    end
    seen[#seen + 1] = request
    local answer = answers[math.min(#seen, #answers)]
    if type(answer) == "function" then return answer(request) end
    return answer
  end
  return seen
end

local function run(options, run_options)
  options.team = options.team or team()
  return s.run(function() return planner.run(options) end, run_options)
end

t.test("talk costs one call, and the planner's answer is the answer", function()
  for _, answer in ipairs { '{"type":"conversation","response":"Hello!"}', "Hello!", '```json\n{"type":"conversation","response":"Hello!"}\n```' } do
    play { answer }
    local made, reply = run { request = "Hi" }
    t.equal(reply.text, "Hello!")
    t.equal(reply.finish, "stop")
    t.equal(made:usage().calls, 1)
  end
end)

t.test("talk that is left unanswered goes to who talks, with the last exchanges", function()
  local heard
  play({ '{"type":"conversation"}' }, { conversation = function(r) heard = r.messages return "Well." end })
  local history = {}
  for i = 1, 10 do
    history[#history + 1] = { role = "user", text = "question " .. i }
    history[#history + 1] = { role = "assistant", text = "answer " .. i }
  end
  local _, reply = run { request = "Hm", history = history }
  t.equal(reply.text, "Well.")
  t.equal(#heard, 7)
  t.equal(heard[1].text, "question 8")
  t.equal(heard[7].text, "Hm")
end)

t.test("the planner sees all, has no tools and the schema", function()
  local seen = play { plan(task("a", "web")) }
  local _, reply = run { request = "Find it", history = { { role = "user", text = "Earlier" }, { role = "assistant", text = "Yes" } } }
  t.equal(reply.text, "done by web")
  t.equal(#seen[1].messages, 3)
  t.has(seen[1].system, "- file: Files")
  t.equal(next(seen[1].tools), nil)
  t.equal(seen[1].raw.response_format.json_schema.schema.properties.tasks.items.properties.specialist.enum[1], "file")
end)

t.test("the planner cannot call what it knows of", function()
  local seen = play { { calls = { s.call("web_search", { query = "x" }) } }, plan(task("a", "web")) }
  local made, reply = run { request = "Find it" }
  t.equal(reply.text, "done by web")
  t.equal(#s.events(made, "tool_denied"), 1)
  t.has(seen[2].last.text, "there is no tool 'web_search'")
end)

t.test("an invalid plan is sent back with what is wrong, twice", function()
  local bad = {
    { '{"type":"task","tasks":[{"id":"a","specialist":"chef","description":"Cook"}]}', "chef" },
    { '{"type":"task","tasks":[]}', "at least one task" },
    { '{"type":"task","tasks":[{"id":"a"', "not one whole JSON object" },
    { '{"type":"task",,}', "not valid JSON" },
    { plan(task("a", "web"), task("a", "file")), "given twice" },
    { plan(task("a", "web", { "z" })), "'z', which is no task" },
    { plan(task("a", "web", { "b" }), task("b", "web", { "a" })), "a -> b -> a" },
    { '{"type":"task","clarification_needed":true,"tasks":[]}', "no questions" },
  }
  for _, one in ipairs(bad) do
    local seen = play { one[1], one[1], plan(task("a", "web")) }
    local made, reply = run { request = "Go" }
    t.equal(reply and reply.text, "done by web", one[1])
    t.equal(#seen, 3)
    t.has(seen[2].last.text, one[2])
    t.equal(#s.events(made, "warning"), 2)
  end
end)

t.test("a plan as models write it is one", function()
  for _, text in ipairs {
    '{"type":"task","tasks":[{"id":"a","specialist":"web","description":"Explain what } and { mean in \\"C\\""}]}',
    'Here is the plan: {"type":"task","tasks":[{"id":"a","specialist":"web","description":"Find }"}]} Shall I?',
    '{"type":"task","response":null,"clarification_needed":null,"questions":null,"execution_mode":null,"on_failure":null,'
      .. '"tasks":[{"id":"a","specialist":"web","description":"Find","active_form":null,"context":null,"depends_on":null}]}',
    '```json\n{\n  // first\n  "type": "task",\n  "tasks": [{"id": "a", "specialist": "web", "description": "Find\nit",},],\n}\n```',
    "{type: 'task', tasks: [{id: 'a', specialist: 'web', description: 'Find it'}], clarification_needed: False}",
  } do
    local seen = play { text }
    local made, reply, err = run { request = "Go" }
    t.equal(reply and reply.text, "done by web", err and err.message or text)
    t.equal(#seen, 1)
    t.equal(#s.events(made, "warning"), 0)
  end
end)

t.test("whatever shape an answer has, nothing is raised", function()
  local odd = { "null", "[]", "{}", "3", '""', "true", "[[]]", '[{"type":"task"}]', '{"type":[]}', '{"type":"task","tasks":{}}', '{"type":"task","tasks":[[]]}',
    '{"type":"task","tasks":"a"}', '{"type":"task","clarification_needed":true,"questions":{"a":1},"tasks":[]}',
    '{"type":"task","clarification_needed":true,"questions":[null],"tasks":[]}', '{"type":"task","clarification_needed":true,"questions":[["a"]]}',
    '{"type":"task","clarification_needed":true,"questions":[]}', '{"type":"task","clarification_needed":"yes","questions":"why?"}',
    '{"type":"conversation","response":{"a":1}}', '{"type":"conversation","response":null}', '{"type":"conversation","tasks":null,"questions":["x"]}',
    '{"type":"task","tasks":[{"id":{},"specialist":[],"description":1}]}', '{"type":"task","tasks":[{"id":"a","specialist":"web","description":"x","depends_on":{"a":1}}]}',
    '{"type":"task","tasks":[{"id":"a","specialist":"web","description":"x","depends_on":[null]}]}', '{"tasks":[]}', "{", "```", '{"type":"task"' }
  for _, text in ipairs(odd) do
    play { text }
    local _, reply, err = run { request = "Go" }
    t.ok(reply or err.code == "model", ("%s: %s"):format(text, err and err.message or ""))
  end
end)

t.test("talk that asks for nothing is an answer; a question without words is none", function()
  for _, asks in ipairs { "", ',"questions":[]', ',"questions":null', ',"questions":[" ", "\\n"]' } do
    play { '{"type":"conversation","response":"Well","clarification_needed":true' .. asks .. "}" }
    local _, reply = run({ request = "Hm" }, { on_question = function() error "nothing is asked" end })
    t.equal(reply and reply.text, "Well", asks)
    for _, kind in ipairs { "conversation", "task" } do
      local seen = play { ('{"type":"%s","clarification_needed":true,"tasks":[]%s}'):format(kind, asks), plan(task("a", "web")) }
      _, reply = run({ request = "Hm" }, { on_question = function() error "nothing is asked" end })
      t.equal(reply and reply.text, "done by web", asks)
      t.has(seen[2].last.text, "no questions")
    end
  end
  play { '{"type":"conversation","clarification_needed":true,"questions":[" ", "Which one?"]}', plan(task("a", "web")) }
  local asked
  local _, reply = run({ request = "Hm" }, { on_question = function(question) asked = question.questions return "this" end })
  t.same(asked, json.array { "Which one?" })
  t.equal(reply.text, "done by web")
end)

t.test("three invalid plans are the end", function()
  local seen = play { "{\"type\":" }
  local _, reply, err = run { request = "Go" }
  t.equal(reply, nil)
  t.equal(err.code, "model")
  t.equal(#seen, 3)
end)

local questions = '{"type":"task","clarification_needed":true,"questions":["Which one?"],"tasks":[]}'

t.test("questions are asked, and the planning goes on with the answers", function()
  local seen = play { questions, plan(task("a", "web")) }
  local asked
  local made, reply = run({ request = "Make a report" }, { on_question = function(q) asked = q return "The second" end })
  t.equal(reply.text, "done by web")
  t.same(asked.questions, json.array { "Which one?" })
  t.equal(#seen[2].messages, 3)
  t.has(seen[2].last.text, "The second")
  t.equal(s.events(made, "question_asked")[1].id, "q1")
  t.equal(s.events(made, "question_answered")[1].text, "The second")
end)

t.test("questions are answered by id, while others work", function()
  play { questions, plan(task("a", "web")) }
  local made
  local one = fiber.detach(function()
    local reply
    made, reply = s.run(function(r) made = r return planner.run { request = "Make", team = team(), remember = false } end, { interactive = true })
    return reply
  end)
  t.eventually(function() return made and #s.events(made, "question_asked") == 1 end)
  t.fails("not_found", "no open question", made:answer("q7", "x"))
  t.equal(hocket.broker():counts().slots, 0)
  t.equal(made:answer("q1", "That one"), true)
  t.fails("not_found", "no open question", made:answer("q1", "again"))
  t.equal(one:wait().text, "done by web")
end)

t.test("without anybody to answer, the questions are the result, and can be gone on from", function()
  local seen = play { questions, plan(task("a", "web")) }
  local _, reply = run { request = "Make a report" }
  t.equal(reply.finish, "questions")
  t.equal(reply.text, "Which one?")
  local state = json.decode(json.encode(reply.state))
  local _, later = run { state = state, answers = "The second" }
  t.equal(later.text, "done by web")
  t.equal(#seen[2].messages, 3)
  t.equal(seen[2].messages[1].text, "Make a report")
  t.has(seen[2].last.text, "The second")
end)

t.test("a planner that only asks is stopped", function()
  play { questions }
  local _, reply, err = run({ request = "Make" }, { on_question = function() return "hm" end })
  t.equal(reply, nil)
  t.equal(err.code, "limit")
end)

t.test("a question that is cancelled leaves nothing", function()
  play { questions }
  local made
  local one = fiber.detach(function() s.run(function(r) made = r return planner.run { request = "Make", team = team() } end, { interactive = true }) end)
  t.eventually(function() return made and #s.events(made, "question_asked") == 1 end)
  one:cancel()
  one:join()
  t.equal(next(made.questions), nil)
end)

t.test("a plan is approved, changed or declined", function()
  local seen = play { plan(task("a", "web")), plan(task("b", "file")) }
  local said = { "use files instead", "yes" }
  local asked = {}
  local _, reply = run({ request = "Go", approve_plan = true }, { on_question = function(q)
    asked[#asked + 1] = q
    return table.remove(said, 1)
  end })
  t.equal(reply.text, "done by file")
  t.equal(asked[1].kind, "approval")
  t.has(asked[1].questions[1], "1. a (web): Do a")
  t.has(seen[2].last.text, "use files instead")
  play { plan(task("a", "web")) }
  local made
  made, reply = run({ request = "Go", approve_plan = true }, { on_question = function() return "No." end })
  t.equal(reply.finish, "declined")
  t.equal(#s.events(made, "plan_started"), 0)
end)

-- Of the whole answer, case and punctuation apart; anything else changes the plan.
t.test("the words that accept and refuse a plan", function()
  local words = {
    accept = { "y", "Yes", "OK.", "ok", "Sure!", "go", "Go ahead", "Ok, do it!", "approve", " APPROVE ", "yes!!!" },
    refuse = { "n", "No.", "STOP", "Cancel!", "no" },
    revise = { "yes, but first b", "do not stop", "ok but cheaper", "go slowly", "no hotels", "?", "not ok", "approve b" },
  }
  for verdict, list in pairs(words) do
    for _, word in ipairs(list) do
      local seen = play { plan(task("a", "web"), task("b", "file", { "a" })), plan(task("c", "web")) }
      local said, shown = { word, "yes" }, {}
      local _, reply = run({ request = "Go", approve_plan = true }, { on_question = function(question)
        shown[#shown + 1] = question.questions[1]
        return table.remove(said, 1)
      end })
      t.equal(#seen, verdict == "revise" and 2 or 1, word)
      t.equal(reply.finish, verdict == "refuse" and "declined" or "stop", word)
      t.equal(shown[1], "1. a (web): Do a\n2. b (file, after a): Do b", word)
    end
  end
end)

t.test("that tasks come one at a time is said below the list, and not in its last item", function()
  play { json.encode { type = "task", execution_mode = "sequential", tasks = { task("a", "web"), task("b", "file") } } }
  local shown
  run({ request = "Go", approve_plan = true }, { on_question = function(question)
    shown = question.questions[1]
    return "no"
  end })
  t.equal(shown, "1. a (web): Do a\n2. b (file): Do b\n\nOne at a time, in this order.")
end)

t.test("approval without anybody there is a result, and can be given later", function()
  local seen = play { plan(task("a", "web")) }
  local _, reply = run { request = "Go", approve_plan = true }
  t.equal(reply.finish, "approval")
  local _, later = run { state = json.decode(json.encode(reply.state)), answers = "yes", approve_plan = true }
  t.equal(later.text, "done by web")
  t.equal(#seen, 1)
end)

t.test("a question in a changed plan is asked, and the plan that follows is shown again", function()
  local seen = play { plan(task("a", "web")), questions, questions, plan(task("b", "file")) }
  local said, asked = { "otherwise", "The first", "The second", "yes" }, {}
  local _, reply = run({ request = "Go", approve_plan = true }, { on_question = function(question)
    asked[#asked + 1] = question.kind .. ": " .. question.questions[1]
    return table.remove(said, 1)
  end })
  t.equal(reply and reply.text, "done by file")
  t.equal(#asked, 4)
  t.equal(asked[2], "clarification: Which one?")
  t.equal(asked[3], "clarification: Which one?")
  t.has(asked[4], "b (file): Do b")
  t.has(seen[4].last.text, "The second")
end)

t.test("with nobody there a changed plan asks too, and the user still has to agree to what follows", function()
  play { plan(task("a", "web")), questions, plan(task("b", "file")) }
  local reply
  local function continue(answers)
    local options = reply and { state = json.decode(json.encode(reply.state)), answers = answers } or { request = "Go", approve_plan = true }
    local _
    _, reply = run(options)
    return reply and reply.finish
  end
  t.equal(continue(), "approval")
  t.equal(continue "otherwise", "questions")
  t.same(reply.questions, json.array { "Which one?" })
  t.equal(continue "The second", "approval")
  t.has(reply.text, "b (file): Do b")
  t.equal(continue "yes", "stop")
  t.equal(reply.text, "done by file")
end)

t.test("a plan has as many tasks as its limit says", function()
  local tasks = {}
  for i = 1, 25 do tasks[i] = task("t" .. i, "web") end
  local seen = play { plan(table.unpack(tasks)), plan(task("a", "web")) }
  local _, reply = run { request = "Go" }
  t.equal(#reply.tasks, 1)
  t.has(seen[2].last.text, "20")
  play { plan(table.unpack(tasks)) }
  _, reply, err = run { request = "Go", task_limit = 25 }
  t.equal(reply and #reply.tasks, 25, err and err.message)
  local defs = s.team { planner = { description = "Plans", prompt = "Plan for:\n{{specialists}}", task_limit = 25 }, web = { description = "Searches" } }
  seen = play { plan(table.unpack(tasks)) }
  _, reply = run { request = "Go", team = defs }
  t.equal(#reply.tasks, 25)
  t.equal(seen[1].raw.response_format.json_schema.schema.properties.tasks.maxItems, 25)
end)

t.test("a limit above 1,000 is told as the 1,000 that a plan may have", function()
  local defs = s.team { planner = { description = "Plans", prompt = "At most {{task_limit}} tasks. {{specialists}}", task_limit = 3000 }, web = { description = "Searches" } }
  local seen = play { plan(task("a", "web")) }
  run { request = "Go", team = defs }
  t.has(seen[1].system, "At most 1000 tasks.")
  t.equal(seen[1].raw.response_format.json_schema.schema.properties.tasks.maxItems, 1000)
end)

t.test("texts of a plan have a bound that llama.cpp can count", function()
  local seen = play { plan(task("a", "web")) }
  run { request = "Go" }
  local properties = seen[1].raw.response_format.json_schema.schema.properties
  t.equal(properties.tasks.items.properties.context.maxLength, 1000)
  t.equal(properties.questions.items.maxLength, 1000)
  t.equal(properties.questions.maxItems, 3)
end)

t.test("the planner that comes with hocket is told the limit that was configured", function()
  local defs = team()
  defs.planner = nil
  for _, case in ipairs { { nil, "20 at most;" }, { 3, "3 at most;" } } do
    local told, limit, words = nil, table.unpack(case, 1, 2)
    s.reply = function(request)
      told = told or request.system
      return plan(task("a", "web"))
    end
    local _, reply, err = run { request = "Go", team = defs, model = "scripted/planner", task_limit = limit }
    t.equal(reply and #reply.tasks, 1, err and err.message)
    t.has(told, words)
    t.equal(told:find("{{", 1, true), nil)
  end
end)

t.test("the user chooses the specialist, or nobody plans at all", function()
  local seen = play { "never asked" }
  local made, reply = run { request = "Read it", specialist = "file" }
  t.equal(reply.text, "done by file")
  t.equal(#made:tasks(), 1)
  made, reply = run { request = "Read it", specialist = "file", direct = true }
  t.equal(reply.text, "done by file")
  t.equal(#made:tasks(), 0)
  _, reply = run { request = "Read it", direct = true }
  t.equal(reply.text, "done by conversation")
  t.equal(#seen, 0)
  local _, none, err = run { request = "Read it", specialist = "chef" }
  t.equal(none, nil)
  t.equal(err.code, "not_found")
end)

t.test("what cannot be is refused at once", function()
  s.run(function()
    t.raises("unknown option 'aprove_plan'", planner.run, { request = "x", aprove_plan = true })
    t.raises("needs the option 'request'", planner.run, {})
    t.raises("need the 'state'", planner.run, { request = "x", answers = "y" })
    return { text = "" }
  end)
end)

t.test("what becomes of a failure can stand in the planner's file", function()
  local told
  local defs = s.team {
    planner = { description = "Plans", prompt = "Plan for:\n{{specialists}}", on_failure = "continue" },
    web = { description = "Searches" }, file = { description = "Files" },
  }
  play({ plan(task("a", "web"), task("b", "file", { "a" })) }, {
    web = function() return "FAILED: no network" end,
    file = function(request) told = request.last.text return "done anyway" end,
  })
  run { request = "x", team = defs, retries = 0 }
  t.has(told, "no network")
  told = nil
  run { request = "x", team = defs, retries = 0, on_failure = "skip" }
  t.equal(told, nil)
end)

t.test("a specialist without a value for its prompt is told of before the planner is asked", function()
  local defs = s.team {
    planner = { description = "Plans", prompt = "Plan for:\n{{specialists}}" },
    web = { description = "Searches", prompt = "Search {{engine}}" },
  }
  local asked = play { plan(task("a", "web")) }
  local _, reply, err = run { request = "x", team = defs }
  t.fails("agent", "web:1: the variable 'engine' has no value", reply, err)
  t.equal(#asked, 0)
  _, reply, err = run({ request = "x", team = defs }, { variables = { engine = "all" } })
  t.ok(reply, err and err.message)
end)

t.test("the planner that is built in can be called like any other agent", function()
  local asked
  s.reply = function(request)
    if request.tools.delegate and request.last.role == "user" then
      return { calls = { s.call("delegate", { agent_name = "planner", prompt = "Plan this" }) } }
    elseif request.last.role == "tool" then
      return request.last.text
    end
    asked = request.system
    return '{"type":"conversation","response":"nothing to plan"}'
  end
  local lead = hocket.agent { name = "lead", agents = { "planner" }, model = "scripted/lead" }
  local _, reply, err = s.run(function() return hocket.run(lead, "x", { model = "scripted/other" }) end)
  t.ok(reply, err and err.message)
  t.has(reply.text, "nothing to plan")
  t.has(asked, "(those that the task names)")
end)

t.test("the agents that are built in load, with the tools of the matrix", function()
  local built_in = hocket.builtin_agents()
  local matrix = {
    planner = {}, conversation = {}, file = { "search_files", "read_file", "read_files", "write_file", "move_file", "open_file" },
    shell = { "execute_command" }, web = { "web_search", "web_fetch" }, code = { "execute_python", "execute_javascript" },
    code_reviewer = { "read_file", "list_directory", "get_file_info", "search_files" },
    tester = { "read_file", "list_directory", "get_file_info", "search_files" },
    researcher = { "search_files", "read_file", "list_directory", "get_file_info", "web_search", "web_fetch" },
  }
  for name, tools in pairs(matrix) do
    t.same({ table.unpack(built_in[name].tools) }, tools, name)
    t.equal(#built_in[name].agents, 0)
    t.ok(#built_in[name].description > 0)
  end
end)

-- ---- A new plan ----------------------------------------------------------------------------------

local function broken() return { status = 400, error = "no such page" } end

-- The specialist `web` always fails; the planner answers so, turn by turn.
local function play_again(...)
  return play({ ... }, { web = broken })
end

local first = plan(task("a", "file"), task("b", "web", { "a" }))
local second = plan(task("a", "file"), { id = "c", specialist = "file", description = "Do it from disk", depends_on = json.array { "a" } })

t.test("what is done is not done again, though a new plan names it", function()
  local asked = {}
  local seen = play({ first, second }, { web = broken, file = function(r)
    asked[#asked + 1] = r.messages[1].text:match "^[^\n]*"
    return "done by file"
  end })
  local _, reply = run { request = "Go", on_failure = "replan" }
  t.equal(#seen, 2)
  t.same(asked, { "Do a", "Do it from disk" })
  t.equal(reply.finish, "stop")
  t.equal(#reply.tasks, 2)
end)

t.test("a new plan is approved as the first one was, with the difference to the last", function()
  local shown = {}
  play_again(first, second)
  local _, reply = run({ request = "Go", on_failure = "replan", approve_plan = true }, { on_question = function(question)
    shown[#shown + 1] = question.questions[1]
    return "yes"
  end })
  t.equal(#shown, 2)
  t.has(shown[2], "did not work out")
  t.has(shown[2], "= a (file): done, and not done again")
  t.has(shown[2], "- b (web): given up (it was failed)")
  t.has(shown[2], "+ c (file): Do it from disk")
  t.equal(reply.finish, "stop")
end)

t.test("a plan is shown with all that is in it, and its texts are no lines of it", function()
  local shown
  local one = { id = "a\nx (web): nothing", specialist = "file", description = "Tidy up\n\n\nb (web): harmless\u{202E}txt", context = "and send it\r\nc (file): all" }
  play_again(plan(one), plan(one))
  run({ request = "Go", approve_plan = true }, { on_question = function(question)
    shown = question.questions[1]
    return "no"
  end })
  t.equal(shown, "1. a\n     x (web): nothing (file): Tidy up\n     b (web): harmless\\u202etxt\n     with: and send it\n     c (file): all")
end)

t.test("a new plan that nobody approves is not carried out", function()
  for answer, why in pairs { no = "did not approve", [""] = "nobody is there" } do
    local asked = 0
    play_again(first, second)
    local made, reply = run({ request = "Go", on_failure = "replan", approve_plan = true }, { on_question = function()
      asked = asked + 1
      if asked == 1 then return "yes" end
      if answer == "" then return nil end
      return answer
    end })
    t.equal(asked, 2)
    t.equal(reply.finish, "partial")
    local warnings = s.events(made, "warning")
    t.has(warnings[#warnings].message, why)
    for _, one in ipairs(reply.tasks) do t.ok(one.id ~= "c") end
  end
end)

t.test("a new plan that is to be changed is planned anew, and shown with the difference again", function()
  local shown = {}
  play_again(first, second, plan({ id = "d", specialist = "file", description = "Otherwise" }))
  local _, reply = run({ request = "Go", on_failure = "replan", approve_plan = true }, { on_question = function(question)
    shown[#shown + 1] = question.questions[1]
    return #shown == 2 and "not from disk" or "yes"
  end })
  t.has(shown[3], "+ d (file): Otherwise")
  t.equal(reply.finish, "stop")
end)

t.test("a question in a new plan is asked", function()
  local questions = {}
  local seen = play_again(first, '{"type":"task","clarification_needed":true,"questions":["Which disk?"]}', second)
  local _, reply = run({ request = "Go", on_failure = "replan" }, { on_question = function(question)
    questions[#questions + 1] = question.questions[1]
    return "The second"
  end })
  t.same(questions, { "Which disk?" })
  t.has(seen[3].last.text, "The second")
  t.equal(reply.finish, "stop")
  -- and where nobody is there it is told
  play_again(first, '{"type":"task","clarification_needed":true,"questions":["Which disk?"]}', second)
  local made, alone = run { request = "Go", on_failure = "replan" }
  t.equal(alone.finish, "partial")
  t.same(alone.questions, { "Which disk?" })
  local warnings = s.events(made, "warning")
  t.has(warnings[#warnings].message, "Which disk?")
end)

t.test("an answer that is cut is none, whoever of the planner's gives it", function()
  local half = function() return { text = "Half an answer, as the tests know", finish = "length" } end
  local function run_of(options, answers)
    play(answers or { plan(task("a", "web")) }, { web = half, conversation = half })
    local made, reply = run(options)
    return made, reply
  end
  -- a task, although its specialist has said that it is done
  play({ plan(task("a", "web")) }, { web = function(request)
    if request.turn == 1 then return { calls = { s.call("task_outcome", { status = "completed" }) } } end
    return half()
  end })
  local _, reply, err = run { request = "Go", tools = { web = { hocket.tool { name = "look", description = "Looks.", parameters = { type = "object" }, run = function() return "ok" end } } } }
  t.equal(reply, nil)
  t.has(err.message, "web was cut short")
  -- what is given to one agent as it is
  for _, options in ipairs { { request = "Go", direct = true, specialist = "web" }, { request = "Go" } } do
    local made
    made, reply = run_of(options, { '{"type":"conversation","response":""}' })
    t.equal(reply.cut.reason, "length")
    t.equal(made:cut_in(reply.text).reason, "length")
  end
end)

return t.finish()
