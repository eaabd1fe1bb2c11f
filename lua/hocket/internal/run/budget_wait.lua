--- A run whose project has used up its day, and for which nobody waits: it rests until there may be more.
---
---     refused ─> budget_awaited ─> the next day has begun; or somebody says "look" (a budget was changed, the run is gone on with
---                in another process) ─> asked again ─> refused: it rests on; else ─> budget_returned
---
--- That somebody said so is no part of its log, only that it went on by that: who is not there to hear it looks anyway when it goes on.
local idle_wait = require "hocket.internal.base.idle_wait"
local broker = require "hocket.broker"
local effects = require "hocket.internal.base.effects"
local fiber = require "hocket.internal.core.fiber"

local budget_wait = {}

local function rest(run, time)
  local resting, me = run.budget_waits or {}, fiber.self()
  run.budget_waits, resting[me] = resting, true
  local up <close> = setmetatable({}, { __close = function() resting[me] = nil end })
  fiber.park_until(time)
end

-- While it asked: it may have been refused by what was there before.
local function was_told(run, looks)
  return run.looks ~= looks
end

--- Asks until it is not refused for today: what ask() returns then. Whoever looks at the run is shown what it waits for.
---@async
---@param run hocket.Run
---@param op? string Which operation waits.
---@param err hocket.Error Of the first refusal: `project`, `kind`, `resumes`, `resumes_at`.
---@param looks integer `run.looks`, as it was before that.
---@param ask fun(): ... Asks again.
---@param refusal fun(...): hocket.Error? Of what it returned: that it was refused for today again.
---@return any ...
function budget_wait.ask(run, op, err, looks, ask, refusal)
  local about = { project = err.project, limit = err.kind, ["until"] = err.resumes, until_ms = err.resumes_at * 1000 }
  local shown <close> = run:show_wait("budget", about, nil, op)
  local answer
  repeat
    if not effects.value("look", {}, was_told, run, looks) then broker.shared():aside(idle_wait, "people", rest, run, err.resumes_at) end
    looks, answer = run.looks, table.pack(ask())
    err = refusal(table.unpack(answer, 1, answer.n))
  until not err
  return table.unpack(answer, 1, answer.n)
end

return budget_wait
