--- Workflows: typed input and output, agents by name and made on the spot, words of plans, errors as values.
local t = require "harness"
local s = require "scripted"
local hocket = require "hocket"
local json = require "hocket.json"
local system = require "hocket.internal.core.system"
local workflow = require "hocket.workflow"

local said -- what the scripted model was asked

local function play(reply)
  said = {}
  s.reply = function(request)
    said[#said + 1] = request
    return reply(request, #said)
  end
end

-- An agent that is made for a call, with the scripted model.
local function ask(spec)
  spec.model, spec.prompt = "scripted/worker", spec.prompt or "You work."
  return workflow.agent(spec)
end

local function run(body, input, more)
  local def = { description = "d", run = body }
  for name, value in pairs(more or {}) do def[name] = value end
  local made, result, err = workflow(def), nil, nil
  local one, _, failed = s.run(function()
    result, err = made:run(input)
    return { text = "" }
  end)
  return result, err or failed and system.error(failed), one
end

t.test("input and output are checked by their schemas", function()
  local seen = 0
  local typed = {
    input = { type = "object", required = { "n" }, properties = { n = { type = "integer" } } },
    output = { type = "object", required = { "twice" }, properties = { twice = { type = "integer" } } },
  }
  local function twice(input)
    seen = seen + 1
    return { twice = input.n == 13 and "unlucky" or 2 * input.n }
  end
  t.same(run(twice, { n = 4 }, typed), { twice = 8 })
  t.same(run(twice, '{"n": 4}', typed), { twice = 8 })
  t.equal(seen, 2)
  t.fails("invalid", "/n: expected integer", run(twice, { n = "four" }, typed))
  t.fails("invalid", "takes JSON", run(twice, "four", typed))
  t.equal(seen, 2, "it did not begin")
  t.fails("script", "/twice: expected integer", run(twice, { n = 13 }, typed))
  t.equal(run(function(input) return input .. "!" end, "any text"), "any text!")
  t.equal(run(function(input) return input .. "!" end, "[a text", { input = { type = "string" } }), "[a text!")
  local either = { input = { type = { "string", "object" }, required = { "n" } } }
  t.equal(run(function(input) return type(input) end, "a text", either), "string")
  t.equal(run(function(input) return type(input) end, '{"n": 1}', either), "table")
  t.equal(run(function(input) return input end, "42", either), "42")
  t.fails("invalid", "n", run(function() return "" end, "{}", either))
end)

t.test("an agent that is named takes an effort, and nothing that its file says", function()
  play(function() return "done" end)
  local def = hocket.agent { name = "one", prompt = "You.", model = "scripted/worker", tools = { "read_file" } }
  for name, value in pairs { tools = {}, max_turns = 1, name = "x", description = "x" } do
    local _, err = run(function() return workflow.agent { def, input = "x", [name] = value } end, "")
    t.has(err.message, ("'%s' of 'agent' is for an agent that is made here"):format(name))
  end
  t.equal(#said, 0)
  t.equal(run(function() return workflow.agent { def, input = "x", reasoning = "high" } end, ""), "done")
  t.equal(said[1].reasoning, "high")
end)

t.test("an error is a value, and ends the workflow with it", function()
  t.fails("not_found", "no such book", run(function() return nil, { code = "not_found", message = "no such book" } end, ""))
  t.raises("unknown field 'runs'", function() workflow { description = "d", runs = print } end)
  t.raises("field 'run' is missing", function() workflow { description = "d" } end)
  t.raises("no JSON Schema", function() workflow { description = "d", run = print, input = { type = "whole" } } end)
end)

t.test("what a workflow does wrong is said of its own file, also where it called in a return statement", function()
  t.fails("script", "the workflow returned nothing, and its 'output' promises a value", run(function() end, "", { output = { type = "object" } }))
  local here = debug.getinfo(1, "S").source:sub(2)
  local function wrong(body)
    local made = workflow.of_file(workflow { description = "d", output = { type = "object" }, run = body }, "nowhere/workflows/w.lua")
    local ok, raised, _, failed = pcall(s.run, function(run)
      run.target = { path = here, dir = "nowhere" }
      return made:run ""
    end)
    return ok and failed.message or tostring(raised)
  end
  local line = debug.getinfo(1, "l").currentline + 2
  t.has(wrong(function()
    local made = workflow.agent { "nobody_at_all", input = "Hi" }
    return made
  end), ("test_workflow.lua:%d: there is no agent 'nobody_at_all'"):format(line))
  t.has(wrong(function()
    local made = workflow.map({ 1 }, print, { max = "a" })
    return made
  end), "bad option 'max' of 'map' (a whole number expected, got a)")
  t.has(wrong(function() return workflow.pipeline(nil, {}) end), here .. ": bad argument #1 to 'pipeline'")
  t.has(wrong(function() return { print } end), here .. ": cannot encode a function as JSON")
  t.has(wrong(function() return workflow.parallel "x" end), here .. ": bad argument #1 to 'all'")
end)

t.test("an agent answers with its text, or with a value of the schema", function()
  local team = s.team { rater = { description = "Rates" } }
  play(function(request) return request.schema and '{"stars": 3}' or "fine" end)
  local stars = { type = "object", required = { "stars" }, properties = { stars = { type = "integer" } } }
  local result, err = run(function()
    return { ask { input = "go" }, ask { input = { a = 1 }, output = stars }, workflow.agent { team.rater, input = "rate" },
      workflow.agent { agent = team.rater, input = "rate", output = stars } }
  end, "")
  t.ok(result, tostring(err))
  t.same(result, { "fine", { stars = 3 }, "fine", { stars = 3 } })
  t.equal(said[2].last.text, '{"a":1}')
  t.equal(team.rater.output, nil, "the agent itself is as it was")
end)

t.test("an agent that fails gives an error, and one that was cut as well", function()
  play(function() return { error = 400, message = "no" } end)
  local result, err = run(function() return ask { input = "go" } end, "")
  t.equal(result, nil)
  t.equal(err.code, "http")
  play(function() return { text = "half an ans", finish = "length" } end)
  t.fails("limit", "token limit", run(function() return ask { input = "go" } end, ""))
  t.fails("script", "needs the name of an agent, or a prompt", run(function() return workflow.agent { input = "x" } end, ""))
end)

t.test("map, parallel, pipeline: side by side, within their bounds", function()
  play(function(request) return request.last.text:upper() end)
  local result, err = run(function()
    local all, errors = workflow.map({ "a", "b", "c" }, function(x) return ask { input = x } end, { max = 3 })
    local both = workflow.parallel { function() return 1 end, function() return 2 end }
    local ends = {}
    local piped, wrong = workflow.pipeline({ 1, 2, 3 }, {
      function(n)
        if n == 2 then return nil, { code = "odd", message = "two" } end
        return n * 10
      end,
      function(n, i)
        ends[#ends + 1] = i
        return n + i
      end,
    })
    return { all = all, none = next(errors) == nil, both = both, first = piped[1], third = piped[3], wrong = wrong[2].code, ends = #ends }
  end, "")
  t.ok(result, tostring(err))
  t.same(result, { all = { "A", "B", "C" }, none = true, both = { 1, 2 }, first = 11, third = 33, wrong = "odd", ends = 2 })
  local begun = 0
  local function too_many() return workflow.map({ 1, 2, 3 }, function() begun = begun + 1 end, { max = 2 }) end
  t.fails("limit", "map of 3 items: at most 2 were declared", run(too_many, ""))
  t.equal(begun, 0, "nothing was done")
end)

t.test("race: the first that has something wins; loop: until it is done, within its rounds", function()
  local function count(max, good)
    return run(function()
      return workflow.loop { max = max, step = function(round, last) return (last or 0) + round end, done = function(value) return value >= good end }
    end, "")
  end
  t.equal(count(5, 6), 6)
  local none, err = count(3, 100)
  t.equal(none, nil)
  t.equal(err.code, "limit")
  t.equal(err.partial, 6)
  t.equal(run(function()
    return (workflow.race { function() hocket.flow.sleep(5) return "late" end, function() return "early" end })
  end, ""), "early")
  t.fails("script", "needs the function 'step', and 'done' or 'goal'", run(function() return workflow.loop { max = 1 } end, ""))
end)

t.test("phases and reports are events", function()
  local _, err, one = run(function()
    workflow.phase("read", 3)
    workflow.report "half of it"
    return ""
  end, "")
  t.equal(err, nil)
  t.equal(s.events(one, "phase_started")[1].name, "read")
  t.equal(s.events(one, "phase_started")[1].planned, 3)
  t.equal(s.events(one, "workflow_report")[1].content, "half of it")
end)

t.test("a person agrees, or does not", function()
  local function agreed(answer)
    local made, result, err = workflow { description = "d", run = function() return workflow.approve "Spend 3 USD?" end }, nil, nil
    s.run(function()
      result, err = made:run ""
      return { text = "" }
    end, { on_question = function() return answer end })
    return result, err
  end
  t.equal(agreed "yes", true)
  t.fails("declined", "not approved", agreed "no")
  t.fails("declined", "only one", agreed "only one, please")
end)

t.test("a workflow of a file has the agents of its project", function()
  local dir <close> = t.dir()
  dir:write("agents/poet.md", "---\nname: poet\nmodel: scripted/poet\ndescription: Writes\n---\nYou write.")
  local path = dir:write("workflows/poem.lua", [[local system = require "hocket.internal.core.system"
local workflow = require "hocket.workflow"
    return workflow { description = "A poem", run = function(input) return workflow.agent { "poet", input = input } end }]])
  play(function(request) return "on " .. request.last.text end)
  local made = assert(workflow.of_file(dofile(path), path))
  local result
  s.run(function()
    result = made:run "rain"
    return { text = "" }
  end)
  t.equal(result, "on rain")
  t.equal(workflow.of_file({}, path), nil)
  t.equal(json.encode(result), '"on rain"')
end)

t.test("a list whose length differs at each look is taken once", function()
  local looks, called = 0, 0
  local list = setmetatable({}, { __index = function() return "x" end, __len = function()
    looks = looks + 1
    return looks == 1 and 2 or 50
  end })
  s.run(function()
    workflow.map(list, function() called = called + 1 return "y" end, { max = 2 })
    return { text = "" }
  end)
  t.equal(called, 2)
end)

return t.finish()
