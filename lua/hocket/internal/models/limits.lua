--- Of two who say something of a run's limits the stricter: nil says nothing.
local account = require "hocket.internal.models.account"

local limits = {}

-- How much a level of the sandbox asks for (internal/tools/sandbox.lua).
local rank = { best = 0, limits = 1, required = 2, landlock = 2, bubblewrap = 3 }

--- Of two levels the one that asks for more.
---@param a? string
---@param b? string
---@return string?
function limits.sandbox(a, b)
  if a == nil or b == nil then return a or b end
  if not rank[a] or not rank[b] then return rank[a] and b or a end -- whoever starts a program says what is wrong with it
  return rank[b] >= rank[a] and b or a
end

--- What a level demands of this machine: a sandbox, but no particular one.
---@param level? string
---@return string?
function limits.demand(level)
  if level == "landlock" then return "required" end
  return level ~= "limits" and level ~= "best" and level or nil
end

local function hosts_of(option)
  local list = {}
  for host in (type(option) == "string" and option or type(option) == "table" and table.concat(option, ",") or ""):gmatch "[^,%s]+" do list[#list + 1] = host end
  return list
end

local function is_all(option) return option == true or option == "all" end
local function is_none(option) return option == false or option == "none" end

--- What both let a command reach: of named hosts the ones that both name alike.
---@param a any As the option `network`.
---@param b any
---@return any
function limits.network(a, b)
  if a == nil or b == nil then
    if a == nil then return b end
    return a
  elseif is_all(a) or is_none(b) then return b
  elseif is_all(b) or is_none(a) then return a end
  local named, both = {}, {}
  for _, host in ipairs(hosts_of(a)) do named[host:lower()] = true end
  for _, host in ipairs(hosts_of(b)) do
    if named[host:lower()] then both[#both + 1] = host end
  end
  return #both > 0 and table.concat(both, ",") or "none"
end

--- What of it is a restriction.
---@param option any
---@return any
function limits.restriction(option)
  if is_all(option) then return nil end
  return option
end

--- The smaller number.
---@param a? number
---@param b? number
---@return number?
function limits.least(a, b)
  a, b = type(a) == "number" and a or nil, type(b) == "number" and b or nil
  return a and b and math.min(a, b) or a or b
end

--- The smaller limit of each kind. What is no budget is none.
---@param a? table
---@param b? table
---@return table?
function limits.budget(a, b)
  local own, given = a and account.read(a) or nil, b and account.read(b) or nil
  return (account.of(own, given))
end

--- The limits of both sets of options: of each kind the smaller.
---@param a table
---@param b table
---@return table limits budget, max_turns, timeout, jobs
function limits.both(a, b)
  local left = { budget = limits.budget(a.budget, b.budget) }
  for _, name in ipairs { "max_turns", "timeout", "jobs" } do left[name] = limits.least(a[name], b[name]) end
  return left
end

return limits
