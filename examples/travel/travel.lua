-- A team plans a trip: a facilitator with three specialists, a task board, a shared document.
--
--   hocket run examples/travel/travel.lua "Three days in Lisbon, with children"
local hocket = require "hocket"

local request = ...
if not request or request == "" then request = "Three days in Lisbon" end

local here = debug.getinfo(1, "S").source:match "^@(.*)/" or "."
local team = hocket.agents(here .. "/agents")

local board = hocket.board { limit = 20 }
local doc = hocket.document {                      -- dimensions in order; one slot = one value of each
  { "day", "integer" },                            -- 0 = general
  { "time_slot", { "general", "morning", "afternoon", "evening", "night" } },
}

return hocket.run(team.facilitator, request, { board = board, document = doc })
