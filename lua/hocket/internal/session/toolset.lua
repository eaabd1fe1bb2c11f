--- Tools that are given together, and what follows from them alone. Whoever is given the same ones again has the same
--- toolset: its tools never change.
local tool = require "hocket.tool"

local toolset = {}

---@class hocket.Toolset
---@field tools hocket.Tool[]
---@field by_name table<string, hocket.Tool>
---@field places boolean Whether one of them changes places below the root.
---@field passes table<hocket.Tool, boolean> The ones that need no approval where there are neither rules nor labels, as far as that was asked.
---@field declared? string As requests declare them; made when it is first asked for.

local function is_of(known, tools)
  local mine = known.tools
  if #mine ~= #tools then return false end
  for i = 1, #tools do
    if mine[i] ~= tools[i] then return false end
  end
  return true
end

--- The toolset of some tools.
---@param tools hocket.Tool[]
---@param known? hocket.Toolset One of before, which is taken again where it is of the same tools.
---@return hocket.Toolset
function toolset.of(tools, known)
  if known and is_of(known, tools) then return known end
  local by_name, places = {}, false
  for _, one in ipairs(tools) do
    by_name[one.name], places = one, places or one.places ~= nil
  end
  return { tools = table.move(tools, 1, #tools, 1, {}), by_name = by_name, places = places, passes = {} }
end

--- As requests declare them; "" when there are none.
---@param self hocket.Toolset
---@return string
function toolset.declare(self)
  self.declared = self.declared or #self.tools > 0 and tool.declare(self.tools) or ""
  return self.declared
end

return toolset
