-- How the agents work together: the cook answers alone.
local hocket = require "hocket"

return function(team, question, tools)
  local reply = assert(hocket.run(team.cook, question, { tools = tools }))
  return reply
end
