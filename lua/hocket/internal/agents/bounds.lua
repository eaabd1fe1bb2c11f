--- Limits that follow from the files alone, before anything runs. For every agent: the agents and
--- tools that it can reach, the depth and width of calls, and the most model calls of one request.
---
--- All of it is an upper bound. It holds for what front matter declares; a script that calls agents by
--- itself is not seen.
local facts_of = require "hocket.internal.agents.facts"
local graph = require "hocket.internal.agents.graph"
local workflow_file = require "hocket.internal.base.lazy" "hocket.internal.agents.workflow_file"
local script = require "hocket.internal.base.script"
local tool = require "hocket.tool"
local sorted_keys = require "hocket.internal.base.sorted_keys"

local bounds = {}

--- Turns and tool calls where front matter says nothing.
local TURNS, TOOL_CALLS = 40, 400
--- Beyond this a number says nothing any more.
local MANY = 1000000000000000

---@class hocket.Bounds
---@field agents? string[] Everything that it can reach, sorted.
---@field tools? string[] Its own and theirs, by the names in `tools:`, sorted.
---@field depth integer Calls inside of each other: 0 for one that calls nobody. The stages of a chain are not inside of each other.
---@field chain integer The same for it and the ones that it hands on to, each counted from itself.
---@field fan_out integer Different agents that it can have at work side by side.
---@field begun integer Agents that begin for one request, itself included; 10^15 stands for more.
---@field model_calls integer For one request, without attempts that are repeated; 10^15 stands for more.

bounds.MANY = MANY

local known_workflow = function() return nil end

--- Hands in who knows what a workflow's file may use (workflow_bound.lua).
---@param fn fun(path: string): {model_calls: integer, begun: integer}? nil: nobody can tell.
function bounds.set_workflows(fn)
  known_workflow = fn
end

local function of_workflow(path, field)
  local known
  if script.is_lua(path) then known = known_workflow(path) else known = tool.bound_of("plan:NAME", path) end
  return known and known[field] or MANY
end

-- The dearest workflow that an agent has as a tool.
local function most_of_workflows(def, field)
  local best = 0
  for _, file in ipairs(facts_of(def).has_workflows and workflow_file.files_of(def) or {}) do best = math.max(best, of_workflow(file, field)) end
  return best
end

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

-- The ones that edges of a kind lead to.
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

-- A summary for the next agent is one call more, with one that may be told of an empty answer.
local function summaries(def)
  local handoff = type(def.handoff) == "table" and def.handoff or {}
  for _, one in ipairs(handoff.agent and { handoff } or handoff) do
    if one.pass == "summary" then return 2 end
  end
  return 0
end

-- What each of its patterns can add to its own part (`own`). In floating point: products may be large.
local function with_others(def, to, all, field, own)
  local rounds, attempts = def.team and def.team.max_rounds or 0, 1.0
  local n = own + sum(all, to.advisors, field)
  n = n + rounds * sum(all, to.team, field)
  local asked = facts_of(def).asks_again and math.max(most(all, to.advisors, field), most(all, to.team, field)) or 0 -- a tool call asks them again
  n = n + (def.max_tool_calls or TOOL_CALLS) * math.max(most(all, to.agents, field), most_of_workflows(def, field), asked)
  n = n + math.max(most(all, to.router, field), most(all, to.fallback, field))
  n = n + most(all, to.handoff, field) + (def["until"] and def["until"].rounds or 0) * sum(all, to["until"], field) + sum(all, to.guard, field)
  for _, one in ipairs(def.alternates or {}) do
    if not one.agent then attempts = attempts + 1.0 end
  end
  return n * attempts + sum(all, to.alternates, field)
end

local function model_calls(def, to, all)
  if def.workflow then return of_workflow(def.file, "model_calls") end
  local calls = with_others(def, to, all, "model_calls", own_turns(def) + 0.0 + summaries(def))
  if def.budget and def.budget.turns then calls = math.min(calls, def.budget.turns) end
  return cap(calls)
end

-- How often agents begin: itself, and whom it calls.
local function begun(def, to, all)
  return cap(with_others(def, to, all, "begun", 1.0) + (def.workflow and of_workflow(def.file, "begun") or 0))
end

-- Names in `tools:`; a tool that is a table has one of its own.
local function own_tools(def)
  local set = {}
  for _, one in ipairs(def.tools) do set[type(one) == "table" and one.name or one] = true end
  return set
end

-- Everything that it can reach. Of a chain of n agents that is a list of n for each.
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
    if edge.kind == "handoff" then chain = math.max(chain, other.chain) else inner = math.max(inner, other.depth + 1) end
  end
  local made = {
    depth = math.max(inner, def.handoff and chain + 1 or 0), chain = math.max(inner, chain),
    fan_out = math.max(#to.advisors, #to.team, #to.agents, #edges > 0 and 1 or 0),
    model_calls = model_calls(def, to, all), begun = begun(def, to, all),
  }
  if reaches then made.agents, made.tools = reach(def, all, edges) end
  return made
end

local function visit(all, defs, name, reaches)
  if all[name] then return end
  for _, edge in ipairs(graph.edges(defs[name])) do visit(all, defs, edge.to, reaches) end
  all[name] = measure(defs[name], all, reaches)
end

--- Measures a team without circles whose references are all known.
---@param defs table<string, hocket.Agent>
---@param reaches? boolean Whether `agents` and `tools` are wanted.
---@return table<string, hocket.Bounds>
function bounds.of(defs, reaches)
  local all = {}
  for name in pairs(defs) do visit(all, defs, name, reaches) end
  return all
end

--- Measures one of a team, and whom it reaches.
---@param defs table<string, hocket.Agent>
---@param name string
---@return hocket.Bounds
function bounds.one(defs, name)
  local all = {}
  visit(all, defs, name, true)
  return all[name]
end

--- Model calls for one request from which on a limit should say that so many are meant.
local UNLIMITED = 1000
--- So many calls of agents that make as many turns as they may.
bounds.AGENTS = UNLIMITED // TURNS
local limits = { "turns", "tool_calls", "tokens", "cost", "seconds" }

--- Whether an agent's file limits cost, calls or time.
---@param def hocket.Agent
---@return boolean
function bounds.is_limited(def)
  local budget = def.budget or {}
  for _, name in ipairs(limits) do
    if budget[name] then return true end
  end
  return def.timeout ~= nil
end

-- What an agent may make, in words.
local function calls_in_words(def, measured)
  if measured.model_calls < MANY then return ("make up to %d model calls"):format(measured.model_calls) end
  for _, one in ipairs(facts_of(def).has_workflows and def.tools or {}) do
    local kind, name = workflow_file.saved(one)
    local path = kind == "plan" and name and workflow_file.named(def, name, kind)
    local found, why = nil, nil
    if path then found, why = tool.bound_of("plan:NAME", path) end
    if path and not found then return ("carry out %s, which %s"):format(one, why) end
  end
  return "make 10^15 or more model calls"
end

--- Of an agent whose file limits neither cost nor calls nor time: what that means, with its worst case, and what to do. Nil: it has a limit, or
--- needs none, since it can make no more than a thousand model calls.
---@param def hocket.Agent
---@param measured hocket.Bounds
---@return string?
function bounds.warning(def, measured)
  if measured.model_calls <= UNLIMITED or bounds.is_limited(def) then return nil end
  return ("nothing limits the cost, calls or time of a request to %s: it may %s (put budget: {turns: 200} into its file, or cost: USD, or timeout: SECONDS)"):format(
    def.name, calls_in_words(def, measured))
end

return bounds
