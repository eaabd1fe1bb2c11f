-- An effect that the store keeps waiting for longer than it has time.
local hocket = require "hocket"
local file = ...
local value, err = hocket.flow.timeout(0.05, function()
  return hocket.step("late", function()
    local f <close> = assert(io.open(file, "a"))
    f:write "late\n"
  end)
end)
return (err and err.code or "done") .. ": " .. tostring(value)
