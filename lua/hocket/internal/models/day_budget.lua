--- What a project may use in a day, whoever does its runs: a row of the store for each day and kind, from which every model call draws.
---
---     hold ──> what the call may need is lent, for LEASE seconds at most ──> the call ──> settle: what it used is spent, the rest is back
---      ├────> others hold what is left: wait for one of their calls to end
---      └────> nothing is left: `budget`, with when the next day begins (`resumes_at`)
---
--- It is part of a call's effect, so that a replay draws nothing. What a process that was killed held is back when its lease is over. The
--- limits stand in the store as items of the kind "project", so that all go by the same.
local account = require "hocket.internal.models.account"
local accounts = require "hocket.internal.core.account"
local fiber = require "hocket.internal.core.fiber"
local json = require "hocket.json"
local store = require "hocket.internal.core.store"
local system = require "hocket.internal.core.system"
local timezone = require "hocket.internal.base.lazy" "hocket.internal.base.timezone"

local day_budget = {}

--- What is limited, in the order in which it is drawn. Money is drawn in such parts of a dollar.
day_budget.KINDS = { "calls", "tokens", "cost" }
day_budget.PARTS = 10000000

--- Seconds: that a call may have what it holds without a word; that limits are believed; between two tries while others hold what is left.
local LEASE, FRESH, FIRST_TRY, LAST_TRY = 900, 2, 0.05, 2
--- Tokens of an answer that nothing limits, and what cannot be drawn at once.
local ANSWER, MOST = 1024, 1 << 42
local DAY = 86400

---@class hocket.DayBudget
---@field cost? number USD
---@field tokens? integer
---@field calls? integer
---@field tz string

-- ---- What exists ------------------------------------------------------------------------------

local known = {}

local function read(text)
  local spec = json.decode(text)
  if type(spec) ~= "table" then return nil end
  for _, kind in ipairs(day_budget.KINDS) do
    local value = spec[kind]
    if value ~= nil and (type(value) ~= "number" or not (value >= 0)) then return nil end
  end
  return type(spec.tz) == "string" and spec or nil
end

--- The limits of a project, as they stand in the store; nil: none.
---@async
---@param project string
---@return hocket.DayBudget?
---@return hocket.Error?
function day_budget.of(project)
  local rows, err = store.items("project", project)
  if not rows then return nil, err end
  if not rows[1] then return nil end
  local spec = read(rows[1].json)
  if spec then return spec end
  return nil, system.error { code = "invalid", message = ("the budget of project %s cannot be read: set it again (hocket budget set %s)"):format(project, project) }
end

local function is_fresh(one)
  return one ~= nil and fiber.now() < one.at + FRESH
end

local function limits_of(project)
  local one = known[project]
  if is_fresh(one) then return one.spec end
  local spec, err = day_budget.of(project)
  if err then return nil, err end
  known[project] = { spec = spec, at = fiber.now() }
  return spec
end

--- The project's day at a moment: its name, and when the next one begins, in seconds since 1970.
---@param spec hocket.DayBudget
---@param now integer
---@return string? date
---@return integer|hocket.Error next_day
function day_budget.day(spec, now)
  local zone, err = timezone.open(spec.tz)
  if not zone then return nil, err end
  local offset = zone:at(now)
  local days = (now + offset) // DAY
  local begins = (days + 1) * DAY - offset
  begins = (days + 1) * DAY - (zone:at(begins))
  while (begins + (zone:at(begins))) // DAY <= days do begins = begins + 900 end -- clocks that are changed at midnight
  return ("%04d-%02d-%02d"):format(timezone.date(days)), begins
end

--- A limit as it is drawn.
---@param kind string
---@param value number
---@return integer
function day_budget.units(kind, value)
  return math.min(math.ceil(kind == "cost" and value * day_budget.PARTS or value), MOST)
end

---@param project string
---@param date string
---@param kind string
---@return string
function day_budget.row(project, date, kind)
  return ("day %s %s %s"):format(project, date, kind)
end

-- ---- A call ------------------------------------------------------------------------------------------

local function amount(kind, units)
  if kind == "cost" then return ("%.10g USD"):format(units / day_budget.PARTS) end
  return ("%d %s"):format(units, kind)
end

local function refused(self, kind, limit, left)
  local zone = timezone.open(self.spec.tz)
  local resumes = zone:text(self.next_day) .. " " .. zone.name
  return system.error { code = "budget", kind = kind, project = self.project, resumes_at = self.next_day, resumes = resumes,
    message = ("the budget of project %s for %s is used up: %s, %s left; it goes on at %s (or: hocket budget set %s)"):format(
      self.project, self.date, amount(kind, limit), amount(kind, math.max(left, 0)), resumes, self.project) }
end

