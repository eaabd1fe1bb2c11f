--- Who can call whom: the edges that front matter declares, circles among them, and what follows from them
--- for every agent.
local graph = {}

---@class hocket.Edge
---@field kind "advisors"|"team"|"agents"|"router"|"fallback"|"handoff"|"alternates"|"until"|"guard"
---@field to string The other agent's name.
---@field key string Where the front matter says so, see graph.pointer: the key …
---@field item? integer … and which one of its list, from 0.

local sides, nothing = { "input", "output" }, {}

local function add(edges, kind, names, key)
  for i, name in ipairs(names) do edges[#edges + 1] = { kind = kind, to = name, key = key, item = i - 1 } end
end

-- An agent's name, one handoff, or a list of them of which the model chooses.
local function add_handoffs(edges, handoff)
  if type(handoff) == "string" then handoff = { agent = handoff, key = "/handoff" } end
  for i, one in ipairs(handoff.agent and { handoff } or handoff) do
    edges[#edges + 1] = { kind = "handoff", to = one.agent, key = one.key or handoff.agent and "/handoff/agent" or ("/handoff/%d/agent"):format(i - 1) }
  end
end

--- The edges that lead away from an agent, in the order in which they are taken.
---@param def hocket.Agent
---@return hocket.Edge[]
function graph.edges(def)
  local edges = {}
  if def.advisors then add(edges, "advisors", def.advisors.agents, "/advisors/agents") end
  if def.team then add(edges, "team", def.team.members, "/team/members") end
  if def.agents and def.agents[1] then add(edges, def.router and "router" or "agents", def.agents, "/agents") end
  if def.fallback then edges[#edges + 1] = { kind = "fallback", to = def.fallback, key = "/fallback" } end
  if def.handoff then add_handoffs(edges, def.handoff) end
  for i, one in ipairs(def.alternates or nothing) do
    if one.agent then edges[#edges + 1] = { kind = "alternates", to = one.agent, key = ("/alternates/%d/agent"):format(i - 1) } end
  end
  if def["until"] and def["until"].judge then edges[#edges + 1] = { kind = "until", to = def["until"].judge, key = "/until/judge" } end
  for _, side in ipairs(def.guards and sides or nothing) do
    for i, one in ipairs(def.guards[side] or nothing) do
      if one.agent then edges[#edges + 1] = { kind = "guard", to = one.agent, key = ("/guards/%s/%d/agent"):format(side, i - 1) } end
    end
  end
  return edges
end

--- Whether an agent names others, or means those beside it: then they are read with it.
---@param def hocket.Agent
---@return boolean
function graph.needs_others(def)
  return #graph.edges(def) > 0 or def.theirs ~= nil and (def.theirs.calls ~= nil or def.theirs.handoffs ~= nil)
end

--- Where the front matter says an edge.
---@param edge hocket.Edge
---@return string
function graph.pointer(edge)
  return edge.item and ("%s/%d"):format(edge.key, edge.item) or edge.key
end

-- ---- Circles ---------------------------------------------------------------------------------

-- "a -handoff-> b -advisors-> a", from the agent that the last edge leads back to.
local function show(path, last)
  local first = 1
  while path[first].name ~= last.to do first = first + 1 end
  local parts = {}
  for i = first, #path do
    parts[#parts + 1] = ("%s -%s->"):format(path[i].name, (path[i].edge or last).kind)
  end
  parts[#parts + 1] = last.to
  return table.concat(parts, " ")
end

--- The circles that can be reached from some agents: one for each edge that closes one. An agent
--- in a circle would wait for itself.
---@param defs table<string, hocket.Agent>
---@param names string[] Where to begin.
---@param rest? fun() Is called now and then.
---@return {def: hocket.Agent, edge: hocket.Edge, path: string}[]
function graph.circles(defs, names, rest)
  local state, path, found = {}, {}, {}
  local function visit(name)
    local def = rawget(defs, name)
    if not def or state[name] then return end
    if rest then rest() end
    state[name] = "open"
    path[#path + 1] = { name = name }
    for _, edge in ipairs(graph.edges(def)) do
      path[#path].edge = edge
      if state[edge.to] == "open" then
        found[#found + 1] = { def = def, edge = edge, path = show(path, edge) }
      else
        visit(edge.to)
      end
    end
    path[#path] = nil
    state[name] = "done"
  end
  for _, name in ipairs(names) do visit(name) end
  return found
end

return graph
