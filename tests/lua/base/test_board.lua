local t = require "harness"
local board = require "hocket.board"
local document = require "hocket.document"
local flow = require "hocket.flow"
local journal = require "hocket.internal.core.journal"
local json = require "hocket.json"

local function lines_of(j)
  local lines, cursor = {}, 0
  while true do
    local line, seq = j:next(cursor)
    if not line then return lines end
    cursor = seq
    lines[#lines + 1] = line
  end
end

local function types_of(j)
  local types = {}
  for i, line in ipairs(lines_of(j)) do types[i] = json.decode(line).type end
  return types
end

local function plan(b)
  return assert(b:create("lead", {
    { text = "Find restaurants", assigned_to = "food", active_form = "Finding restaurants" },
    { text = "Find markets", assigned_to = "food" },
    { text = "Find trams", assigned_to = "logistics" },
  }))
end

-- ---- The board --------------------------------------------------------------------------

t.test("a plan is made, worked off and told", function()
  local b = board()
  t.equal(b:status(), "no tasks yet")
  t.same(plan(b), { 1, 2, 3 })
  t.equal(#b, 3)
  t.ok(b:start("food", { 1, 2 }))
  t.same(b:complete("food", { 1, 2 }, 1, "two places"), { id = 1, corrected = false, already = false })
  local task = b:tasks { 1 } [1]
  t.same(task, {
    id = 1, text = "Find restaurants", assigned_to = "food", active_form = "Finding restaurants",
    status = "done", finished = true, completed_by = "food", error = task.error, result = "two places",
  })
  t.has(b:status(), "1/3 done")
end)

t.test("all or none of a plan's tasks are made", function()
  local b = board { agents = { "food", "logistics" }, limit = 3 }
  local err = t.fails("invalid", "musuem", b:create("lead", { { text = "a", assigned_to = "food" }, { text = "b", assigned_to = "musuem" } }))
  t.has(err, "food")
  t.equal(#b, 0)
  t.fails("limit", "3", b:create("lead", { { text = "a", assigned_to = "food" }, { text = "a", assigned_to = "food" },
    { text = "a", assigned_to = "food" }, { text = "a", assigned_to = "food" } }))
  t.equal(#b, 0)
  t.fails("invalid", "", b:create("lead", { { text = "", assigned_to = "food" } }))
  t.ok(b:create("lead", { { text = "a", assigned_to = "food" } }))
end)

t.test("20 tasks by default; 0 is none", function()
  local b, specs = board(), {}
  for i = 1, 20 do specs[i] = { text = "x", assigned_to = "a" } end
  t.equal(#b:create("lead", specs), 20)
  t.fails("limit", "20", b:create("lead", { specs[1] }))
  t.fails("limit", "0", board { limit = 0 }:create("lead", { specs[1] }))
end)

t.test("unknown, foreign and closed tasks cannot be started", function()
  local b = board()
  plan(b)
  t.fails("not_found", "9", b:start("food", { 1, 9 }))
  t.fails("denied", "3", b:start("food", { 3 }))
  t.ok(b:start("food", { 1 }))
  t.fails("state", "1", b:start("food", { 1 }))
  t.equal(b:tasks { 1 } [1].status, "running")
  t.fails("not_found", "", b:tasks { 17 })
end)

t.test("a wrong id is corrected when one is open, refused when several are", function()
  local b = board()
  plan(b)
  b:start("food", { 1, 2 })
  local err = t.fails("invalid", "1", b:complete("food", { 1, 2 }, 3))
  t.has(err, "2")
  t.equal(b:tasks { 3 } [1].status, "pending")
  b:complete("food", { 1, 2 }, 1)
  t.same(b:complete("food", { 1, 2 }, 3), { id = 2, corrected = true, already = false })
  t.equal(b:tasks { 3 } [1].status, "pending")
  t.same(b:complete("food", { 1, 2 }, 1), { id = 1, corrected = false, already = true })
end)

t.test("what was left open is settled, by success or failure", function()
  local b = board()
  plan(b)
  b:start("food", { 1, 2 })
  b:start("logistics", { 3 })
  b:complete("food", { 1, 2 }, 1)
  t.same(b:settle("food", { 1, 2 }, true), { 2 })
  t.equal(b:tasks { 2 } [1].completed_by, "auto")
  t.same(b:settle("logistics", { 3 }, false, "no answer"), { 3 })
  local failed = b:tasks { 3 } [1]
  t.equal(failed.status, "failed")
  t.equal(failed.finished, false)
  t.equal(failed.error, "no answer")
  t.has(b:status(), "2/3 done")
  t.ok(b:start("logistics", { 3 }), "a failed task may be tried again")
end)

t.test("tasks are failed, skipped and cancelled", function()
  local b = board()
  plan(b)
  t.equal(b:fail("lead", 1, "why"), true)
  t.equal(b:skip("lead", 2, "not needed"), true)
  t.equal(b:cancel("lead", 3), true)
  t.fails("state", "", b:skip("lead", 3))
  t.fails("not_found", "", b:fail("lead", 9))
  local words = {}
  for i, task in ipairs(b:tasks()) do words[i] = task.status end
  t.same(words, { "failed", "skipped", "cancelled" })
end)

t.test("ids in all the forms that models send", function()
  for _, form in ipairs { { 1, 2 }, "[1,2]", "1, 2", { "1", 2 }, "1,2", json.array { 1, 2, 1 } } do
    t.same(board.ids(form), { 1, 2 }, t.show(form))
  end
  t.same(board.ids(1), { 1 })
  t.same(board.ids "1", { 1 })
  t.same(board.ids(1.0), { 1 })
  t.same(board.ids(nil), {})
  t.same(board.ids(json.null), {})
  for _, form in ipairs { "one", { "x" }, 0, -1, 1.5, { { 1 } }, true, "1;2", 1 << 40 } do
    t.fails("invalid", "", board.ids(form))
  end
end)

t.test("misuse raises", function()
  local b = board()
  t.raises("unknown option 'limits'", board, { limits = 3 })
  t.raises("bad option 'limit'", board, { limit = "3" })
  t.raises("bad field 'text'", b.create, b, "lead", { { text = 1, assigned_to = "a" } })
  t.raises("table", b.create, b, "lead", { 1 })
  t.raises("ids have to be integers", b.start, b, "a", { "one" })
  t.raises("hocket.board", b.tasks, {})
end)

-- ---- The document ------------------------------------------------------------------------

local dimensions = { { "day", "integer" }, { "part", { "general", "morning", "evening" } } }

t.test("entries gather in slots, and are rendered in both ways", function()
  local d = document(dimensions)
  t.equal(d:render(), "")
  t.equal(d:version(), 0)
  t.equal(d:append({ day = 1, part = "morning" }, "food", "Coffee"), 1)
  t.equal(d:append({ day = 0, part = "general" }, "logistics", "Arrive by train\nLeave by bus"), 2)
  t.equal(d:append({ day = 1, part = "morning" }, "sights", "The castle"), 3)
  t.equal(#d, 3)
  local clean, tagged = d:render(), d:render { tagged = true }
  t.lacks(clean, "[food]")
  t.has(clean, "Coffee")
  t.has(tagged, "[food] Coffee")
  t.has(tagged, "[logistics] Arrive by train\n  Leave by bus")
  t.ok(clean:find("Arrive", 1, true) < clean:find("Coffee", 1, true), "day 0 comes first")
end)

t.test("a consolidation keeps what came after the read", function()
  local d = document(dimensions)
  local slot = { day = 1, part = "morning" }
  d:append(slot, "food", "one")
  d:append(slot, "sights", "two")
  local read = d:version()
  d:append(slot, "late", "three")
  t.equal(d:consolidate(slot, "lead", "one and two", read), 4)
  local tagged = d:render { tagged = true }
  t.has(tagged, "[lead] one and two")
  t.has(tagged, "[late] three")
  t.lacks(tagged, "[food]")
  t.same(d:beside(4), { { version = 3, agent = "late", merged = false } })
  t.same(d:beside(3), { { version = 4, agent = "lead", merged = true } })
  t.fails("not_found", "no version 9", d:beside(9))
  t.equal(d:render { version = 0 }, "") -- as it was before anything was written
  t.has(d:render { version = 2, tagged = true }, "[food] one")
  t.lacks(d:render { version = 2 }, "three")
  t.has(d:render { version = 3, tagged = true }, "[late] three")
  t.fails("invalid", "5", d:render { version = 5 })
  t.fails("invalid", "", d:consolidate(slot, "lead", "x", 99))
end)

t.test("unknown slots are refused with what is valid", function()
  local d = document(dimensions)
  local err = t.fails("invalid", "noon", d:append({ day = 1, part = "noon" }, "a", "x"))
  t.has(err, "morning")
  t.fails("invalid", "part", d:append({ day = 1 }, "a", "x"))
  t.fails("invalid", "", d:append({ day = 1, part = "morning", more = 1 }, "a", "x"))
  t.fails("invalid", "", d:append({ day = "one", part = "morning" }, "a", "x"))
  t.fails("invalid", "", d:append({ day = -1, part = "morning" }, "a", "x"))
  t.fails("invalid", "", d:append({ day = 1, part = "morning" }, "a", ""))
  t.equal(d:version(), 0)
end)

t.test("history and slots as data", function()
  local d = document(dimensions)
  d:append({ day = 1, part = "morning" }, "food", "one")
  d:append({ day = 1, part = "evening" }, "food", "two")
  local history = d:history()
  t.equal(#history, 2)
  t.equal(history[2].version, 2)
  t.equal(history[2].author, "food")
  t.matches(history[2].time, "^%d%d%d%d%-%d%d%-%d%dT")
  t.equal(#d:history(1), 1)
  t.equal(#d:history(0, 1), 1)
  local slots = d:slots()
  t.same(slots[1].slot, { day = 1, part = "morning" })
  t.equal(slots[1].entries[1].content, "one")
  t.equal(#d:slots(1), 1)
  t.same(d:dimensions(), dimensions)
end)

t.test("limits, each with a clear error", function()
  local slot = { day = 1, part = "morning" }
  t.fails("limit", "3", document(dimensions, { max_entry = 3 }):append(slot, "a", "four"))
  local d = document(dimensions, { max_versions = 1 })
  d:append(slot, "a", "x")
  t.fails("limit", "1", d:append(slot, "a", "y"))
  d = document(dimensions, { max_slots = 1 })
  d:append(slot, "a", "x")
  t.fails("limit", "", d:append({ day = 2, part = "morning" }, "a", "y"))
end)

t.test("misuse of a document raises", function()
  t.raises("1 to 6 dimensions", document, {})
  t.raises("each dimension is a table", document, { 1 })
  t.raises("bad dimension", document, { { "day", "float" } })
  t.raises("unknown option", document, dimensions, { max = 1 })
  t.raises("bad dimension", document, { { 1, "integer" } })
  t.raises("", document, { { "part", {} } })
  t.raises("", document, { { "part", { "a", "a" } } })
  t.raises("", document, { { "day", "integer" }, { "day", "integer" } })
end)

t.test("dimensions as agent files write them", function()
  t.same(document.from_list { { day = "integer" }, { part = { "a", "b" } } }, { { "day", "integer" }, { "part", { "a", "b" } } })
  for _, bad in ipairs { {}, { "day" }, { { day = "integer", part = "integer" } }, { { day = "float" } }, { { "day" } }, { {} } } do
    local list, wrong = document.from_list(bad)
    t.equal(list, nil)
    t.equal(type(wrong), "string")
  end
end)

-- ---- The journal -----------------------------------------------------------------------------

t.test("lines are numbered without gaps, and nothing follows the last", function()
  local j = journal.new { run = "r7" }
  t.equal(j:last(), 0)
  t.equal(j:append("one", { a = 1 }, "food", "o1"), 1)
  t.equal(j:append "two", 2)
  t.equal(j:append("workflow_finished", {}), 3)
  t.equal(j:finished(), true)
  t.fails("state", "", j:append "more")
  local lines = lines_of(j)
  t.equal(#lines, 3)
  t.matches(lines[1], '^{"seq":1,"time":"[^"]+","run":"r7","op":"o1","agent":"food","type":"one","a":1}$')
  for i, line in ipairs(lines) do t.equal(json.decode(line).seq, i) end
end)

t.test("what cannot be an event raises", function()
  local j = journal.new {}
  t.raises("", j.append, j, "one", { seq = 1 })
  t.raises("", j.append, j, "one", { type = "x" })
  t.fails("invalid", "", j:append("one", { 1, 2 }))
  t.raises("cannot encode", j.append, j, "one", { a = print })
  t.fails("invalid", "", j:append("One Two", {}))
  t.equal(j:last(), 0)
end)

t.test("line ends and odd bytes stay inside of their line", function()
  local j = journal.new {}
  j:append("one", { text = "a\nb\r\0\255\226\128\168" })
  local line = j:next(0)
  t.lacks(line, "\n")
  t.ok(utf8.len(line))
  t.has(json.decode(line).text, "a\nb\r\0")
end)

t.test("a small journal forgets the oldest and says how many", function()
  local j = journal.new { max_bytes = 1000 }
  for i = 1, 100 do j:append("one", { i = i }) end
  local line, seq, missed = j:next(0)
  t.equal(json.decode(line).seq, seq)
  t.equal(missed, seq - 1)
  t.ok(missed > 50)
  t.equal(j:last(), 100)
  t.fails("limit", "", j:append("one", { text = ("x"):rep(2000) }))
end)

t.test("readers wait for lines", function()
  local j, seen = journal.new {}, {}
  local reader = flow.spawn(function()
    local cursor = 0
    while true do
      local line, seq = j:next(cursor)
      if line then
        cursor, seen[#seen + 1] = seq, json.decode(line).type
      elseif j:finished() then
        return
      else
        j:wait(cursor)
      end
    end
  end)
  flow.yield()
  j:append "one"
  flow.yield()
  j:append "two"
  j:append "workflow_finished"
  t.ok(reader:join(5))
  t.same(seen, { "one", "two", "workflow_finished" })
  t.equal(j:wait(3), false)
  local other = journal.new {}
  t.equal(other:wait(0, 0.01), false)
end)

-- ---- Replay -------------------------------------------------------------------------------------

local function script(b, d, j)
  b:attach(j)
  d:attach(j)
  local slot = { day = 1, part = "morning" }
  plan(b)
  b:start("food", { 1, 2 })
  d:append(slot, "food", "one\nmore")
  j:append("tool_call", { tool = "x" })
  b:complete("food", { 1, 2 }, 1, "fine")
  d:append(slot, "sights", "two")
  local read = d:version()
  d:append(slot, "late", "three")
  b:complete("food", { 1, 2 }, 3)
  d:consolidate(slot, "lead", "one, two", read)
  b:start("logistics", { 3 })
  b:settle("logistics", { 3 }, false, "broken")
end

t.test("board and document are rebuilt from the journal's lines, at any number", function()
  local j = journal.new {}
  local b, d = board(), document(dimensions)
  -- Replayed line by line, with a note of what they are after each, it …
  script(b, d, j)
  local lines = lines_of(j)
  local b2, d2 = board(), document(dimensions)
  local states = {}
  for i, line in ipairs(lines) do
    t.ok(b2:replay(line) ~= nil)
    t.ok(d2:replay(line) ~= nil)
    states[i] = { json.encode(b2:tasks()), d2:render { tagged = true }, d2:version() }
  end
  -- … ends where the first ones are …
  t.same(b2:tasks(), b:tasks())
  t.equal(d2:render { tagged = true }, d:render { tagged = true })
  t.same(d2:history(), d:history())
  t.same(d2:slots(), d:slots())
  -- … and a fold over the first n lines gives the n-th state.
  for n = 1, #lines do
    local b3, d3 = board(), document(dimensions)
    for i = 1, n do
      assert(b3:replay(lines[i]) ~= nil)
      assert(d3:replay(lines[i]) ~= nil)
    end
    t.same({ json.encode(b3:tasks()), d3:render { tagged = true }, d3:version() }, states[n])
    if d3:version() > 0 then
      t.equal(d3:render { tagged = true }, d:render { tagged = true, version = d3:version() })
    end
  end
end)

t.test("records of others are passed over, records that do not follow are refused", function()
  local b, d = board(), document(dimensions)
  t.equal(b:replay [[{"seq":1,"type":"tool_call"}]], false)
  t.equal(d:replay [[{"seq":1,"type":"tool_call"}]], false)
  t.fails("parse", "", b:replay [[{"type":"tasks_created","tasks":3}]])
  t.fails("parse", "", b:replay [[{"type":"tasks_created","tasks":[}]])
  t.fails("state", "", b:replay [[{"type":"task_updated","id":4,"text":"x","assigned_to":"a","finished":true,"status":"done"}]])
  t.fails("state", "", b:replay [[{"type":"tasks_created","tasks":[{"id":2,"text":"x","assigned_to":"a"}]}]])
  t.fails("state", "", d:replay [[{"type":"document_updated","version":2,"author":"a","content":"x","change":"append","slot":{"day":1,"part":"morning"},"at":1}]])
  t.fails("invalid", "", d:replay [[{"type":"document_updated","version":1,"author":"a","content":"x","change":"append","slot":{"day":1,"part":"noon"},"at":1}]])
  t.equal(#b, 0)
  t.equal(d:version(), 0)
end)

t.test("changes become events with their payloads", function()
  local j = journal.new {}
  local b, d = board(), document(dimensions)
  script(b, d, j)
  local seen = {}
  for _, type in ipairs(types_of(j)) do seen[type] = (seen[type] or 0) + 1 end
  t.same(seen, { tasks_created = 1, task_updated = 6, document_updated = 4, tool_call = 1 })
  for _, line in ipairs(lines_of(j)) do
    local e = json.decode(line)
    if e.type == "document_updated" then
      t.ok(e.version and e.author and e.content and e.change_description)
    elseif e.type == "task_updated" then
      t.ok(e.id and e.text and e.assigned_to and e.finished ~= nil and e.status)
    elseif e.type == "tasks_created" then
      t.equal(#e.tasks, 3)
      t.equal(e.agent, "lead")
    end
  end
end)

t.test("a change that the journal refuses is not made", function()
  local j = journal.new {}
  local b, d = board(), document(dimensions)
  b:attach(j)
  d:attach(j)
  plan(b)
  j:append "workflow_finished"
  t.fails("state", "", b:start("food", { 1 }))
  t.equal(b:tasks { 1 } [1].status, "pending")
  t.fails("state", "", d:append({ day = 1, part = "morning" }, "a", "x"))
  t.equal(d:version(), 0)
end)

t.test("a finalizer that still holds an object which was finalized gets an error", function()
  local said = {}
  local function finalizer(call)
    return setmetatable({}, { __gc = function(self) said[#said + 1] = tostring(select(2, pcall(call, self.object))) end })
  end
  local function make() -- the finalizer of what is made later runs first
    local tasks, text, fits = board().tasks, document(dimensions).version, require("hocket.schema").compile({}).check
    local first, second, third = finalizer(tasks), finalizer(text), finalizer(fits)
    first.object, second.object, third.object = board(), document(dimensions), require("hocket.schema").compile {}
  end
  make()
  collectgarbage()
  t.equal(#said, 3)
  for _, words in ipairs(said) do t.ok(words:find "expected, got userdata", words) end
end)

return t.finish()
