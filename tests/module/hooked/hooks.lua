local flow = require("hocket").flow
local words = require "words"
local hooks = { timeout = 0.3 }

function hooks.before_run(event)
  if event.input == "closed" then return { deny = "the inn is closed" } end
  if event.input == "menu" then return { answer = "soup" } end
end

function hooks.before_agent(event)
  if event.input == "loop" then while true do end end
  if event.input == "sleep" then flow.sleep(5) end
end

local places = {
  attic = { deny = "the attic is locked" },
  roof = { answer = "a cat on the roof" },
  hall = { context = "Mind the step." },
}

hooks.before_tool = { match = "lo*", run = function(event)
  local place = event.arguments.place
  return place == "cellar" and { arguments = { place = "room " .. math.random(1 << 40) } } or places[place]
end }

function hooks.after_agent(event)
  return { answer = (event.result or "nothing") .. words.seen }
end

return hooks