-- What a call may need, and what it needs at least: its question.
local function needs(kind, tokens, request, price_in, price_out)
  local answer = request.max_tokens or ANSWER
  if kind == "calls" then return 1, 1 end
  if kind == "tokens" then return tokens + answer, tokens + 1 end
  local of_million = day_budget.PARTS / 1000000
  local least = math.ceil(tokens * price_in * of_million)
  return least + math.ceil(answer * price_out * of_million), least
end

-- A store that is away for a moment is awaited, as the run's log is. It may have done what it was asked.
local function patient(ask, what)
  local pause = FIRST_TRY
  while true do
    local answer, err = ask(what)
    if answer or not err or not err.retryable then return answer, err end
    if type(what) == "table" then what.again = true end
    fiber.sleep(pause)
    pause = math.min(pause * 2, LAST_TRY)
  end
end

local function draw(self, kind, spec)
  spec.name, spec.holder, spec.capacity = day_budget.row(self.project, self.date, kind), self.id, day_budget.units(kind, self.spec[kind])
  return patient(store.draw, spec)
end

-- Waits until the amount is granted, or until nobody holds anything to give back.
local function lend(self, kind, want, least)
  local pause = FIRST_TRY
  want, least = math.min(want, MOST), math.max(math.min(least, MOST), 1)
  while true do
    local drawn, err = draw(self, kind, { want = math.max(want, least), least = least, lease_ms = LEASE * 1000 })
    if not drawn then return nil, err end
    if drawn.granted > 0 then
      self.held[#self.held + 1] = kind
      return true
    end
    local limit = day_budget.units(kind, self.spec[kind])
    local all
    all, err = patient(store.draw, { name = day_budget.row(self.project, self.date, kind), capacity = limit })
    if not all then return nil, err end
    if all.level < least then return nil, refused(self, kind, limit, all.level) end
    fiber.sleep(pause * (0.75 + math.random() / 2))
    pause = math.min(pause * 2, LAST_TRY)
  end
end

---@class hocket.DayHold
local Hold = {}
Hold.__index = Hold

local function give_back(self, used)
  for _, kind in ipairs(self.held) do
    local ok, err = draw(self, kind, { want = 0, lease_ms = 1, spent = used and used[kind] or 0 })
    if not ok then system.log("warn", ("what a call has used is not counted for project %s: %s"):format(self.project, err.message)) end
  end
  self.held = {}
end

-- A fiber that is cancelled waits for nothing any more: then others do that.
local function end_with(self, used)
  if #self.held == 0 then return end
  if not fiber.cancelled() then return give_back(self, used) end
  local copy = setmetatable({ held = self.held }, { __index = self })
  self.held = {}
  fiber.outside(give_back, copy, used):serve()
end

--- What the call has used is spent, the rest is others' again.
---@async
---@param counted? string As call:counted() gives it; nil: nothing.
function Hold:settle(counted)
  local sums = accounts.new()
  if counted then sums:count(account.ROOT, counted) end
  local usage = sums:usage(account.ROOT)
  local cost = type(usage.cost) == "number" and usage.cost or usage.cost_known or 0
  end_with(self, { calls = usage.calls, tokens = usage.input + usage.output, cost = day_budget.units("cost", cost) })
end

Hold.__close = function(self) end_with(self) end

local function begin(self, model, history, request)
  local tokens = account.tokens_of(history, request)
  local price_in, price_out = account.rates(model, tokens)
  if self.spec.cost and not price_in then return nil, account.unpriced(model) end
  for _, kind in ipairs(day_budget.KINDS) do
    if self.spec[kind] then
      local ok, err = lend(self, kind, needs(kind, tokens, request, price_in, price_out))
      if not ok then return nil, err end
    end
  end
  return self
end

local function try(project, model, history, request)
  local spec, err = patient(limits_of, project)
  if not spec then return nil, err end
  local self = setmetatable({ project = project, spec = spec, id = system.run_id(), held = {} }, Hold)
  self.date, self.next_day = day_budget.day(spec, math.floor(system.wall()))
  if not self.date then return nil, self.next_day end
  local held
  local given_back <close> = setmetatable({}, { __close = function() -- also when it is cancelled while it waits
    if not held then end_with(self) end
  end })
  held, err = begin(self, model, history, request)
  return held, err
end

--- Holds what a call may need of its project's day. Nothing where the project has no budget. Nobody is refused by limits that were
--- changed meanwhile.
---@async
---@param project string
---@param model string "provider/model"
---@param history hocket.History
---@param request table
---@return hocket.DayHold? hold To be settled, or closed.
---@return hocket.Error?
function day_budget.hold(project, model, history, request)
  local believed = is_fresh(known[project])
  local held, err = try(project, model, history, request)
  if held or not believed or not (err and err.resumes_at) then return held, err end
  known[project] = nil
  return try(project, model, history, request)
end

return day_budget
