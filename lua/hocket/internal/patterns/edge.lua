--- From one agent to another: whom a name means, and what an error says that came from there.
local agents = require "hocket.agent"
local text = require "hocket.text"

local edge = {}

--- The agent that another one's file names.
---@param def hocket.Agent
---@param name string
---@param role string What the name stands under: "handoff".
---@return hocket.Agent?
---@return hocket.Error?
function edge.find(def, name, role)
  local team = agents.team_of(def) or {}
  local found = rawget(team, name)
  if found then return found end
  local names = {}
  for known in pairs(team) do names[#names + 1] = known end
  table.sort(names)
  local near = text.suggest(name, names)
  return nil, { code = "agent", message = ("%s: %s: there is no agent '%s'%s"):format(def.file or def.name, role, name,
    near and (": did you mean '%s'?"):format(near) or "") }
end

--- Several of them.
---@param def hocket.Agent
---@param names string[]
---@param role string
---@return hocket.Agent[]?
---@return hocket.Error?
function edge.all(def, names, role)
  local list = {}
  for i, name in ipairs(names) do
    local found, err = edge.find(def, name, role)
    if not found then return nil, err end
    list[i] = found
  end
  return list
end

--- An error that came from an agent that this one had called: it names the stages that it has crossed,
--- as in "a -> b (handoff): b -> c (advisor): HTTP status 500".
---@param step hocket.Step
---@param err hocket.Error
---@param from string[]
---@param how string
---@param to string
---@return hocket.Error
function edge.crossed(step, err, from, how, to)
  local copy, way = {}, table.concat(from, " -> ")
  for name, value in pairs(step:blamed(err, from, to)) do copy[name] = value end
  copy.message = ("%s -> %s (%s): %s"):format(way, to, how, err.message)
  copy.stages = table.move(err.stages or {}, 1, #(err.stages or {}), 2, { { from = way, by = how, to = to } })
  return setmetatable(copy, getmetatable(err))
end

return edge
