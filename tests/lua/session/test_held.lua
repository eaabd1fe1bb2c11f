--- Guards: what is held stays held at every way out, and who answers in an agent's place is judged as well.
local t = require "harness"
local s = require "scripted"
local hocket = require "hocket"
local hooks = require "hocket.internal.run.hooks"
local runs = require "hocket.internal.run.run"

local function all_events(one)
  local lines = {}
  for _, event in ipairs(s.events(one)) do lines[#lines + 1] = hocket.json.encode(event) end
  return table.concat(lines, "\n")
end

local function no_number(about)
  if about.text:find "4711" then return "it has a number" end
end

local function call(team, name, given, options, input)
  local heard, text, failed = {}, nil, nil
  runs.on_begin("test held", function(made)
    if given then hooks.of(made):add(assert(hooks.read(given, "the test"))) end
  end)
  local one = s.run(function(run)
    local got, err = hocket.orchestrate.call(team[name], input or "go", { on_delta = function(_, words) heard[#heard + 1] = words end })
    text, failed = got and got.text, err
    return got or { text = "" }
  end, options or { approve = "allow" })
  runs.on_begin("test held", nil)
  return text, failed, one, table.concat(heard)
end

t.test("an alternate answers under the guards of whom it stands in for", function()
  s.reply = function(request)
    if request.system:find "^second" then return "the secret 4711" end
    error("down")
  end
  local team = s.team { second = { description = "s" }, first = { agents = { "second" }, alternates = { { agent = "second" } }, guards = { output = { no_number } } } }
  local text, err, one, heard = call(team, "first")
  t.equal(text, nil)
  t.equal(err and err.code, "denied")
  t.equal(heard, "")
  t.equal(all_events(one):match "[^\n]*4711[^\n]*", nil)
end)

t.test("an alternate gets the input as the hooks left it", function()
  local seen
  s.reply = function(request)
    if request.system:find "^second" then seen = request.last.text return "ok" end
    error("down")
  end
  local team = s.team { second = { description = "s" }, first = { agents = { "second" }, alternates = { { agent = "second" } } } }
  call(team, "first", { before_agent = { match = "first", run = function(event) return { arguments = { input = "clean" } } end } }, nil, "dirty 4711")
  t.equal(seen and seen:find("4711", 1, true), nil, seen)
end)

for _, point in ipairs { "after_agent", "after_model" } do
  t.test("what hooks decided at " .. point .. " shows no text that a guard stops", function()
    s.reply = function() return "the secret 4711" end
    local team = s.team { first = { guards = { output = { no_number } } } }
    local text, err, one = call(team, "first", { [point] = function(event) return { answer = event.result .. " (seen)" } end })
    t.equal(text, nil)
    t.equal(err.code, "denied")
    t.equal(all_events(one):match "[^\n]*4711[^\n]*", nil)
  end)
  t.test("a hook that fails at " .. point .. " shows no text that a guard stops", function()
    s.reply = function() return "the secret 4711" end
    local team = s.team { first = { guards = { output = { no_number } } } }
    local text, err, one = call(team, "first", { [point] = function(event) error("bad: " .. event.result) end })
    t.equal(text, nil)
    t.equal(all_events(one):match "[^\n]*4711[^\n]*", nil)
  end)
end

t.test("an answer that does not fit its schema", function()
  s.reply = function() return '{"n": "the secret 4711"}' end
  local team = s.team { first = { output = { type = "object", required = { "n" }, properties = { n = { enum = { "a" } } } }, guards = { output = { no_number } } } }
  local text, err, one, heard = call(team, "first")
  t.equal(text, nil)
  t.equal(tostring(err.message):find("4711", 1, true), nil, err.message)
  t.equal(all_events(one):match "[^\n]*4711[^\n]*", nil)
end)

t.test("reasoning", function()
  s.reply = function() return { reasoning = "think 4711", text = "4711" } end
  local team = s.team { first = { guards = { output = { no_number } } } }
  local _, _, one, heard = call(team, "first")
  t.equal(heard, "")
  t.equal(all_events(one):match "[^\n]*4711[^\n]*", nil)
end)

t.test("what a person says to an agent at work passes its input guards", function()
  local asked = {}
  local run
  s.reply = function(request)
    asked[#asked + 1] = request
    if #asked == 1 then
      assert(run:say("my 4711"))
      return { calls = { s.call("held_tool", {}) } }
    end
    return "heard " .. request.last.text
  end
  hocket.tool.set("held_tool", function() return hocket.tool.new { name = "held_tool", description = "x", run = function() return "done" end } end)
  local team = s.team { first = { tools = { "held_tool" }, guards = { input = { no_number } } } }
  runs.on_begin("test held2", function(made) run = made end)
  local text, err = call(team, "first")
  runs.on_begin("test held2", nil)
  t.equal(err, nil)
  t.equal(text, "heard done")
  t.has(s.events(run, "user_message_dropped")[1].reason, "it has a number")
end)

t.test("a critic", function()
  s.reply = function(request)
    if request.system:find "^critic" then return '{"met": false, "missing": "it says ' .. "more" .. '"}' end
    return "the secret 4711"
  end
  local team = s.team { critic = { description = "c" }, first = { agents = { "critic" }, ["until"] = { judge = "critic", rounds = 2 }, guards = { output = { no_number } } } }
  local text, err, one, heard = call(team, "first")
  t.equal(text, nil)
  t.equal(tostring(err.message):find("4711", 1, true), nil, err.message)
  t.equal(heard, "")
  t.equal(all_events(one):match "[^\n]*4711[^\n]*", nil)
end)

t.test("a guard that is an agent: its question shows no text that it stops", function()
  s.reply = function(request)
    if request.system:find "^judge" then return '{"objects": true, "reason": "too much"}' end
    return "the secret 4711"
  end
  local team = s.team { judge = { description = "j" }, first = { agents = { "judge" }, guards = { output = { { agent = "judge" } } } } }
  local text, err, one, heard = call(team, "first")
  t.equal(text, nil)
  t.has(err.message, "too much")
  t.equal(heard, "")
  t.equal(all_events(one):match "[^\n]*4711[^\n]*", nil)
end)

t.test("a hook's answer in place of an agent is judged by its guards", function()
  s.reply = function() return "?" end
  local team = s.team { first = { guards = { output = { no_number } } } }
  local text, err, one = call(team, "first", { before_agent = function() return { answer = "the secret 4711" } end })
  t.equal(text, nil)
  t.equal(err.code, "denied")
  t.equal(all_events(one):match "[^\n]*4711[^\n]*", nil)
  text, err, one = call(team, "first", { before_agent = function() return { answer = "fine" } end })
  t.equal(text, "fine", err and err.message)
  t.equal(#s.events(one, "hook_decided"), 1)
end)

t.test("what hooks decided is told once the guards let it pass, and where nothing is judged", function()
  s.reply = function() return "fine" end
  local team = s.team { first = { guards = { output = { no_number } } } }
  local text, _, one = call(team, "first", { after_agent = function(event) return { answer = event.result .. "!" } end })
  t.equal(text, "fine!")
  t.equal(s.events(one, "hook_decided")[1].value, "fine!")
  _, _, one = call(team, "first", { before_agent = function() return { deny = "closed" } end })
  t.equal(s.events(one, "hook_decided")[1].decision, "deny")
end)

return t.finish()
