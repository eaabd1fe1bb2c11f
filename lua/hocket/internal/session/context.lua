--- The window of a session's model: before a turn, whether what would be sent fits in; when it does not, the conversation is
--- made shorter (compaction.lua). Tokens are what the provider has counted last, and a guess at what came since.
---
---     small ──> nothing is done, not even counted
---     below `at` of the window ──> counted, and not again before so many bytes more
---     above ──> compaction ──> still too long: an error that says what is
---     the provider refuses all the same ──> its error says how large the window is: compaction, and once more
local core = require "hocket.internal.core.llm"
local effects = require "hocket.internal.base.effects"
local kept = require "hocket.internal.core.kept"
local failed = require("hocket.internal.core.system").error
local lazy = require "hocket.internal.base.lazy"
local windows = require "hocket.internal.base.lazy" "hocket.internal.models.windows"

local compaction = lazy "hocket.internal.session.compaction"

local context = {}

--- What is done where nobody says otherwise: shares of the window at which it is made shorter, and that stays whole.
local AT, KEEP = 0.8, 0.3

local default = { strategy = "summary", at = AT, keep = KEEP }

---@class hocket.ContextSettings
---@field strategy "summary"|"results"|"none"
---@field at number
---@field keep number
---@field window? integer
---@field model? string Who writes the summary.
---@field result_bytes? integer

---@param self hocket.Session
---@return hocket.ContextSettings
function context.settings(self)
  local own = self.spec.context
  if not own then return default end
  return { strategy = own.strategy or "summary", at = own.at or AT, keep = math.min(own.keep or KEEP, (own.at or AT) / 2), window = own.window, model = own.model }
end

-- In a run that is kept what was known then counts, also in a replay.
local function look_up(id)
  local window = effects.value("window", { model = id }, function()
    local known = windows.get(id)
    return known and known.window or false
  end)
  return window or nil
end

local function model_of(self)
  local model = self.model
  return model.id or model[1] and (model[1].id or model[1]) or "?"
end

--- Whether the window is checked before the first turn, however short the conversation is: its server has said it, and it may be
--- smaller than any that we guess. In a replay as it was, whatever is known of the server here.
---@param self hocket.Session
---@return boolean
function context.is_due(self)
  if kept.is_replay() then return kept.is_next("window", effects.digest { model = model_of(self) }) == true end
  return self.model.server ~= nil
end

--- The window of its model, as far as it is known.
---@param self hocket.Session
---@return integer?
function context.window(self)
  local own = self.spec.context
  if own and own.window and not (self.window and self.window < own.window) then return own.window end
  local id = model_of(self)
  if self.window_of ~= id then self.window_of, self.window = id, look_up(id) end
  return self.window
end

-- What goes with every request beside the messages.
local function fixed_tokens(request)
  if not request.fixed_tokens then
    local spec = request.spec
    request.fixed_tokens = core.tokens(spec.system or "") + core.tokens(spec.tools or "") + core.tokens(spec.schema or "")
  end
  return request.fixed_tokens
end

--- Tokens that the next request is going to have; those of them that no compaction takes away; and how many tokens of this
--- provider's a guessed one is.
---@param self hocket.Session
---@return number tokens
---@return number fixed
---@return number factor
function context.tokens(self)
  local counted, known, rest = self.history:tokens()
  local fixed = fixed_tokens(self.request)
  if counted == 0 or counted == self.distrusted then
    local factor = self.token_factor or 1
    return (fixed + known + rest) * factor, fixed * factor, factor
  end
  local factor = math.min(math.max(counted / (known + fixed), 0.5), 3)
  self.token_factor = factor
  return counted + rest * factor, fixed * factor, factor
end

-- The answer needs its place, too.
local function limit_of(self, settings, window)
  local answer = self.request.spec.max_tokens or 0
  return math.max(math.min(settings.at * window, window - answer), window / 4)
end

