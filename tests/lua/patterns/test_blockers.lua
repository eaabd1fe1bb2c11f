--- Blockers: a task waits for what its specialist needs, through the planner or the facilitator, who may refuse.
local t = require "harness"
local s = require "scripted"
local p = require "patterns_support"
local hocket = require "hocket"
local json = require "hocket.json"

local function report(id, more)
  local arguments = { id = id, what = "no stones", needs = "stones" }
  for name, value in pairs(more or {}) do arguments[name] = value end
  return { calls = { s.call("report_blocker", arguments) } }
end

local defs = { mason = { tools = { "report_blocker" } }, quarry = { tools = { "report_blocker" } }, clerk = {} }
local walls = { { id = "walls", specialist = "mason", description = "Build walls" } }
local stones = { id = "stones", specialist = "quarry", description = "Get stones" }

local function carry_out(on_blocker, options, tasks)
  local team = p.agents(defs)
  local board = hocket.board { limit = 60 }
  local run, reply, err = s.run(function()
    local opts = { team = team, backoff = 0, retries = 0, board = board, on_blocker = on_blocker }
    for name, value in pairs(options or {}) do opts[name] = value end
    return hocket.patterns.coordinator.run({ type = "task", tasks = tasks or walls }, opts)
  end)
  p.check(run)
  return reply, err, run, board
end

-- A mason that reports until it reads of stones.
local function mason(request)
  return request.last.text:find "from the quarry" and "walls are built" or report "walls"
end

