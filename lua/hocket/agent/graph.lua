--- Who can call whom: the edges that the head of an agent declares.
local graph = {}

---@class hocket.Edge
---@field kind "agents"|"router"|"handoff"|"fallback"|"advisors"|"team"
---@field to string The other agent's name.
---@field pointer string Where the head says so.

--- The edges that lead away from an agent, in the order in which they are taken.
---@param def hocket.Agent
---@return hocket.Edge[]
function graph.edges(def)
  local edges = {}
  local function add(kind, names, pointer)
    for i, name in ipairs(names or {}) do
      edges[#edges + 1] = { kind = kind, to = name, pointer = ("%s/%d"):format(pointer, i - 1) }
    end
  end
  local function add_one(kind, name)
    if name then edges[#edges + 1] = { kind = kind, to = name, pointer = "/" .. kind } end
  end
  add("advisors", def.advisors and def.advisors.agents, "/advisors/agents")
  add("team", def.team and def.team.members, "/team/members")
  add(def.router and "router" or "agents", def.agents, "/agents")
  add_one("fallback", def.fallback)
  add_one("handoff", def.handoff)
  return edges
end

return graph