local function too_small(self, window, fixed)
  return nil, failed { code = "limit", message = ("the window of %s has %d tokens, and the system prompt and the tools alone have some %d: give it fewer tools, a shorter prompt or a larger model")
    :format(self.model.id or "the model", window, fixed // 1) }
end

-- Makes it shorter. Returns whether it has `most` tokens or fewer; or nil and an error.
local function shorten(self, reason, window, most)
  local _, fixed = context.tokens(self)
  if fixed >= most then return too_small(self, window, fixed) end
  local went = compaction.run(self, { reason = reason, settings = context.settings(self), window = window, most = most }, context.tokens)
  if went == false then return true end
  return context.tokens(self) <= most
end

local function too_long(self, window)
  return nil, failed { code = "limit", message = ("what was said last is too long for the window of %s, %d tokens, even with all before it folded: some %d tokens")
    :format(self.model.id or "the model", window, context.tokens(self) // 1) }
end

--- Before a turn: makes the conversation shorter where it has to be. Called when it has more bytes than `roomy`.
---@async
---@param self hocket.Session
---@return boolean? fits
---@return hocket.Error?
function context.fit(self)
  local size, settings = self.history:size(), context.settings(self)
  local window = settings.strategy ~= "none" and context.window(self)
  if not window then
    self.roomy = math.huge
    return true
  end
  local limit, tokens = limit_of(self, settings, window), context.tokens(self)
  if tokens > limit then
    local fits, err = shorten(self, "share", window, window - math.min(self.request.spec.max_tokens or 0, window / 2))
    if fits == nil then return nil, err elseif not fits then return too_long(self, window) end
    tokens, size = context.tokens(self), self.history:size()
  end
  -- A byte may be two tokens. What cannot be made shorter is not tried again at once.
  self.roomy = size + math.max(limit - tokens, tokens > limit and window / 10 or 0) // (2 * (self.token_factor or 1))
  return true
end

--- Bytes of a result that are shown whole.
---@param self hocket.Session
---@return integer
function context.result_bytes(self)
  local own = self.spec.context
  local most = own and own.result_bytes or 64 * 1024
  local window = context.window(self)
  return window and math.max(math.min(most, window * 3 // 10), 512) or most
end

-- The window as a refusal shows it: as it says, else as it is known, else smaller than what was sent. What was sent is longer than
-- that, whatever we took it for.
local function window_after(self, said)
  local tokens, _, factor = context.tokens(self)
  local window = said.window or context.window(self) or tokens * 0.8 // 1
  local sent = math.max(said.sent or 0, window * 1.02)
  if sent > tokens then
    self.distrusted, self.token_factor = self.history:tokens(), math.min(factor * sent / tokens, 4)
  end
  return math.min(window, context.window(self) or window)
end

--- After a call that failed: whether it was too long, and is shorter now, so that it can be made again.
---@async
---@param self hocket.Session
---@param err hocket.Error
---@param attempt integer
---@return boolean
function context.recover(self, err, attempt)
  local said = attempt <= 3 and windows.refusal(err)
  if not said or context.settings(self).strategy == "none" then return false end
  local window = window_after(self, said)
  local before = context.tokens(self)
  windows.learn(self.model.id or "?", said)
  self.window_of, self.window, self.roomy = self.model.id, window, 0
  local fits = shorten(self, "refused", window, window * 0.9)
  return fits ~= nil and context.tokens(self) < before * 0.95
end

--- Makes it shorter because somebody asked for it.
---@async
---@param self hocket.Session
function context.compact(self)
  local tokens = context.tokens(self)
  local window = math.max(context.window(self) or 0, tokens // 1)
  local settings = setmetatable({ at = 0, keep = math.min(KEEP, tokens / window / 4) }, { __index = context.settings(self) })
  compaction.run(self, { reason = "asked", settings = settings, window = window, most = window }, context.tokens)
end

return context
