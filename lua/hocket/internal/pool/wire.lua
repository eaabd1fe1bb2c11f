--- What one run and another say to each other: messages in the store, each known by an id, so that what is said twice is
--- noticed once. Both sides have it in their logs: sending is an effect, and what comes reaches a run as a signal does.
local idle_wait = require "hocket.internal.base.idle_wait"
local broker = require "hocket.broker"
local effects = require "hocket.internal.base.effects"
local fiber = require "hocket.internal.core.fiber"
local json = require "hocket.json"
local messages = require "hocket.internal.run.messages"
local origin = require "hocket.internal.run.origin"
local retry = require "hocket.internal.pool.retry"
local store = require "hocket.internal.core.store"
local system = require "hocket.internal.core.system"

local wire = {}

--- Seconds after which a run that waits may be put away until there is something for it. Before, it stays at hand: not for long
--- where it is in the way of others.
local AT_HAND, IN_THE_WAY = 1, 0.05

--- Whether this process does as many runs as it may: its worker says so.
wire.is_full = false

-- Said before, or said to somebody who does not hear any more: both are fine.
local heard = { exists = true, not_found = true }

-- `fields` are what the log knows it by.
local function post(from, to, id, said, fields, may)
  local function put()
    local allowed, why, nobody = may()
    if not allowed then return nil, why, nobody end
    local ok, err = retry(origin.put, to, id, said, from) -- nobody would say it again
    if ok or heard[err.code] then return true end
    return nil, err
  end
  return effects.run("message", fields, put)
end

--- Says something to another run, once.
---@async
---@param from hocket.Run
---@param to string The other one's id.
---@param about {name: string, id: string, as?: string} What that waits for; and of what is said, among everything that is said to that run. as: what both are in the log, where they have the name of a run that may be a fork.
---@param value any Data.
---@param may fun(): boolean?, hocket.Error?, boolean? Whether it is to be said: asked where it is not in the log yet. What it returns besides is returned.
---@return boolean? said
---@return hocket.Error?
---@return boolean? more
function wire.send(from, to, about, value, may)
  local said = json.encode { wish = "signal", name = about.name, value = value }
  local fields = { to = to, id = about.as or about.id, said = about.as and json.encode(value) or said }
  return post(from, to, about.id, said, fields, may)
end

--- Stops another run, as Run:stop does: each of its agents makes one more call at most.
---@async
---@param from hocket.Run
---@param to string
---@param may fun(): boolean?, hocket.Error? As for wire.send.
---@return boolean? said
---@return hocket.Error?
function wire.stop(from, to, may)
  local said = json.encode { wish = "stop" }
  return post(from, to, "stop", said, { to = to, id = "stop", said = said }, may)
end

-- Nothing came for as long as a run stays at hand.
local function look(taker, late)
  if not late then return nil end
  local value, seconds = late()
  if value ~= nil and not taker.came then taker.came, taker.value = true, value end
  return seconds and fiber.now() + seconds or nil
end

local function patience()
  return wire.is_full and IN_THE_WAY or AT_HAND
end

local function wait(taker, late)
  local due = fiber.now() + effects.value("patience", {}, patience)
  while not taker.came do
    local left = due and due - fiber.now()
    if left and left <= 0 then due = look(taker, late) else fiber.park_for_program(left) end
  end
end

--- Waits for what is said under a name: each message once, in their order.
---@async
---@param run hocket.Run
---@param name string
---@param late? fun(): any, number? Is called when it has waited for a second: what is to be taken in its place, or nil; and after how many more it is called again.
---@return any value
function wire.take(run, name, late)
  local self = messages.of(run)
  local first = messages.take(self, name)
  if first then return first.value end
  local taker = { name = name, fiber = fiber.self() }
  self.takers[name] = self.takers[name] or {}
  table.insert(self.takers[name], taker)
  local open <close> = setmetatable({}, { __close = function() messages.withdraw(self, taker) end })
  broker.shared():aside(idle_wait, "run", wait, taker, late)
  return taker.value
end

-- ---- Whose call a run is ---------------------------------------------------------------------------------------
-- Its row says so (`caller`). A fork has the log of its parent, and an imported copy has the log of the original. The calls in that
-- log belong to the original run, and only that run receives their results. A wait in a fork checks the row, and ends with the
-- message that it waits for nothing.

--- Seconds between two attempts to say something to a run whose log is not used up yet.
local AGAIN = 0.001

--- Whether there is a run `id`, and `caller` has called it.
---@async
---@param id string
---@param caller string
---@return boolean? is_so
---@return hocket.Error?
function wire.is_call_of(id, caller)
  local row, err = retry(store.find, id)
  if row then return row.caller == caller end
  if err.code == "not_found" then return false end
  return nil, err
end

local function watch(self, run, id, caller, name, value)
  local is_so, err = wire.is_call_of(id, caller)
  if is_so == nil then system.log("warn", ("run %s: whose call %s is cannot be read: %s"):format(run.id, id, err.message)) end
  if is_so ~= false then return end
  while not self.over and not run.journal:finished() do
    local ok, wrong = run:signal(name, value)
    if ok or wrong.code ~= "state" then return end
    fiber.sleep(AGAIN)
  end
end

--- Says `value` to the run under `name`, once its log is used up, if `id` is no call of `caller`: until the handle is closed.
--- Nothing of the looking is in its log, only what was said.
---@param run hocket.Run
---@param id string
---@param caller string
---@param name string
---@param value any Data.
---@return table handle To be closed.
function wire.watch_caller(run, id, caller, name, value)
  local self = {}
  local at_work = fiber.outside(watch, self, run, id, caller, name, value)
  at_work:serve()
  return setmetatable(self, { __close = function()
    self.over = true
    at_work:cancel()
  end })
end

return wire
