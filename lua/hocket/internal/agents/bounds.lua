--- What follows from the files alone, before anything runs: for every agent whom and what it can
--- reach, how deep calls can go, how wide, and how many model calls one request can cost at most.
---
--- All of it is an upper bound. It holds for what front matter declares; a script that calls agents by
--- itself is not seen.
local graph = require "hocket.internal.agents.graph"
local sorted_keys = require "hocket.internal.base.sorted_keys"

local bounds = {}

--- Turns and tool calls where front matter says nothing.
local TURNS, TOOL_CALLS = 40, 400
--- Beyond this a number says nothing any more.
local MANY = 1000000000000000

---@class hocket.Bounds
---@field agents? string[] All that it can reach, sorted.
---@field tools? string[] Its own and theirs, by the names in `tools:`, sorted.
---@field depth integer Calls inside of each other: 0 for one that calls nobody. The stages of a chain are not inside of each other.
---@field chain integer The same for it and those that it hands on to, each counted from itself.
---@field fan_out integer Different agents that it can have at work side by side.
---@field model_calls integer For one request, without attempts that are repeated; 10^15 stands for more.

local function cap(n)
  return n < MANY and math.tointeger(n) or MANY
end

local function sum(all, names, field)
  local total = 0
  for _, name in ipairs(names) do total = total + all[name][field] end
  return total
end

local function most(all, names, field)
  local best = 0
  for _, name in ipairs(names) do best = math.max(best, all[name][field]) end
  return best
end

-- Those that edges of a kind lead to.
local function targets(edges)
  local by_kind = setmetatable({}, { __index = function() return {} end })
  for _, edge in ipairs(edges) do
    if not rawget(by_kind, edge.kind) then by_kind[edge.kind] = {} end
    table.insert(by_kind[edge.kind], edge.to)
  end
  return by_kind
end

-- A router takes one turn when its front matter says nothing else, and one more to hear that it was wrong.
local function own_turns(def)
  if def.router then return (def.max_turns or 1) + 1.0 end
  return def.max_turns or TURNS
end

-- Its own turns and what each of its patterns can add. In floating point: products may be large.
local function model_calls(def, to, all)
  local rounds = def.team and def.team.max_rounds or 0
  local calls = own_turns(def) + 0.0
  calls = calls + sum(all, to.advisors, "model_calls")
  calls = calls + rounds * sum(all, to.team, "model_calls")
  calls = calls + (def.max_tool_calls or TOOL_CALLS) * most(all, to.agents, "model_calls")
  calls = calls + math.max(most(all, to.router, "model_calls"), most(all, to.fallback, "model_calls"))
  calls = calls + most(all, to.handoff, "model_calls")
  if def.budget and def.budget.turns then calls = math.min(calls, def.budget.turns) end
  return cap(calls)
end

-- Names in `tools:`; a tool that is a table has one of its own.
local function own_tools(def)
  local set = {}
  for _, one in ipairs(def.tools) do set[type(one) == "table" and one.name or one] = true end
  return set
end

-- All that it can reach. Of a chain of n agents that is a list of n for each.
local function reach(def, all, edges)
  local agents, tools = {}, own_tools(def)
  for _, edge in ipairs(edges) do
    agents[edge.to] = true
    for _, name in ipairs(all[edge.to].agents) do agents[name] = true end
    for _, name in ipairs(all[edge.to].tools) do tools[name] = true end
  end
  return sorted_keys(agents), sorted_keys(tools)
end

local function measure(def, all, reaches)
  local edges = graph.edges(def)
  local to, inner, chain = targets(edges), 0, 0
  for _, edge in ipairs(edges) do
    local other = all[edge.to]
    if edge.kind == "handoff" then chain = other.chain else inner = math.max(inner, other.depth + 1) end
  end
  local made = {
    depth = math.max(inner, def.handoff and chain + 1 or 0), chain = math.max(inner, chain),
    fan_out = math.max(#to.advisors, #to.team, #to.agents, #edges > 0 and 1 or 0),
    model_calls = model_calls(def, to, all),
  }
  if reaches then made.agents, made.tools = reach(def, all, edges) end
  return made
end

--- Measures a team without circles whose references are all known.
---@param defs table<string, hocket.Agent>
---@param reaches? boolean Whether `agents` and `tools` are wanted.
---@return table<string, hocket.Bounds>
function bounds.of(defs, reaches)
  local all = {}
  local function visit(name)
    if all[name] then return end
    for _, edge in ipairs(graph.edges(defs[name])) do visit(edge.to) end
    all[name] = measure(defs[name], all, reaches)
  end
  for name in pairs(defs) do visit(name) end
  return all
end

return bounds
