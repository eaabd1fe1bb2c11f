-- Much that a replay goes through, and a run that it has submitted: somebody cancels it on the way.
local hocket = require "hocket"
local child = assert(hocket.submit(..., "", { pool = "nobody" }))
for i = 1, 30 do
  hocket.step("count", function() return i end)
  hocket.events.emit("noted", { n = i })
end
hocket.events.emit("submitted", { child = child.id })
return hocket.ask "On?"
