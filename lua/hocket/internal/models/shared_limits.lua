--- Limits of one place and key that all processes with the same store share: requests and tokens in a minute, calls at once,
--- and a provider's pause. A fiber for each limit draws from the store and grants to the process's own limiter. It draws
--- several at a time, so the store is asked some times a second and not for each call.
---
---     short ──> look: who waits, what is left ──> draw ──> grant ──> …  a second later what is not used is given back
---
--- The share of a killed process comes back with time: a rate refills, places have a lease of LEASE seconds. Nothing is asked while
--- no call is made; a replay makes none.
local fiber = require "hocket.internal.core.fiber"
local store = require "hocket.internal.core.store"
local system = require "hocket.internal.core.system"

local shared_limits = {}

--- Seconds: places without a word of their holder; between two looks; that what is drawn at once is to last; at most
--- between two tries.
local LEASE, TICK, AHEAD, RETRY = 10, 1, 0.25, 0.25
--- Between two tries for places; after so long places that nobody uses are given back.
local SOON = 0.02
--- Seconds over which it is counted how much is taken.
local COUNT = 0.01
--- Of any 60 seconds, in the milliseconds in which a minute's limit comes back: what was granted may be used a little later.
local MINUTE = 62000

---@class hocket.SharedLimits
local Shared = {}
Shared.__index = Shared

-- ---- Drawing ----------------------------------------------------------------------------------------

local function draw(self, what, spec)
  spec.name = self.name .. " " .. what
  if self.block_ms and what == self.first then spec.block_ms, self.block_ms = self.block_ms, nil end
  self.drew = true
  local drawn, err = store.draw(spec)
  if not drawn then error(err, 0) end
  if drawn.blocked_ms > 0 then self.blocked_ms = math.max(self.blocked_ms or 0, drawn.blocked_ms) end
  if what == self.first then self.looked_at = fiber.now() end
  return drawn
end

