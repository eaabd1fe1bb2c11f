--- Model calls: one conversation, sent to a model, and its reply. Sessions do the rest: tools, turns, limits.
---
---     local hocket = require "hocket"
---     local model = assert(hocket.model.resolve "sim/default")
---     local history = hocket.llm.history()
---     history:user "How old are the trees?"
---     local reply = assert(hocket.llm.call(model, history, { system = "You are short.", max_tokens = 200 }))
---     print(reply.text, reply.usage.output)
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
---@field cost? number USD; nil when the price or a count is not known.

---@class hocket.Reply
---@field text string Without what the model thinks aloud in it (`<think>…</think>`).
---@field reasoning? string What it thinks, as the server says or in tags of its text.
---@field in_tags? boolean Whether some of that stood in tags of its text.
---@field refusal? string
---@field calls {id: string, name: string, arguments: string}[] Tool calls to run; arguments as the model wrote them.
---@field finish "stop"|"length"|"tool_calls"|"content_filter"|"refusal"|"budget"|"turns"|"loop"|"stopped" The last five, and `cut`, of a session's answer alone.
---@field cut? hocket.Cut Why it is not a whole answer.
---@field stage_cut? hocket.StageCut Of a chain of handoffs whose answer is whole: the first stage that was not.
---@field partial? hocket.Shortfall[] Of a run of its own (hocket.run), as what follows: what the answer was made without.
---@field models? string[] The models that answered.
---@field simulated? boolean Whether one of them is a simulated one.
---@field sources? {url: string, title?: string}[] Of a session's answer: what the provider's own tools found for it.
---@field made? {kind: string, mime: string, path?: string, data: string}[] Of a session's answer: pictures and recordings that the model has made. Path: of the file below the run's workdir.
---@field paused? boolean The model is at work with tools of the provider's own (Anthropic's pause_turn), or has made the conversation shorter (compaction): it goes on when the same history is sent again.
---@field usage hocket.Usage
---@field cost? number As usage.cost.
---@field model string As the provider names it.
---@field id string
---@field seconds number Of the attempt that succeeded.
---@field first_seconds? number To the first event.
---@field waited number Seconds that this attempt was held back by the rate limit.
---@field attempts integer With the model that answered.
---@field fallbacks? {from: string, to: string, reason: string, message: string}[] Models that were given up.
---@field answered_by hocket.Model

--- A new, empty conversation.
---@return hocket.History
function llm.history()
  return core.history()
end

--- Sends the history and waits for the reply, which is added to the history. Waits for the provider's rate limit, tries
--- again what is worth it, and goes on to the model's fallbacks.
---@async
---@param model hocket.Model|(hocket.Model|string)[] One, or several: each of the others is asked when the one before it failed.
---@param history hocket.History
---@param request table system, tools, temperature …; retries (2), timeout (seconds, over everything), connect_timeout (10), first_timeout (600: to the first event), idle_timeout (600: between two), max_wait (120: the longest wait that a provider may ask for).
---@param on_delta? fun(kind: "text"|"reasoning", text: string) From the first delta on nothing is tried again.
---@param emit? fun(type: string, payload: table) Told of model_retry and model_fallback; default: the run's events.
---@return hocket.Reply?
---@return hocket.Error?
function llm.call(model, history, request, on_delta, emit)
  return calls.call(model, history, request, on_delta, emit)
end

--- Asks several models the same at once: `llm.race { "openai/gpt-6.1-terra", "groq/…", history = h }`.
--- The first good reply wins and is added to the history; the others are cancelled.
---@async
---@param spec table Models or their ids as a list; history, request?, emit?
---@return hocket.Reply?
---@return hocket.Error? The last one's, when all failed.
function llm.race(spec)
  if #spec == 0 then error("bad argument #1 to 'race' (at least one model expected)", 2) end
  return race.run(spec)
end

--- Asks a model, and once more (or another one) when it has not answered after `after` seconds:
--- the first good reply wins. A failure starts the next one at once.
---@async
---@param model hocket.Model
---@param history hocket.History
---@param request table
---@param opts {after: number, max?: integer, models?: (hocket.Model|string)[], emit?: function} max: calls at most (2); models: for the further ones.
---@return hocket.Reply?
---@return hocket.Error?
function llm.hedge(model, history, request, opts)
  if type(opts.after) ~= "number" or opts.after < 0 then error("bad option 'after' (seconds expected)", 2) end
  return race.hedge(model, history, request, opts)
end

return llm
