--- What a planner knows of earlier runs: answers of people, and saved plans.
local t = require "harness"
local s = require "scripted"
local p = require "patterns_support"
local file_labels = require "hocket.internal.run.file_labels"
local fiber = require "hocket.internal.core.fiber"
local hocket = require "hocket"
local json = require "hocket.json"
local labels = require "hocket.internal.base.labels"

local is_kept = os.getenv "HOCKET_STORE" ~= "off"
local team, folder

local function task(description)
  return json.encode { type = "task", tasks = { { id = "a", specialist = "mason", description = description } } }
end

local ask_where = json.encode { type = "task", clarification_needed = true, questions = { "Which city?" } }

-- Answers the questions of a run as a person does, from outside of the run.
local function person(run, answers)
  local shown = {}
  fiber.spawn(function()
    while not run.journal:finished() do
      local open = run:open_questions()[1]
      if open and open.answer == nil then
        shown[#shown + 1] = table.concat(open.questions, "\n")
        run:answer(open.id, answers[#shown] or "no")
      end
      fiber.sleep(0.005)
    end
  end)
  return shown
end

-- A planner's run. `said`: the planner's answers, one a call. Returns reply, what the planner was asked, what the person was shown, the run.
local function plan(request, said, answers, options, run_options, reports)
  local asked, n = {}, 0
  p.play { planner = function(q)
    n = n + 1
    asked[n], asked.messages = q.last.text, q.messages
    return said[n] or task "Build it"
  end, mason = function(q)
    local what = q.last.text:match "^[^\n]*"
    return reports and reports[what] or "did: " .. what
  end }
  team = p.agents { planner = {}, mason = { description = "Builds" } }
  local shown
  local opts = { interactive = true }
  for name, value in pairs(run_options or {}) do opts[name] = value end
  local run, reply, err = s.run(function(run)
    shown = person(run, answers or {})
    local all = { request = request, team = team, planner = team.planner, specialists = { "mason" }, retries = 0, plans = folder or "no-plans" }
    for name, value in pairs(options or {}) do all[name] = value end
    return hocket.patterns.planner.run(all)
  end, opts)
  t.ok(reply, type(err) == "table" and err.message or err)
  return reply, asked, shown, run
end

local function forget_all()
  local notes = hocket.memory { name = "clarifications" }
  for _, note in ipairs(notes:search(nil, 100) or {}) do notes:forget(note.id) end
end

local saved = hocket.patterns.plan.to_markdown { name = "wall", request = "Build a wall of stone", plan = { type = "task", tasks = { { id = "a", specialist = "mason", description = "Lay stones" } } } }

local function with_plans(text, fn)
  local dir <close> = t.dir()
  dir:write("wall.md", text)
  folder = dir.path
  fn()
  folder = nil
end

if is_kept then
  t.test("an answer is offered to the next plan, which lists it; one word corrects it", function()
    forget_all()
    plan("Plan a trip for two", { ask_where }, { "Lisbon" })
    local reply, asked, shown, run = plan("Plan a trip for three", {}, { "yes" }, { approve_plan = true })
    t.has(asked[1], "The user answered these questions for earlier requests")
    t.has(p.framed(asked[1], "result", "earlier answers"), "1. Which city?\n   Lisbon")
    t.has(shown[1], "1. Which city? Lisbon")
    t.equal(reply.assumptions[1].answer, "Lisbon")
    t.equal(s.events(run, "answers_remembered")[1].answers[1].answer, "Lisbon")
    _, asked = plan("Plan a trip for three", {}, { "Porto", "yes" }, { approve_plan = true })
    t.has(asked[2], "The answer is now: Porto")
    _, asked = plan("Plan a trip for three", {}, { "forget 1", "yes" }, { approve_plan = true })
    t.has(asked[1], "Porto")
    t.has(asked[2], "takes an assumption back")
    _, asked = plan("Plan a trip for three", {})
    t.equal(asked[1], "Plan a trip for three")
  end)

  t.test("nothing of other requests, users or functions is assumed, and it can be turned off", function()
    forget_all()
    plan("Plan a trip for two", { ask_where }, { "Lisbon" })
    local _, asked = plan("Repair the roof of my shed", {})
    t.equal(asked[1], "Repair the roof of my shed")
    _, asked = plan("Plan a trip for two", {}, nil, nil, { memory_of = "ann" })
    t.equal(asked[1], "Plan a trip for two")
    _, asked = plan("Plan a trip for two", {}, nil, { remember = false })
    t.equal(asked[1], "Plan a trip for two")
    forget_all()
    plan("Plan a trip for two", { ask_where }, nil, nil, { on_question = function() return "what a web page says" end })
    _, asked = plan("Plan a trip for two", {})
    t.equal(asked[1], "Plan a trip for two", "a function's answer is not a person's")
  end)

  t.test("a note of an agent is no answer, and an answer keeps its labels", function()
    forget_all()
    local notes = hocket.memory { name = "clarifications" }
    local text = "Request: Plan a trip for two\nQuestion: Which city?\nAnswer: Lisbon"
    notes:write(text, { from = { agent = "clerk", run = "x" } })
    local _, asked = plan("Plan a trip for two", {})
    t.equal(asked[1], "Plan a trip for two")
    forget_all()
    notes:write(text, { labels = labels.bit "web" })
    local _, told, _, run = plan("Plan a trip for two", {})
    t.has(told[1], "Lisbon")
    t.equal(run.labels and run.labels.bits & labels.STRANGE, labels.bit "web")
  end)

  t.test("a new plan in place of a draft has the earlier answers", function()
    forget_all()
    plan("Build a wall of stone", { ask_where }, { "Lisbon" })
    with_plans(saved, function()
      local reply, asked, shown = plan("Build a wall of stone", { task "Lay bricks" }, { "new", "yes" }, { approve_plan = true })
      t.has(p.framed(asked[1], "result", "earlier answers"), "Lisbon")
      t.has(shown[2], "1. Which city? Lisbon")
      t.equal(reply.assumptions[1].answer, "Lisbon")
    end)
  end)

  t.test("an assumption is corrected also when the approval comes later, and a script's word changes no note", function()
    forget_all()
    plan("Plan a trip for two", { ask_where }, { "Lisbon" })
    local reply = plan("Plan a trip for two", {}, nil, { approve_plan = true }, { interactive = false })
    t.equal(reply.finish, "approval")
    local later, asked = plan(nil, {}, { "yes" }, { state = json.decode(json.encode(reply.state)), answers = "1: Porto" })
    t.has(asked[1], "The question was: Which city?\nThe answer is now: Porto")
    t.equal(later.assumptions[1].answer, "Porto")
    t.has(hocket.memory({ name = "clarifications" }):search(nil, 1)[1].text, "Answer: Lisbon")
  end)

  t.test("a planner that asks on and on: each answer is kept once, and its person is asked for so long", function()
    forget_all()
    local asks = {}
    for i = 1, 9 do asks[i] = json.encode { type = "task", clarification_needed = true, questions = { "Which city, once more (" .. i .. ")?" } } end
    local n, all = 0, p.agents { planner = {}, mason = {} }
    p.play { planner = function()
      n = n + 1
      return asks[n]
    end }
    local _, _, err = s.run(function(run)
      person(run, { "A", "B", "C", "D", "E", "F", "G", "H", "I" })
      return hocket.patterns.planner.run { request = "Plan a trip for two", team = all, planner = all.planner, specialists = { "mason" }, retries = 0, plans = "no-plans" }
    end, { interactive = true })
    t.has(type(err) == "table" and err.message or err, "the planner asked 5 times and still has no plan")
    t.equal(#hocket.memory { name = "clarifications" }:search(nil, 100), 5)
    local _, asked, _, run = plan("Plan a trip for three", {}, nil)
    t.equal(#s.events(run, "answers_remembered")[1].answers, 5)
    t.equal(#asked, 1)
    -- And one that asks for what it has read has its person's new answer.
    forget_all()
    plan("Plan a trip for two", { ask_where }, { "Lisbon" })
    local _, again = plan("Plan a trip for three", { ask_where }, { "Porto" })
    t.same({ #again, again[2] }, { 2, "The user answers:\nPorto" })
  end)

  t.test("a planner that is cut after an answer: the answer is kept, and half a question is none", function()
    forget_all()
    local all, n = p.agents { planner = {}, mason = {} }, 0
    p.play { planner = function()
      n = n + 1
      if n == 1 then return ask_where end
      return { text = '{"type": "task", "clarification_needed": true, "questions": ["Which hot', finish = "length" }
    end }
    local shown
    local run, _, err = s.run(function(run)
      shown = person(run, { "Lisbon", "no" })
      return hocket.patterns.planner.run { request = "Plan a trip for two", team = all, planner = all.planner, specialists = { "mason" }, retries = 0, plans = "no-plans" }
    end, { interactive = true })
    t.ok(err, "half a plan is none")
    t.same(shown, { "Which city?" })
    t.equal(#s.events(run, "task_pending"), n)
    local notes = hocket.memory { name = "clarifications" }:search(nil, 100)
    t.equal(#notes, 1)
    t.has(notes[1].text, "Answer: Lisbon")
    local _, asked = plan("Plan a trip for three", {}, nil)
    t.has(asked[1], "Lisbon")
  end)

  t.test("a time of day corrects no assumption", function()
    forget_all()
    plan("Plan a trip for two", { ask_where }, { "Lisbon" })
    local _, asked = plan("Plan a trip for two", {}, { "1:30 is too late", "yes" }, { approve_plan = true })
    t.equal(asked[2], "The user wants the plan changed:\n1:30 is too late")
    t.has(hocket.memory({ name = "clarifications" }):search(nil, 1)[1].text, "Answer: Lisbon")
  end)

  t.test("a function's word changes no note", function()
    forget_all()
    plan("Plan a trip for two", { ask_where }, { "Lisbon" })
    local said = { "1: Porto", "yes" }
    plan("Plan a trip for two", {}, nil, { approve_plan = true }, { on_question = function() return table.remove(said, 1) end })
    t.has(hocket.memory({ name = "clarifications" }):search(nil, 1)[1].text, "Answer: Lisbon")
  end)
end

-- ---- Saved plans ------------------------------------------------------------------------------

t.test("for the same request a saved plan is the draft, without a model call", function()
  with_plans(saved, function()
    local reply, asked, _, run = plan("build a  wall of Stone", {}, nil, { remember = false })
    t.equal(#asked, 0)
    t.has(reply.text, "did: Lay stones")
    t.equal(s.events(run, "draft_found")[1].same, true)
  end)
end)

t.test("a draft needs the approval of a new plan, is marked, and gives way to a new one", function()
  with_plans(saved, function()
    local reply, asked, shown = plan("Build a wall of stone", {}, { "no" }, { approve_plan = true, remember = false })
    t.equal(reply.finish, "declined")
    t.equal(#asked, 0)
    t.has(shown[1], "A draft: the saved plan 'wall' (for: Build a wall of stone)")
    reply, asked = plan("Build a wall of stone", { task "Lay bricks" }, { "new", "yes" }, { approve_plan = true, remember = false })
    t.equal(asked[1], "Build a wall of stone")
    t.has(reply.text, "did: Lay bricks")
    _, asked = plan("Build a wall of stone", { task "Lay two rows" }, { "two rows", "yes" }, { approve_plan = true, remember = false })
    t.equal(asked.messages[1].text, "Build a wall of stone")
    t.has(asked.messages[2].text, "Lay stones")
    t.equal(asked[1], "The user wants the plan changed:\ntwo rows")
  end)
end)

t.test("a draft whose approval comes later is the same draft then", function()
  local function later(said)
    local reply = plan("Build a wall of stone", {}, nil, { approve_plan = true, remember = false }, { interactive = false })
    t.equal(reply.finish, "approval")
    return plan(nil, { task "Lay bricks" }, { "yes" }, { state = json.decode(json.encode(reply.state)), answers = said, remember = false })
  end
  with_plans(saved, function()
    local reply, asked = later "yes"
    t.equal(#asked, 0)
    t.has(reply.text, "did: Lay stones")
    reply, asked = later "new"
    t.equal(asked[1], "Build a wall of stone")
    t.equal(#asked.messages, 1)
    t.has(reply.text, "did: Lay bricks")
    _, asked = later "two rows"
    t.equal(asked.messages[1].text, "Build a wall of stone")
    t.equal(asked[1], "The user wants the plan changed:\ntwo rows")
  end)
end)

t.test("who plans anew after a draft has failed knows the request, and the new plan is no draft", function()
  with_plans((saved:gsub("plan: wall", "%0\non_failure: replan")), function()
    local reply, asked, shown = plan("Build a wall of stone", { json.encode { type = "task", tasks = { { id = "b", specialist = "mason", description = "Lay bricks" } } } },
      { "yes", "yes" }, { approve_plan = true, remember = false }, nil, { ["Lay stones"] = "FAILED: no stones" })
    t.equal(asked.messages[1].text, "Build a wall of stone")
    t.has(asked[1], "The plan did not work out")
    t.has(shown[1], "A draft: the saved plan")
    t.has(shown[2], "The plan so far did not work out")
    t.equal(shown[2]:find("A draft", 1, true), nil)
    t.has(reply.text, "did: Lay bricks")
  end)
end)

t.test("for a request like it the planner reads the saved plan; for another, or one that nobody can do, it does not", function()
  with_plans(saved, function()
    local _, asked = plan("Build a wall of brick", {}, nil, { remember = false })
    t.has(asked[1], "A saved plan worked for a request like this one (Build a wall of stone)")
    t.has(p.framed(asked[1], "result", "plan wall"), "Lay stones")
    _, asked = plan("Cook a dinner", {}, nil, { remember = false })
    t.equal(asked[1], "Cook a dinner")
  end)
  with_plans((saved:gsub("owner: mason", "owner: nobody")), function()
    local _, asked = plan("Build a wall of stone", {}, nil, { remember = false })
    t.equal(asked[1], "Build a wall of stone")
  end)
end)

t.test("a specialist of a draft that loops, or is cut: the step has failed as in a new plan, and no planner is asked", function()
  with_plans(saved, function()
    local function specialist(says)
      local asked, all = 0, p.agents { planner = {}, mason = { description = "Builds", tools = { "list_directory" }, max_turns = 3 } }
      p.play { planner = task "Never", mason = function(request)
        asked = asked + 1
        return says(request)
      end }
      local run, reply, err = s.run(function()
        return hocket.patterns.planner.run { request = "Build a wall of stone", team = all, planner = all.planner, specialists = { "mason" }, retries = 1, backoff = 0, plans = folder, remember = false }
      end)
      t.equal(reply, nil)
      t.has(err, "1 of 1 tasks did not complete: a.")
      t.equal(#s.events(run, "draft_found"), 1)
      for _, one in ipairs(s.events(run, "model_request")) do t.equal(one.agent, "mason") end
      return asked
    end
    t.equal(specialist(function(request) return { calls = { s.call("list_directory", { path = ("./"):rep(request.turn) }) } } end), 3)
    t.equal(specialist(function() return { text = "Half of the st", finish = "length" } end), 1)
  end)
end)

t.test("a planner that reads a saved plan and loops, or is cut, has no plan; what it read is not carried out in its place", function()
  with_plans(saved, function()
    local function planner(says)
      local all, n = p.agents { planner = {}, mason = { description = "Builds" } }, 0
      local asked = p.play { planner = function()
        n = n + 1
        return says
      end }
      local run, reply, err = s.run(function()
        return hocket.patterns.planner.run { request = "Build a wall of brick", team = all, planner = all.planner, specialists = { "mason" }, retries = 0, plans = folder, remember = false }
      end)
      t.equal(reply, nil)
      t.equal(asked.mason, nil)
      t.equal(s.events(run, "draft_found")[1].same, false)
      return n, type(err) == "table" and err.message or err
    end
    local n, err = planner '{"type": "task", "tasks": [{"id": "a", "specialist": "nobody", "description": "x"}]}'
    t.equal(n, 3)
    t.has(err, "the planner made no valid plan in 3 attempts")
    n = planner { text = '{"type": "task", "tasks": [{"id": "a", "speci', finish = "length" }
    t.ok(n <= 3, n)
  end)
end)

t.test("a saved plan that could not be carried out is no draft, and one that wants a person's yes gets it", function()
  with_plans((saved:gsub("plan: wall", "%0\non_failure: banana")), function()
    local _, asked = plan("Build a wall of stone", {}, nil, { remember = false })
    t.equal(asked[1], "Build a wall of stone")
  end)
  with_plans((saved:gsub("plan: wall", "%0\napprove_plan: true")), function()
    local reply, asked, shown = plan("Build a wall of stone", {}, { "no" }, { remember = false })
    t.equal(reply.finish, "declined")
    t.equal(#asked, 0)
    t.has(shown[1], "A draft")
  end)
end)

t.test("a saved plan that an agent may have written after it read untrusted text is no draft", function()
  with_plans(saved, function()
    file_labels.wrote(require("hocket.internal.core.files").root(folder), "wall.md", labels.bit "web")
    local _, asked, _, run = plan("Build a wall of stone", {}, nil, { remember = false }, { workdir = folder })
    t.equal(asked[1], "Build a wall of stone")
    t.equal(#s.events(run, "draft_found"), 0)
    t.has(s.events(run, "warning")[1].message, "the saved plan is left out")
  end)
end)

return t.finish()
