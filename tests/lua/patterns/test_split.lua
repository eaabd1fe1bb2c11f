--- Tasks of a plan that their specialists split: parts with owners, what waits for them, and what binds.
local t = require "harness"
local s = require "scripted"
local p = require "patterns_support"
local hocket = require "hocket"
local json = require "hocket.json"

local function split(id, tasks)
  return { calls = { s.call("split_task", { id = id, tasks = tasks }) } }
end

local function part(id, specialist, more)
  local made = { id = id, specialist = specialist or "mason", description = "Do " .. id }
  for name, value in pairs(more or {}) do made[name] = value end
  return made
end

local defs = { lead = { tools = { "split_task" } }, mason = {}, painter = {} }

local function carry_out(tasks, options, agents)
  local team = p.agents(agents or defs)
  local board = hocket.board { limit = 60 }
  local run, reply, err = s.run(function()
    local opts = { team = team, backoff = 0, retries = 0, board = board }
    for name, value in pairs(options or {}) do opts[name] = value end
    return hocket.patterns.coordinator.run({ type = "task", tasks = tasks }, opts)
  end)
  p.check(run)
  return reply, err, run, board
end

local house = { { id = "house", specialist = "lead", description = "Build a house" } }

t.test("a task is done when its parts are; who depends on it waits for them", function()
  local asked = p.play { lead = function(request)
    return request.last.text:find "Build a house" and split("house", { part "walls", part("roof", "mason", { depends_on = { "walls" } }) }) or "?"
  end, mason = function(request) return "did " .. request.last.text:match "Do (%w+)" end, painter = "painted" }
  local reply, _, run, board = carry_out { house[1], { id = "paint", specialist = "painter", description = "Paint it", depends_on = { "house" } } }
  t.has(reply.text, "did walls")
  t.has(reply.text, "did roof")
  t.equal(reply.finish, "stop")
  t.equal(#asked.lead, 1, "its work ends with the call")
  t.has(p.framed(asked.mason[2].last.text, "result", "house.walls by mason"), "did walls")
  local before = p.framed(asked.painter[1].last.text, "result", "house by lead")
  t.has(before, "did walls")
  t.has(before, "did roof")
  local shown = {}
  for i, task in ipairs(board:tasks()) do shown[i] = ("%s %s %s"):format(task.text, task.assigned_to, task.status) end
  t.same(shown, { "Build a house lead done", "Paint it painter done", "house.walls: Do walls mason done", "house.roof: Do roof mason done" })
  local told = s.events(run, "task_split")[1]
  t.same({ told.id, told.depth, told.tasks[2].id, told.tasks[2].depends_on }, { "house", 1, "house.roof", { "house.walls" } })
  t.same({ told.board, told.task_id, told.task_ids, board:tasks()[4].parent, board:tasks()[1].parent }, { 1, 1, { 3, 4 }, 1, nil })
  t.same(s.events(run, "plan_started")[1].task_ids, { 1, 2 })
  t.same({ reply.tasks[1].parts, reply.tasks[3].parent }, { { "house.walls", "house.roof" }, "house" })
  t.equal(s.events(run, "workflow_finished")[1].partial, nil)
end)

t.test("a part that fails fails the task, and what was done is kept", function()
  p.play { lead = split("house", { part "walls", part("roof", "painter") }), painter = "FAILED: no ladder", mason = "did it" }
  local reply, _, run = carry_out(house)
  t.equal(reply.finish, "partial")
  t.has(reply.text, "1 of 2 parts did not complete: house.roof (painter) failed: no ladder")
  t.has(reply.text, "did it")
  local partial = s.events(run, "workflow_finished")[1].partial
  t.equal(#partial, 1, "the part alone")
  t.same({ partial[1].task, partial[1].agent }, { "house.roof", "painter" })
end)

t.test("a model that splits for ever ends with a clear error, and what was done is kept", function()
  p.play { lead = function(request)
    local id = request.tools.split_task.parameters.properties.id.enum[1]
    return split(id, { part "a", part("b", "lead") })
  end, mason = "did it" }
  local reply = carry_out(house, { split_depth = 2 })
  t.equal(reply.finish, "partial")
  t.has(reply.text, "house.b.b (lead) failed: task 'house.b.b' is not split: tasks are split 2 deep at most")
  t.has(reply.text, "did it")
end)

t.test("the limit of tasks binds, and the model may do with fewer", function()
  local asked = p.play { lead = function(request)
    return split("house", request.turn == 1 and { part "a", part "b", part "c" } or { part "a" })
  end, mason = "did it" }
  local reply = carry_out(house, { task_limit = 2 })
  t.equal(reply.text, "did it")
  t.has(asked.lead[2].last.text, "the plan would have 4 tasks, and 2 is the limit")
end)

t.test("limits above 1,000: the given plan has 1,000 tasks at most, its parts as many as the limit says, and what was done is kept", function()
  local tasks = { { id = "house", specialist = "lead", description = "Build a house" }, { id = "barn", specialist = "lead", description = "Build a barn", depends_on = { "house" } } }
  for i = 3, 1000 do tasks[i] = { id = "t" .. i, specialist = "mason", description = "Do it" } end
  local asked = p.play { mason = "did it", lead = function(request)
    local id = request.tools.split_task.parameters.properties.id.enum[1]
    if id == "barn" and request.turn > 1 then return "FAILED: it is too large" end
    return split(id, { part "a", part "b" })
  end }
  local team = p.agents(defs)
  local function plan(more)
    local opts = { team = team, backoff = 0, retries = 0, limit = 50 }
    for name, value in pairs(more) do opts[name] = value end
    return hocket.patterns.coordinator.run({ type = "task", tasks = tasks }, opts)
  end
  local _, reply, err = s.run(function() return plan { task_limit = 1003 } end)
  t.equal(reply and reply.finish or err.message, "partial")
  t.has(asked.lead[3].last.text, "the plan would have 1004 tasks, and 1003 is the limit")
  local done = 0
  for _, one in ipairs(reply.tasks) do
    done = done + (one.status == "completed" and 1 or 0)
    if one.status ~= "completed" then t.equal(one.id, "barn") end
  end
  t.equal(done, 1001)
  t.has(reply.text, "it is too large")
  tasks[1001] = { id = "t1001", specialist = "mason", description = "Do it" }
  _, reply, err = s.run(function() return plan { task_limit = 3000 } end)
  t.equal(reply, nil)
  t.has(err, "a plan has 1000 tasks at most; this one has 1001")
  _, reply, err = s.run(function() return plan { task_limit = 100001 } end)
  t.has(err, "bad option 'task_limit' (100000 at most, got 100001)")
  tasks = { { id = "a", specialist = "mason", description = "Do it" } }
  _, reply = s.run(function() return plan { task_limit = 100000 } end)
  t.equal(reply.text, "did it")
end)

t.test("parts that are no plan are told to the model: a circle, the same id twice, nobody's", function()
  local asked = p.play { lead = function(request)
    if request.turn == 1 then return split("house", { part("a", "mason", { depends_on = { "b" } }), part("b", "mason", { depends_on = { "a" } }) }) end
    if request.turn == 2 then return split("house", { part "a", part "a" }) end
    return "I did it myself"
  end }
  local reply = carry_out(house)
  t.equal(reply.text, "I did it myself")
  t.has(asked.lead[2].last.text, "in a circle: a -> b -> a")
  t.has(asked.lead[3].last.text, "the id 'a' is given twice")
end)

t.test("the parent's budget binds its parts", function()
  p.play { lead = split("house", { part "walls", part("roof", "mason", { depends_on = { "walls" } }) }), mason = "did it" }
  local reply = carry_out(house, nil, { lead = { tools = { "split_task" }, budget = { turns = 3 } }, mason = {}, painter = {} })
  t.has(reply.text, "house.roof (mason) failed: the budget of lead is used up")
  t.has(reply.text, "did it")
end)

t.test("one after the other, too: a limit of one at work holds nobody up", function()
  p.play { lead = split("house", { part "walls", part "roof" }), mason = "did it" }
  t.equal(carry_out(house, { execution_mode = "sequential" }).finish, "stop")
  t.equal(carry_out(house, { limit = 1 }).finish, "stop")
end)

t.test("a part that is cut off has not been done", function()
  p.play { lead = split("house", { part "walls" }), mason = { text = "Half", finish = "length" } }
  local _, err = carry_out(house)
  t.has(err, "house.walls (mason) failed")
end)

t.test("whoever is cut in its call has split nothing, learns of it, and may split then; one that is always cut has failed", function()
  local function cut(made)
    made.finish, made.text = "length", "I split it into"
    return made
  end
  local asked = p.play { lead = function(request)
    local made = split("house", { part "walls" })
    return request.turn == 1 and cut(made) or made
  end, mason = "a wall" }
  local reply, _, run = carry_out(house)
  t.equal(reply.text, "a wall")
  t.has(asked.lead[2].last.text, "cut")
  t.same({ #s.events(run, "task_split"), #asked.mason }, { 1, 1 })
  asked = p.play { lead = function() return cut(split("house", { part "walls" })) end }
  local _, err
  _, err, run = carry_out(house, nil, { lead = { tools = { "split_task" }, max_turns = 3 }, mason = {} })
  t.has(err, "lead was cut short")
  t.same({ #s.events(run, "task_split"), #asked.lead, asked.mason }, { 0, 3, nil })
end)

t.test("without a plan there is nothing to split, and no such tool", function()
  local asked = p.play {}
  p.run(p.agents(defs).lead, "Go")
  t.equal(asked.lead[1].tools.split_task, nil)
end)

t.test("a part does not take the place of another task of the plan", function()
  local asked = p.play { lead = function(request)
    return split("house", { part(request.turn == 1 and "walls" or "other") })
  end, mason = "did it", painter = "painted the walls" }
  local reply = carry_out { house[1], { id = "house.walls", specialist = "painter", description = "Paint the walls" } }
  t.has(asked.lead[2].last.text, "there is a task 'house.walls' already")
  t.equal(reply.finish, "stop")
  t.has(reply.text, "painted the walls")
end)

t.test("a split that comes to nothing, since its task is blocked, leaves its places to the next", function()
  p.play { lead = function(request)
    if request.last.text:find "It was refused" then return split("house", { part "a", part "b" }) end
    return { calls = { s.call("split_task", { id = "house", tasks = { part "a", part "b" } }), s.call("report_blocker", { id = "house", what = "no stones", needs = "stones" }) } }
  end, mason = "did it" }
  local reply, err = carry_out(house, { task_limit = 3 }, { lead = { tools = { "split_task", "report_blocker" } }, mason = {} })
  t.ok(reply, tostring(err))
  t.equal(#reply.tasks, 3)
end)

t.test("alternates of a task that are no list are told to whoever plans", function()
  local _, err = carry_out { { id = "house", specialist = "mason", description = "Build", alternates = "painter" } }
  t.has(err, "task 'house': alternates: a list of specialists is expected")
end)

t.test("a new plan takes the place of a task, and its parts that are done stay in the result", function()
  p.play { lead = split("house", { part "walls", part("roof", "painter") }), painter = function(request)
    return request.last.text:find "Do roof" and "FAILED: no ladder" or "roof with a new ladder"
  end, mason = "walls of stone" }
  local reply = carry_out(house, { on_failure = "replan", replan = function()
    return { type = "task", tasks = { { id = "ladder", specialist = "painter", description = "Roof with a ladder", depends_on = { "house.walls" } } } }
  end })
  t.has(reply.text, "roof with a new ladder")
  t.has(reply.text, "walls of stone")
end)

t.test("whoever approves the plan approves the parts", function()
  local asked = p.play { boss = json.encode { type = "task", tasks = house }, lead = function(request)
    return request.turn < 3 and split("house", { part("walls", request.turn == 1 and "painter" or "mason") }) or "I did it alone"
  end, mason = "did it" }
  local team, shown = p.agents { boss = { agents = { "lead", "mason", "painter" } }, lead = { tools = { "split_task" } }, mason = {}, painter = {} }, {}
  local function run(answers)
    asked.lead, asked.mason, shown = nil, nil, {}
    local _, reply, err = s.run(function()
      return hocket.patterns.planner.run { request = "A house", team = team, planner = team.boss, approve_plan = true, retries = 0, backoff = 0 }
    end, { on_question = function(question)
      shown[#shown + 1] = question.questions[1]
      return answers[#shown]
    end })
    t.ok(reply, err and err.message or tostring(err))
    return reply.text
  end
  t.equal(run { "yes", "let a mason do it", "yes" }, "did it")
  t.has(shown[2], "1. house.walls (painter): Do walls")
  t.has(asked.lead[2].last.text, "the user wants other parts: let a mason do it")
  t.equal(asked.painter, nil)
  t.equal(run { "yes", "no", "no" }, "I did it alone")
  t.has(asked.lead[3].last.text, "the user refused the parts")
  t.equal(#(asked.mason or {}), 0)
end)

-- ---- On a facilitator's board ---------------------------------------------------------------------

-- A facilitator that makes these calls, and says at the end what it was told last.
local function lead(...)
  local steps = { ... }
  return function(request) return steps[request.turn] and { calls = { steps[request.turn] } } or request.last.text end
end

local create = s.call("create_tasks", { tasks = { { text = "Build a house", assigned_to = "boss" } } })
local send = s.call("call_boss", { task_ids = { 1 }, message = "Build a house" })

local function dispatch(models, more)
  local asked = p.play(models)
  local all = { lead = { tools = { "facilitator" }, agents = { "boss", "mason", "painter" } }, boss = { tools = { "specialist", "split_task" } }, mason = { tools = { "specialist" } }, painter = { tools = { "specialist" } } }
  for name, def in pairs(more or {}) do
    for key, value in pairs(def) do all[name][key] = value end
  end
  local board = hocket.board { limit = 8 }
  local reply, err, run = p.run(p.agents(all).lead, "Go", { board = board })
  return reply, err, run, board, asked
end

t.test("on a facilitator's board: the parts are tasks of it, and the facilitator gets what they came to", function()
  local reply, _, run, board, asked = dispatch { lead = lead(create, send), boss = split(1, { part "walls", part("roof", "painter", { depends_on = { "walls" } }) }),
    mason = function(request) return request.turn == 1 and { calls = { s.call("write_section", { section = "general", content = "stone walls" }) } } or "built walls" end, painter = "did the roof" }
  t.has(reply.text, "built walls")
  t.has(reply.text, "did the roof")
  local shown = {}
  for i, task in ipairs(board:tasks()) do shown[i] = ("%s %s %s %s"):format(task.text, task.assigned_to, task.status, task.parent or "-") end
  t.same(shown, { "Build a house boss done -", "Do walls mason done 1", "Do roof painter done 1" })
  t.equal(#asked.boss, 1)
  local told = s.events(run, "task_split")[1]
  t.same({ told.id, told.board, told.task_id, s.events(run, "plan_started")[1].parent, s.events(run, "plan_started")[1].task_ids }, { 1, 1, 1, 1, { 2, 3 } })
  t.equal((s.events(run, "document_updated")[1] or {}).content, "stone walls", asked.mason[2] and asked.mason[2].last.text)
  t.equal(s.events(run, "workflow_finished")[1].partial, nil)
end)

t.test("on a facilitator's board a part that fails fails the task, also where it had completed it itself", function()
  local _, _, _, board = dispatch { lead = lead(create, send), boss = split(1, { part "walls", part("roof", "painter") }), mason = "built walls", painter = function(request)
    return request.turn == 1 and { calls = { s.call("complete_task", { task_id = 3 }) } } or { text = "Half a ro", finish = "length" }
  end }
  local tasks = board:tasks()
  t.same({ tasks[1].status, tasks[2].status, tasks[3].status }, { "failed", "done", "failed" })
  t.has(tasks[1].error, "1 of 2 parts did not complete")
end)

t.test("on a facilitator's board: whoever splits for ever, beyond the limit, or what is not its own, is told, and fails", function()
  local again = s.call("call_boss", { task_ids = { 1 }, message = "Build a house" })
  local _, _, _, board, asked = dispatch({ lead = lead(create, send, again), boss = function(request)
    if request.turn == 1 then return split(2, { part "walls" }) end
    local many = {}
    for i = 1, 8 do many[i] = part("p" .. i) end
    return split(1, request.turn == 2 and many or { part("walls", "nobody") })
  end, mason = "did it" })
  t.has(asked.boss[2].last.text, "task 2 is not an open task of yours")
  t.equal(board:tasks()[1].status, "failed")
  t.equal(#board:tasks(), 1)
  local deep
  _, _, _, board, deep = dispatch({ lead = lead(create, send), boss = function(request)
    local id = request.tools.split_task.parameters.properties.id
    return split(id.enum and id.enum[1] or 1, { part("inner", "boss") })
  end, mason = "did it" })
  local shown = {}
  for i, task in ipairs(board:tasks()) do shown[i] = ("%s %s"):format(task.status, task.parent or "-") end
  t.same(shown, { "failed -", "failed 1", "failed 2" })
  t.has(board:tasks()[3].error, "tasks are split 1 deep at most")
  t.equal(#deep.boss, 2 + 3)
end)

t.test("on a facilitator's board the budget of whoever split the task binds the parts", function()
  local _, _, _, board = dispatch({ lead = lead(create, send), boss = split(1, { part "walls", part("roof", "painter", { depends_on = { "walls" } }) }), mason = "did it", painter = "did it" },
    { boss = { budget = { turns = 4 } } })
  local tasks = board:tasks()
  t.same({ tasks[1].status, tasks[2].status, tasks[3].status }, { "failed", "done", "failed" })
  t.has(tasks[3].error, "the budget of boss is")
end)

t.test("one of several tasks is not split before the others are done", function()
  local _, _, _, board, asked = dispatch { lead = lead(s.call("create_tasks", { tasks = { { text = "House", assigned_to = "boss" }, { text = "Shed", assigned_to = "boss" } } }),
    s.call("call_boss", { task_ids = { 1, 2 }, message = "Build" })), boss = function(request)
    if request.turn == 2 then return { calls = { s.call("complete_task", { task_id = 2, result = "a shed" }) } } end
    return split(1, { part "walls" })
  end, mason = "built walls" }
  t.has(asked.boss[2].last.text, "you were sent to several tasks")
  t.equal(board:tasks()[3].parent, 1)
  for i, task in ipairs(board:tasks()) do t.equal(task.status, "done", tostring(i)) end
end)

return t.finish()
