--- Approvals: asking, answering in any order, deciding without asking, and what a person sees of
--- the arguments. Clarifications are tested with the planner.
local t = require "harness"
local s = require "scripted"
local ask = require "hocket.ask"
local fiber = require "hocket.internal.core.fiber"
local flow = require "hocket.flow"
local json = require "hocket.json"
local visible = require "hocket.internal.base.sanitize"

local function about(tool, arguments)
  return { agent = "shell", tool = tool, arguments = arguments or { command = "ls" }, reason = "approve: [" .. tool .. "]" }
end

-- A run that asks for several approvals side by side: the run, and what comes of them by tool.
local function start(tools, options)
  local made, decisions
  local one = fiber.detach(function()
    s.run(function(run)
      made, decisions = run, {}
      flow.map(tools, function(name)
        local words = table.concat({ name, ask.approval(about(name)) }, " ")
        decisions[#decisions + 1] = words
      end)
    end, options or { interactive = true })
  end)
  t.eventually(function() return made and #s.events(made, "approval_requested") == #tools end)
  return made, decisions, one
end

local function id_of(run, tool)
  for _, event in ipairs(s.events(run, "approval_requested")) do
    if event.tool == tool then return event.id end
  end
end

t.test("many are open at once and are answered in any order", function()
  local run, decisions, one = start { "a", "b", "c" }
  t.ok(run:answer(id_of(run, "c"), "deny"))
  t.ok(run:answer(id_of(run, "a"), "yes"))
  t.ok(run:answer(id_of(run, "b"), "no, use the other directory"))
  one:wait()
  table.sort(decisions)
  t.same(decisions, { "a allow", "b deny the user refused: use the other directory", "c deny the user refused" })
  t.equal(next(run.questions), nil)
  local answered = s.events(run, "approval_answered")
  t.equal(#answered, 3)
  for _, event in ipairs(answered) do t.equal(event.id, id_of(run, event.tool)) end
end)

t.test("a plan is answered beforehand by what both say, the operator and the run", function()
  local system = require "hocket.internal.core.system"
  local getenv = system.getenv
  local restored <close> = setmetatable({}, { __close = function() system.getenv = getenv end })
  local function plan(operator, approve)
    system.getenv = function(name) return name == "HOCKET_APPROVE" and operator or nil end
    local _, verdict = s.run(function() return ask.plan "1. all of it" end, { approve = approve })
    return verdict or "nobody"
  end
  t.equal(plan(nil, "allow"), "accept")
  t.equal(plan("allow", nil), "accept")
  t.equal(plan("deny", "allow"), "refuse")
  t.equal(plan("allow", "deny"), "refuse")
  t.equal(plan("ask", "allow"), "nobody")
  t.equal(plan("allow", { "allow", "ask" }), "nobody")
  t.equal(plan("write_file=allow", nil), "nobody")
end)

t.test("what is no answer leaves it open; an empty text denies", function()
  local run, decisions, one = start { "a" }
  local id = id_of(run, "a")
  for _, text in ipairs { "perhaps", "yes, but not there", "yes no", "1", "allowed" } do
    t.fails("invalid", "allow, deny", run:answer(id, text))
  end
  t.fails("not_found", "no open question", run:answer("a99", "yes"))
  t.ok(run:answer(id, ""))
  t.fails("not_found", "no open question", run:answer(id, "yes"))
  one:wait()
  t.same(decisions, { "a deny it was not approved: the question was not answered" })
end)

t.test("always holds for the tool and the run, also for what is open", function()
  local run, decisions, one = start { "a", "a", "b" }
  t.ok(run:answer(id_of(run, "a"), "always"))
  t.ok(run:answer(id_of(run, "b"), "deny"))
  one:wait()
  table.sort(decisions)
  t.same(decisions, { "a allow", "a allow", "b deny the user refused" })
  local later
  s.run(function(other)
    other.always = run.always
    later = ask.approval(about "a")
    t.equal(#s.events(other, "approval_requested"), 0)
  end, { interactive = true })
  t.equal(later, "allow")
end)

t.test("without anybody to ask it is denied", function()
  local cases = {
    { {}, "deny", "nobody is there" },
    { { approve = "ask" }, "deny", "nobody is there" },
  }
  for _, case in ipairs(cases) do
    local decision, why
    local run = s.run(function() decision, why = ask.approval(about "a") end, case[1])
    t.equal(decision, case[2])
    t.has(why, case[3])
    t.equal(#s.events(run, "approval_requested"), 0)
    t.equal(s.events(run, "approval_answered")[1].decision, case[2])
  end
end)

t.test("a function answers as well", function()
  for answer, expected in pairs { allow = "allow", always = "allow", no = "deny", ["who knows"] = "deny", [true] = "allow", [false] = "deny" } do
    local seen, decision
    s.run(function() decision = ask.approval(about("a", { path = "x" })) end, { on_question = function(q) seen = q return answer end })
    t.equal(decision, expected, tostring(answer))
    t.equal(seen.tool, "a")
    t.equal(seen.arguments, '{"path":"x"}')
  end
end)

t.test("a cancel leaves nothing open", function()
  local run, _, one = start { "a", "b" }
  one:cancel()
  t.eventually(function() return next(run.questions) == nil end)
  t.fails("not_found", "no open question", run:answer("a1", "yes"))
  local withdrawn = s.events(run, "question_withdrawn")
  t.equal(#withdrawn, 2)
  t.equal(withdrawn[1].agent, "shell")
  table.sort(withdrawn, function(a, b) return a.id < b.id end)
  t.equal(withdrawn[1].id .. withdrawn[2].id, "a1a2")
end)

t.test("who shows a question is told when its time is over", function()
  local run = s.run(function() t.fails("timeout", "in time", ask("Which?", { timeout = 0.01, agent = "guide" })) end, { interactive = true })
  local withdrawn = s.events(run, "question_withdrawn")
  t.equal(#withdrawn, 1)
  t.equal(withdrawn[1].id .. withdrawn[1].agent, "q1guide")
  t.equal(#s.events(run, "question_answered"), 0)
end)

t.test("arguments that nobody could read are not asked about", function()
  local decision, why
  local run = s.run(function() decision, why = ask.approval(about("a", { text = ("x"):rep(300 * 1024) })) end, { interactive = true })
  t.equal(decision, "deny")
  t.has(why, "too long")
  t.equal(#s.events(run, "approval_requested"), 0)
end)

t.test("nothing in the arguments is invisible", function()
  local value = { b = "x\27[2Jy\r\n", a = "rm\u{202E}gpj\u{200B}\u{9B}\u{7F}\u{E0041}\u{FEFF}é" }
  local shown = visible.encode(value)
  t.equal(shown, [[{"a":"rm\u202egpj\u200b\u009b\u007f\udb40\udc41\ufeffé","b":"x\u001b[2Jy\r\n"}]])
  t.same(json.decode(shown), value)
  t.equal(visible.json "\xFF", "\\u00ff")
end)

t.test("a yes is only what is nothing but a yes", function()
  for _, text in ipairs { "y", " Yes. ", "ok!", "ja" } do t.equal(ask.verdict(text), "yes", text) end
  for _, text in ipairs { "n", "No.", "nein" } do t.equal(ask.verdict(text), "no", text) end
  for _, text in ipairs { "yes, but later", "", "no way", "okay then", "42" } do t.equal(ask.verdict(text), nil, text) end
  t.equal(ask.verdict "always", "always")
end)

return t.finish()
