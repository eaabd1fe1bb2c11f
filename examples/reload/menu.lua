-- A tool of the cook's.
local hocket = require "hocket"

return hocket.tool {
  name = "menu", description = "What is on the menu today.", effects = { "read" },
  run = function() return "soup" end,
}