-- As the limiter alone has it: a tenth at once, and never more than the limit in any 60 seconds.
local function bucket(limit)
  local burst = math.max(limit // 10, 1)
  return { capacity = burst, leak = limit - burst + 1, leak_ms = MINUTE }
end

local function wait_for(self, drawn)
  local seconds = drawn.retry_ms >= 0 and drawn.retry_ms / 1000 or RETRY
  self.pause = math.min(self.pause or RETRY, math.max(seconds, 0.001))
end

-- What a process may have beside what it needs: what all of them have in a moment.
local function most_ahead(limit) return math.max(math.floor(limit * AHEAD / 60), 1) end

-- How much is to be there: what the ones who wait need, and what will be taken in a moment, by what was taken lately.
local function ahead_of(self, what, took, limit)
  local rate = self.rates[what] or { a_second = 0, took = 0, since = fiber.now() - TICK }
  local seconds = fiber.now() - rate.since
  self.rates[what], rate.took = rate, rate.took + took
  if seconds >= COUNT then rate.a_second, rate.took, rate.since = math.max(rate.took / seconds, rate.a_second / 2), 0, fiber.now() end
  return math.min(math.max(math.ceil(rate.a_second * AHEAD), 1), most_ahead(limit))
end

-- More of requests or tokens; below 0: given back, as a call needed less than was thought. `least`: what the next call needs.
local function top_up(self, what, limit, level, needed, least, ahead)
  local spec = bucket(limit)
  local want = math.ceil(needed + ahead - level)
  if want < -most_ahead(limit) then
    spec.want = want + ahead
    draw(self, what, spec)
    return spec.want
  elseif want <= 0 then
    return 0
  end
  spec.want, spec.least, spec.owing = math.max(math.min(want, spec.capacity), least), least, what == "tokens"
  local drawn = draw(self, what, spec)
  if drawn.granted < least and needed > 0 then wait_for(self, drawn) end
  if drawn.granted == 0 then self.drew = false end -- there is none, also for who comes now
  return drawn.granted
end

local function give_back(self, what, limit, level)
  if level < 1 then return 0 end
  local spec = bucket(limit)
  spec.want = -math.floor(level)
  draw(self, what, spec)
  return spec.want
end

-- Of all places, what a process may keep while others have too little; it lets go of more as its calls end.
local function share_of(self, limit)
  return self.hungry and math.ceil(limit / self.holders) or limit
end

-- How many there should be.
local function wanted_places(self, limit, look, now)
  local want = math.min(limit, look.flying + look.waiting)
  self.spare = want < (self.places or 0) and (self.spare or now) or nil -- since when some are not used
  if self.spare and now - self.spare < SOON then want = self.places end -- a moment later they are wanted again
  return math.min(want, math.max(look.flying, share_of(self, limit)))
end

local function places(self, limit, look)
  local now = fiber.now()
  local want = wanted_places(self, limit, look, now)
  if want ~= self.places or want > 0 and now >= self.renew then
    local drawn = draw(self, "calls", { want = want, capacity = limit, holder = self.holder, lease_ms = LEASE * 1000 })
    self.places, self.hungry, self.holders = drawn.granted, drawn.hungry > 0, math.max(drawn.holders, 1)
    self.renew = now + (look.waiting > 0 and RETRY or LEASE / 3) -- whether others have too little
  end
  local usable = math.min(self.places, share_of(self, limit)) -- a call that ends leaves its place to others, not to the next one here
  if usable < math.min(limit, look.flying + math.min(look.waiting, 1)) then self.pause = SOON end
  self.rest = self.spare and SOON or look.waiting > 0 and RETRY or TICK
  return usable
end

-- ---- One turn ----------------------------------------------------------------------------------------------

local function look(self)
  local l = {}
  l.waiting, l.flying, l.waiting_tokens, l.head_tokens, l.requests, l.tokens, l.took_requests, l.took_tokens, l.block_ms = self.lane:look()
  if l.waiting > 0 or l.flying > 0 or l.took_requests > 0 then self.busy_until = fiber.now() + TICK end
  l.active = fiber.now() < (self.busy_until or 0)
  return l
end

-- Requests, tokens, places; and with how little of the first two there should be more.
local function draw_all(self, l)
  local limits, requests, tokens, few_requests, few_tokens = self.limits, 0, 0, 0, 0
  if limits.requests then
    local ahead = ahead_of(self, "requests", l.took_requests, limits.requests)
    requests = top_up(self, "requests", limits.requests, l.requests, l.waiting, 1, ahead)
    few_requests = ahead / 2
  end
  if limits.tokens then
    local ahead = ahead_of(self, "tokens", l.took_tokens, limits.tokens)
    tokens = top_up(self, "tokens", limits.tokens, l.tokens, l.waiting_tokens, math.max(math.ceil(l.head_tokens - l.tokens), 1), ahead)
    few_tokens = ahead / 2
  end
  return requests, tokens, limits.concurrent and places(self, limits.concurrent, l), few_requests, few_tokens
end

local function give_all_back(self, l)
  local limits = self.limits
  local requests = limits.requests and give_back(self, "requests", limits.requests, l.requests) or 0
  local tokens = limits.tokens and give_back(self, "tokens", limits.tokens, l.tokens) or 0
  return requests, tokens, limits.concurrent and places(self, limits.concurrent, l), 0, 0
end

-- That a provider wants to be left alone is noticed once a second at least.
local function listen(self)
  if self.block_ms or fiber.now() >= (self.looked_at or -TICK) + TICK then draw(self, self.first, { want = 0, capacity = 1 }) end
end

local function turn(self)
  local l = look(self)
  self.blocked_ms, self.pause, self.rest, self.drew = nil, nil, nil, false
  self.block_ms = l.block_ms > 0 and l.block_ms or self.block_ms
  local requests, tokens, slots, few_requests, few_tokens = (l.active and draw_all or give_all_back)(self, l)
  if l.active then listen(self) end
  self.awake = l.active or (self.places or 0) > 0
  self.lane:grant(requests, tokens, slots or nil, few_requests, few_tokens, self.blocked_ms)
end

-- ---- Its fiber ------------------------------------------------------------------------------------------------

-- Of a store that is away for a moment: later. Of one of no use: each process by itself, which is said.
local function failed(self, err)
  if type(err) ~= "table" then error(err, 0) end
  if err.retryable or err.code == "timeout" then
    self.pause = TICK
    return true
  end
  system.log("warn", ("limits of %s hold for this process alone: %s"):format(self.place, err.message or err.code))
  self.lane:share()
  return false
end

local function serve(self)
  local over <close> = setmetatable({}, { __close = function()
    if self.places and self.places > 0 then pcall(draw, self, "calls", { want = 0, capacity = 1, holder = self.holder, lease_ms = 1 }) end
  end })
  while true do
    -- Who came while the store was asked has woken it in vain: only after a turn without that is it known that nobody waits.
    if not self.pause and not self.drew then fiber.park(self.awake and (self.rest or TICK) or nil) end
    local ok, err = pcall(turn, self)
    if fiber.cancelled() then return end
    if not ok and not failed(self, err) then return end
    if self.pause then fiber.sleep(self.pause) end
  end
end

--- Shares the limits of a limiter from now on, or gives it others.
---@param self hocket.SharedLimits? What it gave the last time.
---@param lane userdata
---@param place string For people.
---@param id string Of the place and the key, which does not tell the key.
---@param limits {requests?: integer, tokens?: integer, concurrent?: integer}
---@return hocket.SharedLimits
function shared_limits.share(self, lane, place, id, limits)
  self = self or setmetatable({ lane = lane, place = place, name = ("limit %s %s"):format(place, id), holder = system.run_id(), rates = {} }, Shared)
  self.limits, self.first = limits, limits.requests and "requests" or limits.tokens and "tokens" or "calls"
  if not self.fiber or self.fiber:status() == "done" then
    self.fiber = fiber.outside(serve, self)
    self.fiber:serve()
    lane:share(self.fiber)
  end
  return self
end

return shared_limits
