-- The buyer pays by a command, the talker says how often it was spoken to, the others are a team.
local team = require "hocket.sim.team" { latency = 0 }

local function count(messages, role)
  local n = 0
  for _, message in ipairs(messages) do n = n + (message.role == role and 1 or 0) end
  return n
end

return function(request)
  if request.system:find "You talk" then return { text = ("turn %d"):format(count(request.messages, "user")) } end
  if not request.system:find "You buy" then return team.reply(request) end
  if count(request.messages, "tool") > 0 then return { text = "bought" } end
  return { calls = { { name = "execute_command", arguments = { command = "echo paid" } } } }
end
