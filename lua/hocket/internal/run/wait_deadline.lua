--- How long is awaited what somebody outside says.
---
---     the run may be put away (its option `park`)   until a time of day: it is put away until then, like one that waits without a
---                                                   limit, and continues with what was said or when the time has come
---     it may not                                    on the run's own clock, which stands still while nobody has it: in a game that
---                                                   is loaded a week later as much is left as there was
local effects = require "hocket.internal.base.effects"
local fiber = require "hocket.internal.core.fiber"
local kept = require "hocket.internal.core.kept"

local wait_deadline = {}

--- Seconds that are as good as no limit: a hundred years.
local FOR_EVER = 100 * 366 * 86400

---@class hocket.Patience
---@field package due? number On the run's clock; nil: there is no such limit.
---@field package time? number The same of a time of day.
local Patience = {}
Patience.__index = Patience

-- A whole millisecond, as clocks have it.
local function after(now, seconds)
  return math.ceil((now + seconds) * 1000) / 1000
end

local function may_be_put_away(run)
  return run.options.park == true
end

--- A wait begins, for so many seconds at most.
---@param run hocket.Run
---@param seconds? number
---@return hocket.Patience
function wait_deadline.new(run, seconds)
  local self = setmetatable({}, Patience)
  if not seconds or seconds > FOR_EVER then return self end
  if kept.wall() and effects.value("limit", {}, may_be_put_away, run) then
    self.time = after(kept.wall(), seconds)
  else
    self.due = after(fiber.now(), seconds)
  end
  return self
end

--- A time of day, so many seconds from now: to look again.
---@param seconds number
---@return number? time nil: this run is not kept.
function wait_deadline.later(seconds)
  return kept.wall() and after(kept.wall(), seconds)
end

--- Whether a time of day has come.
---@param time? number
---@return boolean
function wait_deadline.has_come(time)
  return time ~= nil and (kept.wall() or 0) >= time
end

function Patience:is_over()
  return self.due ~= nil and fiber.now() >= self.due or wait_deadline.has_come(self.time)
end

--- Waits until it is woken, its time is over, or `look` has come, for which a run that was put away stays so.
---@async
---@param look? number A time of day.
function Patience:wait(look)
  local left = self.due and math.max(0, self.due - fiber.now())
  local idle = look ~= nil and not (self.time and self.time <= look)
  local time = idle and look or self.time
  if time and not (left and left < time - kept.wall()) then
    fiber.park_until(time, idle)
  else
    fiber.park_for_program(left)
  end
end

return wait_deadline
