--- Approvals: asking, answering in any order, deciding without asking, and what a person sees of
--- the arguments. Clarifications are tested with the planner.
local t = require "harness"
local s = require "scripted"
local ask = require "hocket.ask"
local fiber = require "hocket.internal.core.fiber"
local flow = require "hocket.flow"
local json = require "hocket.json"
local visible = require "hocket.internal.base.sanitize"
local standing = require "hocket.internal.run.standing_approvals"

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

t.test("a question that nobody answers is told to be over", function()
  local made
  local one = fiber.detach(function()
    s.run(function(run)
      made = run
      local answer, err = ask "Which city?"
      t.equal(answer, nil)
      t.equal(err.code, "unsupported")
    end, { interactive = true })
  end)
  t.eventually(function() return made and #s.events(made, "question_asked") == 1 end)
  t.ok(made:answer("q1", ""))
  one:wait()
  t.equal(s.events(made, "question_withdrawn")[1].id, "q1")
end)

t.test("a question has words", function()
  s.run(function(run)
    for _, bad in ipairs { "", "  ", {}, { "Which?", "" }, { 7 }, 7, false } do
      local ok, err = pcall(function() local answer = ask(bad) return answer end)
      t.equal(ok, false)
      t.matches(err, "test_ask.lua:%d+: bad argument #1 to 'ask'")
    end
    t.fails("invalid", "no question", ask.relay({ questions = { "" } }, "o1"))
    t.equal(#s.events(run, "question_asked"), 0)
  end, { interactive = true })
end)

t.test("the question of a run that was called is read here, by the schema that came with it", function()
  local made, answers = nil, {}
  local one = fiber.detach(function()
    s.run(function(run)
      made = run
      for i, given in ipairs { '{"type":"object","properties":{"n":{"type":"integer"}}}', { "no text" }, (" "):rep(70000) .. "{}" } do
        answers[i] = ask.relay({ tool = "put", agent = "far", arguments = '{"n":1}', schema = given }, "o1")
      end
    end, { interactive = true })
  end)
  local edit = 'edit {"n":"seven"}'
  t.eventually(function() return made and made.questions.a1 end)
  t.fails("invalid", "/n: expected integer", made:answer("a1", edit))
  t.ok(made:answer("a1", 'edit {"n":7}'))
  for _, id in ipairs { "a2", "a3" } do -- without one the run that asks judges
    t.eventually(function() return made.questions[id] end)
    t.ok(made:answer(id, edit))
  end
  one:wait()
  t.same(answers, { 'edit {"n":7}', edit, edit })
  local asked = s.events(made, "approval_requested")
  t.equal(type(asked[1].schema) .. type(asked[2].schema) .. type(asked[3].schema), "stringnilnil")
end)

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

t.test("a run may ask as often as it likes, and has so many questions open at once", function()
  local made
  local one = fiber.detach(function()
    s.run(function(run)
      made, run.asked = run, 1500 -- in months
      t.equal(ask.ask "On?", "on")
    end, { interactive = true })
  end)
  t.eventually(function() return made and made:answer("q1501", "on") end)
  one:join()
  local refused
  local other = fiber.detach(function()
    s.run(function(run)
      made = run
      local list = {}
      for i = 1, 1000 do list[i] = i end
      local asking = flow.spawn(function() return flow.map(list, function(i) return ask.ask("Number " .. i .. "?") end, { limit = 1000 }) end)
      while not run.questions.q1000 do fiber.sleep(0.001) end
      refused = select(2, ask.ask "One more?")
      run:answer("q1", "on")
      while run.questions.q1 do fiber.sleep(0.001) end
      refused = refused.code .. " " .. tostring(select(2, ask.ask("And now?", { timeout = 0.01 })).code)
      asking:cancel()
    end, { interactive = true })
  end)
  other:join()
  t.equal(refused, "limit timeout")
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
  t.equal(plan(nil, "deny"), "refuse")
  if t.kept then return end -- its operator said what it said when the run began
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

-- ---- What an "always" covers ------------------------------------------------------------------------

local write = { places = { path = true }, subject = "path" }
local move = { places = { from = true, to = true }, subject = "to" }
local fetch = { sends_to = function(args) return args.url end, subject = "url" }

local tried, held = 0, 0

-- Whether an always to the first call is one to the second.
local function covers(first, second)
  local one = standing.of(first)
  return standing.covers(one, setmetatable(second, { __index = first })), standing.words(one, {})
end

-- A call that somebody would like to have covered.
local function is_not_covered(first, second, what)
  tried = tried + 1
  t.equal(covers(first, second), false, what)
  held = held + 1
end

t.test("always covers what was seen, and no more", function()
  local file = { agent = "a", tool = "write_file", of = write, arguments = { path = "docs/x.md", content = "1" } }
  local ok, words = covers(file, { arguments = { path = "docs/y.md", content = "2" } })
  t.equal(ok, true)
  t.equal(words, "calls with path in docs/, any content in this run; asks again after untrusted text")
  t.equal(standing.words(standing.of(file), { edition = 1 }), -- as the events of older runs have it
    "a may call write_file with path in docs/, whatever is written again in this run, unless it reads text from elsewhere that it has not read yet")
  for name, other in pairs {
    ["another folder"] = { arguments = { path = "src/y.md", content = "1" } }, ["a folder of a like name"] = { arguments = { path = "docs2/y", content = "1" } },
    ["the folder above"] = { arguments = { path = "docs", content = "1" } }, ["another agent"] = { agent = "b" }, ["another tool"] = { tool = "edit_file" },
    ["the web since"] = { labels = 1 }, ["a server since"] = { labels = 4 }, ["secrets since"] = { labels = 8 }, ["no path"] = { arguments = { content = "1" } },
  } do is_not_covered(file, other, name) end
  file.labels = 3
  t.equal(covers(file, { labels = 1 }), true)
  is_not_covered(file, { labels = 7 })
  local top = { agent = "a", tool = "write_file", of = write, arguments = { path = "x.md", content = "1" } }
  t.equal(covers(top, { arguments = { path = "x.md", content = "2" } }), true)
  is_not_covered(top, { arguments = { path = "y.md", content = "1" } }) -- not the whole project
  local moved = { agent = "a", tool = "move_file", of = move, arguments = { from = "a/x", to = "b/x" } }
  t.equal(covers(moved, { arguments = { from = "a/y", to = "b/y" } }), true)
  is_not_covered(moved, { arguments = { from = "c/y", to = "b/y" } })
end)

t.test("always for commands, addresses and tools of one's own", function()
  local command = { agent = "a", tool = "execute_command", of = { subject = "command" }, arguments = { command = "make test" } }
  t.equal(covers(command, { arguments = { command = "make test" } }), true)
  for _, args in ipairs { { command = "make test; rm x" }, { command = "make" }, { command = "make test", directory = "sub" }, { command = "make test", timeout = 1 }, {} } do
    is_not_covered(command, { arguments = args })
  end
  local page = { agent = "a", tool = "web_fetch", of = fetch, arguments = { url = "https://a.example/x" } }
  local ok, words = covers(page, { arguments = { url = "https://a.example/y?z" } })
  t.equal(ok, true)
  t.has(words, "url on https://a.example")
  for _, url in ipairs { "https://a.example.evil.example/x", "https://evil.example/?https://a.example/", "https://a.example:444/", "https://a.example@evil.example/", "x" } do
    is_not_covered(page, { arguments = { url = url } }, url)
  end
  local own = { agent = "a", tool = "pay", arguments = { to = "ann", list = { 1, 2 } } }
  t.equal(covers(own, { arguments = { to = "ann", list = { 1, 2 } } }), true)
  is_not_covered(own, { arguments = { to = "ann", list = { 1, 3 } } })
  is_not_covered(own, { arguments = { to = "eve", list = { 1, 2 } } })
  t.has(select(2, covers(own, {})), "this exact call in this run")
end)

t.test("what is asked each time has no always, and is not covered by one", function()
  local made, decisions = nil, {}
  local one = fiber.detach(function()
    s.run(function(run)
      made = run
      run.always[1] = standing.of(about "a")
      decisions[1] = ask.approval(setmetatable({ each = true }, { __index = about "a" }))
    end, { interactive = true })
  end)
  t.eventually(function() return made and #s.events(made, "approval_requested") == 1 end)
  local event = s.events(made, "approval_requested")[1]
  t.equal(event.always, nil)
  t.fails("invalid", "each time", made:answer(event.id, "always"))
  t.ok(made:answer(event.id, "yes"))
  one:wait()
  t.same(decisions, { "allow" })
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

-- ---- Other arguments ---------------------------------------------------------------------------

-- An agent calls post{to = "all"}; a person answers. The run, what was posted to whom, and what the model was told of it.
local function post(answers, rules, prepare)
  local posted, told, refused = {}, nil, {}
  local tool = require "hocket.tool" {
    name = "post", description = "Posts.", effects = { "send" }, prepare = prepare,
    parameters = { type = "object", required = { "to" }, properties = { to = { type = "string" } }, additionalProperties = false },
    run = function(args) posted[#posted + 1] = args.to return "posted" end,
  }
  s.reply = function(request)
    if s.calls(request, "post") == 0 then return { calls = { s.call("post", { to = "all" }) } } end
    told = request.messages[#request.messages].text
    return "Done."
  end
  local team = s.team { clerk = { tools = { tool } } }
  local made
  local one = fiber.detach(function()
    s.run(function(run)
      made = run
      return require("hocket.orchestrate").call(team.clerk, "Post it")
    end, { interactive = true, approve = rules })
  end)
  t.eventually(function() return made and #s.events(made, "approval_requested") == 1 end)
  for _, answer in ipairs(answers) do
    local ok, err = made:answer("a1", answer)
    if not ok then refused[#refused + 1] = err.message end
  end
  one:wait()
  return made, posted, told, refused
end

t.test("a person gives other arguments", function()
  local run, posted, told, refused = post({
    "edit", "edit []", "edit {", 'edit {"to":7}', 'edit {"to":"ann","cc":"bob"}', "edit {}", 'edited {"to":"ann"}', 'edit {"to":"ann"}',
  }, { "post=ask" })
  t.same(posted, { "ann" })
  t.equal(#refused, 7)
  t.has(refused[1], "allow, deny")
  t.has(refused[2], "one JSON object")
  t.has(refused[4], "to")
  t.has(refused[6], "to")
  t.equal(told, 'The user changed the arguments: {"to":"ann"}\nposted')
  local answered = s.events(run, "approval_answered")[1]
  t.equal(answered.decision, "allow")
  t.equal(answered.arguments, '{"to":"ann"}')
end)

t.test("what rules forbid no answer allows, and the tool puts other arguments right as well", function()
  local run, posted, told = post({ 'edit {"to":"eve"}' }, { "post=ask", "post(to=eve)=deny" })
  t.same(posted, {})
  t.has(told, "not allowed")
  t.equal(#s.events(run, "tool_denied"), 1)
  local lower = function(args) return { to = args.to:lower() } end
  _, posted = post({ 'edit {"to":"EVE"}' }, { "post=ask", "post(to=eve)=deny" }, lower)
  t.same(posted, {})
  _, posted = post({ 'edit {"to":"ANN"}' }, { "post=ask" }, lower)
  t.same(posted, { "ann" })
  local _, none, _, refused = post({ 'edit {"to":"ann"}', "no" }, { "post=ask" }, function(args)
    if args.to == "ann" then error({ code = "denied", message = "not to her" }, 0) end
    return args
  end)
  t.same(none, {})
  t.has(refused[1], "not to her")
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

-- Calls fn in a run whose questions somebody outside answers when they have stood for so long: what fn returns.
local function answered_after(seconds, fn)
  local outcome
  s.run(function(run)
    local person = fiber.outside(function()
      t.eventually(function() return next(run.questions) ~= nil end)
      flow.sleep(seconds)
      for id in pairs(run.questions) do run:answer(id, "the other one") end
    end)
    outcome = table.pack(fn())
    person:join()
  end, { interactive = true })
  return table.unpack(outcome, 1, outcome.n)
end

t.test("time limits do not count how long a person takes", function()
  local real, work = answered_after(0.05, function() -- what a run reads may lag 10 ms behind
    local real, work = fiber.now(), fiber.work()
    t.equal(ask "Which?", "the other one")
    return fiber.now() - real, fiber.work() - work
  end)
  t.ok(real >= 0.03)
  t.ok(real - work >= 0.02, ("%g s of %g s are work"):format(work, real))
end)

t.test("a function that answers for a person is no work", function()
  local real, work
  s.run(function()
    real, work = fiber.now(), fiber.work()
    ask "Which?"
    real, work = fiber.now() - real, fiber.work() - work
  end, { on_question = function()
    flow.sleep(0.03)
    return "this"
  end })
  t.ok(real - work >= 0.02, ("%g s of %g s are work"):format(work, real))
end)

t.test("while another part of the run works its time limits go on", function()
  local real, work = answered_after(0.03, function()
    local real, work = fiber.now(), fiber.work()
    flow.all { function() return ask "Which?" end, function() flow.sleep(0.03) end }
    return fiber.now() - real, fiber.work() - work
  end)
  t.ok(real >= 0.03 and work >= 0.025, ("%g s of %g s are work"):format(work, real))
  t.fails("timeout", "", answered_after(0.05, function()
    return flow.timeout(0.01, function() flow.all { function() return ask "Which?" end, function() flow.sleep(60) end } end)
  end))
end)

t.test("two runs have clocks of their own", function()
  if t.kept then return end -- here both are part of the one that is kept
  local _, work = answered_after(0.03, function()
    local other = fiber.detach(function() s.run(function() flow.sleep(0.03) end) end)
    local work = fiber.work()
    t.equal(ask "Which?", "the other one")
    other:join()
    return nil, fiber.work() - work
  end)
  t.ok(work < 0.02, work)
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

t.test("nothing in the arguments looks like something else", function()
  local function shown(text) return visible.json('"' .. text .. '"'):sub(2, -2) end
  for text, expected in pairs {
    ["a\u{A0}b"] = "a\\u00a0b", ["\u{2800}"] = "\\u2800", ["\u{3000}x\u{2003}\u{202F}"] = "\\u3000x\\u2003\\u202f", ["rm\u{2212}rf"] = "rm\\u2212rf",
    ["\u{2215}etc\u{2044}x"] = "\\u2215etc\\u2044x", ["ｅｖｉｌ"] = "\\uff45\\uff56\\uff49\\uff4c", ["a\u{37E} b"] = "a\\u037e b",
    ["git p\u{443}sh"] = "git p\\u0443sh", ["\u{430}pple.com"] = "\\u0430pple.com", ["сору"] = "\\u0441\\u043e\\u0440\\u0443", -- Latin to the eye
    ["ο"] = "\\u03bf", ["𝐫𝐦"] = "\\ud835\\udc2b\\ud835\\udc26", ["\u{E000}"] = "\\ue000",
  } do
    tried = tried + 1
    t.equal(shown(text), expected, text)
    held = held + 1
  end
  -- What people write stays as it is.
  for _, text in ipairs { "lüng – „so“ … é", "Сорок слов в этом тексте, сор", "\\nслово\\tдело", "λόγος και έργο", "日本語 한국어 العربية", "Łódź naïve", "x → y", "\\u0441" } do
    t.equal(shown(text), text)
  end
  local value = { text = "p\u{443}sh \u{2800}\u{A0}", other = "слово" }
  t.same(json.decode(visible.encode(value)), value)
end)

t.test("a yes is only what is nothing but a yes", function()
  for _, text in ipairs { "y", " Yes. ", "ok!", "ja" } do t.equal(ask.verdict(text), "yes", text) end
  for _, text in ipairs { "n", "No.", "nein" } do t.equal(ask.verdict(text), "no", text) end
  for _, text in ipairs { "yes, but later", "", "no way", "okay then", "42" } do t.equal(ask.verdict(text), nil, text) end
  t.equal(ask.verdict "always", "always")
end)

print(("  tried %d, held %d"):format(tried, held))
t.test("a question of a stored run whose schema is none takes other arguments, which the run checks", function()
  local decision = require "hocket.internal.run.decision"
  for _, schema in ipairs { "", "{", "null", "[]", '{"type":5}' } do
    t.same(decision.read('edit {"n":7}', { tool = "post", schema = schema }), { verdict = "yes", arguments = { n = 7 } }, schema)
  end
  local said, wrong = decision.read('edit {"n":"x"}', { tool = "post", schema = '{"properties":{"n":{"type":"integer"}}}' })
  t.equal(said, nil)
  t.has(wrong, "post cannot be called with that: the arguments do not fit the schema: /n: expected integer")
end)

return t.finish()
