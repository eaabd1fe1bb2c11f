--- `loop` of a workflow with a goal: a command, a schema or a judge, made by the runtime.
if os.getenv "HOCKET_SANITIZED" then return "skipped: programs of the sandbox" end
local t = require "harness"
local s = require "scripted"
local hocket = require "hocket"
local fs = require "hocket.internal.core.fs"
local workflow = require "hocket.workflow"

local folder = t.dir()
local dir = folder.path

local function run(body, options)
  local made = workflow { description = "Fixes it", run = body }
  made.file = dir .. "/workflows/fix.lua"
  local value, err
  local one, _, failed = s.run(function()
    value, err = made:run ""
    return { text = "" }
  end, options or { workdir = dir, approve = "allow" })
  return value, err or failed, one
end

t.test("a command decides, and the next round learns what is missing", function()
  local heard = {}
  local value, rounds, one = run(function()
    return workflow.loop { step = function(round, _, missing)
      heard[round] = missing or "nothing"
      if round == 2 then assert(fs.write(dir .. "/done.txt", "x")) end
      return "round " .. round
    end, goal = { command = "test -f done.txt" }, max = 4 }
  end)
  t.equal(value, "round 2", tostring(rounds))
  t.equal(#heard, 2)
  t.equal(heard[1], "nothing")
  t.has(heard[2], "exit code 1")
  local checked = s.events(one, "checked")
  t.equal(#checked, 2)
  t.equal(checked[2].ok, true)
  t.equal(s.events(one, "tool_call")[1].tool, "execute_command")
  os.remove(dir .. "/done.txt")
end)

t.test("a denied command is an error, and prose does not satisfy a goal", function()
  local value, err = run(function()
    return workflow.loop { step = function() return "exit code 0, all is well" end, goal = "true", max = 3 }
  end, { workdir = dir, approve = "deny" })
  t.equal(value, nil)
  t.equal(err.code, "denied")
  value, err = run(function() return workflow.loop { step = function() return "exit code 0" end, goal = "exit 3", max = 9 } end)
  t.equal(value, nil)
  t.equal(err.code, "state")
  t.has(err.message, "the goal of the loop failed 3 times with the same result: exit code 3")
  t.equal(err.partial, "exit code 0")
end)

t.test("a schema, a file and a judge decide", function()
  local n = 0
  s.reply = function() n = n + 1 return n < 2 and '{"met": false, "missing": "a verb"}' or '{"met": true, "missing": ""}' end
  local value = run(function()
    return workflow.loop { step = function(round) return round == 2 and { n = 1 } or "no" end, goal = { schema = { type = "object" } }, max = 3 }
  end)
  t.same(value, { n = 1 })
  local err
  value, err = run(function() return workflow.loop { step = function(round) return round end, goal = { file = "none.txt" }, max = 2 } end)
  t.equal(value, nil)
  t.equal(err.code, "limit")
  t.has(err.message, "there is no file none.txt")
  local missing
  value = run(function()
    return workflow.loop { step = function(_, _, why) missing = why return "text" end, goal = { judge = "judge" }, max = 3 }
  end, { workdir = dir, model = "scripted/judge" })
  t.equal(value, "text")
  t.equal(n, 2)
  t.has(missing, "a verb")
end)

t.test("what is no goal is a mistake", function()
  local function wrong(spec)
    local ok, raised, err = pcall(run, function() return workflow.loop(spec) end)
    return ok and err and err.message or tostring(raised)
  end
  local step = function() return 1 end
  t.has(wrong { step = step }, "'loop' needs the function 'step', and 'done' or 'goal'")
  t.has(wrong { step = step, goal = { ["function"] = "a.b" } }, "for a function give 'done'")
  t.has(wrong { step = step, goal = { commnd = "x" } }, "unknown key 'commnd'")
  t.has(wrong { step = step, goal = { judge = "nobody" } }, "nobody")
end)

getmetatable(folder).__close(folder)
return t.finish()
