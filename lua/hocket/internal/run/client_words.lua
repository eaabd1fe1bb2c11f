--- What a client says to a run in its words: before the run hears that, what it was allowed counts no more (consent.lua). So nobody
--- has a run do with another's rights what they tell it.
---
---     a message of the store ──> from whoever allowed it (origin.lua)  ──────────────> heard
---                            ──> yes, no, a number: nothing that an agent follows ──> heard
---                            ──> words ──> "consent" in the log: it is cut ──────────> heard
---
--- A server's own client speaks to a run at work there without the store, and that run has what the server gives to clients.
local ask = require "hocket.internal.base.lazy" "hocket.ask"
local consent = require "hocket.internal.run.consent"
local json = require "hocket.json"
local origin = require "hocket.internal.run.origin"

local client_words = {}

-- One word about what the run wants to do: yes, no or always. A reason, other arguments and other answers are words.
local function is_decision(run, said)
  local question = run.questions[said.question]
  local asks_leave = question ~= nil and (question.prefix == "a" or question.kind == "approval")
  return asks_leave and type(said.text) == "string" and ask.verdict(said.text) ~= nil
end

local states = { done = true, failed = true, cancelled = true }

-- As the store says that a run has ended.
local function is_end(value)
  return states[value.ended] ~= nil and next(value, next(value)) == nil
end

local function has_words_in(value)
  if type(value) == "table" then return not is_end(value) end
  return type(value) == "string"
end

local kinds = {
  answer = function(run, said) return not is_decision(run, said) end,
  signal = function(_, said) return said.value ~= json.null and has_words_in(said.value) end,
  say = function() return true end,
}

local function has_words(run, said)
  local kind = kinds[said.wish]
  return kind ~= nil and kind(run, said)
end

-- Whether it has lost all of that before, and nobody has allowed it anything since.
local function is_bare(run)
  return run.heard_words and #run.always == 0 and run.named_hosts == nil
end

--- A run is about to hear a message of the store. What comes of it is in the log.
---@param run hocket.Run
---@param message string As it stands there.
---@return true? ok
---@return hocket.Error?
function client_words.before(run, message)
  local said = json.decode(message)
  if type(said) ~= "table" or not has_words(run, said) or is_bare(run) or origin.is_trusted(run, message, said) then return true end
  local text = consent.of_message(run)
  return run.journal:tell("consent", "", text, function() return consent.hear(run.journal, run, text) end)
end

return client_words
