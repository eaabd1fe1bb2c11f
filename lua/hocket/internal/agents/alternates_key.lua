--- The key `alternates`: who gets the work after its agent has failed, in order. Another agent, or the same one with another model or effort.
---
---     alternates: [senior, {model: openai/gpt-6.1-terra, reasoning: high}]
local json = require "hocket.json"
local kinds = require "hocket.internal.agents.kinds"

local alternates_key = {}

---@class hocket.Alternate
---@field agent? string Another agent; none: the same one.
---@field model? string|string[]
---@field reasoning? string|integer

--- Alternates of one agent.
local MOST = 8

--- Makes the kind of the key.
---@param model hocket.Kind
---@param reasoning hocket.Kind
---@return hocket.Kind
function alternates_key.kind_of(model, reasoning)
  local one = kinds.map({
    { name = "agent", kind = kinds.agent, default_text = "the same agent", doc = "the agent that gets the work" },
    { name = "model", kind = model, doc = "the model for this try" },
    { name = "reasoning", kind = reasoning, doc = "the reasoning effort for this try" },
  }, "an agent's name or 'agent', 'model', 'reasoning'")
  local function read_one(item, ctx, at)
    if type(item) == "string" then return { agent = item } end
    local made = kinds.read(one, item, ctx, at)
    if made and not (made.agent or made.model or made.reasoning ~= nil) then ctx:say(at, "needs 'agent', 'model' or 'reasoning'") end
    return made
  end
  return { text = "a list of agents, or of 'agent' with 'model' and 'reasoning'", example = "[senior, {model: openai/gpt-6.1-terra}]", fields = one.fields,
    json = { type = "array", minItems = 1, maxItems = MOST, items = { anyOf = { kinds.agent.json, one.json } } },
    takes = function(value) return type(value) == "table" and (json.is_array(value) or value[1] ~= nil) end,
    read = function(value, ctx, pointer)
      local list = {}
      if #value == 0 or #value > MOST then ctx:say(pointer, ("must name 1 to %d alternates"):format(MOST)) end
      for i, item in ipairs(value) do list[i] = read_one(item, ctx, ("%s/%d"):format(pointer, i - 1)) end
      return list
    end }
end

return alternates_key
