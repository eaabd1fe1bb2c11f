--- What clients' tokens use: their rate, and their money of a day (UTC).
---
--- A run begins with what is left of its token's day as its budget, so that one run never exceeds it. Several at once are checked
--- every second, and stopped when the day is spent: together they can exceed it by the calls that were under way then. What was used
--- stands beside the tokens, a file for each server process, so that a restart gives nothing back:
---
---     STATE/serve-tokens/ID.SERVER.used     {"day":"2026-11-29","cost":1.25}
local account = require "hocket.internal.models.account"
local client_tokens = require "hocket.internal.serve.client_tokens"
local fiber = require "hocket.internal.core.fiber"
local system = require "hocket.internal.core.system"

local token_spending = {}

---@class hocket.TokenSpending
local Spending = {}
Spending.__index = Spending

---@param desk hocket.Desk
---@return hocket.TokenSpending
function token_spending.new(desk)
  local self = setmetatable({ desk = desk, server = system.token(12), used = {}, rates = {} }, Spending)
  desk:on_end(function(run) self:note(run) end)
  return self
end

-- ---- Rates -------------------------------------------------------------------------------------------

--- A turn of a token: nil and an error where it has had too many.
---@param token hocket.ClientToken
---@return boolean?
---@return hocket.Error?
function Spending:take_turn(token)
  local rate, now = token.rate, fiber.now()
  if not rate then return true end
  local one = self.rates[token.id] or { left = rate.n, at = now }
  self.rates[token.id] = one
  one.left, one.at = math.min(rate.n, one.left + (now - one.at) * rate.n / rate.seconds), now
  if one.left >= 1 then
    one.left = one.left - 1
    return true
  end
  return nil, { code = "limit", message = ("the rate of this token is used up: %d in %g seconds"):format(rate.n, rate.seconds), retry_after = (1 - one.left) * rate.seconds / rate.n }
end

-- ---- Money -------------------------------------------------------------------------------------------

local function today()
  return os.date("!%Y-%m-%d", math.floor(system.wall()))
end

local function own(self, id)
  local one, day = self.used[id], today()
  if not one or one.day ~= day then
    one = { day = day, cost = 0, others = client_tokens.spent(id, day, self.server) }
    self.used[id] = one
  end
  return one
end

-- What a token has left today; nil: it has no budget.
local function left(self, token)
  if not token.budget then return nil end
  local one = own(self, token.id)
  one.others = client_tokens.spent(token.id, one.day, self.server)
  return token.budget - one.cost - one.others
end

local function spent(token)
  local now = math.floor(system.wall())
  return nil, { code = "budget", status = 429, message = ("the budget of this token for today is used up: %g USD"):format(token.budget), retry_after = 86400 - now % 86400 }
end

--- Options of a run that a token begins, or continues with: its budget is what is left.
---@param token hocket.ClientToken
---@param options? table
---@param already? number What the run has cost before.
---@return table? options
---@return hocket.Error?
function Spending:within(token, options, already)
  local rest = left(self, token)
  if not rest then return options or {} end
  if rest <= 0 then return spent(token) end
  local copy = {}
  for name, value in pairs(options or {}) do copy[name] = value end
  local budget, wrong = account.of({ cost = rest + (already or 0) }, copy.budget)
  if wrong then return nil, { code = "invalid", message = "budget: " .. wrong } end
  copy.budget = budget
  return copy
end

local function cost_of(run)
  local usage = run.run and run.run:usage()
  local cost = usage and (usage.cost_known or usage.cost)
  return type(cost) == "number" and cost or 0
end

--- Counts what a run has cost since it was looked at last.
---@param run hocket.DeskRun
function Spending:note(run)
  if not run.token then return end
  local cost, before = cost_of(run), run.noted or run.cost_before or 0
  if cost <= before then return end
  run.noted = cost
  local one = own(self, run.token)
  one.cost = one.cost + cost - before
  one.changed = true
end

local function write(self, id, one)
  if not one.changed then return end
  local ok, err = client_tokens.note(id, self.server, one.day, one.cost)
  one.changed = not ok or nil
  if not ok then system.log("warn", ("what the token %s has used today is not kept: %s"):format(id, err.message)) end
end

-- Looks at all runs, and stops those whose token has spent its day.
local function look(self)
  for _, run in ipairs(self.desk:all()) do
    self:note(run)
    local one = run.limits and run.limits.budget and self.used[run.token]
    if one and not run.stopped and one.cost + one.others >= run.limits.budget then
      run.stopped = true
      run:stop()
    end
  end
  for id, one in pairs(self.used) do write(self, id, one) end
end

--- Looks at them until the running fiber ends.
---@async
function Spending:watch()
  while true do
    fiber.sleep(1)
    look(self)
  end
end

--- What is not written yet.
function Spending:close() look(self) end

return token_spending
