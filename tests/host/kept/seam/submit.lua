-- Its input: the folder of the run that a worker is to do, and that one's input.
local hocket = require "hocket"
local folder, input = (...):match "^(%S+) (%S+)$"
return assert(hocket.submit(folder, input)).id
