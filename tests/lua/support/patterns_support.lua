--- Teams for the tests of patterns: agents as files, a model that is a function for each agent, and
--- what has to hold of the events of every run, however it ended.
local s = require "scripted"
local t = require "harness"
local fiber = require "hocket.internal.core.fiber"
local hocket = require "hocket"
local json = require "hocket.json"

local support = {}

--- Agents from front matter: they are written to files and loaded as a user's would be. `prompt` is the body.
function support.agents(defs)
  local dir <close> = t.dir()
  for name, def in pairs(defs) do
    local lines = { "---", not def.model and "model: scripted/" .. name or nil }
    for key, value in pairs(def) do
      if key ~= "prompt" then lines[#lines + 1] = ("%s: %s"):format(key, type(value) == "string" and value or json.encode(value)) end
    end
    lines[#lines + 1] = "---\n" .. (def.prompt or "You are " .. name .. ".")
    dir:write(name .. ".md", table.concat(lines, "\n"))
  end
  return hocket.agents(dir.path)
end

--- What each agent's model says; without a part of its own an agent answers "from NAME". Returns what each was asked.
function support.play(parts)
  local asked = {}
  s.reply = function(request)
    asked[request.model] = asked[request.model] or {}
    table.insert(asked[request.model], request)
    local part = parts[request.model]
    if type(part) == "function" then return part(request) end
    return part or "from " .. request.model
  end
  return asked
end

--- A reply that fails for good.
support.broken = { status = 400, error = "broken" }

--- A model that does not answer before the scope ends: `local late <close> = p.hold()`. `late.waiting` is how many
--- requests it has got.
function support.hold()
  local held, released = { waiting = 0 }, false
  function held.reply()
    held.waiting = held.waiting + 1
    while not released do fiber.sleep(0.01) end
    return "late"
  end
  return setmetatable(held, { __close = function() released = true end })
end

local function add(total, usage)
  for _, field in ipairs { "input", "output" } do total[field] = total[field] + (usage[field] or 0) end
end

--- What has to hold of every run: each job and each agent at work ends exactly once, calls and tokens add
--- up, and nothing comes after the end.
function support.check(run)
  local open, started, leaves, last = {}, {}, { input = 0, output = 0, calls = 0 }, nil
  local finals = { task_completed = true, task_failed = true, task_cancelled = true, task_skipped = true }
  for _, event in ipairs(s.events(run)) do
    t.ok(last ~= "workflow_finished", "an event after the end: " .. event.type)
    last = event.type
    if event.type == "task_pending" then
      t.ok(open[event.task] == nil, "a job twice")
      open[event.task] = "open"
    elseif finals[event.type] then
      t.equal(open[event.task], "open", ("job %s (%s) ends twice or without a beginning"):format(event.task, event.agent))
      open[event.task] = "ended"
    elseif event.type == "agent_started" then
      local caller = event.caller -- none where a script called
      t.ok(not caller or tonumber(caller:sub(2)) < tonumber(event.op:sub(2)), "who called " .. event.agent)
      started[event.op] = "at work"
    elseif event.type == "agent_finished" then
      t.equal(started[event.op], "at work", "an agent finished twice: " .. event.agent)
      started[event.op] = "finished"
    elseif event.type == "model_reply" then
      leaves.calls = leaves.calls + 1
      add(leaves, event.usage)
    end
  end
  t.equal(last, "workflow_finished")
  for id, state in pairs(open) do t.equal(state, "ended", ("job %d"):format(id)) end
  for op, state in pairs(started) do t.equal(state, "finished", op) end
  t.equal(run:usage().input, leaves.input)
  t.equal(run:usage().output, leaves.output)
  return leaves
end

--- Runs an agent on an input and checks the run. Returns reply, error, run.
---@async
function support.run(agent, input, options)
  local run, reply, err = s.run(function() return hocket.run(agent, input or "Go", options) end)
  support.check(run)
  if reply then t.equal(reply.usage_total.input, run:usage().input, "the answer's usage is the whole run's") end
  return reply, err, run
end

--- The types of events that patterns tell, in order, each with its agent: "b agent_started".
function support.story(run)
  local told = {}
  local wanted = { agent_started = true, agent_finished = true, handoff = true, routed = true, advice_gathered = true,
    team_started = true, round_started = true, team_message = true, team_vote = true, team_finished = true }
  for _, event in ipairs(s.events(run)) do
    if wanted[event.type] then told[#told + 1] = ("%s %s"):format(event.agent, event.type) end
  end
  return told
end

--- The text in the only frame of a kind: support.framed(text, "advice", "risk").
function support.framed(text, kind, of)
  local name = text:match(("<(%s%%-%%w+) of=\"%s\">"):format(kind, of))
  t.ok(name, ("no frame '%s' of %s in: %s"):format(kind, of, text))
  return text:match(("<%s of=\"[^\"]*\">\n(.-)\n</%s>"):format(name:gsub("%-", "%%-"), name:gsub("%-", "%%-")))
end

return support
