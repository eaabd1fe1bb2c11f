--- Goals (`until:`): checked by the runtime after each answer, by a command, a function, a schema or a judge; bounded; never met by words.
local t = require "harness"
local s = require "scripted"
local hocket = require "hocket"

-- Lets an agent with this goal answer: what came of it, the run, and the requests.
local function run(goal, reply, more, options)
  local asked, text, failed = {}, nil, nil
  s.reply = function(request)
    if request.system:find "^judge" then return more.verdict(request) end
    asked[#asked + 1] = request
    return reply(#asked, request)
  end
  local defs = { worker = { tools = { "execute_command" }, ["until"] = goal }, judge = { description = "Judges" } }
  for name, value in pairs(more and more.def or {}) do defs.worker[name] = value end
  if type(goal) == "table" and goal.judge then defs.worker.agents = { "judge" } end
  local team = s.team(defs)
  local one = s.run(function()
    local got, err = hocket.orchestrate.call(team.worker, "do it")
    text, failed = got and (got.value or got.text), err
    return { text = "" }
  end, options or { approve = "allow" })
  return text, failed, one, asked
end

local function words(list)
  return function(n) return list[math.min(n, #list)] end
end

t.test("a command decides by its exit code, and the agent sees what it printed", function()
  local dir <close> = t.dir()
  local text, err, one, asked = run("test -e done || { echo no such file; exit 3; }", function(n)
    if n == 2 then dir:write("done", "") end
    return ("answer %d: done, exit code 0"):format(n)
  end, nil, { approve = "allow", workdir = dir.path })
  t.equal(err, nil)
  t.equal(text, "answer 2: done, exit code 0")
  t.has(asked[2].last.text, "no such file")
  t.has(asked[2].last.text, "exit code 3")
  local checked = s.events(one, "checked")
  t.equal(#checked, 2)
  t.same({ checked[1].check, checked[1].round, checked[1].ok, checked[2].ok }, { "command", 1, false, true })
end)

t.test("words do not meet it: rounds and equal results end it", function()
  local lie = words { "It is done: exit code 0." }
  local text, err, _, asked = run({ command = "exit 1", rounds = 2 }, lie)
  t.equal(text, nil)
  t.equal(err.code, "state")
  t.has(err.message, "its check failed: exit code 1 (expected: `exit 1` ends with exit code 0)")
  t.equal(err.partial, "It is done: exit code 0.")
  t.equal(#asked, 2)
  _, err, _, asked = run({ command = "echo same; exit 1", rounds = 9, same = 3 }, lie)
  t.has(err.message, "its check failed")
  t.equal(#asked, 3)
  _, err, _, asked = run({ command = "date +%N; exit 1", rounds = 5, same = 2 }, lie)
  t.has(err.message, "its check failed")
  t.equal(#asked, 5)
end)

t.test("what a command prints is not its exit code", function()
  for command, reason in pairs {
    ["echo 'exit code 0, 0.1 s'; exit 4"] = "exit code 4", ["trap 'echo exit code 0; exit 5' EXIT; exit 0"] = "exit code 5", ["echo exit code 0 >&2; exit 6"] = "exit code 6",
    ["echo exit code 0; kill -KILL $$"] = "ended by SIGKILL", ["(exit 0) & echo exit code 0; false"] = "exit code 1",
  } do
    local text, err = run({ command = command, rounds = 1 }, words { "exit code 0" })
    t.equal(text, nil, command)
    t.equal(err.code, "state", command)
    t.has(err.message, ": " .. reason)
  end
end)

t.test("a command passes the checks of a call of the agent", function()
  local dir <close> = t.dir()
  local _, err = run({ command = "touch x", same = 1 }, words { "done" }, nil, { approve = "deny", workdir = dir.path })
  t.has(err.message, "was not allowed")
  t.equal(require("hocket.fs").info(dir.path .. "/x"), nil, "it did not run")
  _, err = run({ command = "true" }, words { "done" }, { def = { approve = { deny = { "execute_command" } } } })
  t.has(err.message, "its check failed")
end)

t.test("a function of the project decides, and says what is missing", function()
  local about
  local function check(given)
    about = given
    if given.text == "42" then return true end
    return nil, "there is no 42"
  end
  local text, err, _, asked = run({ ["function"] = check }, words { "41", "42" })
  t.equal(text, "42", tostring(err))
  t.has(asked[2].last.text, "there is no 42")
  t.equal(about.input, "do it")
  _, err = run({ ["function"] = function() return false end, rounds = 1 }, words { "42" })
  t.has(err.message, "a function refused it")
  _, err = run({ ["function"] = function() error "it broke" end, rounds = 1 }, words { "42" })
  t.has(err.message, "it broke")
end)

t.test("a file decides", function()
  local dir <close> = t.dir()
  local text, err = run({ file = "plan.txt" }, function(n)
    if n == 2 then dir:write("plan.txt", "x") end
    return "answer " .. n
  end, nil, { approve = "allow", workdir = dir.path })
  t.equal(text, "answer 2", tostring(err))
end)

t.test("a schema decides, beside an output as well", function()
  local small = { type = "object", required = { "n" }, properties = { n = { type = "integer", maximum = 9 } } }
  t.equal(run({ schema = small }, words { "no JSON", '{"n": 99}', '{"n": 9}' }), '{"n": 9}')
  local any = { type = "object", required = { "n" }, properties = { n = { type = "integer" } } }
  t.same(run({ schema = small }, words { '{"n": 99}', '{"n": 3}' }, { def = { output = any } }), { n = 3 })
end)

t.test("a judge decides", function()
  local seen = {}
  local text, err = run({ judge = "judge" }, words { "a draft", "better" }, { verdict = function(request)
    seen[#seen + 1] = request.last.text
    return request.last.text:find "better" and '{"met": true, "missing": ""}' or '{"met": false, "missing": "a title"}'
  end })
  t.equal(text, "better", tostring(err))
  t.has(seen[1], "a draft")
  t.has(seen[1], "do it")
  _, err = run({ judge = "judge", rounds = 2 }, words { "x" }, { verdict = function() return "it is fine, met: true" end })
  t.has(err.message, "its check failed")
end)

t.test("an answer that a budget has cut was never checked, and is no whole one", function()
  local _, err = run({ command = "true" }, function(n) return n == 1 and { calls = { { name = "execute_command", arguments = { command = "true" } } }, text = "I try." } or "done" end,
    { def = { budget = { turns = 2 } } })
  t.equal(err and err.code, "budget")
  local any = { type = "object", required = { "n" }, properties = { n = { type = "integer" } } }
  local value
  value, err = run({ command = "false" }, function(n) return n == 1 and { calls = { { name = "execute_command", arguments = { command = "true" } } }, text = "I try." } or '{"n": 1}' end,
    { def = { budget = { turns = 2 }, output = any } })
  t.equal(value, nil)
  t.equal(err and err.code, "budget")
end)

t.test("what is wrong with the key is said when it is read", function()
  local function problem(key, more)
    local def = { name = "one", prompt = "You.", ["until"] = key }
    for name, value in pairs(more or {}) do def[name] = value end
    local ok, err = pcall(hocket.agent, def)
    t.ok(not ok)
    return type(err) == "table" and err.message or tostring(err)
  end
  t.has(problem({ rounds = 3 }), "needs one of 'command', 'file', 'function', 'schema' and 'judge'")
  t.has(problem({ command = "x", judge = "judge" }, { tools = { "execute_command" } }), "needs one of")
  t.has(problem "make test", "add 'tools: [execute_command]'")
  t.has(problem({ judge = "nobody" }), "nobody")
  t.has(problem({ command = "x", rounds = 0 }, { tools = { "execute_command" } }), "rounds")
end)

return t.finish()
