--- What a call in a pool may use of the limits of those above it. It is set aside piece by piece, as the call asks for it, since nobody
--- here sees what it uses meanwhile; what it has not used is for others again when it has ended.
---
---     begins ─> a piece of each limit ─> asks for more ─> a piece, or as much as it needs, as far as there is so much
---                                                   └─> nothing is left ─> waits for calls beside it to give theirs back
---
--- A call of which all others wait gets nothing, and comes to its end: so they never wait for each other.
local account = require "hocket.internal.models.account"
local broker = require "hocket.broker"
local fiber = require "hocket.internal.core.fiber"

local pool_share = {}

local kinds = { "turns", "tool_calls", "tokens", "cost" }

--- What is given at once: this part of what is left.
local PART = 8

local function piece(kind, left, wanted)
  local part = kind == "cost" and left / PART or (left + PART - 1) // PART
  return math.min(left, math.max(part, wanted))
end

---@class hocket.Lending
---@field run hocket.Run
---@field id integer The account of the call.
---@field unknown? boolean Nobody hears what it has used.
---@field own table<string, boolean> Kinds that its own limits are of, which are set aside already.
local Lending = {}
Lending.__index = Lending

local function lend(self, kind, wanted)
  local left = not self.own[kind] and self.run.accounts:above(self.id, kind)
  if not left then return nil end
  local amount = piece(kind, left, wanted)
  self.run.accounts:lend(self.id, { [kind] = amount })
  return amount
end

--- The first pieces for a call.
---@param run hocket.Run
---@param id integer Its account.
---@param own hocket.Budget? Its own limits.
---@return hocket.Lending
---@return table? share Its limits, for the run that it is.
function pool_share.begin(run, id, own)
  local self = setmetatable({ run = run, id = id, own = {} }, Lending)
  run.lending = run.lending or { calls = 0, waiting = 0 }
  run.lending.calls = run.lending.calls + 1
  local share = { warn_at = 0, seconds = run.accounts:time(id) }
  for _, kind in ipairs(kinds) do
    self.own[kind] = own ~= nil and own[kind] ~= nil
    lend(self, kind, 0)
    share[kind] = run.accounts:left(id, kind)
  end
  local is_limited = share.seconds or share.turns or share.tool_calls or share.tokens or share.cost
  return self, is_limited and share or nil
end

local function wait(lending)
  lending.waiting = lending.waiting + 1
  local over <close> = setmetatable({}, { __close = function() lending.waiting = lending.waiting - 1 end })
  fiber.park_for_program()
end

--- More of a kind, when there is more.
---@async
---@param kind any
---@param wanted any At least, if there is so much.
---@return number amount 0: no more.
function Lending:more(kind, wanted)
  local run, lending = self.run, self.run.lending
  if type(wanted) ~= "number" or not (wanted >= 0 and wanted < 1e15) then wanted = 0 end
  if kind ~= "cost" then wanted = math.ceil(wanted) end
  while not self.over do
    local amount = lend(self, kind, wanted)
    if not amount or amount > 0 then return amount or 0 end
    if run.more and run.more(kind, wanted) then goto again end -- of those that called this run
    if lending.waiting + 1 >= lending.calls then return 0 end
    table.insert(run.waiting, fiber.self())
    broker.shared():aside(wait, lending)
    ::again::
  end
  return 0
end

--- The call has ended.
function Lending:close()
  if self.over then return end
  self.over = true
  self.run.lending.calls = self.run.lending.calls - 1
  for _, kind in ipairs(kinds) do
    -- What a call has used that nobody waited for is not known here: all that it was given counts as used.
    if not self.own[kind] and not self.unknown then self.run.accounts:take_back(self.id, kind) end
  end
  account.wake(self.run)
end

Lending.__close = Lending.close

pool_share.kinds = { turns = true, tool_calls = true, tokens = true, cost = true }

return pool_share
