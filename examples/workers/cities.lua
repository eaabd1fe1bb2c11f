-- A guide to each of some cities. They are written by workers side by side, on this machine or others: whoever has this store.
--
--   hocket work &
--   hocket run examples/workers/cities.lua "Rome, Oslo, New York"
local hocket = require "hocket"

local cities = ...
if not cities or cities == "" then cities = "Rome, Oslo" end

local here = debug.getinfo(1, "S").source:match "^@(.*)/" or "."
local guides = {}
for city in cities:gmatch "%s*([^,]+)" do
  guides[#guides + 1] = assert(hocket.submit(here .. "/agents", "Two days in " .. city))
end

local texts = hocket.flow.map(guides, function(guide)
  return assert(guide:wait()).text           -- in a run that a worker does this may take days, and nothing waits meanwhile
end)
return table.concat(texts, "\n\n")
