--- Names that scripts give to something: what exists of them here, and by run what its own script has registered. That goes before: another
--- run that is at work beside it may have given the same name to something else.
local fiber = require "hocket.internal.core.fiber"
local sorted_keys = require "hocket.internal.base.sorted_keys"

local names = {}

---@class hocket.Names
---@field package shared table<string, any>
---@field package of_runs table<hocket.Run, table<string, any>>
---@field package any_of_runs boolean Whether a run has ever registered one: each call of a model asks for a name.
local Names = {}
Names.__index = Names

local function current()
  local context = fiber.context()
  return context and context.run
end

---@param shared? table<string, any> The ones that there are in the beginning.
---@return hocket.Names
function names.new(shared)
  return setmetatable({ shared = shared or {}, of_runs = setmetatable({}, { __mode = "k" }), any_of_runs = false }, Names)
end

--- What no run has registered under a name itself it has of whoever registered it last: a module that is loaded once does that for all.
---@param name string
---@param value any Nil takes the name back.
function Names:set(name, value)
  local run = current()
  self.shared[name] = value
  if not run then return end
  self.any_of_runs = true
  self.of_runs[run] = self.of_runs[run] or {}
  self.of_runs[run][name] = value
end

---@param name string
---@return any
function Names:get(name)
  if not self.any_of_runs then return self.shared[name] end
  local run = current()
  local own = run and self.of_runs[run]
  return own and own[name] or self.shared[name]
end

---@return string[] all Sorted.
function Names:list()
  return sorted_keys(self.shared)
end

return names
