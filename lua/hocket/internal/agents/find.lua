--- Where teams are in a tree of directories. A team is the topmost directory that is called `agents` or has
--- an agent's file in it, and everything below that. What lies above only holds teams.
---
---     examples/                  no team
---       travel/agents/           a team
---         food.md
---         sights/museums.md      of the same team
---       report/agents/           another one
local fiber = require "hocket.internal.core.fiber"
local read = require "hocket.internal.agents.read"
local sources = require "hocket.internal.base.sources"
local tree = require "hocket.internal.base.tree"

local find = {}

local function is_agent(path)
  if path:sub(-3) ~= ".md" and path:sub(-3) ~= ".ai" or read.is_prompt(path) then return false end
  local text, err = sources.read(path, read.LIMIT)
  if not text and err.retryable then error(err, 0) end
  return text ~= nil and read.has_frontmatter(text)
end

--- The teams of a tree, as directories, in order.
---@param dir string
---@return string[]? dirs
---@return hocket.Error?
function find.teams(dir)
  local out = {}
  local ok, err = tree.walk(dir, function(at, files)
    for _, file in ipairs(files) do
      if file:sub(-9) == "/SKILL.md" then return false end -- of a skill, with all below it
    end
    local is_team = at:match "([^/]*)$" == "agents"
    for _, file in ipairs(files) do
      if is_team then break end
      is_team = is_agent(file)
      fiber.rest()
    end
    if is_team then out[#out + 1] = at end
    return not is_team
  end)
  if not ok then return nil, err end
  return out
end

return find
