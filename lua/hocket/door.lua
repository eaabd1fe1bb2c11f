--- The one door that every tool call goes through: (agent, tool) -> allow or deny, whatever the
--- model says. A tool is allowed when the agent's file or its pattern gives it, the caller grants
--- it, and it is built. What denies wins, and a caller can only narrow: an agent that is called by
--- another gets the intersection of what its file says and what the caller may grant.
local door = {}

---@class hocket.Door
local Door = {}
Door.__index = Door

--- A set of names, as `allowed` in options.
---@param names string[]?
---@return table<string, boolean>?
function door.set(names)
  if not names then return nil end
  local set = {}
  for _, name in ipairs(names) do set[name] = true end
  return set
end

--- What is in both; nil stands for everything.
---@param a table<string, boolean>?
---@param b table<string, boolean>?
---@return table<string, boolean>?
function door.narrow(a, b)
  if not a or not b then return a or b end
  local both = {}
  for name in pairs(a) do both[name] = b[name] or nil end
  return both
end

--- Makes the door of one agent at work.
---@param agent string
---@param tools hocket.Tool[] What its file and its pattern give it.
---@param allowed? table<string, boolean> What the caller grants, by the name of a tool or of its set; nil: all of it.
---@return hocket.Door
function door.new(agent, tools, allowed)
  local self = setmetatable({ agent = agent, by_name = {}, withheld = {}, tools = {} }, Door)
  for _, one in ipairs(tools) do
    if allowed and not allowed[one.name] and not (one.set and allowed[one.set]) then
      self.withheld[one.name] = true
    else
      self.by_name[one.name] = one
      table.insert(self.tools, one)
    end
  end
  return self
end

--- The tool, when the agent may call it; otherwise nil and why not, in words for the model.
---@param name string
---@return hocket.Tool? tool
---@return string? reason
function Door:decide(name)
  local one = self.by_name[name]
  if one and not one.missing then return one end
  if one then return nil, ("the tool '%s' is not built into this version of hocket"):format(name) end
  local names = {}
  for i, known in ipairs(self.tools) do names[i] = known.name end
  local rest = #names > 0 and table.concat(names, ", ") or "none"
  if self.withheld[name] then
    return nil, ("'%s' was not granted to %s by its caller. The tools are: %s."):format(name, self.agent, rest)
  end
  return nil, ("there is no tool '%s'. The tools are: %s."):format(name, rest)
end

return door
