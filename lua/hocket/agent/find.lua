--- Where teams are in a tree of directories. A team is the topmost directory that is called `agents` or has
--- an agent's file in it, and everything below that. What lies above only holds teams.
---
---     examples/                  no team
---       travel/agents/           a team
---         food.md
---         sights/museums.md      of the same team
---       report/agents/           another one
local fs = require "hocket.fs"
local read = require "hocket.agent.read"

local find = {}

--- Directories below each other that are looked into.
local DEPTH = 32

local function is_agent(path)
  if path:sub(-3) ~= ".md" then return false end
  local text = fs.read(path, read.LIMIT)
  return text ~= nil and read.has_head(text)
end

local function below(dir, name)
  return (dir == "/" and "" or dir) .. "/" .. name
end

local function walk(dir, depth, out)
  local names, err = fs.list(dir)
  if not names then return nil, err end
  if dir:match "([^/]*)$" == "agents" then
    out[#out + 1] = dir
    return out
  end
  for _, name in ipairs(names) do
    if name:sub(-1) ~= "/" and is_agent(below(dir, name)) then
      out[#out + 1] = dir
      return out
    end
  end
  for _, name in ipairs(names) do
    if name:sub(-1) == "/" and name:sub(1, 1) ~= "." and depth < DEPTH then
      local ok, failed = walk(below(dir, name:sub(1, -2)), depth + 1, out)
      if not ok then return nil, failed end
    end
  end
  return out
end

--- The teams of a tree, as directories, in order.
---@param dir string
---@return string[]? dirs
---@return hocket.Error?
function find.teams(dir)
  return walk(dir, 0, {})
end

return find
