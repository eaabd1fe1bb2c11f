--- Alternates: who gets the work after its agent has failed, what that one is told, and where the path is seen.
local t = require "harness"
local s = require "scripted"
local p = require "patterns_support"
local agents = require "hocket.agent"
local hocket = require "hocket"

local function team(more)
  local defs = { clerk = { alternates = { "senior", "chief" } }, senior = {}, chief = {} }
  for name, value in pairs(more or {}) do defs[name] = value end
  return p.agents(defs)
end

t.test("the next one gets the task and why the one before failed", function()
  local asked = p.play { clerk = p.broken }
  local reply, _, run = p.run(team().clerk, "Count the chairs")
  t.equal(reply.text, "from senior")
  t.same(reply.tried, { "clerk" })
  local told = asked.senior[1].last.text
  t.has(told, "Count the chairs\n\n## TRIED BEFORE")
  t.has(p.framed(told, "error", "clerk"), "broken")
  local event = s.events(run, "reassigned")[1]
  t.same({ event.from, event.to, event.tried }, { "clerk", "senior", 1 })
  t.equal(s.events(run, "agent_started")[1].trigger, "alternate")
  t.equal(s.events(run, "workflow_finished")[1].partial, nil)
  t.equal(asked.chief, nil)
end)

t.test("nobody left: it has failed, with the whole path", function()
  p.play { clerk = p.broken, senior = p.broken, chief = p.broken, lead = function(request)
    return request.turn == 1 and { calls = { s.call("delegate", { agent_name = "clerk", prompt = "Go" }) } } or "done"
  end }
  local _, err, run = p.run(team().clerk, "Go")
  t.has(err, "all failed: clerk: ")
  t.has(err, "; senior: ")
  t.has(err, "; chief: ")
  t.same(err.path, { "clerk", "senior", "chief" })
  t.equal(err.agent, "chief")
  t.equal(#s.events(run, "reassigned"), 2)
  local _, _, called = p.run(team({ lead = { agents = { "clerk" } } }).lead, "Go")
  local partial = s.events(called, "workflow_finished")[1].partial
  t.equal(#partial, 1)
  t.same(partial[1].path, { "lead", "clerk", "senior", "chief" })
end)

t.test("the same agent with another model, or with more effort", function()
  local asked = p.play { clerk = p.broken, better = p.broken, strong = "of strong" }
  local def = team({ clerk = { alternates = { { model = "scripted/better" }, { model = "scripted/strong", reasoning = "high" } } } }).clerk
  local reply, _, run = p.run(def, "Go")
  t.equal(reply.text, "of strong")
  t.equal(reply.agent, "clerk")
  t.same(reply.tried, { "clerk", "clerk (scripted/better)" })
  t.has(asked.strong[1].system, "You are clerk.")
  t.equal(asked.strong[1].raw.reasoning_effort, "high")
  t.equal(s.events(run, "reassigned")[2].to, "clerk (scripted/strong)")
  t.equal(#s.events(run, "agent_message"), 2 - 1, "its answer is told once")
end)

t.test("what was done stays done, and the next one learns of it", function()
  local log = {}
  local write = hocket.tool { name = "book", description = "Books", effects = { "write" }, parameters = { type = "object", properties = { room = { type = "string" } } },
    run = function(args)
      log[#log + 1] = args.room
      return "booked " .. args.room
    end }
  local look = hocket.tool { name = "look", description = "Looks", effects = { "read" }, run = function() return "nothing" end }
  local asked = p.play { clerk = function(request)
    if request.turn == 1 then return { calls = { s.call("book", { room = "blue" }), s.call "look" } } end
    return p.broken
  end }
  local defs = {}
  agents.load { name = "senior", model = "scripted/senior", prompt = "s", team = defs }
  local clerk = agents.load { name = "clerk", model = "scripted/clerk", prompt = "c", tools = { write, look }, alternates = { "senior" }, team = defs }
  local run, reply, err = s.run(function() return hocket.run(clerk, "Book a room") end, { approve = { "allow" } })
  t.ok(reply, tostring(err))
  p.check(run)
  t.equal(reply.text, "from senior")
  local done = p.framed(asked.senior[1].last.text, "done", "clerk")
  t.equal(done, '- book {"room":"blue"}: booked blue')
  t.same(log, { "blue" })
end)

t.test("a budget that is used up, and a stop, are nobody's failure: no alternate is asked", function()
  local asked = p.play { clerk = function() return { calls = { s.call("nothing", {}) } } end }
  local _, err = p.run(team({ clerk = { alternates = { "senior" }, budget = { turns = 0 } } }).clerk, "Go")
  t.equal(err.code, "budget")
  t.equal(asked.senior, nil)
end)

t.test("an alternate of its own is none: two that stand in for each other end, and a circle of files is refused", function()
  local asked = p.play { a = p.broken, b = p.broken }
  local defs = p.agents { a = { alternates = { "b" } }, b = {} }
  defs.b.alternates = { { agent = "a" } }
  local _, err = p.run(defs.a, "Go")
  t.same(err.path, { "a", "b" })
  t.equal(#asked.a, 1)
  t.raises("in a circle: a -alternates-> b -alternates-> a", p.agents, { a = { alternates = { "b" } }, b = { alternates = { "a" } } })
  t.raises("unknown agent 'nobody'", p.agents, { a = { alternates = { "nobody" } } })
  t.raises("needs 'agent', 'model' or 'reasoning'", p.agents, { a = { alternates = { {} } } })
end)

t.test("one that is cut has not done it, where it was called to do something", function()
  p.play { lead = function(request)
    return request.turn == 1 and { calls = { s.call("delegate", { agent_name = "clerk", prompt = "Go" }) } } or request.last.text
  end, clerk = { text = "Half", finish = "length" } }
  local reply = p.run(team({ lead = { agents = { "clerk" } } }).lead, "Go")
  t.has(reply.text, "from senior")
end)

t.test("one that loops until its turns are used up gives up to the next; where all loop it ends", function()
  local function loop(request) return { calls = { s.call("list_directory", { path = ("./"):rep(request.turn) }) } } end
  local asked = p.play { clerk = loop, senior = loop }
  local looping = { tools = { "list_directory" }, max_turns = 3 }
  local clerk = { tools = looping.tools, max_turns = 3, alternates = { "senior", "chief" } }
  local reply, _, run = p.run(team { clerk = clerk, senior = looping }.clerk, "Go")
  t.equal(reply.text, "from chief")
  t.same(reply.tried, { "clerk", "senior" })
  t.same({ #asked.clerk, #asked.senior, #s.events(run, "reassigned") }, { 3, 3, 2 })
  asked = p.play { clerk = loop, senior = loop, chief = loop }
  local _, err = p.run(team { clerk = clerk, senior = looping, chief = looping }.clerk, "Go")
  t.has(err, "all failed: clerk: ")
  t.same({ #asked.clerk, #asked.senior, #asked.chief }, { 3, 3, 3 })
  asked = p.play { clerk = loop }
  t.equal(p.run(team { clerk = { tools = looping.tools, max_tool_calls = 2, alternates = { "senior" } } }.clerk, "Go").text, "from senior")
  t.equal(#asked.clerk, 4, "two calls, one too many, a last answer")
  asked = p.play { clerk = loop }
  t.has(select(2, p.run(team { clerk = { tools = looping.tools, budget = { turns = 3 }, alternates = { "senior" } } }.clerk, "Go")), "budget of clerk")
  t.equal(asked.senior, nil, "a budget is for all of them together")
end)

-- ---- Plans ------------------------------------------------------------------------------------

local function carry_out(defs, task, options)
  local all = p.agents(defs)
  local run, reply, err = s.run(function()
    local opts = { team = all, backoff = 0 }
    for name, value in pairs(options or {}) do opts[name] = value end
    return hocket.patterns.coordinator.run({ type = "task", tasks = { task } }, opts)
  end)
  return reply, err, run
end

local one = { id = "count", specialist = "clerk", description = "Count the chairs" }

t.test("a plan's task: after the retries, also where the report says that it failed", function()
  local asked = p.play { clerk = "FAILED: the door is locked", senior = "12 chairs" }
  local reply, _, run = carry_out({ clerk = { alternates = { "senior" } }, senior = {} }, one, { retries = 1 })
  t.equal(reply.text, "12 chairs")
  t.equal(#asked.clerk, 2)
  t.has(p.framed(asked.senior[1].last.text, "error", "clerk"), "the door is locked")
  t.same({ reply.tasks[1].tried, reply.tasks[1].answered_by }, { { "clerk" }, "senior" })
  t.equal(run:tasks()[1].status, "done")
  t.equal(run:tasks()[1].completed_by, "senior")
  t.same(run:tasks()[1].reassigned_to, { "senior" })
  local updates = {}
  for i, event in ipairs(s.events(run, "task_updated")) do updates[i] = ("%s %s %s"):format(event.status, event.reassigned_to or "-", event.error or "-") end
  t.same(updates, { "running - -", "failed - attempt 1: the door is locked", "running - -", "running senior the door is locked", "done - -" })
end)

t.test("the board has the whole path, whoever did it in the end, or nobody", function()
  p.play { clerk = "FAILED: no", senior = "FAILED: neither", chief = "12 chairs" }
  local _, _, run = carry_out({ clerk = { alternates = { "senior", "chief" } }, senior = {}, chief = {} }, one, { retries = 0 })
  local task = run:tasks()[1]
  t.same({ task.assigned_to, task.reassigned_to, task.completed_by, task.status }, { "clerk", { "senior", "chief" }, "chief", "done" })
  p.play { clerk = "FAILED: no", senior = "FAILED: neither" }
  _, _, run = carry_out({ clerk = { alternates = { "senior" } }, senior = {} }, one, { retries = 0 })
  task = run:tasks()[1]
  t.same({ task.reassigned_to, task.completed_by, task.status }, { { "senior" }, nil, "failed" })
  t.has(task.error, "all failed: clerk: no; senior: neither")
end)

t.test("a task names its own; one that lies about nothing left has failed as without", function()
  local asked = p.play { clerk = "FAILED: no", senior = "FAILED: neither" }
  local reply, err = carry_out({ clerk = {}, senior = {} }, { id = "count", specialist = "clerk", description = "Count", alternates = { "senior" } }, { retries = 0 })
  t.equal(reply, nil)
  t.has(err, "all failed: clerk: no; senior: neither")
  t.equal(#asked.senior, 1)
  t.has(err, "count")
  local _, wrong = carry_out({ clerk = {} }, { id = "count", specialist = "clerk", description = "Count", alternates = { "nobody" } })
  t.has(wrong, "alternates: there is no specialist 'nobody'")
end)

t.test("a facilitator's specialist: the task on its board is done by the alternate", function()
  p.play { lead = function(request)
    if request.turn == 1 then return { calls = { s.call("create_tasks", { tasks = { { text = "Count", assigned_to = "clerk" } } }) } } end
    if request.turn == 2 then return { calls = { s.call("call_clerk", { task_ids = { 1 }, message = "Count" }) } } end
    return "all done"
  end, clerk = function(request)
    if request.turn == 1 then return { calls = { s.call("task_outcome", { status = "failed", reason = "no key" }) } } end
    return "I could not."
  end, senior = function(request)
    if request.turn == 1 then return { calls = { s.call("complete_task", { task_id = 1, result = "12" }) } } end
    return "12 chairs"
  end }
  local board = hocket.board()
  local reply, _, run = p.run(p.agents({ lead = { tools = { "facilitator" }, agents = { "clerk" } }, clerk = { alternates = { "senior" }, tools = { "specialist" } }, senior = {} }).lead, "Go", { board = board })
  t.equal(reply.text, "all done")
  t.equal(board:tasks()[1].status, "done")
  t.equal(board:tasks()[1].completed_by, "senior")
  t.same(board:tasks()[1].reassigned_to, { "senior" })
  t.equal(s.events(run, "workflow_finished")[1].partial, nil)
end)

t.test("the bound of calls counts alternates", function()
  local all = require("hocket.internal.agents.bounds").of(p.agents { a = { max_turns = 3, alternates = { { reasoning = "high" }, "b" } }, b = { max_turns = 5 } }, true)
  t.equal(all.a.model_calls, 3 * 2 + 5)
end)

return t.finish()
