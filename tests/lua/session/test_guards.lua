--- Guards: of what an agent is asked and what it answers; they stop or ask, never allow, and nobody sees the text of an answer before they let it pass.
local t = require "harness"
local s = require "scripted"
local fiber = require "hocket.internal.core.fiber"
local hocket = require "hocket"
local runs = require "hocket.internal.run.run"

local called
hocket.tool.set("guarded_tool", function()
  return hocket.tool.new { name = "guarded_tool", effects = { "write" }, description = "x", run = function()
    called = true
    return "done"
  end }
end)

-- Lets an agent with these guards answer: its text, its error, the run, what was streamed, and the requests.
local function run(guards, reply, options, more)
  local asked, heard, text, failed = {}, {}, nil, nil
  called = false
  s.reply = function(request)
    if request.system:find "^judge" then return more.verdict(request) end
    asked[#asked + 1] = request
    return type(reply) == "function" and reply(request) or reply or ("Heard: " .. request.last.text)
  end
  local defs = { worker = { tools = { "guarded_tool" }, guards = guards }, judge = { description = "Judges" } }
  local team = s.team(defs)
  local one = s.run(function()
    local got, err = hocket.orchestrate.call(team.worker, "do it", { on_delta = function(_, words) heard[#heard + 1] = words end })
    text, failed = got and got.text, err
    return got or { text = "" }
  end, options or { approve = "allow" })
  return text, failed, one, table.concat(heard), asked
end

local function all_events(one)
  local lines = {}
  for _, event in ipairs(s.events(one)) do lines[#lines + 1] = hocket.json.encode(event) end
  return table.concat(lines, "\n")
end

t.test("a guard that passes changes nothing, whatever it returns", function()
  for _, said in ipairs { function() return true end, function() end, function() return { tripwire = false } end } do
    local text, err, one = run({ input = { said }, output = { said } })
    t.equal(err, nil)
    t.equal(text, "Heard: do it")
    t.equal(#s.events(one, "guard_tripped"), 0)
  end
end)

t.test("a guard cannot allow what rules deny", function()
  local text = run({ input = { function() return { allow = true, tripwire = false } end } }, function(request)
    if request.last.role == "tool" then return request.last.text end
    return { calls = { s.call "guarded_tool" } }
  end, { approve = "deny" })
  t.equal(called, false)
  t.has(text, "was not allowed")
end)

t.test("an input guard stops the agent, and cancels its model call", function()
  local began = fiber.now()
  local text, err, one = run({ input = { function(about)
    t.equal(about.text, "do it")
    hocket.flow.sleep(0.1)
    return false, "not my business"
  end } }, function()
    hocket.flow.sleep(1.5)
    return "late"
  end)
  t.ok(fiber.now() - began < 1, "it did not wait for the answer")
  hocket.flow.sleep(1.6) -- the scripted model has ended
  t.equal(text, nil)
  t.equal(err.code, "denied")
  t.has(err.message, "not my business")
  local tripped = s.events(one, "guard_tripped")[1]
  t.same({ tripped.side, tripped.action, tripped.reason }, { "input", "stop", "not my business" })
  t.equal(#s.events(one, "model_reply"), 0)
end)

t.test("tool calls wait for the guards of the input", function()
  local order = {}
  local function reply(request)
    if request.last.role == "tool" then return "done" end
    order[#order + 1] = "model"
    return { calls = { s.call "guarded_tool" } }
  end
  local text = run({ input = { function()
    hocket.flow.sleep(0.2)
    order[#order + 1] = called and "called before" or "guard"
  end } }, reply)
  t.equal(text, "done")
  t.same(order, { "model", "guard" })
  t.equal(called, true)
  run({ input = { function() hocket.flow.sleep(0.2) return "no" end } }, reply)
  t.equal(called, false, "the call was never made")
end)

t.test("guards of the input leave alone which folders are guarded from changes, and who has none waits for none", function()
  local function guarded(guards)
    local _, err, one = run(guards)
    t.equal(err, nil)
    t.equal(type(one.guarded), "table")
    return one.gated or false
  end
  t.equal(guarded { input = { function() return true end } }, true)
  t.equal(guarded { output = { function() return true end } }, false)
end)

t.test("parallel: false ends before the model is asked", function()
  local _, err, _, _, asked = run({ input = { { ["function"] = function() return "no" end, parallel = false } } })
  t.equal(err.code, "denied")
  t.equal(#asked, 0)
end)

t.test("an output guard: nobody sees the text that it stops", function()
  local text, err, one, heard = run({ output = { function(about)
    if about.text:find "secret" then return false, "it tells too much" end
  end } }, "the secret is 4711")
  t.equal(text, nil)
  t.has(err.message, "it tells too much")
  t.equal(err.partial, nil)
  t.equal(heard, "")
  t.equal(all_events(one):find("4711", 1, true), nil, "no event has it")
  text, err, one, heard = run({ output = { function() end } }, "nothing special")
  t.equal(heard, "nothing special", "it is released when the guard has decided")
end)

t.test("words beside tool calls are held as well", function()
  local function reply(request)
    if request.last.role == "tool" then return "the end" end
    return { text = "aside 4711", calls = { s.call "guarded_tool" } }
  end
  local _, err, one, heard = run({ output = { function() return "no" end } }, reply)
  t.equal(err.code, "denied")
  t.equal(heard, "")
  t.equal(all_events(one):find("4711", 1, true), nil)
  _, _, one, heard = run({ output = { function() end } }, reply)
  t.has(heard, "aside 4711")
  t.has(all_events(one), "aside 4711")
end)

t.test("what its last agent writes is held, where it hands its work on", function()
  s.reply = function(request) return request.system == "last" and "the secret 4711" or "draft" end
  local team = s.team { last = { description = "l" }, first = { handoff = "last", agents = { "last" }, guards = { output = { function(about)
    return about.text:find "4711" and "a number" or nil
  end } } } }
  local heard = {}
  local one = s.run(function()
    local got, err = hocket.orchestrate.call(team.first, "go", { on_delta = function(_, words) heard[#heard + 1] = words end })
    t.equal(got, nil)
    t.equal(err.code, "denied")
    return { text = "" }
  end)
  t.equal(table.concat(heard), "")
  t.equal(all_events(one):match "[^\n]*4711[^\n]*", nil)
end)

t.test("a schema", function()
  local guards = { output = { { schema = { type = "object", required = { "n" } } } } }
  t.equal(run(guards, '{"n": 1}'), '{"n": 1}')
  local _, err = run(guards, "no JSON")
  t.equal(err.code, "denied")
end)

t.test("an agent", function()
  local seen
  local function verdict(objects)
    return { verdict = function(request)
      seen = request.last.text
      return hocket.json.encode { objects = objects, reason = "it is rude" }
    end }
  end
  local guards = { input = { { agent = "judge" } }, output = { { agent = "judge" } } }
  t.equal(run(guards, "hello", nil, verdict(false)), "hello")
  t.has(seen, "hello")
  local _, err = run(guards, "hello", nil, verdict(true))
  t.has(err.message, "its guard judge stopped what it was asked: it is rude")
end)

t.test("an agent that lies, loops or gives no verdict", function()
  local guards = { output = { { agent = "judge", timeout = 0.4 } } }
  for _, said in ipairs { "I allow it: objects is false", '{"allow": true}', '{"objects": "no", "reason": ""}' } do
    local _, err = run(guards, "hello", nil, { verdict = function() return said end })
    t.equal(err and err.code, "denied", said)
  end
  local _, err = run(guards, "hello", nil, { verdict = function()
    hocket.flow.sleep(1)
    return "late"
  end })
  t.has(err.message, "no verdict")
  hocket.flow.sleep(1.1)
end)

t.test("a guard that crashes or runs out of its time objects", function()
  for _, fn in ipairs { function() error "boom" end, function() while true do end end, function() hocket.flow.sleep(20) end, function() return nil, "cannot say" end,
    function() return false end, function() return "why" end, function() return { tripwire = true } end } do
    for _, side in ipairs { "input", "output" } do
      local text, err = run({ [side] = { { ["function"] = fn, timeout = 0.1 } } })
      t.equal(text, nil)
      t.equal(err.code, "denied")
    end
  end
end)

t.test("action: ask has a person decide, who does not see the text; nobody there: it stops", function()
  local guards = { output = { { ["function"] = function() return "perhaps too much" end, action = "ask" } } }
  local asked
  local function person(answer)
    return { on_question = function(question)
      asked = table.concat(question.questions, "\n")
      return answer
    end }
  end
  t.equal(run(guards, "the 4711", person "yes"), "the 4711")
  t.has(asked, "perhaps too much")
  t.equal(asked:find("4711", 1, true), nil)
  for _, answer in ipairs { "no", "yes but not so", "always" } do
    local text, err = run(guards, "the 4711", person(answer))
    t.equal(text, nil, answer)
    t.equal(err.code, "denied")
  end
  local _, err = run(guards, "the 4711", { approve = "allow" })
  t.equal(err.code, "denied", "--approve allow is no person")
end)

t.test("several side by side: the first that objects decides", function()
  local began = fiber.now()
  local _, err = run({ output = { function() hocket.flow.sleep(20) end, function() return "at once" end } })
  t.has(err.message, "at once")
  t.ok(fiber.now() - began < 10)
end)

t.test("a guard's own agents wait for no guard", function()
  s.reply = function(request)
    if request.system == "helper" then return request.last.role == "tool" and "fine" or { calls = { s.call "guarded_tool" } } end
    return "answer"
  end
  local team = s.team { helper = { tools = { "guarded_tool" } }, worker = {} }
  team.worker = s.team { worker = { guards = { input = { { timeout = 5, ["function"] = function()
    return hocket.run(team.helper, "look").text == "fine" or "the helper failed"
  end } } } } }.worker
  s.run(function()
    local got, err = hocket.orchestrate.call(team.worker, "go")
    t.equal(got and got.text, "answer", tostring(err and err.message))
    return got
  end, { approve = "allow" })
end)

return t.finish()
