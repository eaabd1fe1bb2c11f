-- An inn whose prompt, tool and pattern change while it works. show.sh changes them.
--
--   hocket run --watch kitchen "What is there to eat?"
local hocket = require "hocket"

local here = debug.getinfo(1, "S").source:match "^@(.*)/" or "."
return require "pattern"(hocket.agents(here .. "/agents"), (...) or "What is there to eat?", { (require "menu") })
