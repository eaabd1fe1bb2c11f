--- Scripts that a host may not have, since they stand in an optional library.
local system = require "hocket.internal.core.system"

local component = {}

---@param module string
---@return string? why What is to be done to have it; nil: it is here.
function component.missing(module)
  local file = module:gsub("%.", "/")
  if system.assets(file .. ".lua")[1] or system.assets(file .. "/init.lua")[1] then return nil end
  return "it needs libhocket-serve (hocket_serve_attach)"
end

return component
