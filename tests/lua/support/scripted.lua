--- Agents for tests: a model that is a Lua function, and runs whose events are kept.
local hocket = require "hocket"
local agents = require "hocket.agent"
local fiber = require "hocket.internal.core.fiber"
local json = require "hocket.json"
local runner = require "hocket.internal.runner.run_agent"
local runs = require "hocket.internal.run.run"
local sim = require "hocket.sim"
require "hocket.internal.runner.builtins"

local scripted = { reply = function() return "?" end }

hocket.broker() -- its dispatcher lives as long as the host
local served = assert(sim.serve { reply = function(request) return scripted.reply(request) end })
hocket.provider("scripted", { protocol = "openai_chat", base = served.base })

--- A team of definitions by name, with the scripted model unless they name another. Who calls others comes last: they
--- have to be there.
function scripted.team(defs)
  local team, made, names = {}, {}, {}
  for name, def in pairs(defs) do
    def.name, def.model, def.prompt, def.team = name, def.model or "scripted/" .. name, def.prompt or name, team
    names[#names + 1] = name
  end
  table.sort(names, function(a, b) return #(defs[a].agents or {}) < #(defs[b].agents or {}) end)
  for _, name in ipairs(names) do made[name] = agents.load(defs[name]) end
  return made
end

--- A call in a reply.
function scripted.call(name, arguments)
  return { name = name, arguments = arguments or json.decode "{}" }
end

--- How often a tool was called in this conversation.
function scripted.calls(request, name)
  local n = 0
  for _, message in ipairs(request.messages) do
    for _, call in ipairs(message.calls or {}) do
      if call.name == name then n = n + 1 end
    end
  end
  return n
end

--- Runs work(run) as a workflow. Returns the run, its reply, its error. What the test itself has to
--- say, in the work, is raised: a workflow would make it an error like any other.
---@async
function scripted.run(work, options)
  local run = runs.new { id = "t", options = options, edition = options and options.edition }
  local reply, err = runner.workflow(run, "", work)
  if type(err) == "table" and err.code == "script" and err.message:find "test_[%w_]+%.lua:%d+: " then error(err.message, 0) end
  return run, reply, err
end

--- The events of a run, of one type or all.
function scripted.events(run, type)
  local list, cursor = {}, 0
  while true do
    local line, seq = run.journal:next(cursor)
    if not line then return list end
    cursor = seq
    local event = json.decode(line)
    if not type or event.type == type then list[#list + 1] = event end
  end
end

--- Runs fn(run) in a fiber of its own that can be cancelled: run, fiber.
function scripted.start(work)
  local run
  local one = fiber.detach(function()
    run = runs.new { id = "t" }
    return runner.workflow(run, "", work)
  end)
  return function() return run end, one
end

return scripted
