-- One agent that calls a tool in every turn, so many times after one another as the input says.
local hocket = require "hocket"

local step = hocket.tool {
  name = "step",
  description = "Take one step of the work and say what came out.",
  parameters = {
    type = "object", required = { "n" },
    properties = {
      n = { type = "integer", minimum = 0, description = "The number of the step" },
      note = { type = "string", description = "One line on what it is for" },
    },
  },
  run = function(args) return ("step %d is done"):format(args.n) end,
}

local worker = hocket.agent {
  name = "worker", tools = { step }, max_turns = 1000, max_tool_calls = 1000,
  prompt = ("You are a careful worker who goes step by step and wastes no words. "):rep(10),
}

for _ = 1, tonumber((...)) do
  local reply, err = hocket.run(worker, "Go through all the steps.")
  if not reply then return nil, err end
end
return "done"
