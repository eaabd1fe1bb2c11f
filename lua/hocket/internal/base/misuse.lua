--- Misuse of what is made in C is told with the line of the script, and with the name that it knows.
local caught = require "hocket.internal.base.caught"

local misuse = {}

--- Calls fn(...) for the function that is known as `name`, and raises what it raises where that was called.
---@param name string
---@param fn function
---@return any made
function misuse.told(name, fn, ...)
  local ok, made = pcall(fn, ...)
  if ok then return made end
  if caught.no_memory(made) then error(made, 0) end
  if type(made) == "table" then
    if made.code ~= "invalid" then error(made, 0) end
    made = made.message
  end
  error((made:gsub("'hocket%.internal%.core%.%w+%.new'", ("'%s'"):format(name))), 3)
end

return misuse
