local t = require "harness"
local flow = require "hocket.flow"
local hocket = require "hocket"
local json = require "hocket.json"
local model = require "model"
local orchestrate = require "hocket.orchestrate"
local scripted = require "scripted"

-- ---- A team whose models are scripts --------------------------------------------------------

local dimensions = { { day = "integer" }, { part = { "general", "morning", "evening" } } }

local function new_team(fields)
  local team = {}
  hocket.agent { name = "editor", description = "editor", prompt = "I am editor.", team = team }
  for _, name in ipairs { "food", "sights" } do
    local def = { name = name, description = name, tools = { "specialist" }, prompt = "I am " .. name .. ".", team = team, timeout = fields and fields.timeout,
      handoff = fields and fields.handoff }
    for key, value in pairs(fields and fields[name] or {}) do def[key] = value end
    hocket.agent(def)
  end
  return hocket.agent { name = "lead", tools = fields and fields.lead and fields.lead.tools or { "facilitator" }, agents = { "food", "sights" }, team = team,
    prompt = "I lead.\n{{agents}}", document = dimensions, task_limit = fields and fields.task_limit,
    approve_plan = fields and fields.approve_plan }
end

local function call(name, arguments)
  return { name = name, arguments = arguments or {} }
end

local function task(text, who)
  return { text = text, assigned_to = who }
end

local two = { task("Find places", "food"), task("Find sights", "sights") }

