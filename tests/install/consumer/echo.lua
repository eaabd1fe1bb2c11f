local hocket = require "hocket"

local echo = hocket.agent { name = "echo", prompt = "Say it again.", model = "sim" }

return hocket.run(echo, (...))
