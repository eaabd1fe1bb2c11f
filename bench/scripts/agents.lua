-- As many agents at once as the input says; each calls a tool, and answers.
local hocket = require "hocket"

local step = hocket.tool {
  name = "step",
  description = "Take one step of the work and say what came out.",
  parameters = { type = "object", properties = { n = { type = "integer" }, note = { type = "string" } } },
  run = function(args) return ("step %d is done"):format(args.n) end,
}

local worker = hocket.agent {
  name = "worker", tools = { step },
  prompt = ("You are a careful worker who goes step by step and wastes no words. "):rep(10),
}

local inputs = {}
for i = 1, tonumber((...)) do inputs[i] = "Go through all the steps." end
local replies, errors = hocket.flow.map(inputs, function(input) return hocket.run(worker, input) end)
for i in ipairs(inputs) do
  if not replies[i] then return nil, errors[i] end
end
return "done"
