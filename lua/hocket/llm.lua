--- Model calls: `llm.call` sends a conversation to a model and waits for the reply.
local core = require "hocket.core.llm"

local llm = {}

---@class hocket.Reply
---@field text string
---@field reasoning? string
---@field refusal? string
---@field calls {id: string, name: string, arguments: string}[] Tool calls to run; arguments as the model wrote them.
---@field finish "stop"|"length"|"tool_calls"|"content_filter"|"error"
---@field usage {input?: integer, output?: integer, cached?: integer, cache_write?: integer, reasoning?: integer}
---@field model string As the provider names it.
---@field id string
---@field seconds number
---@field first_seconds? number To the first event.

--- A new, empty conversation.
---@return hocket.History
function llm.history()
  return core.history()
end

--- Sends the history and waits for the reply, which is added to the history.
---@async
---@param model hocket.Model
---@param history hocket.History
---@param request table As in core.llm.start, without `model`.
---@param on_delta? fun(kind: "text"|"reasoning", text: string)
---@return hocket.Reply?
---@return hocket.Error?
function llm.call(model, history, request, on_delta)
  request.model = model.name
  request.deltas = on_delta ~= nil
  local call, err = core.start(model.handle, history, request)
  if not call then return nil, err end
  if on_delta then
    for kind, text in call.next, call do on_delta(kind, text) end
  end
  return call:wait()
end

return llm
