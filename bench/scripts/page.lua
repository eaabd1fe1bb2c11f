-- A run of 1,000 agents with some 100,000 events, for the page: its input is the number of turns of each agent (32).
local hocket = require "hocket"
local turns = math.tointeger(tonumber((...))) or 32

local note = hocket.tool { name = "note", description = "Notes.", effects = {}, parameters = { type = "object", properties = { number = { type = "integer" } } },
  run = function(args) return ("noted %d"):format(args.number) end }

local numbers = {}
for i = 1, 1000 do numbers[i] = i end
hocket.flow.map(numbers, function(i)
  local agent = hocket.agent { name = "agent-" .. i, prompt = "You note.", tools = { note }, max_turns = turns + 1 }
  return assert(hocket.run(agent, ("note %d times"):format(turns))).text
end)
return "all is noted"
