--- Schedules as they stand in the store: items of the kind "schedule", by name. Each has everything that a run of it needs, and keeps the
--- files that travel with it.
local cron = require "hocket.internal.schedule.cron"
local due = require "hocket.internal.schedule.due"
local is_spec = require "hocket.internal.schedule.shape"
local json = require "hocket.json"
local proof = require "hocket.internal.run.proof"
local store = require "hocket.internal.core.store"
local system = require "hocket.internal.core.system"
local timezone = require "hocket.internal.base.timezone"
local failure = system.failure

local schedules = {}

local KIND = "schedule"

--- Milliseconds between two looks at a run that goes on, at least and at most: whose end somebody waits for, and others.
local WAITED, WAITED_MOST, OTHER, OTHER_MOST = 1000, 60000, 15000, 3600000

---@class hocket.Schedule
---@field name string
---@field version integer Of the item.
---@field due_ms integer When it is to be looked at; 0: not by time.
---@field generation? string
---@field spec table What is kept as JSON: cron, tz, missed, overlap, until_ms, paused, webhook, ping; target, input, options (JSON), pool, project; next_ms (its time; nil: none), again_ms (when it is tried again, after a problem), set_ms (when it was written), open (its runs that go on), waiting (its time has come, and its last run goes on), last, fired, failed, skipped, problem, notices.

schedules.failure = failure

-- ---- As it is kept -----------------------------------------------------------------------------------

local function of_row(row)
  local spec = json.decode(row.json)
  local self = { name = row.id, version = row.version, due_ms = row.due_ms or 0, generation = row.generation, spec = spec }
  if not is_spec(spec) then
    self.broken, self.raw = true, row.json
    self.spec = { problem = "what is kept of it cannot be read: remove it, and add it again" }
    return self
  end
  spec.open, spec.notices = spec.open or json.array {}, spec.notices or json.array {}
  return self
end

local function of_rows(rows)
  for i, row in ipairs(rows) do rows[i] = of_row(row) end
  return rows
end

local function sooner(a, b)
  return a and b and math.min(a, b) or a or b
end

-- A long run is checked seldom.
local function check_ms(spec, now_ms)
  local since = spec.last and spec.last.at_ms or now_ms
  local waited = spec.webhook or spec.ping or spec.waiting
  return now_ms + math.max(waited and WAITED or OTHER, math.min((now_ms - since) // 4, waited and WAITED_MOST or OTHER_MOST))
end

local function wake_ms(spec, now_ms)
  local at = spec.again_ms or not spec.waiting and spec.next_ms or nil
  for _, notice in ipairs(spec.notices) do at = sooner(at, notice.after_ms) end
  if #spec.open > 0 then at = sooner(at, check_ms(spec, now_ms)) end
  return at and math.max(at, 1) or 0
end

-- ---- Reading, writing --------------------------------------------------------------------------------

--- All, what is due first in front.
---@async
---@return hocket.Schedule[]?
---@return hocket.Error?
function schedules.all()
  local rows, err = store.items(KIND)
  if not rows then return nil, err end
  return of_rows(rows)
end

--- The ones that are due within so many milliseconds by the store's clock, `limit` at most; whether there are more; and what its clock says, when there is any.
---@async
---@return hocket.Schedule[]?
---@return boolean|hocket.Error
---@return integer? now_ms
function schedules.due(ahead_ms, limit)
  local rows, more = store.items_due(KIND, ahead_ms, limit)
  if not rows then return nil, more end
  local now_ms = rows[1] and rows[1].now_ms
  return of_rows(rows), more, now_ms
end

---@async
---@param name string
---@return hocket.Schedule?
---@return hocket.Error?
function schedules.get(name)
  local rows, err = store.items(KIND, name)
  if not rows then return nil, err end
  if not rows[1] then return failure("not_found", "there is no schedule '%s' ('hocket schedule list' lists them)", name) end
  return of_row(rows[1])
end

local function write(self, text, run, files)
  local version, err = store.item_put { kind = KIND, id = self.name, json = text, due_ms = self.due_ms, generation = self.generation,
    files = files, expected = self.version, run = run }
  if not version then return nil, err end
  self.version = version
  return true
end

--- Writes it as it is now, when nobody has written it since it was read: else "state". `run` is put in the same moment.
---@async
---@param self hocket.Schedule
---@param now_ms integer
---@param run? table
---@param files? table<string, string>
---@return boolean? written
---@return hocket.Error?
function schedules.put(self, now_ms, run, files)
  self.spec.set_ms, self.due_ms = now_ms, wake_ms(self.spec, now_ms)
  return write(self, json.encode(self.spec), run, files)
end

--- One that cannot be read stays as it is, and is due no more.
---@async
function schedules.lay_aside(self)
  self.due_ms = 0
  return write(self, self.raw)
end

---@async
function schedules.remove(name)
  return store.item_del(KIND, name)
end

--- Reads a schedule, has `change(schedule)` alter it and writes it, again where another was faster. False of `change`: nothing is to be written.
---@async
---@param name string
---@param now_ms integer
---@param change fun(self: hocket.Schedule): boolean?, hocket.Error?
---@return hocket.Schedule?
---@return hocket.Error?
function schedules.change(name, now_ms, change)
  for _ = 1, 20 do
    local self, err = schedules.get(name)
    if not self then return nil, err end
    if self.broken then return failure("state", "schedule '%s': %s", name, self.spec.problem) end
    local go, wrong = change(self)
    if go == nil then return nil, wrong end
    if go == false then return self end
    local ok
    ok, err = schedules.put(self, now_ms)
    if ok then return self end
    if err.code ~= "state" then return nil, err end
  end
  return failure("state", "schedule '%s' is changed by others all the time: try again", name)
end

--- Its times and its zone, as this machine knows them.
---@return hocket.CronTimes? times
---@return hocket.Zone|hocket.Error
function schedules.times(self)
  local times, err = cron.parse(self.spec.cron)
  if not times then return nil, err end
  local zone
  zone, err = timezone.open(self.spec.tz)
  if not zone then return nil, err end
  return times, zone
end

--- Its time is the next one from now on; none where it is paused.
---@return boolean?
---@return hocket.Error?
function schedules.plan(self, now_ms)
  local spec = self.spec
  spec.next_ms, spec.again_ms, spec.waiting, spec.problem = nil, nil, nil, nil
  if spec.paused then return true end
  local times, zone = schedules.times(self)
  if not times then return nil, zone end
  local at = due.from(times, zone, spec, now_ms)
  spec.next_ms = at and at * 1000
  return true
end

--- Under which its options have the mark of who has made it.
---@param name string
---@return string
function schedules.mark_of(name)
  return "schedule " .. name
end

--- A run of it for a planned time (nil: by hand), to be put with it.
---@return table
function schedules.run_of(self, planned_ms, now_ms)
  local spec, id = self.spec, system.run_id()
  table.insert(spec.open, id)
  spec.last = { run = id, planned_ms = planned_ms, at_ms = now_ms }
  spec.fired = (spec.fired or 0) + 1
  local as_made = { id = schedules.mark_of(self.name), target = spec.target, input = spec.input, options = spec.options }
  local options = proof.is_ours(as_made) and proof.mark(id, spec.target, spec.input, spec.options) or proof.plain(spec.options)
  return { id = id, target = spec.target, input = spec.input, options = options, pool = spec.pool, project = spec.project,
    generation = self.generation and id .. "," .. self.generation or id }
end

return schedules
