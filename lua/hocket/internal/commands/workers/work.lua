--- `hocket work`: does the runs that were submitted, as many at once as it may; and those that other workers have lost.
---
---     take_next ──> its files, its log ──> it goes on, as with `hocket resume` ──> its end is in the store
---         └─ none is due: half a second, or until the store tells of something new
---
---     run:answer("shutdown", seconds) ──> nothing more is taken; what is under way ends within so many seconds, and is kept;
---                                         then each run is given back, for another worker
local announced = require "hocket.internal.workers.announced"
local core = require "hocket.internal.core.runs"
local fiber = require "hocket.internal.core.fiber"
local firing = require "hocket.internal.schedule.firing"
local json = require "hocket.json"
local mail = require "hocket.internal.run.mail"
local runs = require "hocket.internal.run.run"
local store = require "hocket.internal.core.store"
local stored = require "hocket.internal.commands.stored"

--- Seconds between two looks for work, and while the store is away.
local LOOK, AWAY = 0.5, 1
--- Seconds without work for one who could not go on with a run: others may, and have the first go at what is queued.
local PAUSE = 1
--- Entries that each life of a run appends by itself; seconds after which a suspect is taken for harmless.
local OWN, PROOF = 2, 30
--- So many workers may be lost with a run one after the other, without its getting any further: from the second on it is
--- suspected, after the last one it has failed.
local SUSPECT, ATTEMPTS = 2, 5

--- Runs at once, unless said otherwise: they wait for models most of their time.
local RUNS = 8

local OPTIONS = json.encode { interactive = false, park = true }

-- ---- What it does ---------------------------------------------------------------------------------

-- The next worker would come no further.
local function give_up(self, row)
  local why = stored.put_off(row)
  local message = why and ("%d workers could not go on with it: %s"):format(row.attempts, why.why)
    or ("the worker's process ended %d times in the middle of this run, at the same place: it is not tried again"):format(row.attempts)
  local result = { run = row.id, ok = false, text = "", finish = "error", error = { code = why and why.code or "state", message = message } }
  local ok, err = store.finish(row.id, row.fence, "failed", json.encode(result))
  self:tell("run_ended", { id = row.id, target = row.target, code = ok and "failed" or err.code, message = ok and message or err.message, seconds = 0 })
end

-- One that two workers were lost with may take this one along, too, and what is at work beside it: until it has got further it
-- is the last that is taken. So of many that were lost together the one that did it is found, and the others are not blamed.
-- After one loss they are not held up: machines fail, and all that was lost with them is to go on at once.
local function prove(self)
  local one = self.suspect
  store.changed(LOOK)
  local row = self.at[one.number] and store.find(one.id)
  if not self.at[one.number] or row and row.last_n > one.last_n + OWN or fiber.now() > one.due then self.suspect = nil end
end

local function begin(self, row)
  if (row.attempts or 0) >= ATTEMPTS then return give_up(self, row) end
  local number, err = core.resume(row.id, OPTIONS, row.fence)
  if not number then
    store.finish(row.id, row.fence, "queued")
    self.pause = PAUSE
    return self:tell("run_ended", { id = row.id, target = row.target, code = err.code, message = err.message, seconds = 0, outcome = "put_off" })
  end
  if (row.attempts or 0) >= SUSPECT then self.suspect = { id = row.id, number = number, last_n = row.last_n or 0, due = fiber.now() + PROOF } end
  self.at[number], self.n = { id = row.id, target = row.target, since = fiber.now() }, self.n + 1
  self:tell("run_taken", { id = row.id, target = row.target, attempt = row.attempts, again = (row.last_n or 0) > 0 or nil,
    put_off = stored.put_off(row) ~= nil or nil })
end

-- Of one that did not end well: "failed"; "put_off": it is not over, this worker could not go on with it, and another one may;
-- "lost": another one has it. "given_back", as this worker ends.
local function outcome(self, one, code)
  if code == "parked" and self.stopping then return "given_back" end
  if code == "ok" or code == "parked" or code == "cancelled" then return nil end
  local row = store.find(one.id)
  if not row or row.state == "failed" then return "failed" end
  return stored.put_off(row) and "put_off" or "lost"
end

local function ended(self, number, code, message)
  local one = self.at[number]
  if not one then return end
  local seconds, what = fiber.now() - one.since, outcome(self, one, code)
  self.pause = what == "put_off" and PAUSE or self.pause
  self.at[number], self.n = nil, self.n - 1
  self:tell("run_ended", { id = one.id, target = one.target, code = code, message = message ~= "" and message or nil, seconds = seconds, outcome = what })
  self.main:wake()
end

local function hear_ends(self)
  while true do
    local number, code, message = core.ended()
    ended(self, number, code, message)
  end
end

-- ---- Looking for work ------------------------------------------------------------------------------

-- It is said once that the store is away, and once that it is back.
local function note_store(self, err)
  local away = err and err.message
  if (away ~= nil) == (self.away ~= nil) then return end
  self.away = away
  self:tell(away and "store_away" or "store_back", { message = away })
end

-- A run, if one is due and there is room for it.
local function take(self)
  mail.is_full = self.n >= self.max
  if self.suspect then return prove(self) end
  if self.pause then
    fiber.sleep(self.pause)
    self.pause = nil
    return
  end
  if self.n >= self.max then
    fiber.park_for_program()
    return
  end
  local row, err = store.take_next(self.pools)
  note_store(self, err)
  if row and self.stopping then return store.finish(row.id, row.fence, "queued") end
  if row then return begin(self, row) end
  if err then fiber.sleep(AWAY) else store.changed(LOOK) end
end

-- ---- Its end ----------------------------------------------------------------------------------------

local function each(self, fn)
  for number in pairs(self.at) do fn(number) end
end

local function put_away(number)
  if not core.park(number) then core.cancel(number) end
end

-- What is under way ends, and is kept; what takes longer is left as it is.
local function drain(self, grace)
  local due = fiber.now() + grace
  self:tell("draining", { runs = self.n })
  self.here:draining()
  each(self, function(number)
    if not core.drain(number) then put_away(number) end
  end)
  while self.n > 0 and fiber.now() < due do fiber.sleep(math.min(0.05, math.max(0.001, due - fiber.now()))) end
  each(self, put_away)
  while self.n > 0 do fiber.sleep(0.01) end
  self.here:stop()
end

local function hear_program(self, run)
  run.answer = function(_, question, text)
    if question ~= "shutdown" then return nil, { code = "not_found", message = "there is no such question" } end
    self.stopping = tonumber(text) or 0
    self.main:wake()
    return true
  end
end

---@async
---@param args {pools?: string[], runs?: integer}
---@param journal userdata
return function(args, journal, id)
  local names = args.pools and #args.pools > 0 and args.pools or { "default" }
  local self = { names = names, pools = table.concat(names, ","), max = args.runs or RUNS, at = {}, n = 0, main = fiber.self() }
  local ok, err = store.runs { limit = 1 } -- a store that cannot be used is said at once
  if not ok then return nil, err end
  local run = runs.new { journal = journal, id = id, options = {} }
  function self:tell(kind, what) run:emit(kind, what) end
  hear_program(self, run)
  self.here = announced.start { pools = names, runs = self.max }
  fiber.spawn(hear_ends, self):serve()
  local times = firing.start()
  self:tell("working", { pools = json.array(names), runs = self.max })
  while not self.stopping do take(self) end
  times:stop()
  drain(self, self.stopping)
  return { text = "" }
end
