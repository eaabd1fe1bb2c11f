-- A loop with a critic: a writer improves a text until the agent `critic` says that it is done. The runtime asks the critic; no word of the writer counts.
--
--   hocket run examples/workflow/workflows/polish.lua "a notice: the pool is closed on Monday"
local workflow = require "hocket.workflow"

return workflow {
  description = "Writes a text, and improves it until a critic agrees",
  run = function(request)
    local first = "Write " .. request
    local text, rounds = workflow.loop {
      max = 4,
      goal = { judge = "critic" },
      step = function(round, last, missing)
        if round == 1 then return workflow.agent { prompt = "You write short texts.", input = first, id = "writer", max_tokens = 800, context = { window = 16000 } } end
        workflow.report("round " .. round .. ": " .. missing)
        return workflow.ask_again("writer", "The critic wants a change: " .. missing)
      end,
    }
    if not text then return nil, rounds end
    return text
  end,
}
