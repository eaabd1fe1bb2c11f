-- Reads a clock until its input's milliseconds are over, then asks a model.
local hocket = require "hocket"
local due = os.clock() + tonumber((...)) / 1000
while os.clock() < due do end
return assert(hocket.run(hocket.agent { name = "writer", prompt = "You write." }, "say it")).text
