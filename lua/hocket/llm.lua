--- Model calls: one conversation, sent to a model, and its reply. Sessions do the rest: tools, turns, limits.
---
---     local hocket = require "hocket"
---     local model = assert(hocket.model.resolve "sim/default")
---     local history = hocket.llm.history()
---     history:user "How old are the trees?"
---     local reply = assert(hocket.llm.call(model, history, { system = "You are short.", max_tokens = 200 }))
---     print(reply.text, reply.usage.output)
local arguments = require("hocket.internal.base.arguments").check
local calls = require "hocket.internal.models.calls"
local core = require "hocket.internal.core.llm"
local race = require "hocket.internal.base.lazy" "hocket.internal.models.race"

local llm = {}

---@class hocket.Usage Counts as core/usage.h has them: input includes what was cached, output the reasoning.
---@field input? integer
---@field output? integer
---@field cached? integer
---@field cache_write? integer
---@field reasoning? integer
---@field cost? number USD; nil if the price or a count is unknown.

---@class hocket.Reply
---@field text string Without reasoning in tags (`<think>…</think>`).
---@field reasoning? string The reasoning, from the server's field or from tags in the text.
---@field in_tags? boolean Whether some of the reasoning was in tags.
---@field refusal? string
---@field calls {id: string, name: string, arguments: string}[] Tool calls to run; arguments as the model wrote them.
---@field finish "stop"|"length"|"tool_calls"|"content_filter"|"refusal"|"budget"|"turns"|"loop"|"stopped" Only a session's answer has the last five, and `cut`.
---@field cut? hocket.Cut Why the answer is incomplete.
---@field stage_cut? hocket.StageCut For a complete answer of a chain of handoffs: the first incomplete stage.
---@field partial? hocket.Shortfall[] For a run (hocket.run): the failures behind the answer.
---@field models? string[] The models that answered.
---@field simulated? boolean Whether a simulated model answered.
---@field sources? {url: string, title?: string}[] For a session's answer: the results of the provider's own tools.
---@field made? {kind: string, mime: string, path?: string, data: string}[] For a session's answer: pictures and audio that the model has made, with the path below the run's workdir.
---@field paused? boolean The provider has paused the turn, for its own tools (Anthropic's pause_turn) or compaction: send the same history again to continue.
---@field usage hocket.Usage
---@field cost? number The same as usage.cost.
---@field model string The provider's name of the model.
---@field id string
---@field seconds number Duration of the successful attempt.
---@field first_seconds? number Time to the first event.
---@field waited number Seconds that the rate limit delayed this attempt.
---@field attempts integer Attempts with the model that answered.
---@field fallbacks? {from: string, to: string, reason: string, message: string}[] Models that were given up.
---@field answered_by hocket.Model

--- A new, empty conversation.
---@return hocket.History
function llm.history()
  return core.history()
end

--- Sends the history and waits for the reply, which is added to the history. Respects the provider's rate limit, retries where that
--- can help, and uses the model's fallbacks.
---@async
---@param model hocket.Model|(hocket.Model|string)[] One, or several: each is asked if the one before it failed.
---@param history hocket.History
---@param request table system, tools, temperature …; retries (2), timeout (seconds, for everything), connect_timeout (10), first_timeout (600: to the first event), idle_timeout (600: between two), max_wait (120: the longest wait that a provider may ask for).
---@param on_delta? fun(kind: "text"|"reasoning", text: string) After the first delta the call is not retried.
---@param emit? fun(type: string, payload: table) Receives model_retry and model_fallback; default: the run's events.
---@return hocket.Reply?
---@return hocket.Error?
function llm.call(model, history, request, on_delta, emit)
  arguments("llm.call", 1, "table", model)
  arguments("llm.call", 2, "userdata", history)
  arguments("llm.call", 3, "table", request)
  arguments("llm.call", 4, "function?", on_delta)
  arguments("llm.call", 5, "function?", emit)
  return calls.call(model, history, request, on_delta, emit)
end

--- Asks several models the same at once: `llm.race { "openai/gpt-6.1-terra", "groq/…", history = h }`.
--- The first good reply wins and is added to the history; the others are cancelled.
---@async
---@param spec table Models or their ids as a list; history, request?, emit?
---@return hocket.Reply?
---@return hocket.Error? The last error, if all failed.
function llm.race(spec)
  arguments("llm.race", 1, "table", spec)
  if #spec == 0 then error("bad argument #1 to 'race' (at least one model expected)", 2) end
  return race.run(spec)
end

--- Asks a model, and a second time (or another model) if it has not answered after `after` seconds: the first good reply wins. A
--- failure starts the next call at once.
---@async
---@param model hocket.Model
---@param history hocket.History
---@param request table
---@param opts {after: number, max?: integer, models?: (hocket.Model|string)[], emit?: function} max: the most calls (2); models: for the further calls.
---@return hocket.Reply?
---@return hocket.Error?
function llm.hedge(model, history, request, opts)
  arguments("llm.hedge", 1, "table", model)
  arguments("llm.hedge", 2, "userdata", history)
  arguments("llm.hedge", 3, "table", request)
  arguments("llm.hedge", 4, "table", opts)
  if type(opts.after) ~= "number" or opts.after < 0 then error("bad option 'after' (seconds expected)", 2) end
  return race.hedge(model, history, request, opts)
end

return llm
