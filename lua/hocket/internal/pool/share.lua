--- What a call in a pool may use of the limits of those above it. It is set aside piece by piece, as the call asks for it, since nobody
--- here sees what it uses meanwhile; what it has not used is for others again when it has ended.
---
---     begins ─> a piece of each limit ─> asks for more ─> a piece, or as much as it needs, as far as there is so much
---                                                   └─> nothing is left ─> waits for calls beside it to give theirs back
---
--- A call of which all others wait gets nothing, and comes to its end: so they never wait for each other. One waits, too, while a tool
--- that it has of its caller makes a call that waits; and while such a tool does not end, since that may wait for any of them.
local account = require "hocket.internal.models.account"
local idle_wait = require "hocket.internal.base.idle_wait"
local broker = require "hocket.broker"
local fiber = require "hocket.internal.core.fiber"
local messages = require "hocket.internal.run.messages"

local share = {}

local kinds = { "turns", "tool_calls", "tokens", "cost" }

--- What is given at once: this part of what is left.
local PART = 8

--- Seconds that a caller's tool takes at most as a rule: what takes longer counts as one that waits.
local LATE = 2

local function piece(kind, left, wanted)
  local part = kind == "cost" and left / PART or (left + PART - 1) // PART
  return math.min(left, math.max(part, wanted))
end

---@class hocket.Lending
---@field run hocket.Run
---@field id integer The account of the call.
---@field unknown? boolean Nobody hears what it has used.
---@field own table<string, boolean> Kinds that its own limits are of, which are set aside already.
---@field child? string The run that does the call.
---@field above? hocket.Lending The call whose caller's tool has made this one.
---@field borrowed table<string, number> What is set aside for that one because of this one.
---@field asks integer Who waits for more of it, of the ones that its tools have made as well.
---@field tools table<table, number> Tools of its caller that are under way: since when.
local Lending = {}
Lending.__index = Lending

-- One that a tool of another call has made gets nothing of what that one has, which counts on it elsewhere: it is set aside for
-- both, unless a limit between them has nothing left.
local function lend_above(self, kind, wanted)
  local accounts, above = self.run.accounts, self.above
  local own = above and not above.own[kind] and accounts:left(above.id, kind)
  if not own or own > 0 and accounts:above(self.id, kind) <= 0 then return nil end
  local given = above:lend(kind, wanted)
  self.borrowed[kind] = (self.borrowed[kind] or 0) + (given or 0)
  return given
end

-- Returns to the account above what it set aside for this call and this call has not used. That one returns it to its own.
local function give_back(self, kind, amount)
  amount = math.min(amount, self.borrowed[kind] or 0)
  if amount <= 0 or self.above.over then return end
  self.borrowed[kind] = self.borrowed[kind] - amount
  self.run.accounts:take_back(self.above.id, kind, amount)
  give_back(self.above, kind, amount)
end

-- A piece of what those above have left; nil: there is no limit.
function Lending:lend(kind, wanted)
  local accounts = self.run.accounts
  local given = not self.own[kind] and lend_above(self, kind, wanted)
  local left = not self.own[kind] and accounts:above(self.id, kind)
  if not left then return nil end
  local amount = math.min(piece(kind, left, wanted), given or left)
  accounts:lend(self.id, { [kind] = amount })
  if given and self.above then give_back(self, kind, given - amount) end
  return amount
end

-- The call whose caller's tool makes this one.
local function call_above(step)
  local above = step.above
  while above and (not above.lending or above.lending.over) do above = above.above end
  return above and above.lending
end

--- The first pieces for a call.
---@param step hocket.Step
---@param id integer Its account.
---@param own hocket.Budget? Its own limits.
---@return hocket.Lending
---@return table? limits Its limits, for the run that it is.
function share.begin(step, id, own)
  local run = step.run
  local self = setmetatable({ run = run, id = id, own = {}, above = call_above(step), borrowed = {}, asks = 0, tools = {} }, Lending)
  step.lending, run.lendings = self, run.lendings or {}
  table.insert(run.lendings, self)
  local limits = { warn_at = 0, seconds = run.accounts:time(id) }
  for _, kind in ipairs(kinds) do
    self.own[kind] = own ~= nil and own[kind] ~= nil
    self:lend(kind, 0)
    limits[kind] = run.accounts:left(id, kind)
  end
  local is_limited = limits.seconds or limits.turns or limits.tool_calls or limits.tokens or limits.cost
  return self, is_limited and limits or nil
end

-- ---- More -----------------------------------------------------------------------------------------

local function ask(self, more)
  while self do
    self.asks, self = self.asks + more, self.above
  end
end

-- When it counts as one that waits; nil: it is at work.
local function waits_from(self)
  if self.asks > 0 then return 0 end
  local first
  for _, since in pairs(self.tools) do first = math.min(first or since, since) end
  return first and first + LATE
end

-- How long it is worth waiting until a call gives something back; nil: it is at work, and tells; 0: all wait, for this one among others.
local function patience(run)
  local longest = 0
  for _, call in ipairs(run.lendings) do
    local from = waits_from(call)
    if not from then return nil end
    longest = math.max(longest, from - fiber.now())
  end
  return longest
end

-- Until there may be more; false: there never will.
local function wait(run)
  local seconds = patience(run)
  if seconds and seconds <= 0 then return false end
  table.insert(run.waiting, fiber.self())
  broker.shared():aside(idle_wait, "run", fiber.park_for_program, seconds)
  return true
end

--- More of a kind, when there is more.
---@async
---@param kind any
---@param wanted any At least, if there is so much.
---@return number amount 0: no more.
function Lending:more(kind, wanted)
  local run = self.run
  if type(wanted) ~= "number" or not (wanted >= 0 and wanted < 1e15) then wanted = 0 end
  if kind ~= "cost" then wanted = math.ceil(wanted) end
  ask(self, 1)
  local asked <close> = setmetatable({}, { __close = function() ask(self, -1) end })
  while not self.over do
    local amount = self:lend(kind, wanted)
    if not amount or amount > 0 then return amount or 0 end
    local again = run.more and run.more(kind, wanted) or wait(run) -- of the ones that called this run
    if not again then return 0 end
  end
  return 0
end

local function close_tool(self)
  self.call.tools[self] = nil
end

--- A tool of its caller's is under way for the call, until the handle is closed.
---@return table handle To be closed.
function Lending:tool()
  local at = setmetatable({ call = self }, { __close = close_tool })
  self.tools[at] = fiber.now()
  account.wake(self.run) -- the ones who wait for what it may give back
  return at
end

--- The run has to stop: whoever waits for the call passes that on.
function Lending:stop()
  if self.child then messages.poke(self.run, "run " .. self.child) end
end

local function remove(list, what)
  for i, one in ipairs(list) do
    if one == what then return table.remove(list, i) end
  end
end

local function take_back(self, kind)
  local accounts = self.run.accounts
  local unused = accounts:left(self.id, kind)
  accounts:take_back(self.id, kind)
  if unused and self.above then give_back(self, kind, unused) end
end

--- The call has ended.
function Lending:close()
  if self.over then return end
  self.over = true
  remove(self.run.lendings, self)
  for _, kind in ipairs(kinds) do
    -- What a call has used that nobody waited for is not known here: everything that it was given counts as used.
    if not self.own[kind] and not self.unknown then take_back(self, kind) end
  end
  account.wake(self.run)
end

Lending.__close = Lending.close

share.kinds = { turns = true, tool_calls = true, tokens = true, cost = true }

return share
