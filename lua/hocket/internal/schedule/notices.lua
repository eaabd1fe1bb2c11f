--- The notices for a schedule's webhook: kept with the schedule until they are received, so that no end of a process loses one. Whoever posts one
--- first writes when another may try; one received a moment before a kill is sent twice, with the same id. What is never sent is counted.
local fiber = require "hocket.internal.core.fiber"
local json = require "hocket.json"
local schedules = require "hocket.internal.schedule.schedules"
local system = require "hocket.internal.core.system"
local webhook = require "hocket.internal.base.lazy" "hocket.internal.serve.webhook"

local notices = {}

--- Seconds: until a webhook is tried again the first time, at most, and after which it is not tried any more.
local FIRST, LATEST, LIFE = 10, 3600, 3 * 86400
--- What is to be told of one schedule; deliveries under way.
local MOST, AT_ONCE = 20, 8
--- Milliseconds for which one is put off that found no place among those, the first time and at most.
local BUSY, BUSY_MOST = 1000, 60000

local function count_untold(one, n)
  one.spec.untold = (one.spec.untold or 0) + n
end

-- The oldest one makes room.
local function make_room(one)
  local list = one.spec.notices
  if #list < MOST then return end
  table.remove(list, 1)
  count_untold(one, 1)
  system.log("warn", ("schedule %s: the webhook takes nothing, and will never be told of %d failures"):format(one.name, one.spec.untold))
end

--- Adds one to a schedule, which is to be written then.
---@param one hocket.Schedule
---@param data table
---@param now_ms integer
function notices.add(one, data, now_ms)
  local spec = one.spec
  if not spec.webhook then return end
  make_room(one)
  data.schedule, data.untold = one.name, spec.untold
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
  if not delivered and not given_up then return end
  schedules.change(one.name, self:now_ms(), function(other)
    local there = drop(other.spec, what.id)
    if there and given_up then count_untold(other, 1) end
    return there
  end)
end

-- Puts off all notices of a schedule that are due: else the many that wait for addresses that hang would hold up the rest. `grows`: longer
-- each time.
local function put_off(self, one, grows)
  local now, any = self:now_ms(), false
  for _, what in ipairs(one.spec.notices) do
    if what.after_ms <= now then
      any, what.busy = true, grows and math.min((what.busy or BUSY // 2) * 2, BUSY_MOST) or what.busy
      what.after_ms = now + (grows and what.busy or BUSY) + math.random(BUSY)
    end
  end
  if not any then return true end
  return schedules.put(one, now)
end

-- The next that may be told now; it is another's after a pause, when this try is over.
local function take(self, one)
  local now = self:now_ms()
  for _, what in ipairs(one.spec.notices) do
    if what.after_ms <= now then
      what.after_ms, what.pause, what.busy = now + (webhook.TIMEOUT + what.pause) * 1000, math.min(what.pause * 4, LATEST), nil
      return what
    end
  end
end

-- One of each schedule at a time, so that one address that hangs does not hold up the others.
local function post(self, one, what)
  local posting = self.posting
  posting.n, posting.of[one.name] = posting.n + 1, true
  fiber.spawn(function()
    local over <close> = setmetatable({}, { __close = function() posting.n, posting.of[one.name] = posting.n - 1, nil end })
    deliver(self, one, what)
  end):serve()
end

--- Has one of a schedule posted, in a fiber of its own: an address that does not answer delays nothing.
---@async
---@param self table The firing.
---@param one hocket.Schedule
---@return boolean? written Nil: another was faster, or the store is away.
---@return hocket.Error?
function notices.tell(self, one)
  if not one.spec.webhook then
    one.spec.notices = json.array {}
    return schedules.put(one, self:now_ms())
  end
  if self.posting.of[one.name] then return put_off(self, one, false) end
  if self.posting.n >= AT_ONCE then return put_off(self, one, true) end
  local what = take(self, one)
  if not what then return true end
  local ok, err = schedules.put(one, self:now_ms())
  if not ok then return nil, err end
  post(self, one, what)
  return true
end

return notices
