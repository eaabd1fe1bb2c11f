--- The key `per_call`: what a caller may choose for one call of the agent. Without the key it chooses nothing.
---
---     per_call:
---       model: [openai/gpt-6.1-terra, anthropic/claude-sonnet-5]   one of these
---       reasoning: [low, high]                                 one of these
---       output: true                                           a JSON Schema of the answer
---       limits: true                                           limits within those of the file
---       context: fork                                          to begin with the caller's conversation
---
--- internal/work/call_choices.lua reads what a caller chose.
local kinds = require "hocket.internal.agents.kinds"

local per_call = {}

local function one_or_more(kind, text, example)
  local list = kinds.list(kind, { text = text, example = example, least = 1, unique = true })
  return kinds.either(kinds.with(kind, function(value) return { value } end), list)
end

--- Makes the kind of the key.
---@param reasoning hocket.Kind
---@return hocket.Kind
function per_call.kind_of(reasoning)
  return kinds.map({
    { name = "model", kind = one_or_more(kinds.model, "a list of models", "[openai/gpt-6.1-terra]"), doc = "the models to choose from" },
    { name = "reasoning", kind = one_or_more(reasoning, "a list of efforts", "[low, high]"), doc = "the reasoning efforts to choose from" },
    { name = "output", kind = kinds.boolean, default = false, doc = "the caller may give a JSON Schema of the answer" },
    { name = "limits", kind = kinds.boolean, default = false, doc = "the caller may give limits, within those of the file" },
    { name = "context", kind = kinds.word { "none", "fork" }, default = "none", doc = "`fork`: the caller may let it begin with the caller's conversation" },
  }, "choices by name", "{reasoning: [low, high], output: true}")
end

return per_call
