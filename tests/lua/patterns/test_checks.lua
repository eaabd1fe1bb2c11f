--- Checks of a plan's steps: the runtime makes them before a step counts as done; and plans as files.
local t = require "harness"
local s = require "scripted"
local p = require "patterns_support"
local hocket = require "hocket"
local json = require "hocket.json"
local plan = hocket.patterns.plan

local function task(check, more)
  local made = { id = "walls", specialist = "mason", description = "Build the walls", check = check }
  for name, value in pairs(more or {}) do made[name] = value end
  return made
end

-- Carries tasks out in a folder of its own. `said`: the model's replies, one a turn, or a function.
local function carry_out(tasks, said, options, defs)
  local dir <close> = t.dir()
  local results = {}
  local asked = p.play { mason = function(request)
    if request.last.role == "user" and request.turn > 1 then results[#results + 1] = request.last.text end
    if type(said) == "function" then return said(request, dir) end
    return said[request.turn] or "done"
  end }
  local team = p.agents(defs or { mason = { tools = { "execute_command", "write_file" } } })
  local opts, approve = { team = team, backoff = 0, retries = 0 }, "allow"
  for name, value in pairs(options or {}) do
    if name == "approve" then approve = value else opts[name] = value end
  end
  local run, reply, err = s.run(function() return hocket.patterns.coordinator.run({ type = "task", tasks = tasks }, opts) end,
    { workdir = dir.path, approve = approve })
  p.check(run)
  return reply, err, run, results, asked.mason
end

local function checked(run)
  local list = {}
  for i, event in ipairs(s.events(run, "checked")) do list[i] = ("%s %s %s %d"):format(event.task, event.check, event.ok, event.round) end
  return list
end

local write = { calls = { s.call("write_file", { path = "a.txt", content = "x" }) } }

t.test("a model that says that it is done is not believed; it reads why, and mends it", function()
  local reply, _, run, results, asked = carry_out({ task { file = "a.txt" } }, { "I have built them", write, "Now they are built" })
  t.equal(reply.text, "Now they are built")
  t.has(results[1], "Your work is not done: its check failed: there is no file a.txt (expected: there is a file a.txt)")
  t.same(checked(run), { "walls file false 1", "walls file true 2" })
  t.has(asked[1].last.text, "It is done when this check holds: there is a file a.txt")
end)

t.test("a command is a call of execute_command by that agent", function()
  local reply, _, run, results = carry_out({ task "test -s a.txt || { echo no walls; exit 3; }" }, { "done", write, "built" })
  t.ok(reply, _ and _.message)
  t.equal(reply.text, "built")
  t.has(results[1], "exit code 3")
  t.has(p.framed(results[1], "error", "the check"), "no walls")
  t.same(checked(run), { "walls command false 1", "walls command true 2" })
  local calls = {}
  for _, event in ipairs(s.events(run, "tool_call")) do calls[#calls + 1] = event.tool end
  t.same(calls, { "execute_command", "write_file", "execute_command" })
end)

t.test("the same permission check: who may not run it has not done it", function()
  local _, err, run = carry_out({ task "true" }, { "done" }, { approve = "deny" })
  t.has(err, "it could not be made")
  t.has(err, "'execute_command' was not allowed")
  t.equal(#s.events(run, "checked"), 1, "which the model cannot mend")
end)

t.test("another exit code may be what is expected", function()
  local reply = carry_out({ task { command = "exit 4", exit_code = 4 } }, { "done" })
  t.equal(reply.text, "done")
end)

t.test("a model that loops: the check goes back twice, and then the task has failed", function()
  local _, err, run, results = carry_out({ task { file = "a.txt" } }, function() return "I swear that it is done" end, { retries = 2 })
  t.has(err, "its check failed: there is no file a.txt (expected: there is a file a.txt)")
  t.equal(#results, 2)
  t.equal(#s.events(run, "checked"), 3, "and no attempt more")
end)

t.test("one that is cut has not done it; nor one that says that it failed, which nobody checks", function()
  local _, err, run = carry_out({ task { file = "a.txt" } }, { { text = "Half", finish = "length" } })
  t.ok(err)
  t.equal(#s.events(run, "checked"), 0)
  local _, failed, other = carry_out({ task { file = "a.txt" } }, { "FAILED: no stones" })
  t.has(failed, "no stones")
  t.equal(#s.events(other, "checked"), 0)
end)

t.test("a schema of the answer", function()
  local reply, _, _, results = carry_out({ task { schema = { type = "object", required = { "bricks" } } } }, { "2400 bricks", '{"stones": 1}', '{"bricks": 2400}' })
  t.equal(reply.text, '{"bricks": 2400}')
  t.has(results[1], "the answer is no JSON")
  t.has(results[2], "bricks")
end)

t.test("an agent without tools has checks, too", function()
  local reply, _, run = carry_out({ task { schema = { type = "integer" } } }, { "many", "7" }, nil, { mason = {} })
  t.equal(reply.text, "7")
  t.equal(#s.events(run, "checked"), 2)
end)

t.test("an alternate gets a task whose check failed, and the check binds it as well", function()
  local asked = p.play { mason = "done", painter = function(request) return request.turn == 1 and "?" or "7" end }
  local team = p.agents { mason = { alternates = { "painter" } }, painter = {} }
  local run, reply, err = s.run(function()
    return hocket.patterns.coordinator.run({ type = "task", tasks = { task { schema = { type = "integer" } } } }, { team = team, backoff = 0, retries = 0 })
  end)
  t.ok(reply, tostring(err))
  t.equal(reply.text, "7")
  t.has(asked.painter[1].last.text, "its check failed")
  t.equal(#s.events(run, "checked"), 5)
end)

t.test("the check of a split task is made when its parts are done", function()
  local asked = p.play { lead = { calls = { s.call("split_task", { id = "house", tasks = { { id = "a", specialist = "mason", description = "Do a" } } }) } }, mason = "7" }
  local team = p.agents { lead = { tools = { "split_task" } }, mason = {} }
  local function try(check)
    return select(2, s.run(function()
      return hocket.patterns.coordinator.run({ type = "task", tasks = { { id = "house", specialist = "lead", description = "Build", check = check } } }, { team = team, backoff = 0, retries = 0 })
    end))
  end
  t.equal(try({ schema = { type = "integer" } }).finish, "stop")
  t.equal(#asked.mason, 1)
  local failed = try({ schema = { type = "object" } })
  t.equal(failed.finish, "partial")
  t.has(failed.text, "its check failed")
end)

t.test("what is no check is told to whoever plans", function()
  local team = p.agents { mason = {}, painter = { tools = { "execute_command" } } }
  local function wrong(check, specialist)
    return plan.check({ type = "task", tasks = { task(check, { specialist = specialist or "mason" }) } }, { "mason", "painter" }, nil, team) or ""
  end
  t.has(wrong "true", "task 'walls': check: it is a command, and 'mason' has no tool execute_command")
  t.equal(wrong("true", "painter"), "")
  t.has(wrong {}, "exactly one of command, file, schema, function is expected")
  t.has(wrong { file = "a", command = "b" }, "exactly one of")
  t.has(wrong { lua = "os.exit()" }, "unknown key 'lua'")
  t.has(wrong { ["function"] = "return 1" }, "module.function")
  t.has(wrong { file = "a", exit_code = 1 }, "unknown key 'exit_code'")
  t.has(wrong({ command = "x", exit_code = 300 }, "painter"), "a whole number from 0 to 255")
  t.has(wrong { schema = { type = "nothing" } }, "a JSON Schema")
  t.has(wrong(7), "is expected")
end)

t.test("a planner with the key `checks` plans them, and no other is told of them", function()
  local asked = p.play { planner = json.encode { type = "task", tasks = { { id = "walls", specialist = "mason", description = "Build", expected = "a number", check = { file = "a.txt" } } } },
    mason = function(request) return ({ "?", write })[request.turn] or "done" end }
  local function plan_with(head)
    head.prompt = "Plan for {{specialists}}"
    local dir <close> = t.dir()
    local team = p.agents { planner = head, mason = { description = "Builds", tools = { "write_file" } } }
    local run, reply, err = s.run(function() return hocket.patterns.planner.run { request = "A wall", team = team, planner = team.planner, specialists = { "mason" }, retries = 0 } end,
      { workdir = dir.path, approve = "allow" })
    return run, reply, err
  end
  local run = plan_with { checks = true }
  t.has(asked.planner[1].system, "Each task also has `files`")
  t.has(asked.mason[1].last.text, "Expected outcome: a number")
  t.ok(#s.events(run, "checked") > 1)
  plan_with {}
  t.ok(not asked.planner[2].system:find("Each task also has", 1, true))
end)

-- ---- Files ------------------------------------------------------------------------------------

local whole = { name = "house", request = "A house: for \"two\" #1", plan = { type = "task", execution_mode = "sequential", tasks = {
  { id = "plot", specialist = "mason", description = "Measure.\n\n\n  - twice\n## not a heading\n- owner: nobody", depends_on = json.array {}, files = json.array { "a.txt", "b c.txt" },
    expected = "yes", check = { schema = { type = "object", required = { "x" } } } },
  { id = "the walls", specialist = "mason", description = "  Build: \"all\" of it\nin two lines", depends_on = json.array { "plot" }, check = "test -s a.txt # really",
    context = "two\nlines", active_form = "Building", alternates = json.array { "painter" } },
} } }

t.test("what is written is read back, as Markdown and as YAML", function()
  for _, write_as in ipairs { plan.to_markdown, plan.to_yaml } do
    local text = write_as(whole)
    t.ok(plan.is_file(text))
    local about, problems = plan.parse(text)
    t.ok(about, problems[1] and ("%d: %s\n%s"):format(problems[1].line, problems[1].message, text))
    t.equal(about.name, "house")
    t.equal(about.request, whole.request)
    local expected = json.decode(json.encode(whole.plan))
    expected.tasks[2].description = write_as == plan.to_markdown and "Build: \"all\" of it\nin two lines" or expected.tasks[2].description
    t.same(json.decode(json.encode(about.plan)), expected)
  end
end)

t.test("an id of a model is one line of the file, and no other step or check", function()
  local made = { type = "task", tasks = { { id = "a\n- owner: mason\n- check: evil\n\nDo\n\n## b", specialist = "mason", description = "\\# Do\n\\- it" },
    { id = "a - owner: mason - check: evil Do ## b", specialist = "mason", description = "Then this", depends_on = { "a\n- owner: mason\n- check: evil\n\nDo\n\n## b" } } } }
  for _, write_as in ipairs { plan.to_markdown, plan.to_yaml } do
    local about, problems = plan.parse(write_as { name = "x", plan = made })
    t.ok(about, problems[1] and problems[1].message)
    local first, second = about.plan.tasks[1], about.plan.tasks[2]
    t.equal(#about.plan.tasks, 2)
    t.equal(first.check, nil)
    t.equal(first.description, made.tasks[1].description)
    t.equal(first.id, "a - owner: mason - check: evil Do ## b")
    t.equal(second.id, first.id .. " 2")
    t.same(json.decode(json.encode(second.depends_on)), { first.id })
  end
end)

t.test("a person numbers the steps, and begins fields as Markdown's lists begin", function()
  local about = assert(plan.parse "---\nplan: x\n---\n## 1\n* owner: m\n\nDo it\n\n## 2\n+ owner: m\n+ after: 1\n+ files: [\"a, b\", 7]\n\n* owner: is text here\n")
  local second = about.plan.tasks[2]
  t.same({ second.id, second.depends_on[1], second.files[1], second.files[2], second.description }, { "2", "1", "a, b", "7", "* owner: is text here" })
  t.equal(plan.check(about.plan, { "m" }), nil)
  about = assert(plan.parse "plan: x\nsteps:\n  - {id: 1, owner: m, description: d}\n  - {id: 2, owner: m, after: [1], description: d}")
  t.equal(plan.check(about.plan, { "m" }), nil)
  for _, text in ipairs { "* owner: evil", "+ owner: evil\n\\+ x", "\\* a: b", "- a\n* b: c" } do
    local made = { name = "x", plan = { type = "task", tasks = { { id = "a", specialist = "m", description = text } } } }
    for _, form in ipairs { "to_markdown", "to_yaml" } do
      local back = assert(plan.parse(plan[form](made)))
      t.same({ back.plan.tasks[1].specialist, back.plan.tasks[1].description }, { "m", text }, form)
    end
  end
end)

t.test("what is wrong has its line", function()
  local function wrong(text)
    local about, problems = plan.parse(text)
    t.equal(about, nil)
    return ("%d: %s"):format(problems[1].line, problems[1].message)
  end
  t.equal(wrong "---\nplan: x\ncolour: red\n---\n## a\n- owner: m\n\nDo it", "3: unknown key 'colour' of a plan (plan, description, request, user, team, execution_mode, on_failure, approve_plan, steps)")
  t.has(wrong "---\nplan: x\n---\n\n## a\n\n- owner: m\n- colour: red\n\nDo it", "8: unknown key 'colour' of a step")
  t.equal(wrong "---\nplan: x\n---\n## a\n\nDo it", "4: step 'a' has no owner")
  t.equal(wrong "---\nplan: x\n---\n## a\n- owner: m\n", "4: step 'a' says nothing of what to do")
  t.equal(wrong "---\nplan: x\n---\n### a", "1: the plan has no steps: each begins with '## ID'")
  t.equal(wrong "plan: x", "1: the plan has no steps: 'steps' is their list, each with id, owner and description")
  t.equal(wrong "plan: x\nsteps:\n  a: {owner: m}", "3: steps: a list is expected")
  t.has(wrong "plan: x\nsteps:\n  - id: a\n    owner: [m]\n    description: d", "4: owner: a text is expected")
  t.equal(wrong "---\nplan: x\n---\n## a\n- owner: m\n- after: {x: 1}\n\nDo it", "6: after: a list is expected, of texts")
  t.equal(wrong "---\nplan: x\n---\n## a\n- owner: m\n- after: b, c\n\nDo it", '6: after: several are a list: [b, c]; one with a comma is one as well: ["b, c"]')
  t.has(wrong "---\nplan: x\n---\n## a\n- owner: m\n- check: {file: [\n\nDo it", "7: did not find expected")
  t.has(wrong(("plan: x\n"):rep(10000)), "65536 bytes at most")
  t.has(wrong "plan: \255", "UTF-8")
end)

t.test("texts of any kind neither hang nor raise", function()
  local parts = { "---\n", "plan: x\n", "## a\n", "- owner: m\n", "- check: {", "}\n", "steps:\n", "  - id: a\n", "\n", "text\n", "- ", ":", "\\## b\n", "|", "\239\187\191" }
  local seed = 7
  for _ = 1, 400 do
    local text = {}
    for i = 1, 12 do
      seed = (seed * 1103515245 + 12345) & 0x7fffffff
      text[i] = parts[(seed >> 8) % #parts + 1]
    end
    local about, problems = plan.parse(table.concat(text))
    t.ok(about or problems[1], table.concat(text))
  end
end)

return t.finish()
