-- A garden house. The planner asks what it has to know, and plans steps with checks. The surveyor forgets the slope, which a check finds. The mason
-- cannot plan a wall on a slope, so the engineer gets that step, with what was tried. The gardener splits the garden into parts. Who lays the path
-- has no slabs, and reports that; the planner has them bought first. README.md tells how the plan is saved, and used again the next day.
local hocket = require "hocket"
local input = ...
local here = arg and arg[0] and arg[0]:match "^(.*)/[^/]*$" or "."
local team = hocket.agents(here .. "/agents")

return hocket.patterns.planner.run { request = input or "A garden house", team = team, planner = team.planner, backoff = 0, retries = 1 }
