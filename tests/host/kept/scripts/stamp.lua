-- One effect on the world, and one wait: the smallest run that has something to lose.
local hocket = require "hocket"
local word, folder = (...):match "^(%S+) (.+)$"
hocket.step("stamp", function()
  local f <close> = assert(io.open(folder .. "/stamps", "a"))
  f:write(word, "\n")
end)
hocket.flow.sleep(0.001)
return "stamped " .. word
