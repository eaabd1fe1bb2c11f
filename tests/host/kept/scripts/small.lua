-- Three answers, two of them side by side; and none for who asks for none.
local hocket = require "hocket"
local word = ...
local writer = hocket.agent { name = "writer", prompt = "You write." }
if word == "none" then return "none" end
local both = hocket.flow.map({ "a", "b" }, function(text) return assert(hocket.run(writer, "say " .. text .. " slowly of " .. word)).text end)
hocket.flow.sleep(0.01)
return both[1] .. both[2] .. assert(hocket.run(writer, "say done with " .. word)).text
