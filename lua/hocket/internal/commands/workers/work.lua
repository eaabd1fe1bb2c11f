--- `hocket work`: does the runs that were submitted, as many at once as it may; and the ones that other workers have lost.
---
---     take_several ──> files, log of each ──> it goes on, as with `hocket resume` ──> its end is in the store
---         └─ none is due: half a second, or until the store tells of something new
---
---     it has no limit ──> run_unlimited, when a model is asked the first time
---     the store is away ──> it is awaited, from the beginning on
---     run:answer("shutdown", seconds) ──> nothing more is taken; what is under way ends within so many seconds, and is kept;
---                                         then each run is given back, for another worker
local announced = require "hocket.internal.commands.workers.announced"
local cancel = require "hocket.internal.run.cancel"
local core = require "hocket.internal.core.runs"
local ends = require "hocket.internal.serve.ends"
local fiber = require "hocket.internal.core.fiber"
local flow = require "hocket.flow"
local fs = require "hocket.internal.core.fs"
local firing = require "hocket.internal.schedule.firing"
local json = require "hocket.json"
local retry = require "hocket.internal.pool.retry"
local rule_check = require "hocket.internal.session.rule_check"
local runs = require "hocket.internal.run.run"
local store = require "hocket.internal.core.store"
local stored = require "hocket.internal.commands.stored"
local unlimited = require "hocket.internal.agents.unlimited"
local wire = require "hocket.internal.pool.wire"

--- Seconds between two looks for work, and while the store is away.
local LOOK, AWAY = 0.5, 1
--- Seconds after which the worker reports that it waits for the store in the beginning.
local SLOW = 3
--- Seconds, after all of that, for runs to end, and for the store to say what became of them.
local ENDS, FAREWELL = 2, 1
--- Seconds without work for one who could not continue with a run: others may, and have the first go at what is queued.
local PAUSE = 1
--- Entries that each life of a run appends by itself; seconds after which a suspect is taken for harmless.
local OWN, PROOF = 2, 30
--- So many workers may be lost with a run one after the other, without its getting any further: from the second on it is
--- suspected, after the last one it has failed.
local SUSPECT, ATTEMPTS = 2, 5

--- Runs at once, unless said otherwise: they wait for models most of their time.
local RUNS = 8
--- So many are asked for at once at most.
local MOST = 16

-- ---- What it does ---------------------------------------------------------------------------------

-- The next worker would come no further. Its calls are ended before it is: whoever is lost in between does both again.
local function give_up(self, row)
  local why = stored.put_off(row)
  local message = why and ("%d workers could not go on with it: %s"):format(row.attempts, why.why)
    or ("the worker's process ended %d times in the middle of this run, at the same place: it is not tried again"):format(row.attempts)
  local result = { run = row.id, ok = false, text = "", finish = "error", error = { code = why and why.code or "state", message = message } }
  local ok, err = retry(cancel.calls, row.id)
  if ok then ok, err = store.finish(row.id, row.fence, "failed", json.encode(result)) end
  self:tell("run_ended", { id = row.id, target = row.target, code = ok and "failed" or err.code, message = ok and message or err.message, seconds = 0 })
end

-- One that two workers were lost with may take this one along, too, and what is at work beside it: until it has got further it
-- is the last that is taken. So of many that were lost together the one that did it is found, and the others are not blamed.
-- After one loss they are not held up: machines fail, and everything that was lost with them is to go on at once.
local function prove(self)
  local one = self.suspect
  store.changed(LOOK)
  local row = self.at[one.number] and store.find(one.id)
  if not self.at[one.number] or row and row.last_n > one.last_n + OWN or fiber.now() > one.due then self.suspect = nil end
end

local function begin(self, row)
  if (row.attempts or 0) >= ATTEMPTS then return give_up(self, row) end
  local number, err = core.resume(row.id, self.options, row.fence)
  if not number then
    store.finish(row.id, row.fence, "queued")
    self.pause = PAUSE
    return self:tell("run_ended", { id = row.id, target = row.target, code = err.code, message = err.message, seconds = 0, outcome = "put_off" })
  end
  if (row.attempts or 0) >= SUSPECT then self.suspect = { id = row.id, number = number, last_n = row.last_n or 0, due = fiber.now() + PROOF } end
  self.at[number], self.n, self.going = { id = row.id, target = row.target, since = fiber.now() }, self.n + 1, self.going + 1
  self:tell("run_taken", { id = row.id, target = row.target, attempt = row.attempts, again = (row.last_n or 0) > 0 or nil,
    put_off = stored.put_off(row) ~= nil or nil })
end

-- Of one that did not end well: "failed"; "put_off": it is not over, this worker could not continue with it, and another one may;
-- "lost": another one has it. "given_back", as this worker ends.
local function outcome(self, one, code)
  if code == "parked" and self.stopping then return "given_back" end
  if code == "ok" or code == "cancelled" then return nil end
  local row = store.find(one.id)
  if code == "parked" then return row and row.state ~= "queued" and row.state or nil end
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
  if self.at_work then self.at_work:wake() end
end

