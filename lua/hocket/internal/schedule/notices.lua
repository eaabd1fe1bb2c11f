--- What a schedule's webhook is told: kept with the schedule until somebody has heard it, so that no end of a process loses it. Who posts one
--- writes before when another may try; what was heard a moment before a kill is told twice, with the same id.
local fiber = require "hocket.internal.core.fiber"
local schedules = require "hocket.internal.schedule.schedules"
local system = require "hocket.internal.core.system"
local webhook = require "hocket.internal.base.lazy" "hocket.internal.serve.webhook"

local notices = {}

--- Seconds: until a webhook is tried again the first time, at most, and after which it is not tried any more.
local FIRST, LATEST, LIFE = 10, 3600, 3 * 86400
--- What is to be told of one schedule; deliveries under way.
local MOST, AT_ONCE = 20, 8

--- Adds one to a schedule, which is to be written then.
---@param one hocket.Schedule
---@param data table
---@param now_ms integer
function notices.add(one, data, now_ms)
  local spec = one.spec
  if not spec.webhook then return end
  data.schedule = one.name
  if #spec.notices >= MOST then table.remove(spec.notices, 1) end
  table.insert(spec.notices, { id = "schedule_failed_" .. system.run_id(), body = webhook.body("schedule.failed", data), after_ms = now_ms, since_ms = now_ms, pause = FIRST })
end

local function drop(spec, id)
  for i, one in ipairs(spec.notices) do
    if one.id == id then return table.remove(spec.notices, i) ~= nil end
  end
  return false
end

local function deliver(self, one, what)
  local key, err = self.secret()
  local delivered, why, gone
  if key then delivered, why, gone = webhook.post(key, one.spec.webhook, what.id, what.body) else why = err.message end
  local given_up = not delivered and (gone or self:now_ms() - what.since_ms > LIFE * 1000)
  if not delivered then system.log("warn", ("schedule %s: the webhook was not told%s: %s"):format(one.name, given_up and ", and will not be" or "", why)) end
  if delivered or given_up then schedules.change(one.name, self:now_ms(), function(other) return drop(other.spec, what.id) end) end
end

-- The next that may be told now; it is another's after a pause.
local function take(self, one)
  local now = self:now_ms()
  for _, what in ipairs(one.spec.notices) do
    if what.after_ms <= now then
      what.after_ms, what.pause = now + what.pause * 1000, math.min(what.pause * 4, LATEST)
      return what
    end
  end
end

--- Has one of a schedule posted, in a fiber of its own: an address that does not answer delays nothing.
---@async
---@param self table The firing.
---@param one hocket.Schedule
---@return boolean written False: it is due still, as others are posted or another was faster.
function notices.tell(self, one)
  if (self.posting or 0) >= AT_ONCE then return false end
  local what = take(self, one)
  if not what then return true end
  if not schedules.put(one, self:now_ms()) then return false end
  self.posting = (self.posting or 0) + 1
  fiber.spawn(function()
    local over <close> = setmetatable({}, { __close = function() self.posting = self.posting - 1 end })
    deliver(self, one, what)
  end):serve()
  return true
end

return notices
