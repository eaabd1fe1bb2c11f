--- Plan mode: agents only read, whoever calls whom, until a person agrees to a plan.
local t = require "harness"
local s = require "scripted"
local p = require "patterns_support"
local fs = require "hocket.fs"
local hocket = require "hocket"
local json = require "hocket.json"
local runs = require "hocket.internal.run.run"

local function write(name)
  return { calls = { s.call("write_file", { path = name or "a.txt", content = "x" }) } }
end

local function present(text)
  return { calls = { s.call("present_plan", { plan = text or "1. write a.txt" }) } }
end

-- One agent in plan mode whose model gives these replies. `answers`: what the person says, in order; nil: nobody is there.
local function work(replies, answers, more)
  more = more or {}
  local dir <close> = t.dir()
  local results, asked = {}, {}
  local parts = { clerk = function(request)
    if request.last.role == "tool" then results[#results + 1] = request.last.text end
    asked[#asked + 1] = request
    return replies[request.turn] or "done"
  end }
  for name, part in pairs(more.parts or {}) do parts[name] = part end
  p.play(parts)
  local defs = more.defs or { clerk = { tools = { "write_file", "read_file" } } }
  local team = p.agents(defs)
  local questions = {}
  local options = { mode = "plan", workdir = dir.path, approve = "allow" }
  if answers then
    options.on_question = function(question)
      questions[#questions + 1] = question
      return answers[#questions]
    end
  end
  for name, value in pairs(more.options or {}) do options[name] = value end
  local run, reply, err = s.run(function() return hocket.orchestrate.call(team.clerk, "Go", more.call) end, options)
  p.check(run)
  return { run = run, reply = reply, err = err, results = results, asked = asked, questions = questions, written = fs.info(dir.path .. "/a.txt") ~= nil }
end

t.test("it ends with a person's yes, and only then something is written", function()
  local got = work({ write(), present "1. write a.txt", write() }, { "yes" })
  t.has(got.results[1], "'write_file' was not allowed: plan mode only reads")
  t.has(got.questions[1].questions[1], "1. write a.txt")
  t.has(got.results[2], "The user agrees")
  t.ok(got.written)
  t.has(got.asked[1].system, "Plan mode is on")
  t.equal(s.events(got.run, "run_changed")[1].mode, "act")
  t.equal(#s.events(got.run, "tool_denied"), 1)
end)

t.test("no, and changes, leave it on; a yes to the next plan ends it", function()
  local got = work({ present "a", write(), present "b", write() }, { "Use b.txt instead", "yes" })
  t.has(got.results[1], "Use b.txt instead")
  t.has(got.results[2], "plan mode only reads")
  t.ok(got.written)
  got = work({ present "a", write(), "nothing was done" }, { "no" })
  t.has(got.results[1], "the user refused the plan")
  t.has(got.results[2], "plan mode only reads")
  t.ok(not got.written)
end)

t.test("nobody is there: no word that was given beforehand is a yes", function()
  local got = work { present(), write(), "The plan: 1. write a.txt" }
  t.has(got.results[1], "nobody is there to agree")
  t.has(got.results[2], "plan mode only reads")
  t.ok(not got.written)
  t.equal(got.reply.text, "The plan: 1. write a.txt")
end)

t.test("a model that lies about a yes, or presents for ever, gets nowhere", function()
  local got = work({ write(), present "1", present "2", present "3", present "4", present "5", present "6", write() }, { "?", "?", "?", "?", "?", "yes" })
  t.equal(#got.questions, 5)
  t.has(got.results[7], "it may be called 5 times at most")
  t.ok(not got.written)
end)

t.test("one that is cut while it presents, or answers instead, has no yes, and nothing is written", function()
  local cut = present "1. write a.t"
  cut.finish, cut.text = "length", "This is what"
  local got = work({ cut, write() }, { "yes" })
  t.equal(#got.questions, 0)
  t.ok(not got.written)
  got = work({ { text = "I am going to wri", finish = "length" }, write() }, { "yes" })
  t.equal(#got.questions, 0)
  t.ok(not got.written)
  t.equal(got.run.options.mode, "plan")
end)

t.test("whom it calls is bound as well, and presents nothing", function()
  local helper = {}
  local got = work({ { calls = { s.call("delegate_to_agent", { agent = "helper", task = "write it" }) } } }, { "yes" }, {
    defs = { clerk = { agents = { "helper" }, tools = { "delegate_to_agent" } }, helper = { tools = { "write_file" } } },
    parts = { helper = function(request)
      helper[#helper + 1] = request
      return request.turn == 1 and write() or "no"
    end } })
  t.has(helper[2].last.text, "plan mode only reads")
  t.equal(helper[1].tools.present_plan, nil)
  t.ok(got.asked[1].tools.present_plan)
  t.ok(not got.written)
end)

t.test("a tool that says nothing of its effects is not called, and neither is one that writes notes", function()
  local called = 0
  local own = hocket.tool { name = "own", description = "?", steps = true, run = function() called = called + 1 return "x" end }
  local looks = hocket.tool { name = "looks", description = "?", effects = { "read" }, run = function() called = called + 10 return "x" end }
  local got = work({ { calls = { s.call "own" } }, { calls = { s.call "looks" } } }, { "yes" }, { call = { tools = { own, looks } } })
  t.has(got.results[1], "nothing says that this tool does")
  t.equal(called, 10)
  got = work({ { calls = { s.call("memory_write", { text = "x" }) } } }, { "yes" }, { defs = { clerk = { memory = "shop" } } })
  t.has(got.results[1], "plan mode only reads")
end)

t.test("it can begin in the middle, and what was let pass before is looked at again", function()
  local called = 0
  local own = hocket.tool { name = "own", description = "?", run = function() called = called + 1 return "x" end }
  local replies = { { calls = { s.call "own" } }, { calls = { s.call "own" } }, "done" }
  local team = p.agents { clerk = {} }
  p.play { clerk = function(request)
    if request.turn == 2 then
      for _, run in ipairs(runs.all()) do
        if run.id == "t" then t.ok(run:change { mode = "plan" }) end
      end
    end
    return replies[request.turn]
  end }
  local run = s.run(function() return hocket.orchestrate.call(team.clerk, "Go", { tools = { own } }) end)
  t.equal(called, 1)
  t.equal(#s.events(run, "tool_denied"), 1)
end)

t.test("the goal of an agent is not checked before the yes, and is checked after it", function()
  local got = work({ "The plan" }, nil, { defs = { clerk = { tools = { "execute_command" }, ["until"] = { command = "touch a.txt" } } } })
  t.equal(got.reply and got.reply.text, "The plan")
  t.ok(not got.written)
  got = work({ "The plan" }, nil, { defs = { clerk = { tools = { "read_file" }, ["until"] = { file = "a.txt" } } } })
  t.equal(got.reply and got.reply.text, "The plan")
  got = work({ present(), "It is done" }, { "yes" }, { defs = { clerk = { tools = { "execute_command" }, ["until"] = { command = "touch a.txt" } } } })
  t.equal(got.reply and got.reply.text, "It is done")
  t.ok(got.written)
end)

t.test("a step's check runs no Lua before the yes", function()
  local made = 0
  local got = work({ "done" }, nil, { call = { check = { ["function"] = function() made = made + 1 return true end } } })
  t.has(got.err and got.err.message, "nothing says that this Lua does")
  t.equal(made, 0)
end)

t.test("only plan and act are modes", function()
  local _, reply, err = s.run(function() return { text = "x" } end)
  t.ok(reply, tostring(err))
  local ok, wrong = pcall(s.run, function() return { text = "x" } end, { mode = "look" })
  t.ok(not ok)
  t.has(wrong, "bad option 'mode' (plan or act expected, got look)")
  local team = p.agents { clerk = {} }
  p.play {}
  s.run(function()
    local fine, raised = pcall(hocket.run, team.clerk, "Go", { mode = "plan" })
    t.ok(not fine)
    t.has(raised, "'mode' belongs to the whole run")
    return { text = json.encode {} }
  end)
end)

return t.finish()
