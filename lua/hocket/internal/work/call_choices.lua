--- What a caller chooses for one call of an agent, within the key `per_call` of the agent's file: model, reasoning effort, schema of the answer,
--- limits, and whether it begins with the caller's conversation.
---
--- `delegate`, `submit_task` and `agent` of workflows read choices here. A choice never widens what the file says: models and
--- efforts are those of the lists, and of two limits the smaller one counts.
local account = require "hocket.internal.models.account"
local agents = require "hocket.agent"
local json = require "hocket.json"
local schema = require "hocket.schema"
local system = require "hocket.internal.core.system"

local call_choices = {}

--- Bytes of a schema that a caller gives.
local SCHEMA = 16 * 1024

-- ---- For models ----------------------------------------------------------------------------------

local limit_schema = {
  type = "object", additionalProperties = false, description = "Limits of this call",
  properties = {
    turns = { type = "integer", minimum = 1 }, tool_calls = { type = "integer", minimum = 0 }, tokens = { type = "integer", minimum = 1 },
    cost = { type = "number", minimum = 0, description = "USD" }, seconds = { type = "number", exclusiveMinimum = 0 },
  },
}

local order = { "model", "reasoning", "output", "limits", "context" }

local function allows(def, name)
  local own = def.per_call and def.per_call[name]
  return own and own ~= "none" and own or nil
end

-- The values of all, and who allows the choice where not all do.
local function gather(team, names, name)
  local values, who, seen = {}, {}, {}
  for _, agent in ipairs(names) do
    local own = allows(team[agent], name)
    if own then who[#who + 1] = agent end
    for _, value in ipairs(type(own) == "table" and own or {}) do
      if not seen[value] then values[#values + 1] = value end
      seen[value] = true
    end
  end
  return values, #who > 0 and #who < #names and (" (only of %s)"):format(table.concat(who, ", ")) or "", who
end

local function texts(list)
  local made = {}
  for i, one in ipairs(list or {}) do made[i] = tostring(one) end
  return made[1] and made or nil
end

local make = {
  model = function(values, only) return { type = "string", enum = values, description = "Its model for this call" .. only } end,
  reasoning = function(values, only) return { type = "string", enum = texts(values), description = "Its reasoning effort for this call" .. only } end,
  output = function(_, only) return { type = "object", description = "A JSON Schema of its answer" .. only } end,
  limits = function() return limit_schema end,
  context = function(_, only) return { type = "string", enum = { "fork" }, description = "fork: it begins with your conversation so far" .. only } end,
}

--- Adds an argument to a tool's properties for each choice that one of the agents allows. Returns whether there is one.
---@param properties table
---@param team table<string, hocket.Agent>
---@param names string[]
---@return boolean
function call_choices.declare(properties, team, names)
  local any = false
  for _, name in ipairs(order) do
    local values, only, who = gather(team, names, name)
    if #who > 0 then properties[name], any = make[name](values, only), true end
  end
  return any
end

-- ---- What was chosen --------------------------------------------------------------------------------

local function refused(def, what, known)
  local rest = known and (": it allows %s"):format(table.concat(known, ", ")) or ""
  return nil, system.error { code = "denied", message = ("%s does not allow %s for one call (per_call in its file)%s"):format(def.name, what, rest) }
end

local function is_among(value, list)
  for _, one in ipairs(list or {}) do
    if tostring(one) == tostring(value) then return true end -- a number of tokens is a text here
  end
  return false
end

local check = {
  model = function(def, value)
    if is_among(value, allows(def, "model")) then return true end
    return refused(def, ("the model '%s'"):format(tostring(value)), texts(allows(def, "model")))
  end,
  reasoning = function(def, value)
    if is_among(value, allows(def, "reasoning")) then return true end
    return refused(def, ("the reasoning effort '%s'"):format(tostring(value)), texts(allows(def, "reasoning")))
  end,
  output = function(def, value)
    if not allows(def, "output") then return refused(def, "another schema of its answer") end
    if type(value) ~= "table" or #json.encode(value) > SCHEMA then
      return nil, system.error { code = "invalid", message = ("output: a JSON Schema of %d bytes at most is expected"):format(SCHEMA) }
    end
    local compiled, err = schema.compile(value)
    if not compiled then return nil, system.error { code = "invalid", message = "the output is no JSON Schema: " .. err.message } end
    return true
  end,
  limits = function(def, value)
    if not allows(def, "limits") then return refused(def, "other limits") end
    local _, wrong = account.read(value)
    if wrong then return nil, system.error { code = "invalid", message = "limits: " .. wrong } end
    return true
  end,
  context = function(def, value)
    if value == "fork" and not allows(def, "context") then return refused(def, "context 'fork'") end
    if value ~= "fork" and value ~= "none" then return nil, system.error { code = "invalid", message = "context: only 'fork' is known" } end
    return true
  end,
}

--- What was chosen for one call, if the agent's file allows it.
---@param def hocket.Agent
---@param chosen {model?: string, reasoning?: string|integer, output?: table, limits?: hocket.Budget, context?: "fork"|"none"}
---@return hocket.Agent? def The agent as it is to be asked.
---@return {budget?: hocket.Budget, fork?: boolean}|hocket.Error opts For orchestrate.call.
function call_choices.read(def, chosen)
  for _, name in ipairs(order) do
    if chosen[name] ~= nil then
      local ok, err = check[name](def, chosen[name])
      if not ok then return nil, err end
    end
  end
  if def.pool and chosen.output then return nil, system.error { code = "unsupported", message = ("%s works in a pool: it takes no other output"):format(def.name) } end
  local varied = agents.vary(def, { model = chosen.model, reasoning = chosen.reasoning, output = chosen.output })
  return varied, { budget = chosen.limits, fork = chosen.context == "fork" or nil }
end

return call_choices