-- The scripts of the agents, as lists of replies (or functions of the request), one for each turn;
-- the last one again and again. A dispatch begins a list anew, as it is a new conversation.
local function serve(scripts, options)
  return model.serve(function(request)
    local who = request.tools.create_tasks and "lead" or request.system:match "I am (%w+)" or "other"
    local script = scripts[who] or { "nothing to do" }
    local step = type(script) == "function" and script or script[math.min(request.turn, #script)]
    if type(step) == "function" then step = step(request) end
    return step
  end, options)
end

local function run(scripts, fields, options)
  local m <close> = serve(scripts, fields and fields.serve)
  local events = {}
  local opts = { model = m.id, on_event = function(event) events[#events + 1] = event end }
  for k, v in pairs(options or {}) do opts[k] = v end
  local reply, err = hocket.run(new_team(fields), "Two days in Porto", opts)
  return { reply = reply, err = err, events = events, requests = m.requests, last = events[#events] }
end

local function of(result, type, agent)
  local list = {}
  for _, event in ipairs(result.events) do
    if event.type == type and (not agent or event.agent == agent) then list[#list + 1] = event end
  end
  return list
end

local function index(result, type, agent)
  for i, event in ipairs(result.events) do
    if event.type == type and (not agent or event.agent == agent) then return i end
  end
  error(("there is no event '%s' of %s"):format(type, agent or "anybody"), 2)
end

-- What holds for every run, however it went.
local function check_events(result)
  for i, event in ipairs(result.events) do
    t.equal(event.seq, i, "a gap")
    t.matches(event.time, "^%d%d%d%d%-%d%d%-%d%dT")
  end
  t.equal(result.events[1].type, "workflow_started")
  t.equal(result.last.type, "workflow_finished")
  t.equal(#of(result, "workflow_finished"), 1)
  t.equal(#of(result, "agent_started"), #of(result, "agent_finished"))
end

-- What the lead's model was told by a tool, in the order of the turns.
local function told(result, name, nth)
  local seen = 0
  local request
  for _, one in ipairs(result.requests) do
    if one.tools.create_tasks then request = one end
  end
  for _, message in ipairs(request.messages) do
    if message.role == "tool" and message.name == name then
      seen = seen + 1
      if seen == (nth or 1) then return message.text end
    end
  end
  error(("'%s' was not called %d times"):format(name, nth or 1), 2)
end

local function tasks_of(result)
  local by_id = {}
  for _, one in ipairs(result.last.tasks) do by_id[one.id] = one end
  return by_id
end

local function section(day, part, content)
  return call("write_section", { day = day, part = part, content = content })
end

local function worker(id, ...)
  local writes = { ... }
  return { { calls = { call "read_tasks" } }, { calls = writes }, { calls = { call("complete_task", { task_id = id }) } }, "I am done." }
end

local function lead(...)
  local steps = { { text = "I plan.", calls = { call("create_tasks", { tasks = two }) } } }
  for _, step in ipairs { ... } do steps[#steps + 1] = step end
  return steps
end

local dispatch_both = { calls = { call("call_food", { task_ids = { 1 }, message = "Task 1" }), call("call_sights", { task_ids = { 2 }, message = "Task 2" }) } }

-- ---- A good run -------------------------------------------------------------------------------

local function good(options)
  return run({
    lead = lead(dispatch_both, { calls = { call "get_plan_status" } }, { calls = { call "read_document" } },
      { calls = { call("consolidate_section", { day = 1, part = "morning", content = "Coffee, then the tower" }) } },
      { calls = { call "read_document_clean" } }, function(request) return "Here it is:\n" .. request.last.text end),
    food = worker(1, section(1, "morning", "Coffee"), section(1, "evening", "Fish")),
    sights = worker(2, section(1, "morning", "The tower")),
  }, { serve = { latency = 0.01 } }, options)
end

t.test("plan, dispatch, write, consolidate, answer", function()
  local r = good()
  local reply = assert(r.reply, r.err and r.err.message)
  check_events(r)
  t.has(reply.text, "Coffee, then the tower")
  t.has(reply.text, "Fish")
  t.lacks(reply.text, "[food]")
  t.has(told(r, "create_tasks"), "1 (food): Find places")
  t.matches(told(r, "call_food"), "^<result%-%w+ of=\"food\">\nI am done.\n</result%-%w+>$")
  t.has(told(r, "get_plan_status"), "2/2 done")
  t.matches(told(r, "read_document"), "^<document%-%w+ of=\"all who write in it\">\n.*%[food%] Coffee.*\n</document%-%w+>$")
  t.has(told(r, "read_document"), "[sights] The tower")
  for id, one in pairs(tasks_of(r)) do
    t.equal(one.status, "done")
    t.equal(one.completed_by, id == 1 and "food" or "sights")
  end
  t.equal(#r.last.document_versions, 4)
  t.ok(r.last.usage.calls >= 15)
end)

-- What the lead had to call in each of its turns.
local function forced_in(requests)
  local list = {}
  for _, request in ipairs(requests) do
    local choice = request.raw.tool_choice
    if request.tools.create_tasks then list[#list + 1] = type(choice) == "table" and choice["function"].name or choice or "free" end
  end
  return table.concat(list, " ")
end

local function forced(scripts, fields, options)
  return forced_in(run(scripts, fields, options).requests)
end

t.test("whoever has new tasks is sent to work next: the dispatch is forced, once", function()
  local one = { calls = { call("create_tasks", { tasks = { two[1] } }) } }
  local food = { calls = { call("call_food", { task_ids = { 1 }, message = "Task 1" }) } }
  t.equal(forced { lead = lead(dispatch_both, "answer") }, "free required free")
  t.equal(forced { lead = { one, food, "answer" } }, "free call_food free", "one specialist is named")
  t.equal(forced { lead = lead({ calls = { call "get_plan_status" } }, dispatch_both, "answer") }, "free required free free")
  t.equal(forced { lead = { one, one, food, "answer" } }, "free call_food free free", "not twice in a row")
  t.equal(forced { lead = { "Good morning!" } }, "free")
  t.equal(forced { lead = { { calls = { call "create_tasks" } }, "answer" } }, "free free", "nothing was planned")
  t.equal(forced({ lead = { one, "the plan" } }, { approve_plan = true }), "free free", "nobody approved it")
  local m <close> = serve { lead = { one, "the plan" } }
  scripted.run(function() return orchestrate.call(new_team(), "Two days in Porto", { model = m.id, allowed = { create_tasks = true } }) end)
  t.equal(forced_in(m.requests), "free free", "its caller withholds the dispatch")
end)

t.test("slots stand in the order that they were declared in, whenever they were written", function()
  local function write(part) return call("write_section", { day = 1, part = part, content = part }) end
  local r = run({ lead = lead({ calls = { call("call_food", { task_ids = { 1 }, message = "go" }) } }, "done"),
    food = { { calls = { write "morning" } }, { calls = { write "evening" } }, { calls = { write "general" } }, "done" }, sights = { "done" } })
  local places = {}
  for i, event in ipairs(of(r, "document_updated")) do places[i] = json.encode(event.place) end
  t.same(places, { "[1,1]", "[1,2]", "[1,0]" })
  local function order_in(tell_places)
    local story = require("hocket.internal.commands.story").new()
    for _, event in ipairs(r.events) do
      if not tell_places then event.place = nil end
      story:take { seq = event.seq, json = json.encode(event) }
    end
    local order = {}
    for i, slot in ipairs(story:result().documents[1].slots) do order[i] = slot.slot.part end
    return table.concat(order, " ")
  end
  t.equal(order_in(true), "general morning evening")
  t.equal(order_in(false), "morning evening general", "records of older runs do not tell it")
end)

t.test("all twelve events come, in a sensible order", function()
  local r = good()
  local order = { "workflow_started", "tasks_created", "task_updated", "agent_started", "document_updated", "agent_finished", "final_answer", "workflow_finished" }
  for i = 2, #order do
    t.ok(index(r, order[i - 1]) <= index(r, order[i]), order[i - 1] .. " after " .. order[i])
  end
  t.equal(#of(r, "tasks_created")[1].tasks, 2)
  local started = of(r, "agent_started", "food")[1]
  t.same(started.task_ids, { 1 })
  t.equal(started.message, "Task 1")
  t.equal(started.display_name, "food")
  t.equal(of(r, "facilitator_message")[1].content, "I plan.")
  t.equal(of(r, "agent_message", "food")[1].content, "I am done.")
  t.equal(of(r, "final_answer")[1].content, r.reply.text)
  t.equal(of(r, "workflow_started")[1].message, "Two days in Porto")
  t.equal(#of(r, "document_updated"), 4)
  local done = of(r, "task_updated", "food")
  t.equal(done[#done].finished, true)
  for _, event in ipairs(of(r, "tool_call")) do
    t.lacks(event.tool, "call_") -- a dispatch shows as its agent's start
    t.equal(event.phase, "complete")
    t.ok(event.result)
  end
  t.equal(#of(r, "error"), 0)
  t.equal(#of(r, "warning"), 0)
end)

t.test("two specialists overlap in time", function()
  local r = good()
  local last_start = math.max(index(r, "agent_started", "food"), index(r, "agent_started", "sights"))
  local first_end = math.min(index(r, "agent_finished", "food"), index(r, "agent_finished", "sights"))
  t.ok(last_start < first_end)
  local first_write = index(r, "document_updated")
  t.ok(first_write > last_start, "one wrote before the other began")
end)

t.test("a specialist begins with a fresh conversation and its own tools", function()
  local r = good()
  for _, request in ipairs(r.requests) do
    if request.system:find("I am food", 1, true) then
      local names = {}
      for name in pairs(request.tools) do names[#names + 1] = name end
      table.sort(names)
      t.same(names, { "complete_task", "read_document", "read_tasks", "task_outcome", "write_section" })
      if request.turn == 1 then
        t.equal(#request.messages, 1)
        t.equal(request.messages[1].text, "Task 1")
      end
    end
  end
end)

t.test("all agents see all tasks", function()
  local seen
  local r = run {
    lead = lead(dispatch_both, "ok"),
    food = { { calls = { call("read_tasks", { all = true }) } }, function(request) seen = request.last.text return "done" end },
  }
  t.ok(r.reply)
  t.has(seen, "2 [running] (sights): Find sights")
end)

t.test("the board and the document may be the caller's", function()
  local board = hocket.board { limit = 5 }
  local document = hocket.document { { "day", "integer" }, { "part", { "general", "morning", "evening" } } }
  local r = good { board = board, document = document }
  check_events(r)
  t.equal(#board, 2)
  t.has(document:render(), "Coffee, then the tower")
end)

-- ---- What models get wrong ------------------------------------------------------------------------

t.test("unknown assignee, task id and slot are told to the model, which goes on", function()
  local r = run {
    lead = {
      { calls = { call("create_tasks", { tasks = { task("x", "museum") } }) } },
      { calls = { call("create_tasks", { tasks = two }) } },
      { calls = { call("call_food", { task_ids = { 9 }, message = "go" }) } },
      { calls = { call("call_food", { task_ids = { 2 }, message = "go" }) } },
      dispatch_both, { calls = { call("consolidate_section", { day = 1, part = "noon", content = "x" }) } }, "answer",
    },
    food = { { calls = { section(1, "noon", "x") } }, { calls = { section(-1, "morning", "x") } }, { calls = { section(1, "morning", "ok") } }, "done" },
  }
  t.equal(assert(r.reply, r.err and r.err.message).text, "answer")
  check_events(r)
  t.has(told(r, "create_tasks", 1), "museum")
  t.has(told(r, "create_tasks", 1), "food")
  t.has(told(r, "call_food", 1), "9")
  t.has(told(r, "call_food", 2), "2")
  t.has(told(r, "call_food", 2), "sights")
  t.has(told(r, "consolidate_section", 1), "noon")
  t.has(told(r, "consolidate_section", 1), "morning")
  t.equal(#of(r, "document_updated"), 1)
end)

t.test("a plan over the limit", function()
  local many = {}
  for i = 1, 4 do many[i] = task("Task " .. i, "food") end
  local r = run({
    lead = { { calls = { call("create_tasks", { tasks = many }) } }, { calls = { call("create_tasks", { tasks = two }) } }, "answer" },
  }, { task_limit = 3 })
  t.ok(r.reply)
  t.has(told(r, "create_tasks", 1), "error:")
  t.has(told(r, "create_tasks", 1), "3")
  t.has(told(r, "create_tasks", 2), "1 (food)")
  t.equal(#r.last.tasks, 2)
end)

t.test("ids in all the forms that models send", function()
  for _, form in ipairs { "[1,2]", "1, 2", { 1, 2 }, { "1", "2" } } do
    local r = run {
      lead = { { calls = { call("create_tasks", { tasks = { task("a", "food"), task("b", "food") } }) } },
        { calls = { call("call_food", { task_ids = form, message = "go" }) } }, "answer" },
      food = { { calls = { call("complete_task", { task_id = "1" }), call("complete_task", { task_id = 2 }) } }, "done" },
    }
    t.ok(r.reply)
    t.same(of(r, "agent_started")[1].task_ids, { 1, 2 })
    t.equal(tasks_of(r)[1].completed_by, "food", t.show(form))
    t.equal(tasks_of(r)[2].completed_by, "food", t.show(form))
  end
  for _, form in ipairs { 1, "1", "[1]" } do
    local r = run {
      lead = lead({ calls = { call("call_food", { task_ids = form, message = "go" }) } }, "answer"),
      food = { { calls = { call("complete_task", { task_id = form }) } }, "done" },
    }
    t.same(of(r, "agent_started")[1].task_ids, { 1 })
    t.equal(tasks_of(r)[1].completed_by, "food", t.show(form))
  end
end)

t.test("days that come as text", function()
  local r = run {
    lead = lead(dispatch_both, "answer"),
    food = { { calls = { call("write_section", { day = "2", part = "morning", content = "x" }) } }, "done" },
  }
  t.equal(of(r, "document_updated")[1].slot.day, 2)
end)

t.test("no ids at all, and nonsense, are refused", function()
  local r = run {
    lead = lead({ calls = { call("call_food", { task_ids = {}, message = "go" }) } }, { calls = { call("call_food", { task_ids = "all", message = "go" }) } }, "answer"),
  }
  t.ok(r.reply)
  t.equal(#of(r, "agent_started"), 0)
  t.has(told(r, "call_food", 1), "error:")
  t.has(told(r, "call_food", 2), "error:")
end)

t.test("a wrong id is corrected when exactly one is open, with a warning", function()
  local r = run {
    lead = lead(dispatch_both, "answer"),
    food = { { calls = { call("complete_task", { task_id = 2 }) } }, function(request) return "It said: " .. request.last.text end },
    sights = { function() flow.sleep(0.05) return { calls = { call("complete_task", { task_id = 2 }) } } end, "done" },
  }
  check_events(r)
  t.has(told(r, "call_food"), "task 2 is not yours; completed your open task 1")
  t.has(of(r, "warning", "food")[1].message, "food completed task 2, which is not its own; taken as task 1")
  t.equal(tasks_of(r)[1].completed_by, "food")
  t.equal(tasks_of(r)[2].completed_by, "sights")
end)

t.test("a wrong id is refused when several are open", function()
  local r = run {
    lead = { { calls = { call("create_tasks", { tasks = { task("a", "food"), task("b", "food"), task("c", "sights") } }) } },
      { calls = { call("call_food", { task_ids = { 1, 2 }, message = "go" }) } }, "answer" },
    food = { { calls = { call("complete_task", { task_id = 3 }) } }, function(request) return "It said: " .. request.last.text end },
  }
  local text = told(r, "call_food")
  t.has(text, "error:")
  t.has(text, "1")
  t.has(text, "2")
  t.equal(tasks_of(r)[3].status, "pending")
end)

t.test("consolidating without having read is refused", function()
  local r = run { lead = lead({ calls = { call("consolidate_section", { day = 1, part = "morning", content = "x" }) } }, "answer") }
  t.has(told(r, "consolidate_section"), "read the document first")
  t.equal(#of(r, "document_updated"), 0)
end)

t.test("what is written after the read stays beside the merged text", function()
  local r = run {
    lead = lead(dispatch_both, { calls = { call "read_document" } },
      { calls = { call("create_tasks", { tasks = { task("late", "food") } }) } }, { calls = { call("call_food", { task_ids = { 3 }, message = "late" }) } },
      { calls = { call("consolidate_section", { day = 1, part = "morning", content = "MERGED" }) } },
      { calls = { call "read_document_clean" } }, function(request) return request.last.text end),
    food = function(request)
      if request.turn > 1 then return "done" end
      return { calls = { section(1, "morning", request.messages[1].text == "late" and "LATE" or "EARLY") } }
    end,
    sights = { { calls = { section(1, "morning", "TOWER") } }, "done" },
  }
  t.has(r.reply.text, "MERGED")
  t.has(r.reply.text, "LATE")
  t.lacks(r.reply.text, "EARLY")
  t.lacks(r.reply.text, "TOWER")
end)

local function merging(content, before)
  local calls = { before }
  calls[#calls + 1] = call("consolidate_section", { day = 1, part = "morning", content = content })
  return { calls = calls }
end

t.test("a read in the same turn as the consolidation is none: the model had not seen it", function()
  local late = { { calls = { call("call_food", { task_ids = { 3 }, message = "late" }) } } }
  local food = function(request)
    if request.turn > 1 then return "done" end
    return { calls = { section(1, "morning", request.messages[1].text == "late" and "LATE" or "EARLY") } }
  end
  local final = { { calls = { call "read_document_clean" } }, function(request) return request.last.text end }
  -- Read before, and once more beside the call: what came in between was not known.
  local r = run {
    lead = lead(dispatch_both, { calls = { call "read_document" } }, { calls = { call("create_tasks", { tasks = { task("late", "food") } }) } },
      late[1], merging("MERGED", call "read_document"), table.unpack(final)),
    food = food, sights = { { calls = { section(1, "morning", "TOWER") } }, "done" },
  }
  t.has(r.reply.text, "MERGED")
  t.has(r.reply.text, "LATE")
  t.lacks(r.reply.text, "EARLY")
  t.has(told(r, "consolidate_section"), "Beside it stands what you had not read: food (version 3)")
  -- Never read before: refused, and then it goes.
  r = run {
    lead = lead(dispatch_both, merging("BLIND", call "read_document"), merging "SEEN", table.unpack(final)),
    food = food, sights = { "done" },
  }
  t.has(told(r, "consolidate_section", 1), "in this same turn")
  t.has(told(r, "consolidate_section", 2), "consolidated (version 2)")
  t.has(r.reply.text, "SEEN")
  t.lacks(r.reply.text, "EARLY")
end)

t.test("a second consolidation after one read takes the place of the first, and says so", function()
  local r = run {
    lead = lead(dispatch_both, { calls = { call "read_document" } }, merging "ONE", merging "TWO",
      { calls = { call "read_document_clean" } }, function(request) return request.last.text end),
    food = { { calls = { section(1, "morning", "EARLY") } }, "done" }, sights = { "done" },
  }
  t.equal(told(r, "consolidate_section", 1), "consolidated (version 2)")
  t.equal(told(r, "consolidate_section", 2), "consolidated (version 3) in the place of your own text of version 2")
  t.has(r.reply.text, "TWO")
  t.lacks(r.reply.text, "ONE")
  t.equal(#of(r, "warning"), 2) -- of the tasks that were completed for the specialists
end)

t.test("two authors that merge the same slot after one read are told of each other", function()
  local document = hocket.document { { "day", "integer" }, { "part", { "general", "morning", "evening" } } }
  local r = run({
    lead = lead({ calls = { call "read_document" } }, function()
      assert(document:consolidate({ day = 1, part = "morning" }, "editor", "THEIRS", document:version()))
      return merging "MINE"
    end, "answer"),
  }, nil, { document = document })
  t.has(told(r, "consolidate_section"), "CONFLICT: somebody else has merged this slot")
  t.has(told(r, "consolidate_section"), "editor (merged, version 1)")
  t.has(of(r, "warning")[1].message, "both texts stand: lead (version 2) and editor")
  t.has(document:render(), "THEIRS")
  t.has(document:render(), "MINE")
end)

-- ---- A facilitator below a facilitator ----------------------------------------------------------------

-- The outer one sends out the inner one, which has a specialist of its own and other sections.
local function nested(inner_steps, outer_steps, inner_fields)
  local team = {}
  hocket.agent { name = "cook", description = "c", tools = { "specialist" }, prompt = "I am cook.", team = team }
  local inner = { name = "inner", description = "i", tools = { "facilitator" }, agents = { "cook" }, prompt = "I am inner.", team = team,
    document = { { course = { "first", "second" } } } }
  for key, value in pairs(inner_fields or {}) do inner[key] = value end
  hocket.agent(inner)
  local outer = hocket.agent { name = "outer", tools = { "facilitator" }, agents = { "inner" }, prompt = "I am outer.", team = team, document = dimensions }
  local scripts = { outer = outer_steps, inner = inner_steps,
    cook = { { calls = { call("write_section", { course = "first", content = "Soup" }), call("complete_task", { task_id = 1 }) } }, "cooked" } }
  local m <close> = model.serve(function(request)
    local script = scripts[request.system:match "I am (%w+)"]
    local step = script[math.min(request.turn, #script)]
    return type(step) == "function" and step(request) or step
  end)
  local events = {}
  local reply, err = hocket.run(outer, "A dinner", { model = m.id, on_event = function(event) events[#events + 1] = event end })
  return { reply = reply, err = err, events = events, requests = m.requests, last = events[#events] }
end

local send_inner = { { calls = { call("create_tasks", { tasks = { task("The menu", "inner") } }) } },
  { calls = { call("call_inner", { task_ids = { 1 }, message = "Task 1" }) } },
  { calls = { call "read_document_clean" } }, function(request) return request.last.text end }

t.test("a facilitator below a facilitator has a board and a document of its own, and its tasks where they stand", function()
  for _, tools in ipairs { { "facilitator" }, { "specialist", "facilitator" } } do
    local seen = {}
    local r = nested({
      { calls = { call "read_tasks", call("create_tasks", { tasks = { task("Soup", "cook") } }) } },
      function(request) seen.board = request.messages[3].text return { calls = { call("call_cook", { task_ids = { 1 }, message = "Task 1" }) } } end,
      { calls = { call "read_document" } },
      function(request) seen.own = request.last.text return { calls = { call("consolidate_section", { course = "first", content = "Good soup" }) } } end,
      { calls = { call "read_document_clean" } },
      function(request)
        seen.clean = request.last.text
        return { calls = { call("write_section", { day = 1, part = "evening", content = "Menu: good soup" }), call("complete_task", { task_id = 1 }) } }
      end,
      "The menu stands.",
    }, send_inner, { tools = tools })
    t.has(assert(r.reply, r.err and r.err.message).text, "Menu: good soup")
    check_events(r)
    t.has(seen.board, "1 [running] (inner): The menu")
    t.has(seen.own, "[cook] Soup")
    t.has(seen.clean, "Good soup")
    t.lacks(seen.clean, "Menu")
    local outer, inner = r.last.tasks[1], r.last.tasks[2]
    t.equal(outer.assigned_to, "inner")
    t.equal(outer.completed_by, "inner")
    t.equal(inner.assigned_to, "cook")
    t.equal(inner.completed_by, "cook")
    for _, event in ipairs(of(r, "warning")) do error(event.message) end
    -- Both have a task 1 and a version 1: events say whose.
    t.same({ outer.board, outer.id, inner.board, inner.id }, { 1, 1, 2, 1 })
    for _, event in ipairs(of(r, "tasks_created")) do t.equal(event.board, event.agent == "outer" and 1 or 2) end
    for _, event in ipairs(of(r, "task_updated")) do t.equal(event.board, event.assigned_to == "inner" and 1 or 2) end
    for _, event in ipairs(of(r, "document_updated")) do t.equal(event.document, event.slot.day and 1 or 2) end
    for _, event in ipairs(of(r, "agent_started")) do t.equal(event.board, event.agent == "inner" and 1 or 2) end
    -- … and each is rebuilt from the one sequence.
    for i, assigned_to in ipairs { "inner", "cook" } do
      local again = hocket.board()
      if i == 2 then again:attach(require("hocket.internal.core.journal").new {}, 2) end
      for _, event in ipairs(r.events) do assert(again:replay(json.encode(event)) ~= nil) end
      t.equal(again:number(), i)
      t.equal(#again, 1)
      t.equal(again:tasks()[1].completed_by, assigned_to)
    end
  end
end)

t.test("of many facilitators in one run the result tells of the newest, and of all that was not done", function()
  local team, last = {}, nil
  hocket.agent { name = "cook", description = "c", prompt = "I am cook.", team = team }
  local lead = hocket.agent { name = "lead", tools = { "facilitator" }, agents = { "cook" }, prompt = "I am lead.", team = team }
  local m <close> = model.serve(function(request)
    if request.turn > 1 then return "done" end
    return { calls = { call("create_tasks", { tasks = { task("Dish " .. request.last.text, "cook") } }) } }
  end)
  local first = hocket.agent { name = "first", prompt = "I am first.", team = team, tools = { hocket.tool { name = "all", description = "x", run = function()
    for i = 1, 205 do assert(hocket.run(lead, tostring(i), { model = m.id })) end
    return "ok"
  end } } }
  local outer <close> = model.serve(function(request) return request.turn > 1 and "done" or { calls = { call "all" } } end)
  local reply = assert(hocket.run(first, "go", { model = outer.id, on_event = function(event) last = event end }))
  t.equal(#last.tasks, 200)
  t.same({ last.tasks[1].board, last.tasks[1].text, last.tasks[200].board }, { 6, "Dish 6", 205 })
  t.equal(#reply.partial, 200) -- as many as are told
  t.same({ reply.partial[1].text, reply.partial[1].error, reply.partial[6].text }, { "Dish 1", "it was never begun", "Dish 6" })
end)

-- ---- Specialists that fail ----------------------------------------------------------------------------

t.test("a specialist that never completes its tasks: done for it, with a warning", function()
  local r = run { lead = lead(dispatch_both, { calls = { call "get_plan_status" } }, "answer"), food = { "I forgot." }, sights = worker(2, section(1, "morning", "x")) }
  check_events(r)
  t.equal(tasks_of(r)[1].status, "done")
  t.equal(tasks_of(r)[1].completed_by, "auto")
  t.equal(tasks_of(r)[2].completed_by, "sights")
  t.has(of(r, "warning", "food")[1].message, "food did not complete task 1 itself")
  t.has(told(r, "get_plan_status"), "2/2 done")
end)

t.test("one task of a working specialist is running at a time", function()
  local plan = { calls = { call("create_tasks", { tasks = { { text = "One", assigned_to = "food" }, { text = "Two", assigned_to = "food" }, { text = "Three", assigned_to = "food" } } }) } }
  local done = function(id) return { calls = { call("complete_task", { task_id = id }) } } end
  local r = run { lead = { plan, { calls = { call("call_food", { task_ids = { 1, 2, 3 }, message = "Go" }) } }, "answer" }, food = { done(1), done(3), "the second is done as well" } }
  check_events(r)
  local now, order = {}, {}
  for _, event in ipairs(of(r, "task_updated")) do
    now[event.id], order[#order + 1] = event.status, event.id .. " " .. event.status
    local running = 0
    for _, status in pairs(now) do running = running + (status == "running" and 1 or 0) end
    t.ok(running <= 1, table.concat(order, ", "))
  end
  t.same(order, { "1 running", "1 done", "2 running", "3 done", "2 done" })
  t.equal(tasks_of(r)[2].completed_by, "auto")
end)

t.test("a specialist reports a failure in its words", function()
  local completes = { calls = { call("complete_task", { task_id = 1 }) } }
  local r = run { lead = lead(dispatch_both, "answer"), food = { "FAILED: no database" }, sights = worker(2, section(1, "morning", "x")) }
  check_events(r)
  t.equal(tasks_of(r)[1].status, "failed")
  t.has(tasks_of(r)[1].error, "no database")
  t.has(told(r, "call_food"), "food failed")
  t.equal(tasks_of(r)[2].status, "done")
  t.equal(r.last.partial[1].agent, "food")
  -- what it completed itself stands, whatever its report begins with
  r = run { lead = lead(dispatch_both, "answer"), food = { completes, "Failed to find a third one; two are there." }, sights = { "done" } }
  t.equal(tasks_of(r)[1].status, "done")
end)

t.test("a specialist reports a failure by task_outcome, which goes before its words and before what it completed", function()
  local completes = call("complete_task", { task_id = 1 })
  local function says(status, reason) return call("task_outcome", { status = status, reason = reason }) end
  local r = run { lead = lead(dispatch_both, "answer"), food = { { calls = { completes } }, { calls = { says("failed", "no key") } }, "All is well, I think." }, sights = { "done" } }
  check_events(r)
  t.equal(tasks_of(r)[1].status, "failed")
  t.has(tasks_of(r)[1].error, "no key")
  t.has(told(r, "call_food"), "no key")
  t.equal(r.last.partial[1].agent, "food")
  r = run { lead = lead(dispatch_both, "answer"), food = { { calls = { says "completed" } }, "FAILED: is what the page said, as asked." }, sights = { "done" } }
  t.equal(tasks_of(r)[1].status, "done")
end)

t.test("who works in a specialist's place completes its tasks, and writes in its own name", function()
  for _, fields in ipairs { { router = true, agents = { "editor" } }, { handoff = "editor" } } do
    local who = fields.router and { { calls = { call("route_to", { agent = "editor", reason = "so" }) } } } or { "over to you" }
    local r = run({ lead = lead(dispatch_both, "answer"), food = who, sights = { "done" },
      editor = { { calls = { call("complete_task", { task_id = 1, result = "two" }), section(1, "morning", "Tascas") } }, "done" } },
      { food = fields })
    check_events(r)
    local one = tasks_of(r)[1]
    t.equal(one.status, "done")
    t.equal(one.assigned_to, "food")
    t.equal(one.completed_by, "editor")
    t.equal(of(r, "document_updated")[1].agent, "editor")
    for _, request in ipairs(r.requests) do
      if request.tools.route_to then t.equal(request.tools.task_outcome, nil) end
    end
  end
end)

t.test("a specialist that fails: its tasks failed, the others go on", function()
  local r = run { lead = lead(dispatch_both, { calls = { call "get_plan_status" } }, "answer"),
    food = { { status = 500, error = "the model is gone" } }, sights = worker(2, section(1, "morning", "x")) }
  t.equal(assert(r.reply).text, "answer")
  check_events(r)
  t.equal(tasks_of(r)[1].status, "failed")
  t.equal(tasks_of(r)[1].finished, false)
  t.has(tasks_of(r)[1].error, "the model is gone")
  t.equal(tasks_of(r)[2].status, "done")
  t.has(told(r, "call_food"), "error: food failed")
  t.has(told(r, "call_food"), "the model is gone")
  t.has(told(r, "get_plan_status"), "1/2 done")
  t.has(told(r, "get_plan_status"), "task 1 (food) failed")
  t.ok(#of(r, "warning", "food") >= 1)
end)

t.test("what is no whole answer completes no task, and is handed on", function()
  for script, want in pairs {
    [{ { text = "Half of it: the bak", finish = "length" } }] = { "food was cut short: the answer was cut by the token limit (max_tokens)", "Half of it: the bak" },
    [{ { refusal = "I do not do that" } }] = { "food was cut short: the model refused to answer", "I do not do that" },
    [{ { text = "It begins", finish = "content_filter" } }] = { "the provider's content filter stopped the answer", "It begins" },
  } do
    local r = run { lead = lead(dispatch_both, { calls = { call "get_plan_status" } }, "answer"), food = script, sights = worker(2, section(1, "morning", "x")) }
    t.equal(assert(r.reply).text, "answer")
    check_events(r)
    local one = tasks_of(r)[1]
    t.equal(one.status, "failed")
    t.equal(one.completed_by, nil)
    t.has(one.error, want[1])
    t.equal(tasks_of(r)[2].status, "done")
    t.has(told(r, "call_food"), "error: food failed")
    t.has(told(r, "call_food"), want[1])
    t.matches(told(r, "call_food"), "<unfinished%-%w+ of=\"the answer so far\">\n" .. want[2] .. "\n</unfinished")
    t.has(told(r, "get_plan_status"), "1/2 done")
  end
end)

t.test("what a specialist completed itself is not done when it fails after that; what it delivered stays", function()
  for script, want in pairs {
    [{ { text = "Half a rep", finish = "length" } }] = "food was cut short: the answer was cut by the token limit (max_tokens)",
    [{ { refusal = "I do not do that" } }] = "food was cut short: the model refused to answer",
    [{ { status = 400, error = "bad" } }] = "bad",
    [{ function() flow.sleep(30) return "late" end }] = "food was not done within 0.3 seconds",
  } do
    local food = { { calls = { call("complete_task", { task_id = 1, result = "two tascas" }), section(1, "morning", "Tascas") } }, script[1] }
    local r = run({ lead = lead(dispatch_both, { calls = { call "get_plan_status", call "read_document_clean" } }, "answer"), food = food, sights = { "done" } },
      want:find "within" and { timeout = 0.3 } or nil)
    t.equal(assert(r.reply).text, "answer")
    check_events(r)
    local one = tasks_of(r)[1]
    t.equal(one.status, "failed")
    t.equal(one.finished, false)
    t.equal(one.completed_by, "food")
    t.equal(one.result, "two tascas")
    t.has(one.error, want)
    t.has(told(r, "read_document_clean"), "Tascas")
    t.has(told(r, "get_plan_status"), "(it was completed before that: two tascas)")
    local partial = r.last.partial
    t.equal(#partial, 1)
    t.equal(partial[1].agent, "food")
    t.equal(partial[1].task, 1)
    t.has(partial[1].error, want)
  end
end)

t.test("a specialist whose first stage was cut has not done its tasks", function()
  for _, completes in ipairs { true, false } do
    local food = { completes and { calls = { call("complete_task", { task_id = 1 }) } } or { calls = { call "read_tasks" } }, { text = "Half a rep", finish = "length" } }
    local r = run({ lead = lead(dispatch_both, "answer"), food = food, sights = { "done" }, editor = { "Whole again" } }, { handoff = "editor" })
    t.equal(tasks_of(r)[1].status, "failed")
    t.has(tasks_of(r)[1].error, "food was cut short")
    t.equal(tasks_of(r)[1].completed_by, completes and "food" or nil)
    t.has(told(r, "call_food"), "Whole again")
    t.equal(#r.last.partial, 1)
  end
end)

t.test("a failed task may be dispatched again", function()
  local tries = 0
  local again = { calls = { call("call_food", { task_ids = { 1 }, message = "again" }) } }
  local r = run { lead = lead(again, again, "answer"), food = function(request)
    if request.turn == 1 then tries = tries + 1 end
    if tries == 1 then return { status = 500, error = "gone" } end
    return request.turn == 1 and { calls = { call("complete_task", { task_id = 1 }) } } or "done"
  end }
  t.ok(r.reply)
  t.equal(tasks_of(r)[1].status, "done")
  t.equal(tasks_of(r)[1].completed_by, "food")
end)

t.test("a specialist that takes too long: its tasks failed, its socket closed", function()
  local r = run({ lead = lead(dispatch_both, "answer"), food = function() flow.sleep(30) return "late" end, sights = worker(2, section(1, "morning", "x")) },
    { timeout = 0.3 * t.slower })
  check_events(r)
  t.equal(assert(r.reply, r.err and r.err.message).text, "answer")
  t.equal(tasks_of(r)[1].status, "failed")
  t.has(tasks_of(r)[1].error, ("food was not done within %g seconds"):format(0.3 * t.slower))
  t.equal(tasks_of(r)[2].status, "done")
end)

t.test("a specialist whose stream is cut, that loops, that says nothing", function()
  for script, why in pairs {
    [{ { text = ("x "):rep(100), fault = "cut" } }] = "", [{ { calls = { call "read_tasks" } } }] = "again and again",
    [{ "" }] = "answered with nothing", [{ { calls = { call "nope" } } }] = "there is no tool 'nope'",
  } do
    local r = run { lead = lead(dispatch_both, "answer"), food = script, sights = { "done" } }
    t.ok(r.reply)
    t.equal(tasks_of(r)[1].status, "failed")
    t.has(tasks_of(r)[1].error, why)
    t.equal(tasks_of(r)[2].status, "done")
  end
end)

t.test("the same tasks cannot be sent out twice at once", function()
  local one = call("call_food", { task_ids = { 1 }, message = "go" })
  local r = run { lead = lead({ calls = { one, call("call_food", { task_ids = { 1 }, message = "go too" }) } }, "answer"),
    food = { function() flow.sleep(0.02) return "done" end } }
  t.equal(#of(r, "agent_started"), 1)
  t.has(told(r, "call_food", 2), "error:")
  t.has(told(r, "call_food", 2), "being worked on already")
end)

-- ---- Runs that fail ---------------------------------------------------------------------------------------

t.test("a facilitator that fails: error, then workflow_finished", function()
  local r = run { lead = lead(dispatch_both, { status = 400, error = "no more money" }), food = { "done" }, sights = { "done" } }
  t.equal(r.reply, nil)
  t.has(r.err, "no more money")
  check_events(r)
  t.ok(index(r, "error") < #r.events)
  t.has(of(r, "error")[1].message, "no more money")
  t.equal(#of(r, "final_answer"), 0)
  t.equal(#r.last.tasks, 2)
end)

t.test("a facilitator that is cut off leaves no task running", function()
  local board = hocket.board { limit = 20 }
  local r = run({ lead = lead(dispatch_both, "answer"), food = { function() flow.sleep(30) end }, sights = { function() flow.sleep(30) end } },
    nil, { timeout = 0.3, board = board })
  t.equal(r.err.code, "timeout")
  check_events(r)
  for _, one in pairs(tasks_of(r)) do t.equal(one.status, "cancelled") end
end)

t.test("agents that call each other too deep", function()
  local deepest = 0
  local m <close> = model.serve(function(request)
    local depth = tonumber(request.messages[1].text:match "%d+") or 0
    deepest = math.max(deepest, depth)
    if request.turn == 1 then return { calls = { call("create_tasks", { tasks = { task("deeper", "lead") } }) } } end
    if request.last.name == "create_tasks" then
      local id = math.tointeger(tonumber(request.last.text:match "\n(%d+) %("))
      return { calls = { call("call_lead", { task_ids = { id }, message = "depth " .. depth + 1 }) } }
    end
    return request.last.text
  end)
  local team = {}
  local def = hocket.agent { name = "lead", team = team, prompt = "x", task_limit = 100 }
  def.tools[1], def.agents[1] = "facilitator", "lead" -- no file could say so
  local reply = assert(hocket.run(def, "depth 0", { model = m.id }))
  t.has(reply.text, "more than 16 deep")
  t.equal(deepest, 15)
end)

t.test("a facilitator under another name has the same tools and events", function()
  hocket.tool.set("mylead", function(env) return hocket.patterns.facilitator.tools(env) end)
  local function look(...)
    local tools = {}
    local steps = lead(dispatch_both, "answer")
    local r = run({ lead = function(request) tools = request.tools return steps[math.min(request.turn, #steps)] end, food = { "done" }, sights = { "done" } }, { lead = { tools = { ... } } })
    t.equal(r.reply and r.reply.text, "answer")
    local names, types = {}, {}
    for name in pairs(tools) do names[#names + 1] = name end
    for _, event in ipairs(r.events) do
      if event.agent == "lead" then types[event.type] = true end
    end
    table.sort(names)
    return names, types
  end
  local names, types = look "facilitator"
  local others, of_copy = look "mylead"
  t.same(others, names)
  t.same(of_copy, types)
  t.ok(types.facilitator_message)
  t.has(table.concat(look("mylead", "delegate"), " "), "delegate") -- who asks for it has it
  hocket.tool.set("mylead", nil)
end)

t.test("a facilitator without specialists", function()
  local m <close> = serve {}
  t.raises("add 'agents: [name, …]'", hocket.agent, { name = "lead", tools = { "facilitator" }, prompt = "x" })
  local def = hocket.agent { name = "lead", prompt = "x" }
  def.tools[1] = "facilitator" -- no file could say so
  t.fails("agent", "add 'agents: [name, …]'", hocket.run(def, "x", { model = m.id }))
end)

t.test("a specialist alone has the tools that make sense", function()
  local m <close> = model.serve(function(request) return next(request.tools) and "some" or "none" end)
  local def = hocket.agent { name = "food", tools = { "specialist" }, prompt = "x" }
  t.equal(assert(hocket.run(def, "x", { model = m.id })).text, "none")
end)

t.test("dimensions with bounds reach the tools", function()
  local m <close> = serve { lead = { "ok" } }
  local document = hocket.document { { "day", "integer", { -2, 5 } }, { "part", { "a", "b" } } }
  assert(hocket.run(new_team(), "x", { model = m.id, document = document }))
  local day = m.requests[1].tools.consolidate_section.parameters.properties.day
  t.equal(day.minimum, -2)
  t.equal(day.maximum, 5)
end)

t.test("a plan that the user has to approve: changed, then carried out", function()
  local asked, answers = {}, { "leave out the sights", "yes" }
  local result = run({
    lead = {
      { calls = { call("create_tasks", { tasks = two }) } },
      function(request)
        t.has(request.last.text, "the user wants the plan changed")
        t.has(request.last.text, "leave out the sights")
        return { calls = { call("create_tasks", { tasks = { two[1] } }) } }
      end,
      "planned",
    },
  }, { approve_plan = true }, { on_question = function(q) asked[#asked + 1] = q return answers[#asked] end })
  t.equal(result.reply.text, "planned")
  t.equal(asked[1].questions[1], "1. food: Find places\n2. sights: Find sights")
  t.equal(asked[2].questions[1], "1. food: Find places")
  t.equal(#result.last.tasks, 1)
end)

t.test("a task's text is no line of the plan that a person approves", function()
  local shown
  local tasks = { task("Find places\n\n2. sights: harmless\27[2J\u{202E}", "food") }
  run({ lead = { { calls = { call("create_tasks", { tasks = tasks }) } }, "no" } }, { approve_plan = true }, { on_question = function(question)
    shown = question.questions[1]
    return "no"
  end })
  t.equal(shown, "1. food: Find places\n     2. sights: harmless\\u001b[2J\\u202e")
end)

t.test("a plan that is refused, or that nobody can approve, creates no task", function()
  local told
  local scripts = { lead = { { calls = { call("create_tasks", { tasks = two }) } }, function(request) told = request.last.text return "nothing done" end } }
  local result = run(scripts, { approve_plan = true }, { on_question = function() return "no" end })
  t.has(told, "the user refused this plan")
  t.equal(#result.last.tasks, 0)
  result = run(scripts, { approve_plan = true })
  t.has(told, "nobody is there to give it")
  t.equal(#result.last.tasks, 0)
  local warned = ""
  for _, event in ipairs(result.events) do warned = warned .. (event.type == "warning" and event.message or "") end
  t.has(warned, "the plan needs approval, and nobody is there to give it") -- a person hears so as well
end)

t.test("a dimension that is called content", function()
  local m <close> = serve { lead = { "ok" } }
  local document = hocket.document { { "content", "integer" } }
  t.fails("invalid", "content", hocket.run(new_team(), "x", { model = m.id, document = document }))
end)

t.test("eight specialists at once", function()
  local team, names, calls, tasks = {}, {}, {}, {}
  for i = 1, 8 do
    names[i] = "s" .. i
    hocket.agent { name = names[i], tools = { "specialist" }, prompt = "I am " .. names[i] .. ".", team = team }
    tasks[i] = task("t" .. i, names[i])
    calls[i] = call("call_" .. names[i], { task_ids = { i }, message = "go" })
  end
  local scripts = { lead = { { calls = { call("create_tasks", { tasks = tasks }) } }, { calls = calls }, "answer" } }
  for i = 1, 8 do scripts[names[i]] = worker(i, section(i, "morning", "by " .. i)) end
  local m <close> = serve(scripts, { latency = 0.02 })
  local def = hocket.agent { name = "lead", tools = { "facilitator" }, agents = names, team = team, prompt = "x", document = dimensions }
  local begin = flow.now()
  local reply = assert(hocket.run(def, "x", { model = m.id }))
  t.ok(flow.now() - begin < 1 * t.slower, "they did not run side by side")
  t.equal(reply.run:tasks()[8].completed_by, "s8")
  t.equal(#reply.run:document_versions(), 8)
  t.equal(json.decode((reply.run.journal:next(0))).type, "workflow_started")
end)

return t.finish()