t.test("the blocked task waits, and gets what was done about it; it has not failed", function()
  local asked = p.play { mason = mason, quarry = "ten stones from the quarry" }
  local about
  local reply, _, run, board = carry_out(function(given)
    about = given
    return { stones }
  end)
  t.has(reply.text, "walls are built")
  t.equal(reply.finish, "stop")
  t.same({ about.task.id, about.what, about.needs }, { "walls", "no stones", "stones" })
  t.equal(#asked.mason, 2)
  local told = asked.mason[2].last.text
  t.has(p.framed(told, "blocker", "walls"), "no stones\nIt needs: stones")
  t.has(p.framed(told, "result", "stones by quarry"), "ten stones")
  t.same({ reply.tasks[2].id, reply.tasks[2].unblocks, reply.tasks[1].attempts }, { "stones", "walls", 1 })
  t.equal(board:tasks()[1].status, "done")
  t.same({ board:tasks()[2].unblocks, board:tasks()[2].parent, s.events(run, "task_blocked")[1].task_id }, { 1, nil, 1 })
  for _, event in ipairs(s.events(run, "task_updated")) do t.ok(event.status ~= "failed", "no task has failed") end
  t.same({ #s.events(run, "task_blocked"), s.events(run, "task_unblocked")[1].tasks }, { 1, { "stones" } })
end)

t.test("a refusal is told, and the specialist does it without, or fails", function()
  local asked = p.play { mason = function(request) return request.last.text:find "It was refused" and "built of wood" or report "walls" end }
  local reply = carry_out(function() return nil, "too dear" end)
  t.equal(reply.text, "built of wood")
  t.equal(p.framed(asked.mason[2].last.text, "refusal", "the planner"), "too dear")
  reply = carry_out(nil)
  t.equal(reply.text, "built of wood")
  t.has(p.framed(asked.mason[4].last.text, "refusal", "the planner"), "nobody is there")
end)

t.test("a model that reports for ever fails, with the limit", function()
  local asked = p.play { mason = function() return report "walls" end, quarry = "ten stones" }
  local n = 0
  local reply = carry_out(function()
    n = n + 1
    return { { id = "stones" .. n, specialist = "quarry", description = "Get stones" } }
  end)
  t.has(reply.text, "task 'walls' was blocked 2 times, which is the limit")
  t.equal(n, 2)
  t.equal(#asked.mason, 2 + 3, "two reports, and three that were refused")
end)

t.test("a model that is cut: with its report it waits for nothing, after it the task has failed, and its alternate knows of the blocker", function()
  local asked = p.play { quarry = "ten stones from the quarry", mason = function(request)
    if request.last.text:find "from the quarry" then return "walls are built" end
    local made = report "walls"
    made.text, made.finish = "There are no", "length"
    return made
  end }
  local _, err, run = carry_out(function() return { stones } end)
  t.has(err, "mason was cut short")
  t.same({ #s.events(run, "task_blocked"), asked.quarry }, { 0, nil })
  asked = p.play { quarry = "ten stones from the quarry", mason = function(request)
    local text = request.last.text
    if not text:find "from the quarry" then return report "walls" end
    return { text = "The walls are half", finish = "length" }
  end, clerk = function(request) return request.last.text:find "The walls are half" and "walls are built" end }
  local reply, board
  reply, err, run, board = carry_out(function() return { stones } end, nil, { { id = "walls", specialist = "mason", description = "Build walls", alternates = { "clerk" } } })
  t.equal(reply and reply.finish or err.message, "stop")
  t.has(reply.text, "walls are built")
  t.has(asked.clerk[1].last.text, "ten stones from the quarry")
  t.same({ #s.events(run, "task_blocked"), #asked.quarry, #asked.mason }, { 1, 1, 2 }, "what removed the blocker is not done again")
  for _, task in ipairs(board:tasks()) do t.equal(task.status, "done") end
end)

t.test("whoever removes a blocker, or plans that, is cut: the task has failed, or goes on without", function()
  p.play { mason = mason, quarry = { text = "five of", finish = "length" } }
  local _, err = carry_out(function() return { stones } end)
  t.has(err, "what blocks 'walls' was not removed: 1 of 1 parts did not complete: stones (quarry) failed")
  local plan = json.encode { type = "task", tasks = walls }
  p.play { lead = function(request)
    if not request.last.text:find "is blocked" and not request.last.text:find "cannot be used" then return plan end
    return { text = '{"type": "task", "tasks": [{"id": "st', finish = "length" }
  end, mason = function(request) return request.last.text:find "It was refused" and "built of wood" or report "walls" end }
  local team = p.agents { lead = { agents = { "mason", "quarry" } }, mason = defs.mason, quarry = {} }
  local run, reply = s.run(function() return hocket.patterns.planner.run { request = "Walls", team = team, planner = team.lead, retries = 0, backoff = 0 } end)
  t.has(reply.text, "built of wood")
  t.equal(s.events(run, "task_unblocked")[1].refused, "lead was cut short: the answer was cut by the token limit (max_tokens)")
  t.equal(#s.events(run, "tasks_created"), 1)
end)

t.test("the way from a task to another goes through those that it waits for, and ends in a circle beside it", function()
  local blockers = hocket.patterns.blockers
  local waits = { a = { "b", "c" }, b = { "a", "e" }, c = { "d" }, d = {}, e = {} }
  local function awaited(id) return waits[id] or {} end
  t.same(blockers.way("a", "d", awaited), { "a", "c", "d" })
  t.same(blockers.way("b", "d", awaited), { "b", "a", "c", "d" })
  t.same(blockers.way("d", "d", awaited), { "d" })
  t.same(blockers.way(1, 2, function(id) return ({ { 3 }, {}, { 2 } })[id] end), { 1, 3, 2 })
  t.equal(blockers.way("a", "x", awaited), nil)
  t.equal(blockers.way("x", "a", awaited), nil)
  t.raises("bad argument #3 to 'patterns.blockers.way'", blockers.way, "a", "b", waits)
end)

t.test("a circle is refused, with its path", function()
  local wrongs = {}
  p.play { mason = function(request) return request.last.text:find "It was refused" and "without" or report "walls" end,
    quarry = function(request) return request.last.text:find "It was refused" and "without" or report "stones" end }
  local reply = carry_out(function(about)
    if about.task.id == "walls" then return { stones } end
    wrongs[1] = about.wrong { { id = "cart", specialist = "clerk", description = "Get a cart", depends_on = { "walls" } } }
    wrongs[2] = about.wrong { { id = "cart", specialist = "clerk", description = "Get a cart", depends_on = { "paint" } } }
    return { { id = "cart", specialist = "clerk", description = "Get a cart", depends_on = { "walls" } } }
  end, nil, { walls[1], { id = "paint", specialist = "clerk", description = "Paint", depends_on = { "walls" } } })
  t.has(wrongs[1], "in a circle: cart -> walls -> stones -> cart")
  t.has(wrongs[2], "in a circle: cart -> paint -> walls -> stones -> cart")
  t.equal(reply.finish, "stop")
end)

t.test("what blocks it fails: then it has failed, with that", function()
  p.play { mason = mason, quarry = "FAILED: the quarry is closed" }
  local _, err, run = carry_out(function() return { stones } end)
  t.has(err, "what blocks 'walls' was not removed: 1 of 1 parts did not complete: stones (quarry) failed: the quarry is closed")
  t.equal(#s.events(run, "workflow_finished")[1].partial, 2)
end)

t.test("tasks that are no plan, or too many, are refused", function()
  p.play { mason = function(request) return request.last.text:find "It was refused" and request.last.text or report "walls" end }
  t.has(carry_out(function() return { { id = "x", specialist = "nobody", description = "x" } } end).text, "there is no specialist 'nobody'")
  t.has(carry_out(function() return { stones } end, { task_limit = 1 }).text, "the plan would have 2 tasks, and 1 is the limit")
  t.has(carry_out(function() return { { id = "walls", specialist = "quarry", description = "x" } } end).text, "is done already")
end)

t.test("the planner plans what a blocked task needs, or refuses", function()
  for _, refuses in ipairs { false, true } do
    local asked = p.play { lead = function(request)
      if not request.last.text:find "is blocked" then return json.encode { type = "task", tasks = walls } end
      if refuses then return json.encode { type = "conversation", response = "use wood" } end
      return json.encode { type = "task", tasks = { stones } }
    end, mason = function(request) return (request.last.text:find "from the quarry" or request.last.text:find "use wood") and "walls are built" or report "walls" end,
      quarry = "ten stones from the quarry" }
    local team = p.agents { lead = { agents = { "mason", "quarry" } }, mason = defs.mason, quarry = {} }
    local run, reply, err = s.run(function() return hocket.patterns.planner.run { request = "Walls", team = team, planner = team.lead, retries = 0, backoff = 0 } end)
    t.ok(reply, tostring(err))
    t.has(reply.text, "walls are built")
    t.equal(#asked.lead, 2)
    t.equal(s.events(run, "task_unblocked")[1].refused, refuses and "use wood" or nil)
  end
end)

t.test("a facilitator plans it with its own tools: the task waits on the board, and is done in the end", function()
  local turns = {}
  local asked = p.play { lead = function(request)
    turns[#turns + 1] = request.last.text
    local steps = {
      s.call("create_tasks", { tasks = { { text = "Walls", assigned_to = "mason" } } }), s.call("call_mason", { task_ids = { 1 }, message = "Build" }),
      s.call("create_tasks", { tasks = { { text = "Stones", assigned_to = "quarry" } } }), s.call("call_quarry", { task_ids = { 2 }, message = "Get them" }),
      s.call("call_mason", { task_ids = { 1 }, message = "The stones are there" }),
    }
    return steps[request.turn] and { calls = { steps[request.turn] } } or "all done"
  end, mason = function(request) return request.last.text:find "are there" and "built" or report(1) end, quarry = "ten stones" }
  local board = hocket.board()
  local reply, _, run = p.run(p.agents { lead = { tools = { "facilitator" }, agents = { "mason", "quarry" } }, mason = { tools = { "specialist", "report_blocker" } }, quarry = { tools = { "specialist" } } }.lead, "Go", { board = board })
  t.equal(reply.text, "all done")
  t.has(turns[3], "mason reports a blocker of task 1, which waits and has not failed")
  for i, task in ipairs(board:tasks()) do t.equal(task.status, "done", tostring(i)) end
  t.equal(#s.events(run, "task_blocked"), 1)
  t.equal(#s.events(run, "task_unblocked"), 1)
  t.same({ board:tasks()[2].unblocks, s.events(run, "task_blocked")[1].board, s.events(run, "task_unblocked")[1].task_id }, { 1, 1, 1 })
  t.equal(s.events(run, "workflow_finished")[1].partial, nil)
  t.equal(#asked.mason, 2)
end)

t.test("what a facilitator plans while several are blocked is for none of them, and a model names no links itself", function()
  p.play { lead = function(request)
    local steps = {
      s.call("create_tasks", { tasks = { { text = "Walls", assigned_to = "mason", parent = 1, unblocks = 1 }, { text = "Roof", assigned_to = "quarry" } } }),
      s.call("call_mason", { task_ids = { 1 }, message = "Build" }), s.call("call_quarry", { task_ids = { 2 }, message = "Build" }),
      s.call("create_tasks", { tasks = { { text = "Stones", assigned_to = "quarry" } } }),
    }
    return steps[request.turn] and { calls = { steps[request.turn] } } or "all done"
  end, mason = report(1), quarry = report(2) }
  local board = hocket.board()
  p.run(p.agents({ lead = { tools = { "facilitator" }, agents = { "mason", "quarry" } }, mason = { tools = { "specialist", "report_blocker" } }, quarry = { tools = { "specialist", "report_blocker" } } }).lead, "Go", { board = board })
  t.equal(#board:tasks(), 3)
  for i, task in ipairs(board:tasks()) do t.same({ task.parent, task.unblocks }, {}, tostring(i)) end
end)

t.test("on a board, too, a circle is refused with its path, and what is not his", function()
  local asked = p.play { lead = function(request)
    local steps = {
      s.call("create_tasks", { tasks = { { text = "Walls", assigned_to = "mason" }, { text = "Stones", assigned_to = "quarry" } } }),
      s.call("call_mason", { task_ids = { 1 }, message = "Build" }), s.call("call_quarry", { task_ids = { 2 }, message = "Get them" }),
    }
    return steps[request.turn] and { calls = { steps[request.turn] } } or "all done"
  end, mason = report(1, { needs_tasks = { 2 } }), quarry = function(request)
    if request.turn == 1 then return report(1) end
    if request.turn == 2 then return report(2, { needs_tasks = { 1 } }) end
    return "ten stones"
  end }
  local _, _, run = p.run(p.agents { lead = { tools = { "facilitator" }, agents = { "mason", "quarry" } }, mason = { tools = { "specialist", "report_blocker" } }, quarry = { tools = { "specialist", "report_blocker" } } }.lead, "Go")
  t.has(asked.quarry[2].last.text, "task 1 is not yours")
  t.has(asked.quarry[3].last.text, "in a circle: 2 -> 1 -> 2")
  t.equal(s.events(run, "workflow_finished")[1].partial[1].error, "it was not finished", "nobody went on with it")
end)

t.test("of several tasks that are sent together the others wait with the blocked one, for their specialist alone", function()
  local turns = {}
  local asked = p.play { lead = function(request)
    turns[#turns + 1] = request.last.text
    local steps = {
      s.call("create_tasks", { tasks = { { text = "Walls", assigned_to = "mason" }, { text = "Roof", assigned_to = "mason" } } }),
      s.call("call_mason", { task_ids = { 1, 2 }, message = "Build" }),
      s.call("call_quarry", { task_ids = { 1 }, message = "Build the walls of another" }),
      s.call("call_mason", { task_ids = { 1, 9 }, message = "A task that is none" }),
      s.call("call_mason", { task_ids = { 1, 2 }, message = "The stones are there" }),
    }
    return steps[request.turn] and { calls = { steps[request.turn] } } or "all done"
  end, mason = function(request) return request.last.text:find "are there" and "built" or report(1) end, quarry = "I did it" }
  local board = hocket.board()
  local reply, _, run = p.run(p.agents { lead = { tools = { "facilitator" }, agents = { "mason", "quarry" } }, mason = { tools = { "specialist", "report_blocker" } }, quarry = { tools = { "specialist" } } }.lead, "Go", { board = board })
  t.equal(reply.text, "all done")
  t.has(turns[4], 'task 1 is assigned to "mason", not to "quarry"')
  t.equal(asked.quarry, nil)
  for i, task in ipairs(board:tasks()) do t.equal(task.status, "done", tostring(i)) end
  t.equal(#s.events(run, "task_unblocked"), 1)
  t.equal(#asked.mason, 2)
end)

t.test("a task that is done cannot be reported as blocked", function()
  local asked = p.play { lead = function(request)
    local steps = { s.call("create_tasks", { tasks = { { text = "Walls", assigned_to = "mason" } } }), s.call("call_mason", { task_ids = { 1 }, message = "Build" }) }
    return steps[request.turn] and { calls = { steps[request.turn] } } or "all done"
  end, mason = function(request)
    if request.turn == 1 then return { calls = { s.call("complete_task", { task_id = 1, result = "built" }) } } end
    return request.turn == 2 and report(1) or "built"
  end }
  local _, _, run = p.run(p.agents { lead = { tools = { "facilitator" }, agents = { "mason" } }, mason = { tools = { "specialist", "report_blocker" } } }.lead, "Go")
  t.has(asked.mason[3].last.text, "task 1 is done")
  t.equal(#s.events(run, "task_blocked"), 0)
end)

return t.finish()
