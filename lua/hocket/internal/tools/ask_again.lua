--- ask_again: another question to an agent that this one has called and that has finished. That agent continues its conversation.
---
---     tools: [ask_again]     delegate, submit_task, a facilitator's call_NAME, advisors, members of a team, workflows
---
--- An answer shows the id, `[id=7]`; a task of submit_task has its task_id. A name stands for the last call of an agent.
local fence = require "hocket.fence"
local orchestrate = require "hocket.orchestrate"
local tool = require "hocket.tool"

local ask_again = {}

local parameters = {
  type = "object", required = { "id", "text" }, additionalProperties = false,
  properties = {
    id = { type = { "integer", "string" }, description = "The id of its answer or task, or its name for its last conversation" },
    text = { type = "string", minLength = 1, description = "The question or the work. It knows what was said before" },
  },
}

---@return table parameters JSON Schema.
function ask_again.parameters() return parameters end

local function name_of(id, err)
  return err.agent or ("agent %s"):format(tostring(id))
end

---@param name "ask_again"
---@param env table
---@return hocket.Tool
function ask_again.make(name, env)
  env.asks_again = true
  return tool.new { name = name, says = "text", parameters = parameters, steps = true,
    description = "Ask an agent again that you have called and that has finished. It continues its conversation.",
    run = function(args)
      local reply, err = orchestrate.ask_again(args.id, args.text)
      if reply then return orchestrate.framed(reply.agent, reply) end
      if err.code == "not_found" or err.code == "state" then return nil, err end
      return "Asking again failed: " .. fence.failure(name_of(args.id, err), err)
    end }
end

return ask_again
