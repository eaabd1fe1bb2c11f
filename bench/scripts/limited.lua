-- "turns" with a provider that has limits, far above what is asked of it: each process's own, or, with SHARED=1, those of all that
-- have the same store.
local hocket = require "hocket"

hocket.provider("limited", { protocol = "openai_chat", base = os.getenv "OPENAI_BASE_URL",
  limits = { requests = 100000000, tokens = 1000000000000, concurrent = 1000, shared = os.getenv "SHARED" == "1" } })

local step = hocket.tool {
  name = "step", description = "Take one step of the work and say what came out.",
  parameters = { type = "object", properties = { n = { type = "integer" }, note = { type = "string" } } },
  run = function(args) return ("step %s is done"):format(args.n) end,
}
local worker = hocket.agent { name = "worker", model = "limited/tools-20", tools = { step }, max_turns = 1000, max_tool_calls = 1000, prompt = "You go step by step." }

for _ = 1, tonumber((...)) do
  local reply, err = hocket.run(worker, "Go through all the steps.")
  if not reply then return nil, err end
end
return "done"
