-- Questions to a person: one that the script asks, one that an agent asks, two at once, one that runs out of time.
local hocket = require "hocket"
local flow = hocket.flow

local city = assert(hocket.ask "Which city?")
local both = flow.map({ "north", "south" }, function(side) return assert(hocket.ask("What is in the " .. side .. "?")) end)
local late, err = hocket.ask("Nobody answers this.", { timeout = 0.05 })
local guide = hocket.agent { name = "guide", prompt = "You ask.", tools = { "ask_user" } }
local reply = assert(hocket.run(guide, 'call ask_user {"question": "How many?"}\nsay Noted.'))
return table.concat({ city, both[1], both[2], tostring(late), err and err.code or "-", reply.text }, ", ")
