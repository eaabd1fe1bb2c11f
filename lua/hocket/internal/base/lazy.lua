--- Modules that are loaded when one of their functions is first asked for. Most runs need few of
--- them, and to compile them all takes longer than to have the first request on the wire.
---
---     local router = lazy "hocket.patterns.router"    -- instead of require

local component = require "hocket.internal.base.component"

local function load(name)
  local why = component.missing(name)
  if why then error(("%s: %s"):format(name, why), 0) end
  return require(name)
end

---@param name string A module that is a table, or a function.
---@return table
return function(name)
  return setmetatable({}, {
    __index = function(self, key)
      local module = load(name)
      setmetatable(self, { __index = module })
      return module[key]
    end,
    __call = function(_, ...) return load(name)(...) end,
  })
end
