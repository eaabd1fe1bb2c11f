--- `hocket wait`: what a run came to, once it has ended, whoever does it. `hocket cancel`: ends it for good, with what it has asked
--- others for.
local cancel = require "hocket.internal.run.cancel"
local ended = require "hocket.internal.run.ended"
local fiber = require "hocket.internal.core.fiber"
local json = require "hocket.json"
local outcome = require "hocket.internal.commands.workers.outcome"
local stored = require "hocket.internal.commands.stored"
local system = require "hocket.internal.core.system"

local commands = {}

--- Seconds between two looks.
local AGAIN = 0.2

local nobodys = { cut_off = "was cut off", forked = "has only been forked" }

local function result_of(row)
  local said, err = outcome(row, true)
  if not said then return nil, err end
  return { id = row.id, state = row.state, result = said.result, json = json.encode(said.result), output = said.output }
end

-- It waits for a person, and for how long nobody knows.
local function parked(row)
  return nil, { code = "parked", message = ("run %s waits for an answer"):format(row.id) }, { id = row.id, state = row.state, waiting_for = stored.asked(row) }
end

local function failed(found)
  local err = found.result.error
  if found.result.ok or type(err) ~= "table" then return found end
  return nil, { code = tostring(err.code), message = tostring(err.message) }, found
end

local function used_up(budget)
  return ("the budget of project %s (%s) is used up until %s"):format(budget.project, budget.limit, budget["until"])
end

-- For what it waits that nobody may do anything about, unless somebody says so.
local function why(row)
  local budget = stored.budget(row)
  if budget then return (", as %s"):format(used_up(budget)) end
  if stored.state(row) ~= "queued" then return "" end
  local put_off = stored.put_off(row)
  if put_off then return (", as no worker could go on with it: %s"):format(put_off.why) end
  return (" (hocket work --pool %s)"):format(row.pool)
end

local function warn(row, warned)
  local put_off, budget = stored.put_off(row), stored.budget(row)
  local why_not = put_off and put_off.why or budget and used_up(budget)
  if not why_not or why_not == warned then return warned end
  if put_off then
    system.log("warn", ("run %s is queued again, as a worker could not go on with it: %s"):format(row.id, why_not))
  else
    system.log("warn", ("run %s waits: %s (or: hocket budget set %s)"):format(row.id, why_not, budget.project))
  end
  return why_not
end

local function left(self)
  return self.due and self.due - fiber.now() or math.huge
end

-- A server that is away comes back: the run waits for it, too.
local function again(self, ask, ...)
  local told
  while true do
    local value, err, more = ask(...)
    if value or not (type(err) == "table" and err.retryable) or left(self) <= 0 then return value, err, more end
    if not told then system.log("warn", "the store cannot be asked, and is waited for: " .. err.message) end
    told = true
    fiber.sleep(math.max(0.01, math.min(AGAIN, left(self))))
  end
end

local function too_long(row, timeout)
  return nil, { code = "timeout", message = ("run %s is still %s after %g seconds%s"):format(row.id, stored.state(row), timeout, why(row)) },
    { id = row.id, state = stored.state(row), waiting_for = stored.open(row) }
end

-- What is to be said of it; false: it goes on.
local function look(self, row)
  if ended.states[row.state] then
    local found, err = again(self, result_of, row)
    if not found then return nil, err end
    return failed(found)
  end
  if row.state == "parked" then return parked(row) end
  local state = stored.state(row)
  if nobodys[state] then
    return stored.failure("state", "run %s %s, and nobody goes on with it by itself: hocket resume %s", row.id, nobodys[state], row.id)
  end
  if left(self) <= 0 then return too_long(row, self.timeout) end
  return false
end

---@async
---@param args {id: string, timeout?: number}
function commands.wait(args)
  local row, err = stored.named(args.id)
  local self = { timeout = args.timeout, due = args.timeout and fiber.now() + args.timeout }
  while row do
    self.warned = warn(row, self.warned)
    local value, wrong, more = look(self, row)
    if value ~= false then return value, wrong, more end
    fiber.sleep(math.max(0.01, math.min(AGAIN, left(self))))
    row, err = again(self, stored.find, row.id)
  end
  return nil, err
end

--- Seconds that a process that has it is given to say so.
local PATIENCE = 5

---@async
---@param args {id: string}
function commands.cancel(args)
  local row, err = stored.named(args.id)
  if not row then return nil, err end
  local how
  how, err = cancel.run(row.id)
  if not how then return nil, err end
  local due = fiber.now() + PATIENCE
  while how == "told" and fiber.now() < due do
    fiber.sleep(AGAIN / 2)
    row, err = stored.find(row.id)
    if not row then return nil, err end
    if ended.states[row.state] then how = row.state end
  end
  return { id = row.id, state = how == "told" and stored.state(row) or how, told = how == "told" or nil }
end

return commands
