--- Modules that are loaded when one of their functions is first asked for. Most runs need few of
--- them, and to compile them all takes longer than to have the first request on the wire.
---
---     local router = lazy "hocket.patterns.router"    -- instead of require

---@param name string A module that is a table, or a function.
---@return table
return function(name)
  return setmetatable({}, {
    __index = function(self, key)
      local module = require(name)
      setmetatable(self, { __index = module })
      return module[key]
    end,
    __call = function(_, ...) return require(name)(...) end,
  })
end
