-- An agent with a tool of the program.
local hocket = require "hocket"
local scout = hocket.agent { name = "scout", prompt = "You look.", tools = { "look" } }
return assert(hocket.run(scout, 'call look {"at":"the sea"}\nsay I have looked')).text
