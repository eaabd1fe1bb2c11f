-- A question, and then an effect on the world: in the file that the answer names.
local hocket = require "hocket"
local file = assert(hocket.ask "Which file?")
hocket.step("stamp", function()
  local f <close> = assert(io.open(file, "a"))
  f:write "stamp\n"
end)
return "stamped"
