--- Agents with `pool:`: which of their calls are runs of their own. How such a call is made is internal/pool/caller.lua.
local agents = require "hocket.agent"
local component = require "hocket.internal.base.component"
local effects = require "hocket.internal.base.effects"
local facts_of = require "hocket.internal.agents.facts"
local failed = require("hocket.internal.core.system").error

local pool = {}

-- One of the modules that do it: they stand where those of servers do.
local CALLER = "hocket.internal.pool.remote_tools"

--- Why an agent cannot work in its pool.
---@param def hocket.Agent
---@param why string
---@return hocket.Error
function pool.refuse(def, why)
  return failed { code = "unsupported", message = ("%s: '%s' has 'pool: %s': %s"):format(def.file, def.name, def.pool, why) }
end

local NOT_KEPT = "its calls are runs in a store, which workers take from there, and this run is not kept. Give it the store that the workers have (--store, HOCKET_STORE), or let its agents work here: --pool-local"

-- The first agent with a pool among the agents that can be reached.
local function search(def, team, seen)
  if def.pool then return def end
  seen[def] = true
  for _, edge in ipairs(facts_of(def).edges) do
    local other = rawget(team, edge.to)
    local found = other and not seen[other] and search(other, team, seen)
    if found then return found end
  end
  return false
end

local known = setmetatable({}, { __mode = "k" })

local function reached(def)
  if known[def] == nil then known[def] = search(def, agents.team_of(def) or {}, {}) end
  return known[def]
end

-- A recording is of one process.
local function is_local(run)
  local options = run.options
  return options.pool_local or options.record or options.replay
end

--- Before a token is spent: whether all agents that can be reached can be asked as their files say.
---@param run hocket.Run
---@param def hocket.Agent
---@return hocket.Error?
function pool.wrong(run, def)
  local found = reached(def)
  if not found or is_local(run) then return nil end
  local why = not effects.here() and NOT_KEPT or component.missing(CALLER)
  return why and pool.refuse(found, why)
end

--- Whether an agent's work is done in another run. Who was called for it does it.
---@param step hocket.Step
---@return boolean
function pool.takes(step)
  return step.def.pool ~= nil and not is_local(step.run) and not (step.run.call and not step.above)
end

return pool
