--- Waiting for what comes from outside of a run: messages by name, and times of day. See hocket.signal, hocket.sleep_until.
local idle_wait = require "hocket.internal.base.idle_wait"
local broker = require "hocket.broker"
local effects = require "hocket.internal.base.effects"
local fiber = require "hocket.internal.core.fiber"
local json = require "hocket.json"
local memory = require "hocket.internal.base.memory"
local messages = require "hocket.internal.run.messages"
local wait_deadline = require "hocket.internal.run.wait_deadline"
local runs = require "hocket.internal.run.run"
local failed = require("hocket.internal.core.system").error

local signals = {}

--- Seconds until the first look of who is not told, and the longest pause between two.
local FIRST, LONGEST = 0.25, 64

-- When it looks, and for how long it waits then.
local function look(taker, looks)
  local value = looks.fn()
  if value ~= nil and not taker.came then taker.came, taker.value = true, value end
  looks.pause = math.min((looks.pause or FIRST) * 2, LONGEST)
  looks.at = wait_deadline.later(looks.pause)
end

local function wait(taker, limit, looks)
  while not taker.came do
    if limit:is_over() then return end
    if looks and wait_deadline.has_come(looks.at) then
      look(taker, looks)
    else
      limit:wait(looks and looks.at)
    end
  end
end

-- Whoever shows the wait gets an event: nobody waits any more. A run that is parked keeps waiting.
local function withdraw(run, self, taker)
  taker.over = true
  messages.withdraw(self, taker)
  if taker.came or run.parked then return end
  run:emit("question_withdrawn", { id = taker.id }, nil, taker.op)
end

-- What a run that was forked from another remembers of the messages there.
local function recall(run, taker)
  local text = memory.signal(taker.name)
  if not text then return end
  local told = effects.is_replay() -- maybe: then its log says so
  memory.say(run, taker, function() return run:signal(taker.name, (json.decode(text))) end,
    function() return not told or not taker.came and not taker.over end)
end

local function wait_for(run, self, name, seconds, fn)
  self.asked = self.asked + 1
  local taker = { id = "s" .. self.asked, name = name, fiber = fiber.self(), op = runs.operation() }
  self.takers[name] = self.takers[name] or {}
  table.insert(self.takers[name], taker)
  local open <close> = setmetatable({}, { __close = function() withdraw(run, self, taker) end })
  local _, untold = run:emit("signal_requested", { id = taker.id, name = name }, nil, taker.op)
  if untold then return nil, untold end -- nobody would ever send it
  recall(run, taker)
  broker.shared():aside(wait, taker, wait_deadline.new(run, seconds), fn and { fn = fn, at = wait_deadline.later(FIRST) })
  if not taker.came then
    return nil, failed { code = "timeout", message = ("no signal '%s' within %g seconds"):format(name, seconds) }
  end
  run:emit("signal_received", { id = taker.id, name = name }, nil, taker.op)
  return taker.value
end

--- The same for one of the run's own parts.
---@async
---@param run hocket.Run
---@param name string
---@param seconds? number
---@param fn? fun(): any It may be that nobody says it: is called now and then, less and less often. What it returns is taken in its place; nil: nothing yet.
---@return any value
---@return hocket.Error?
function signals.take(run, name, seconds, fn)
  local self = messages.of(run)
  local message = messages.take(self, name)
  if not message then return wait_for(run, self, name, seconds, fn) end
  run:emit("signal_received", { name = name }, nil, runs.operation())
  return message.value
end

--- See hocket.signal.
---@async
function signals.wait(name, opts)
  local ok, wrong = messages.check_name(name)
  if not ok then error(("bad argument #1 to 'signal' (%s)"):format(wrong.message), 3) end
  local seconds
  for key, value in pairs(opts or {}) do
    if key ~= "timeout" then error(("unknown option '%s' for 'signal' (there is: timeout)"):format(tostring(key)), 3) end
    if type(value) ~= "number" or not (value >= 0) then error("bad option 'timeout' for 'signal' (seconds expected)", 3) end
    seconds = value
  end
  local run = runs.current() or error("there is no run here: signals are sent to a run", 3)
  return idle_wait("people", signals.take, run, name, seconds)
end

--- See hocket.sleep_until.
---@async
function signals.sleep_until(time)
  if type(time) ~= "number" or time ~= time then
    error(("bad argument #1 to 'sleep_until' (seconds since 1970 expected, got %s)"):format(type(time) == "number" and "no number" or type(time)), 3)
  end
  broker.shared():aside(fiber.sleep_until, math.max(-1e11, math.min(time, 1e11)))
end

return signals
