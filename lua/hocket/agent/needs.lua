--- What prompts need before they can be used: values for all their places, of every agent that can be
--- reached. So that a run that cannot end well is refused before the first token is spent.
local facts_of = require "hocket.agent.facts"
local prompt = require "hocket.prompt"

local needs = {}

--- What hocket fills in itself.
needs.own = { agents = true, tool_descriptions = true, name = true, display_name = true }

--- Where a definition's prompt stands, for messages.
---@param def hocket.Agent
---@return {file: string, line: integer, parts?: table}
function needs.origin(def)
  return { file = def.file, line = def.prompt_line, parts = def.prompt_parts }
end

-- All that a prompt can be filled with, as far as it matters whether there is a value.
local function values_for(def, given, first)
  local values = {}
  for name in pairs(needs.own) do values[name] = "" end
  for name, value in pairs(def.variables) do values[name] = value end
  for _, set in ipairs(given) do
    for name, value in pairs(set) do values[name] = value end
  end
  for _, name in ipairs(first and {} or def.wanted) do values[name] = values[name] or "" end -- whoever calls gives it
  return values
end

local function visit(def, team, given, first, seen)
  local facts = facts_of(def)
  seen[def] = true
  if facts.has_places then
    local _, err = prompt.fill(def.prompt, values_for(def, given, first), needs.origin(def))
    if err then return err end
  end
  for _, edge in ipairs(facts.edges) do
    local other = rawget(team, edge.to)
    local missing = other and not seen[other] and visit(other, team, given, false, seen)
    if missing then return missing end
  end
end

--- The first variable without a value, as an error with its place; nil when all have one.
---@param def hocket.Agent Where a run begins.
---@param team table<string, hocket.Agent>
---@param given table<string, any>[] Variables for all of them.
---@return hocket.Error?
function needs.missing(def, team, given)
  return visit(def, team, given, true, {}) or nil
end

return needs
