--- The to-do list of one agent: the rules of the board, and models that lie, loop or stop in the middle.
local t = require "harness"
local s = require "scripted"
local p = require "patterns_support"
local hocket = require "hocket"

local function item(content, status)
  return { content = content, active_form = "Doing " .. content, status = status or "pending" }
end

local function write(...)
  return { calls = { s.call("todo", { items = { ... } }) } }
end

-- An agent whose model gives these replies, one a turn. Returns the reply, the run, and what each call came to.
local function work(replies, def)
  local results = {}
  local asked = p.play { clerk = function(request)
    if request.last.role == "tool" then results[#results + 1] = request.last.text end
    return replies[request.turn] or "done"
  end }
  def = def or {}
  def.tools = { "todo" }
  local team = p.agents { clerk = def }
  local run, reply, err = s.run(function() return hocket.orchestrate.call(team.clerk, "Go") end)
  p.check(run)
  return reply, run, results, asked.clerk, err
end

local function board(run)
  local lines = {}
  for i, task in ipairs(run:tasks()) do lines[i] = ("%s %s %s"):format(task.text, task.active_form, task.status) end
  return lines
end

t.test("one item after the other; the list is a board", function()
  local reply, run, results = work {
    write(item("a", "in_progress"), item "b"), write(item("a", "completed"), item("b", "in_progress")), write(item("a", "completed"), item("b", "completed")) }
  t.equal(reply.text, "done")
  t.same(results, { "2 of 2 items are open; in progress: a", "1 of 2 items are open; in progress: b", "all 2 items are completed" })
  t.same(board(run), { "a Doing a done", "b Doing b done" })
  local told = {}
  for i, event in ipairs(s.events(run, "task_updated")) do told[i] = ("%d %s"):format(event.id, event.status) end
  t.same(told, { "1 running", "1 done", "2 running", "2 done" })
  t.equal(s.events(run, "workflow_finished")[1].partial, nil)
end)

t.test("a model that lies: what was not begun is not done, what is done is not opened again", function()
  local _, run, results = work {
    write(item("a", "completed"), item("b", "in_progress")), write(item("a", "in_progress"), item "b"),
    write(item("a", "completed"), item("b", "completed")), write(item("a", "completed"), item("b", "in_progress")),
    write(item("a", "in_progress"), item("b", "completed")), write(item("a", "completed"), item("b", "completed")) }
  t.has(results[1], "'a' was not in progress")
  t.has(results[3], "'b' was not in progress")
  t.has(results[5], "'a' is completed: put what is left of it on the list as a new item")
  t.has(results[5], "the list stays as it was")
  t.same(board(run), { "a Doing a done", "b Doing b done" })
end)

t.test("exactly one is in progress; nothing twice; a limit", function()
  local _, run, results = work({
    write(item("a", "in_progress"), item("b", "in_progress")), write(item "a", item "b"), write(item("a", "in_progress"), item "a"),
    write(item("a", "in_progress"), item "b", item "c"), write(item("a", "in_progress"), item "b", item "c", item "d") }, { task_limit = 2 })
  t.has(results[1], "2 items are in progress: it has to be exactly one")
  t.has(results[2], "0 items are in progress")
  t.has(results[3], "'a' is on the list twice")
  t.has(results[4], "the list has 3 items: 2 may be open")
  t.same(run:tasks(), {})
end)

t.test("an item is put off for what has to come first, and one that is not going to be done is taken off", function()
  local _, run, results = work {
    write(item("a", "in_progress"), item "c"), write(item("first", "in_progress"), item "a"), write(item("first", "completed"), item("a", "in_progress")),
    write(item("a", "completed")) }
  t.equal(results[2], "2 of 2 items are open; in progress: first")
  t.same(board(run), { "a Doing a done", "c Doing c cancelled", "first Doing first done" })
end)

t.test("a model that loops: the same list changes nothing, and is no event", function()
  local same = write(item("a", "in_progress"))
  local _, run, results = work { same, same, write(item("a", "completed")) }
  t.equal(results[2], "nothing has changed: 1 of 1 items are open; in progress: a")
  t.equal(#s.events(run, "tasks_created"), 1)
  t.equal(#s.events(run, "task_updated"), 2)
end)

t.test("an answer with open items is asked for once more, and what is left is told", function()
  local reply, run, _, asked = work { write(item("a", "in_progress"), item "b"), "I think I am done", "Really" }
  t.equal(reply.text, "Really")
  t.has(asked[3].last.text, "Your to-do list has open items")
  t.has(p.framed(asked[3].last.text, "board", "your list"), "- a\n- b")
  local partial = s.events(run, "workflow_finished")[1].partial
  t.equal(#partial, 2)
end)

t.test("an agent that is cut leaves its list as it stands", function()
  local _, run = work({ write(item("a", "in_progress"), item "b"), { text = "Ha", finish = "length" } }, { max_turns = 2 })
  t.same(board(run), { "a Doing a running", "b Doing b pending" })
  t.equal(#s.events(run, "workflow_finished")[1].partial, 2)
end)

t.test("in a conversation the list stays", function()
  local asked = p.play { clerk = function(request)
    if request.last.text == "more" then return write(item("a", "completed"), item("b", "in_progress")) end
    if request.last.text == "Go" then return write(item("a", "in_progress")) end
    return "so far"
  end }
  local team = p.agents { clerk = { tools = { "todo" } } }
  local run = s.run(function()
    local talk <close> = assert(hocket.conversation(team.clerk))
    assert(talk:send "Go")
    assert(talk:send "more")
    return { text = "ok" }
  end)
  t.same(board(run), { "a Doing a done", "b Doing b running" })
  local last = asked.clerk[#asked.clerk].messages
  t.ok(#last > 4)
end)

t.test("an item without words changes nothing, and ends nothing", function()
  local reply, run, results = work { write(item("a", "in_progress")), write(item(" ", "in_progress")), write(item("a", "completed")) }
  t.equal(reply and reply.text, "done")
  t.has(results[2], "the text is empty")
  t.equal(results[3], "all 1 items are completed")
  t.same(board(run), { "a Doing a done" })
end)

return t.finish()
