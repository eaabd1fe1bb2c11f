-- So many effects as the input says, of which none does anything.
local hocket = require "hocket"
for i = 1, tonumber((...)) do hocket.step("count", function() return i end) end
return "done"
