-- A script that asks nobody: all that it waits for is a time, in the step that it begins with.
local hocket = require "hocket"
hocket.flow.sleep(0.02)
return "slept"
