-- An effect in the very step in which the run is entered; nobody else is there yet.
local hocket = require "hocket"
local one = hocket.step("one", function() return "one" end, { idempotent = true })
return one .. hocket.step("two", function() return "two" end, { idempotent = true })
