--- What agents need before they can be used: values for all places of their prompts, and providers of their
--- models, of every agent that can be reached. So that a run that cannot end well is refused before the first token is spent.
local at_key = require "hocket.internal.base.lazy" "hocket.internal.agents.at_key"
local facts_of = require "hocket.internal.agents.facts"
local models = require "hocket.internal.base.lazy" "hocket.model"
local prompt = require "hocket.internal.agents.prompt"

local needs = {}

--- What hocket fills in itself.
needs.own = { agents = true, tool_descriptions = true, name = true, display_name = true }

--- Where a definition's prompt stands, for messages.
---@param def hocket.Agent
---@return {file: string, line: integer, parts?: table}
function needs.origin(def)
  return { file = def.file, line = def.prompt_line, parts = def.prompt_parts }
end

-- Everything that a prompt can be filled with, as far as it matters whether there is a value.
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

--- The places of a prompt for which nothing has a value; whoever calls gives what the front matter wants.
---@param def hocket.Agent
---@return {file: string, line: integer, what: string}[]
function needs.variables(def)
  return prompt.missing(def.prompt, values_for(def, {}, false), needs.origin(def))
end

--- A provider that nobody knows, where nothing goes before what the front matter says. Of several models others step in.
---@param def hocket.Agent
---@param options {model?: string, models?: table<string, string>} The run's.
---@return hocket.Error?
function needs.wrong_model(def, options)
  if type(def.model) ~= "string" or options.model or options.models and options.models[def.name] then return nil end
  local _, err = models.is_known(def.model)
  if err then err.message = at_key(def, "/model", err.message) end
  return err
end

local function visit(def, team, given, first, seen, options, chosen)
  local facts = facts_of(def)
  seen[def] = true
  local wrong = def.model and not chosen and needs.wrong_model(def, options)
  if wrong then return wrong end
  if facts.has_places then
    local _, err = prompt.fill(def.prompt, values_for(def, given, first), needs.origin(def))
    if err then return err end
  end
  for _, edge in ipairs(facts.edges) do
    local other = rawget(team, edge.to)
    local missing = other and not seen[other] and visit(other, team, given, false, seen, options)
    if missing then return missing end
  end
end

--- The first variable without a value, as an error with its place, or the first model of a provider that there is
--- not; nil when all is there.
---@param def hocket.Agent Where a run begins.
---@param team table<string, hocket.Agent>
---@param given table<string, any>[] Variables for all of them.
---@param options {model?: string, models?: table<string, string>} The run's: models that go before the front matter.
---@param chosen? string A model that the first one is asked with in any case.
---@return hocket.Error?
function needs.missing(def, team, given, options, chosen)
  return visit(def, team, given, true, {}, options, chosen) or nil
end

return needs
