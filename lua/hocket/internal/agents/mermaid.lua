--- A team as a picture: Mermaid's flowchart, one node for each agent, one arrow for each edge.
local graph = require "hocket.internal.agents.graph"
local sorted_keys = require "hocket.internal.base.sorted_keys"

local mermaid = {}

local arrows = {
  agents = "-->", router = "-->|routes to|", fallback = "-.->|falls back on|",
  handoff = "==>|hands off to|", choice = "==>|may hand off to|", advisors = "-.->|is advised by|", alternates = "-.->|gives up to|", team = "-->|discusses with|", ["until"] = "-.->|is judged by|", guard = "-.->|is guarded by|",
}

-- Names may hold what Mermaid takes for syntax; labels are quoted, ids are counted.
local function quoted(text)
  return '"' .. text:gsub("[&\"<>#\n\r]", function(c) return ("#%d;"):format(c:byte()) end) .. '"'
end

local function shape(def)
  local label = quoted(def.display_name)
  if def.router then return "{" .. label .. "}" end
  if def.team then return "[[" .. label .. "]]" end
  return "[" .. label .. "]"
end

--- The picture of teams whose references are all known.
---@param teams table<string, hocket.Agent>[]
---@return string
function mermaid.draw(teams)
  local lines, count = { "flowchart TD" }, 0
  for _, defs in ipairs(teams) do
    local ids = {}
    for _, name in ipairs(sorted_keys(defs)) do
      count = count + 1
      ids[name] = "a" .. count
      lines[#lines + 1] = ("    %s%s"):format(ids[name], shape(defs[name]))
    end
    for _, name in ipairs(sorted_keys(defs)) do
      for _, edge in ipairs(graph.edges(defs[name])) do
        local kind = edge.kind == "handoff" and edge.key ~= "/handoff" and edge.key ~= "/handoff/agent" and "choice" or edge.kind
        if ids[edge.to] then lines[#lines + 1] = ("    %s %s %s"):format(ids[name], arrows[kind], ids[edge.to]) end
      end
    end
  end
  return table.concat(lines, "\n")
end

return mermaid
