-- Plays guests and cook without a key.
local flow = require "hocket.flow"

return function(request)
  flow.sleep(0.1)
  if request.system:find "cook" then return "Tonight: " .. request.last.text end
  return "stew for " .. request.last.text
end
