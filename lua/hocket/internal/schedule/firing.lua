--- Who is there puts the runs of schedules that are due: `hocket work`, `hocket serve`. Any number of processes do so with one store. A schedule is
--- written with its next time in the same moment as its run is put, by whoever was first; the others lose that, and do nothing.
---
---     due ──> decide ──> item and run, at once ──> the run ends ──> noted; what failed is reported to its webhook
---
--- Only what is due is read, by the store's clock. One that cannot be run is noted with the reason, told, and tried again in an
--- hour; it stops no other. A process that may only read the store (the page, with a reader's role) leaves them to others.
local due = require "hocket.internal.schedule.due"
local ends = require "hocket.internal.run.ended"
local fiber = require "hocket.internal.core.fiber"
local json = require "hocket.json"
local notices = require "hocket.internal.schedule.notices"
local schedules = require "hocket.internal.schedule.schedules"
local store = require "hocket.internal.core.store"
local system = require "hocket.internal.core.system"
local truncate = require "hocket.internal.base.truncate"
local ping = require "hocket.internal.base.lazy" "hocket.internal.serve.ping"
local webhook = require "hocket.internal.base.lazy" "hocket.internal.serve.webhook"

local firing = {}

--- Seconds: between two looks at most, at least, and at least where one could not be written; until what cannot be run is tried again;
--- between two looks at all schedules.
local LOOK, SOON, LOST, AGAIN, ALL = 2, 0.05, 0.5, 3600, 3600
--- Schedules that are read at once; runs of one whose end is awaited.
local PAGE, MOST_OPEN = 100, 100
--- Bytes of an error's text.
local MAX_TEXT = 2000

local Firing = {}
Firing.__index = Firing

--- The store's clock.
function Firing:now_ms()
  return math.floor(self.wall() * 1000) + (self.ahead_ms or 0)
end

-- ---- Ends of its runs ---------------------------------------------------------------------------------

local ended = { done = true, failed = true, cancelled = true, removed = true }

local function why_failed(id)
  local result = json.decode(ends.result(id) or "")
  local message = type(result) == "table" and type(result.error) == "table" and result.error.message
  if type(message) == "string" then return truncate(message, MAX_TEXT, "…") end
end

-- Pings of a schedule that are sent when what they tell is written; whoever finds it written by another sends none.
local function note_ping(one, state, run)
  if not one.spec.ping then return end
  one.pings = one.pings or {}
  table.insert(one.pings, { state = state, run = run })
end

local function write(self, one, now, run)
  local ok, err = schedules.put(one, now, run)
  if not ok then return nil, err end
  for _, what in ipairs(one.pings or {}) do self.ping(one.spec.ping, what.state, { schedule = one.name, run = what.run }) end
  one.pings = nil
  return true
end

local ping_of = { done = "done", failed = "failed", cancelled = "failed" }

-- The ones that have ended, as they did; what is not in the store any more has ended as well.
local function settle(self, one)
  local spec, open = one.spec, {}
  for _, id in ipairs(spec.open) do
    local row, err = store.find(id)
    local state = row and row.state or err and err.code == "not_found" and "removed" or nil
    if not ended[state] then
      open[#open + 1] = id
    else
      if spec.last and spec.last.run == id then spec.last.state = state end
      if ping_of[state] then note_ping(one, ping_of[state], id) end
      if state == "failed" then
        spec.failed = (spec.failed or 0) + 1
        notices.add(one, { run = id, state = state, error = why_failed(id) }, self:now_ms())
      end
    end
  end
  spec.open = #open > 0 and open or json.array {}
end

-- ---- Its time -----------------------------------------------------------------------------------------------

local function cannot(self, one, message)
  local spec, now = one.spec, self:now_ms()
  if spec.problem ~= message then
    system.log("warn", ("schedule %s cannot be run: %s"):format(one.name, message))
    notices.add(one, { error = message }, now)
    note_ping(one, "failed")
  end
  spec.problem, spec.again_ms = message, now + AGAIN * 1000
  return write(self, one, now)
end

-- A clock that was ahead, and was put right: it is due by the clock as it is now.
local function is_ahead(spec, now)
  return spec.set_ms and spec.set_ms > now + 2 * due.LATE * 1000
end

local function tell_left_out(one, n)
  system.log("warn", ("schedule %s: %s%d times that were missed are left out: the last %d of them are made up for"):format(one.name, n >= due.COUNTED and "at least " or "", n, due.MOST))
end

local function put(self, one, what)
  local spec, now = one.spec, self:now_ms()
  local run = what.fire and schedules.run_of(one, what.fire * 1000, now)
  spec.skipped = (spec.skipped or 0) + (what.skipped or 0)
  spec.problem, spec.again_ms, spec.waiting, spec.next_ms = nil, nil, nil, what.next and what.next * 1000
  if run then note_ping(one, "start", run.id) end
  local ok, err = write(self, one, now, run)
  if ok and run then system.log("info", ("schedule %s: run %s"):format(one.name, run.id)) end
  if ok and what.left_out then tell_left_out(one, what.left_out) end
  return ok, err
end

-- What a store refuses for good is a problem of this schedule; what it refuses for now, or because another was faster, is not.
local function refused(self, one, err)
  if err.code == "state" or err.code == "not_found" or err.code == "denied" or err.retryable then return end
  local again = schedules.get(one.name)
  if again and not again.broken then cannot(self, again, err.message) end
end

local function fire(self, one)
  local spec, now = one.spec, self:now_ms()
  if not spec.next_ms then return put(self, one, {}) end -- it was tried again, and has no time
  local times, zone = schedules.times(one)
  if not times then return cannot(self, one, zone.message) end
  local what = due.decide(times, zone, spec, spec.next_ms, now, #spec.open > 0)
  if what.wait then
    spec.waiting, spec.problem, spec.again_ms = true, nil, nil
    return write(self, one, now)
  end
  if what.fire and #spec.open >= MOST_OPEN then what.fire, what.skipped = nil, what.skipped + 1 end
  local ok, err = put(self, one, what)
  if not ok then refused(self, one, err) end
  return ok, err
end

-- One due for whatever reason: its time, an end that is awaited, a webhook that is to be told.
local function look_at(self, one)
  if one.broken then return schedules.lay_aside(one) end
  local spec, now = one.spec, self:now_ms()
  local waited = #spec.open > 0
  if waited then settle(self, one) end
  local go, err = true, nil
  local at = spec.again_ms or spec.next_ms
  if at and at <= now then
    go, err = fire(self, one)
  elseif waited then
    go, err = write(self, one, now)
  end
  if go and #spec.notices > 0 then return notices.tell(self, one) end
  return go, err
end

-- Whether it was written, so that it is not due any more; else what the store says.
local function guarded(self, one)
  local ok, wrong, err = pcall(look_at, self, one)
  if ok then return wrong, err end
  if fiber.cancelled() then return end
  wrong = type(wrong) == "table" and wrong.message or tostring(wrong)
  system.log("error", ("schedule %s: %s"):format(one.name, wrong))
  local again = schedules.get(one.name)
  if again and not again.broken then pcall(cannot, self, again, wrong) end
end

-- ---- Looking -------------------------------------------------------------------------------------------------

-- So that two who look at the same moment do not come to each of them at the same moment, too.
local function shuffle(list)
  for i = #list, 2, -1 do
    local j = math.random(i)
    list[i], list[j] = list[j], list[i]
  end
  return list
end

local function put_right(self, one)
  if one.broken or not is_ahead(one.spec, self:now_ms()) then return end
  if schedules.plan(one, self:now_ms()) then schedules.put(one, self:now_ms()) end
end

-- All of them are checked in the beginning, each hour, and when this machine's clock was put back.
local function look_at_all(self)
  local went = fiber.now() - (self.monotonic or 0)
  local back = self.clock and self:now_ms() - self.clock < (went - due.LATE) * 1000
  self.clock, self.monotonic = self:now_ms(), fiber.now()
  if not back and self.all_at and fiber.now() < self.all_at + ALL then return end
  local list = schedules.all()
  if not list then return end
  self.all_at = fiber.now()
  for _, one in ipairs(list) do put_right(self, one) end
end

local function say_once(self, err)
  if err and err.code ~= self.said then system.log("warn", "schedules cannot be looked at: " .. err.message) end
  self.said = err and err.code
end

-- Others may; rights may be given.
local function leave(self, err)
  if not self.left then system.log("warn", "schedules are left to others, as this process may only read the store: " .. err.message) end
  self.left = true
  return AGAIN
end

--- One look at what is due.
---@async
---@return number seconds Until the next one.
function Firing:look()
  look_at_all(self)
  local list, more, now_ms = self.due(LOOK * 1000, PAGE)
  say_once(self, not list and more or nil)
  if not list then return LOOK end
  if now_ms then self.ahead_ms = now_ms - math.floor(self.wall() * 1000) end
  local last = list[#list]
  local soonest, least = more and last.due_ms <= self:now_ms() and 0 or LOOK, SOON
  for _, one in ipairs(shuffle(list)) do
    local ok, err = true, nil
    if one.due_ms <= self:now_ms() then ok, err = guarded(self, one) end
    if fiber.cancelled() then return 0 end
    if err and err.code == "denied" and not err.retryable then return leave(self, err) end
    if not ok then least = LOST end
    if one.due_ms > 0 then soonest = math.min(soonest, (one.due_ms - self:now_ms()) / 1000) end
  end
  return math.max(soonest, least)
end

--- Nothing is put any more.
function Firing:stop()
  self.fiber:cancel()
end

---@param options? {wall?: (fun(): number), due?: function, secret?: (fun(): string?, hocket.Error?), ping?: fun(url: string, state: string, data: table)} For tests.
---@return table firing
function firing.new(options)
  options = options or {}
  return setmetatable({ wall = options.wall or system.wall, due = options.due or schedules.due, secret = options.secret or function() return webhook.secret() end,
    ping = options.ping or function(...) ping.later(...) end, posting = { n = 0, of = {} } }, Firing)
end

--- Begins; it goes on until it is stopped, or the running fiber ends.
---@return table firing
function firing.start()
  local self = firing.new()
  self.fiber = fiber.spawn(function()
    while true do fiber.sleep(self:look() + math.random() * 0.2) end -- they do not all come at once
  end)
  self.fiber:serve()
  return self
end

return firing
