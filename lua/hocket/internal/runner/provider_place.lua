--- Where the providers of a project stand (provider_file.lua): most have none.
local sources = require "hocket.internal.base.sources"

local NAME = "providers.yaml"

--- The file of a folder, or of the one above it: agents often stand in a folder of a project.
---@param dir string
---@return string? path
return function(dir)
  for _, place in ipairs { dir .. "/" .. NAME, dir .. "/../" .. NAME } do
    local info = sources.info(place)
    if info and info.kind ~= "directory" then return place end
  end
end
