--- Waiting for what comes from outside of a run: messages by name, and times of day. See hocket.signal, hocket.sleep_until.
local broker = require "hocket.broker"
local effects = require "hocket.internal.base.effects"
local fiber = require "hocket.internal.core.fiber"
local json = require "hocket.json"
local memory = require "hocket.internal.base.memory"
local messages = require "hocket.internal.run.messages"
local runs = require "hocket.internal.run.run"
local failed = require("hocket.internal.core.system").error

local signals = {}

local function wait(taker, due)
  while not taker.came do
    local left = due and due - fiber.now()
    if left and left <= 0 then return end
    fiber.park_for_program(left)
  end
end

-- Who shows what is waited for is told that nobody waits any more. A run that is parked waits on.
local function withdraw(run, self, taker)
  if taker.came or run.parked then return end
  for i, one in ipairs(self.takers[taker.name]) do
    if one == taker then table.remove(self.takers[taker.name], i) end
  end
  run:emit("question_withdrawn", { id = taker.id }, nil, taker.op)
end

-- What a run that was forked from another remembers of the messages there.
local function recall(run, name)
  local text = memory.signal(name)
  if text and not effects.is_replay() then memory.say(run, function() return run:signal(name, (json.decode(text))) end) end
end

local function wait_for(run, self, name, seconds)
  self.asked = self.asked + 1
  local taker = { id = "s" .. self.asked, name = name, fiber = fiber.self(), op = runs.operation() }
  self.takers[name] = self.takers[name] or {}
  table.insert(self.takers[name], taker)
  local open <close> = setmetatable({}, { __close = function() withdraw(run, self, taker) end })
  local _, untold = run:emit("signal_requested", { id = taker.id, name = name }, nil, taker.op)
  if untold then return nil, untold end -- nobody would ever send it
  recall(run, name)
  broker.shared():aside(wait, taker, seconds and fiber.now() + seconds)
  if not taker.came then
    return nil, failed { code = "timeout", message = ("no signal '%s' within %g seconds"):format(name, seconds) }
  end
  run:emit("signal_received", { id = taker.id, name = name }, nil, taker.op)
  return taker.value
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
  local self = messages.of(run)
  local message = messages.take(self, name)
  if not message then return wait_for(run, self, name, seconds) end
  run:emit("signal_received", { name = name }, nil, runs.operation())
  return message.value
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