-- Each in a fiber of its own: the store, which is asked what became of it, may be away.
local function hear_ends(self)
  local heard <close> = ends.listen()
  while true do
    local number, code, message = heard:next()
    self.going = self.going - (self.at[number] and 1 or 0)
    fiber.spawn(ended, self, number, code, message):serve()
  end
end

-- ---- Looking for work ------------------------------------------------------------------------------

-- It is said once that the store is away, and once that it is back.
local function note_store(self, err)
  local away = err and err.message or nil
  if (away ~= nil) == (self.away ~= nil) then return end
  self.away = away
  self:tell(away and "store_away" or "store_back", { message = away })
end

-- Where little is queued it is taken one by one, so that other workers with room get as much. A worker that got all it asked for asks
-- for twice as many next: each question is a transaction of the store.
local function take_some(self)
  local most = math.min(self.asks, self.max - self.n, MOST)
  local rows, err = store.take_several(self.pools, most)
  self.asks = rows and #rows == most and 2 * most or 1
  return rows, err
end

-- What is not begun before this worker is to end it gives back.
local function begin_each(self, rows)
  local left = {}
  for _, row in ipairs(rows) do
    if self.stopping then left[#left + 1] = row else begin(self, row) end
  end
  flow.map(left, function(row) return store.finish(row.id, row.fence, "queued") end)
end

-- Runs, if some are due and there is room for them.
local function take(self)
  wire.is_full = self.n >= self.max
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
  local rows, err = take_some(self)
  self.refused = err and (err.code == "denied" and err or store.broken()) or nil
  if self.refused then return end
  note_store(self, err)
  if rows and #rows > 0 then return begin_each(self, rows) end
  if err then fiber.sleep(AWAY) else store.changed(LOOK) end
end

-- Runs would fail here for good that another worker, or this one when it is begun anew, can do.
local function has_folder()
  if fs.real "." then return true end
  return nil, { code = "not_found", message = "the folder that tools work in was removed: no run is taken any more" }
end

-- Until it is to end; what it returns is why it takes no more by itself.
local function look(self)
  local ok, err
  repeat
    ok, err = has_folder()
    if ok then take(self) end
    err = err or self.refused
  until err or self.stopping
  return ok, err
end

-- ---- Its end ----------------------------------------------------------------------------------------

local function each(self, fn)
  for number in pairs(self.at) do fn(number) end
end

local function put_away(number)
  if not core.park(number) then core.cancel(number) end
end

local function wait_for(self, what, due)
  while self[what] > 0 and fiber.now() < due do fiber.sleep(math.min(0.05, math.max(0.001, due - fiber.now()))) end
end

-- What is under way ends, and is kept; what takes longer is left as it is.
local function drain(self, grace)
  local due = fiber.now() + grace
  self:tell("draining", { runs = self.n })
  self.here:draining()
  each(self, function(number)
    if not core.drain(number) then put_away(number) end
  end)
  wait_for(self, "going", due)
  each(self, put_away)
  wait_for(self, "going", fiber.now() + ENDS) -- others end with the host
  wait_for(self, "n", fiber.now() + FAREWELL)
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

-- What fn(self) returns; nothing when the program wants to end before that. Then it goes on meanwhile: a run that it has just been given
-- it gives back.
local function until_stopped(self, fn)
  if self.stopping then return end
  local at_work = fiber.spawn(fn, self)
  self.at_work = at_work
  at_work:watch()
  while not self.stopping and at_work:status() ~= "done" do fiber.park_for_program() end
  at_work:unwatch()
  if not self.stopping then return at_work:wait() end
end

-- One away is awaited, from the beginning on; one that cannot be used is said at once.
local function reach(self)
  store.patient()
  local slow = fiber.spawn(function()
    fiber.sleep(SLOW)
    self:tell("store_awaited", {})
  end)
  local ok, err = store.runs { limit = 1 }
  slow:cancel()
  return ok, err
end

---@async
---@param args {pools?: string[], runs?: integer, trust?: boolean}
---@param journal userdata
return function(args, journal, id)
  local names = args.pools and #args.pools > 0 and args.pools or { "default" }
  local self = { names = names, pools = table.concat(names, ","), max = args.runs or RUNS, asks = 1, at = {}, n = 0, going = 0, main = fiber.self(),
    options = json.encode { interactive = false, park = true, consent = true, trust = args.trust == true } }
  local run = runs.new { journal = journal, id = id, options = {} }
  function self:tell(kind, what) run:emit(kind, what) end
  function unlimited.on_warning(of, message) self:tell("run_unlimited", { id = of, message = message }) end
  hear_program(self, run)
  require "hocket.internal.runner.builtins" -- the tools that rules name
  local wrong = rule_check.early {}
  if wrong then return nil, wrong end
  local ok, err = until_stopped(self, reach)
  if self.stopping then return { text = "" } end
  if not ok then return nil, err end
  self.here = announced.start { pools = names, runs = self.max }
  fiber.spawn(hear_ends, self):serve()
  local times = firing.start()
  self:tell("working", { pools = json.array(names), runs = self.max })
  local _, failed = until_stopped(self, look)
  times:stop()
  self.stopping = self.stopping or 0
  drain(self, self.stopping)
  if failed then return nil, failed end
  return { text = "" }
end
