-- One agent without tools that answers at length, so many times as the input says.
local hocket = require "hocket"

local talker = hocket.agent { name = "talker", prompt = "You answer at great length." }

for _ = 1, tonumber((...)) do
  local reply, err = hocket.run(talker, "Tell me everything.")
  if not reply then return nil, err end
end
return "done"
