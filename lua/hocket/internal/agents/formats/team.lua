--- What an agent of another program means by names that its own file cannot resolve: other agents, and servers of MCP. It is found out
--- when a team is read, before the team is checked: what is not there is left out with a warning.
local glob = require("hocket.internal.core.permission").glob
local graph = require "hocket.internal.agents.graph"
local json = require "hocket.json"
local mcp_servers = require "hocket.internal.agents.mcp_servers"
local problem = require "hocket.internal.agents.problem"
local sorted_keys = require "hocket.internal.base.sorted_keys"
local translation = require "hocket.internal.agents.formats.translation"

local team = {}

local function warn(self, def, pointer, message)
  local line, column = problem.place(self.places[def.name] or {}, pointer)
  local one = problem.new(def.file, line, column, "format", message)
  one.severity = "warning"
  self.problems[#self.problems + 1] = one
end

-- Agents by what other programs call them: by name, as it is shown or here, and by file.
local function index(defs)
  local by = {}
  for _, name in ipairs(sorted_keys(defs)) do
    local def = defs[name]
    for _, word in ipairs { def.name, def.display_name, translation.base(def.file) } do
      by[word:lower()] = by[word:lower()] or def
    end
  end
  return by
end

-- The agents that an agent without a list of names may call. Only agents that call no others count, so that no agent waits for
-- itself. Without any it is the assistant.
local function anybody(self, def)
  if not self.callable then
    self.callable = {}
    for _, name in ipairs(sorted_keys(self.defs)) do
      local one = self.defs[name]
      local calls = #graph.edges(one) > 0 or one.theirs and one.theirs.calls
      if not calls and not (one.theirs and one.theirs.person_only) then self.callable[#self.callable + 1] = name end
    end
  end
  local list = json.array {}
  for _, name in ipairs(self.callable) do
    if name ~= def.name then list[#list + 1] = name end
  end
  if #list == 0 and def.name ~= "assistant" then list[1] = "assistant" end
  return list
end

local function find(self, name)
  return self.by[name:lower()] or self.by[(translation.slug(name) or ""):lower()]
end

local function named(self, def, names)
  local list, seen, missing = json.array {}, {}, {}
  for _, name in ipairs(names) do
    local other = find(self, name)
    if not other or other == def or other.theirs and other.theirs.person_only then
      missing[#missing + 1] = name
    elseif not seen[other] then
      seen[other], list[#list + 1] = true, other.name
    end
  end
  if #missing > 0 then warn(self, def, "/agents", ("agents that are not beside it, or that only a person may call, are left out: %s"):format(table.concat(missing, ", "))) end
  return list
end

-- The tools of a server that an agent is denied: names, or globs of names.
local function denied_of(def, server)
  local denied = {}
  for name, list in pairs(def.theirs.denied_servers) do
    for one in pairs(glob(name, server) and list or {}) do denied[one] = true end
  end
  return denied
end

-- A server that the agent's file writes out, in a copy of its own; or the name of one in a file of servers.
local function server_of(inline, def, name)
  local one = { name = name, file = def.file, by_name = true, optional = true }
  for key, value in pairs(inline[name] or {}) do one[key], one.by_name = value, nil end
  return one
end

local function add_servers(self, def)
  local list, missing, inline = json.array {}, {}, {}
  for _, one in ipairs(def.mcp or {}) do inline[one.name] = one end
  for _, name in ipairs(sorted_keys(def.theirs.servers)) do
    local wanted, denied = def.theirs.servers[name], denied_of(def, name)
    local one = server_of(inline, def, name)
    local excluded = table.move(one.exclude or {}, 1, #(one.exclude or {}), 1, {})
    for _, each in ipairs(sorted_keys(denied)) do excluded[#excluded + 1] = each end
    one.exclude = excluded[1] and excluded or nil
    one.only = not wanted["*"] and sorted_keys(wanted) or nil
    if denied["*"] then one = nil
    elseif not mcp_servers.find(one) then missing[#missing + 1], one = name, nil end
    list[#list + 1] = one
  end
  if #missing > 0 then warn(self, def, "/tools", ("MCP servers that are in no file of servers here are left out: %s"):format(table.concat(missing, ", "))) end
  def.mcp = #list > 0 and list or nil
end

-- Whether one agent leads to another: an agent in a circle would wait for itself.
local function leads_to(self, from, to, seen)
  if from == to then return true end
  seen[from] = true
  for _, edge in ipairs(graph.edges(self.defs[from] or { agents = {} })) do
    if not seen[edge.to] and leads_to(self, edge.to, to, seen) then return true end
  end
  return false
end

local function add_handoffs(self, def)
  local list, missing = json.array {}, {}
  for _, one in ipairs(def.theirs.handoffs) do
    local other = find(self, one.agent)
    local may = other and not (other.theirs and other.theirs.person_only) and not leads_to(self, other.name, def.name, {})
    for _, known in ipairs(list) do may = may and known.agent ~= other.name end
    if may then
      list[#list + 1] = { agent = other.name, when = one.when, prompt = one.prompt, pass = "conversation" }
    else
      missing[#missing + 1] = one.agent
    end
  end
  if #missing > 0 then
    warn(self, def, "/handoffs", ("'handoffs' to agents that are not beside it, that only a person may call, or that lead back to it are left out: %s"):format(table.concat(missing, ", ")))
  end
  if #list > 0 then def.handoff = list end
end

local function complete(self, def)
  local theirs = def.theirs
  if theirs.calls then def.agents = theirs.calls == "any" and anybody(self, def) or named(self, def, theirs.calls) end
  if def.advisors or def.handoff then -- by their files
    local function here(name) return (self.by[name:lower()] or { name = name }).name end
    if type(def.handoff) == "string" then def.handoff = here(def.handoff) end
    for _, key in ipairs(def.advisors and { "agents", "required" } or {}) do
      for i, name in ipairs(def.advisors[key]) do def.advisors[key][i] = here(name) end
    end
  end
  if next(theirs.servers) then add_servers(self, def) end
end

--- Completes the agents of other programs in a team.
---@param defs table<string, hocket.Agent> That nobody else has seen yet.
---@param places table<string, table<string, integer[]>> By the agents' names.
---@param problems hocket.Problem[] Gets warnings.
function team.complete(defs, places, problems)
  local self = { defs = defs, places = places, problems = problems }
  for _, name in ipairs(sorted_keys(defs)) do
    local def = defs[name]
    if def.theirs then
      self.by = self.by or index(defs)
      complete(self, def)
    end
  end
  for _, name in ipairs(sorted_keys(defs)) do
    if defs[name].theirs and defs[name].theirs.handoffs then add_handoffs(self, defs[name]) end
  end
end

return team
