--- Siblings with one beginning (`warm_cache` of an agent): several calls have the same system prompt and tools. The first goes alone until its
--- answer begins, since the provider has the beginning in its cache from then on. The others wait that long and read it there.
---
---     first    ──> sent ────> first token ────────────────> reply
---     others   ──────── wait ────┴──> sent, all at once ──> replies
---
--- Nobody waits twice for one call, for a first one that failed, or longer than LONGEST. Who waits is outside of a run that is kept: a
--- replay waits for nothing.
local askers = require "hocket.internal.models.asker"
local cache_rules = require "hocket.internal.models.cache_rules"
local fiber = require "hocket.internal.core.fiber"
local system = require "hocket.internal.core.system"
local wake_all = require "hocket.internal.base.wake_all"

local warm = {}

--- Seconds that anybody waits for a first token.
local LONGEST = 60
--- Beginnings that are remembered of one provider.
local MOST = 1000

local known = setmetatable({}, { __mode = "k" }) -- by provider's handle: beginning -> {until_time, first, waiting}

-- What a provider finds again: everything that stands before the conversation.
local function beginning_of(one, request)
  local spec = request.spec
  if not request.beginning then
    local tools, system_prompt = spec.tools or "", spec.system or ""
    request.beginning = system.hash(table.concat({ system_prompt, tools, spec.schema or "", spec.server_tools and "server" or "", tostring(spec.reasoning) }, "\0"))
    request.beginning_tokens = (#tools + #system_prompt) // 4
  end
  return one.name .. "\0" .. request.beginning, request.beginning_tokens
end

local function entry_of(one, key)
  local all = known[one.handle]
  if not all or all.n >= MOST then
    all = { n = 0 }
    known[one.handle] = all
  end
  if not all[key] then all[key], all.n = { waiting = {}, until_time = -1 }, all.n + 1 end
  return all[key]
end

-- The first of its siblings.
local First = {}
First.__index = First

--- Its answer begins, or has failed: nobody waits for it any more.
---@param began boolean?
function First:over(began)
  local entry = self.entry
  if entry.first ~= self then return end
  entry.first = nil
  if began then entry.until_time = fiber.real_now() + self.seconds end
  wake_all(entry.waiting)
end

First.__close = function(self) self:over(false) end -- also when it is cancelled

local function wait_for(entry, most)
  local first, began, waited = entry.first, fiber.real_now(), 0
  table.insert(entry.waiting, fiber.self())
  while entry.first == first and waited < most do
    fiber.park(most - waited)
    waited = fiber.real_now() - began
  end
  return waited
end

--- The request as a provider's cache needs it.
---@param one hocket.Model
---@param request hocket.Request With `warm_cache`.
---@return hocket.Request
function warm.fit(one, request)
  local rule = cache_rules.of(one)
  if not rule or not rule.mark then return request end
  request.marked = request.marked or askers.vary(request, { cache_mark = true })
  return request.marked
end

--- Before a call is made: waits for a sibling that goes first. Returns what the call tells when its answer begins, where it goes first itself,
--- and how long it has waited.
---@async
---@param one hocket.Model
---@param request hocket.Request
---@param left? number Seconds that the call has.
---@return {over: fun(self: table, began: boolean?)}? first
---@return number? waited Seconds.
function warm.enter(one, request, left)
  local rule = cache_rules.of(one)
  if not rule then return nil end
  local key, tokens = beginning_of(one, request)
  if tokens < rule.least then return nil end
  local entry = entry_of(one, key)
  if fiber.real_now() < entry.until_time then
    entry.until_time = fiber.real_now() + rule.seconds
    return nil
  end
  if entry.first then return nil, wait_for(entry, math.min(LONGEST, left or LONGEST)) end
  entry.first = setmetatable({ entry = entry, seconds = rule.seconds }, First)
  return entry.first
end

--- Says that a call has waited.
---@param asker hocket.Asker
---@param one hocket.Model
---@param waited number Seconds.
function warm.tell(asker, one, waited)
  asker.emit("cache_awaited", { model = one.id, seconds = math.floor(waited * 1000 + 0.5) / 1000 })
end

return warm
