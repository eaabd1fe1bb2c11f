-- A facilitator that plans for eight specialists, sends them to work side by side and reads what
-- they wrote, so many times as the input says. Each agent has a model of its own, from which the
-- mock server knows who asks.
local hocket = require "hocket"

local SPECIALISTS = 8

local names, team = {}, {}
for i = 1, SPECIALISTS do
  names[i] = "s" .. i
  team[names[i]] = hocket.agent {
    name = names[i], description = ("writes part %d"):format(i), model = "openai/task-" .. i, team = team,
    prompt = ("You are a specialist who reads its tasks, writes its part and says when it is done. "):rep(8),
  }
end
local lead = hocket.agent {
  name = "lead", model = "openai/lead-" .. SPECIALISTS, tools = { "facilitator" }, agents = names, team = team,
  prompt = ("You plan, send specialists to work, read what they wrote and answer. "):rep(10),
}

for _ = 1, tonumber((...)) do
  local reply, err = hocket.run(lead, "Write the report.")
  if not reply then return nil, err end
end
return "done"
