--- The worst case of a plan's file, for limits that follow from files: what carrying it out once may ask of agents.
---
---     each step     attempts, each by its owner, whose bound has its own alternates; the alternates of the step; conversations after a blocker
---     split_task    each attempt may have as many parts as a plan may have tasks, for anybody of the team, as deep as tasks are split
local agents = require "hocket.agent"
local bounds = require "hocket.internal.agents.bounds"
local blockers = require "hocket.patterns.blockers"
local coordinator = require "hocket.patterns.coordinator"
local plan = require "hocket.patterns.plan"
local plan_target = require "hocket.internal.runner.plan_target"
local sources = require "hocket.internal.base.sources"

---@class hocket.PlanBound
---@field model_calls integer
---@field begun integer Agents that begin.
---@field defs hocket.Agent[] Who may get a step, or a part of one.
---@field path string The real one.
---@field runs_code boolean Whether a check is a function of the project.

local being_read, deep = {}, 0 -- plans that are measured now, by their real paths: "again" of one that reaches itself, which has no bound
local AGAIN = "is carried out again by agents of its own steps"
--- Plans inside of each other that are measured.
local DEEPEST = 16

local function has(def, name)
  for _, one in ipairs(def.tools) do
    if one == name then return true end
  end
  return false
end

-- Who may get a step, each once.
local function named(about, team)
  local list, seen = {}, {}
  local function take(name)
    if not seen[name] then list[#list + 1], seen[name] = team[name], true end
  end
  for _, task in ipairs(about.plan.tasks) do
    take(task.specialist)
    for _, name in ipairs(task.alternates or {}) do take(name) end
  end
  return list
end

-- Alternates that files name may split and report, too.
local function any_has(defs, name)
  for _, def in ipairs(defs) do
    if has(def, name) then return true end
    for _, one in ipairs(def.alternates or {}) do
      local other = one.agent and agents.team_of(def)[one.agent]
      if other and has(other, name) then return true end
    end
  end
  return false
end

local function everybody(team)
  local list = {}
  for _, def in pairs(team) do list[#list + 1] = def end
  return list
end

-- Bounds of agents, each measured once: a plan may have thousands of steps.
local function measuring()
  local known = {}
  return function(def)
    known[def] = known[def] or bounds.one(agents.team_of(def), def.name)
    return known[def]
  end
end

-- Of one attempt at each step, in floating point: products may be large.
local function of_steps(measured, about, team, field)
  local sum = 0.0
  for _, task in ipairs(about.plan.tasks) do
    sum = sum + measured(team[task.specialist])[field]
    for _, name in ipairs(task.alternates or {}) do sum = sum + measured(team[name])[field] end
  end
  return sum
end

-- Of one part, whoever gets it.
local function of_part(measured, defs, field)
  local most = 0
  for _, def in ipairs(defs) do most = math.max(most, measured(def)[field]) end
  return most
end

local function measure(about, team)
  local defs, measured = named(about, team), measuring()
  local splits = any_has(defs, "split_task")
  if splits then defs = everybody(team) end
  local attempts = (coordinator.RETRIES + 1) * (any_has(defs, "report_blocker") and 1 + blockers.MOST or 1.0)
  local function of(field)
    local steps, parts = of_steps(measured, about, team, field), 0
    if not splits then return steps * attempts end
    local part = of_part(measured, defs, field)
    for _ = 1, coordinator.SPLIT_DEPTH do parts = plan.TASK_LIMIT * attempts * (part + parts) end
    return attempts * (steps + #about.plan.tasks * parts)
  end
  return { model_calls = of "model_calls", begun = of "begun", defs = defs }
end

local function runs_code(about)
  for _, task in ipairs(about.plan.tasks) do
    if type(task.check) == "table" and task.check["function"] then return true end
  end
  return false
end

---@param path string
---@return hocket.PlanBound?
---@return string? why There is none.
return function(path)
  local real = sources.real(path) or path
  if being_read[real] or deep == DEEPEST then
    being_read[real] = being_read[real] and "again"
    return nil, AGAIN
  end
  local text = plan_target.text(path)
  local made = text and plan_target.read(path, text)
  if not made then return nil, "has mistakes: see hocket check " .. path end
  being_read[real], deep = "once", deep + 1
  local ok, found = pcall(measure, made.about, made.team)
  local reads = being_read[real]
  being_read[real], deep = nil, deep - 1
  if not ok then error(found, 0) end
  if reads == "again" then return nil, AGAIN end
  found.runs_code, found.path = runs_code(made.about), real
  return found
end
