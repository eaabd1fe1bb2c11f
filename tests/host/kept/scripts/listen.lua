-- Two that listen to what the run tells, while its tools work: one that is called, and one that waits for each event.
local hocket = require "hocket"

local look = hocket.tool {
  name = "look", description = "Looks.", idempotent = true, parameters = { type = "object" },
  run = function()
    hocket.flow.sleep(0.005)
    return "seen"
  end,
}

local heard, counted = {}, 0
local function hear(event)
  if event.type == "tool_call" or event.type == "task_completed" then heard[#heard + 1] = event.type end
end

local listener = hocket.flow.spawn(function()
  for event in hocket.events.each() do
    if event.type == "tool_call" then counted = counted + 1 end
  end
end)
local scout = hocket.agent { name = "scout", prompt = "You look.", tools = { look } }
local reply = assert(hocket.run(scout, "call look {}\nthen\ncall look {}\ncall look {}\nsay All is seen.", { on_event = hear }))
listener:cancel()
return ("%s %s %d"):format(reply.text, table.concat(heard, " "), counted)
