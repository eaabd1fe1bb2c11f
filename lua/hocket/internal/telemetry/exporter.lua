--- Sends one signal (traces, metrics or logs): a queue with limits, batches, and tries that end.
---
---     add ──> queue ──(a batch is full, or its time has come)──> POST ──> 2xx
---      └ full: dropped                                            ├ 429, 502, 503, 504, no connection: again, later
---                                                                  └ else, or too long: dropped, and counted
---
--- Nobody waits for it: it works in a fiber of its own, outside of all runs.
local caught = require "hocket.internal.base.caught"
local fiber = require "hocket.internal.core.fiber"
local http = require "hocket.http"
local json = require "hocket.json"
local otlp = require "hocket.internal.telemetry.otlp"
local system = require "hocket.internal.core.system"

local exporter = {}

--- Limits in bytes of waiting data, of a request, and of an answer. Seconds before the second try, doubled each time, and the
--- longest such pause. The longest pause in seconds that a collector may ask for.
local MAX_BYTES, MAX_BODY, MAX_ANSWER = 16 << 20, 4 << 20, 64 << 10
local FIRST_PAUSE, MOST_PAUSE, MOST_ASKED = 1, 8, 300

local again = { [429] = true, [502] = true, [503] = true, [504] = true }

---@class hocket.Exporter
---@field sent integer Items that were taken.
---@field dropped integer Items that nobody has got.
local Exporter = {}
Exporter.__index = Exporter

---@param signal "traces"|"metrics"|"logs"
---@param config hocket.TelemetrySettings
---@param on_drop fun(signal: string, n: integer)
---@return hocket.Exporter
function exporter.new(signal, config, on_drop)
  return setmetatable({
    signal = signal, to = config.signals[signal], queue = config.queues[signal], on_drop = on_drop, items = {}, bytes = 0, sent = 0, dropped = 0, said = {},
    shell = otlp.shell(signal, config.resource, system.version()),
  }, Exporter)
end

-- The first of a kind is said; a collector that is gone would fill the log otherwise.
local function say(self, kind, message)
  if self.said[kind] then return end
  self.said[kind] = true
  system.log("warn", ("telemetry: %s to %s: %s"):format(self.signal, self.to.url:gsub("%?.*", ""):gsub("//[^/@]*@", "//"), message))
end

local function drop(self, n, why)
  self.dropped = self.dropped + n
  self.on_drop(self.signal, n)
  say(self, "dropped", why .. "; what is dropped from now on is counted (hocket.telemetry.dropped), and not said again")
end

--- Takes an item. One that there is no room for is dropped.
---@param item string
function Exporter:add(item)
  if #self.items >= self.queue.size or self.bytes + #item > MAX_BYTES then return drop(self, 1, "more comes than can be sent: items are dropped") end
  self.items[#self.items + 1], self.bytes = item, self.bytes + #item
  if not self.due then self.due = fiber.now() + self.queue.delay end
  if self.sleeper and (#self.items == 1 or #self.items == self.queue.batch) then self.sleeper:wake() end
end

local function take_batch(self)
  local n, bytes = 0, 0
  while n < #self.items and n < self.queue.batch and (n == 0 or bytes + #self.items[n + 1] <= MAX_BODY) do
    n = n + 1
    bytes = bytes + #self.items[n]
  end
  local batch = table.move(self.items, 1, n, 1, {})
  self.items, self.bytes = table.move(self.items, n + 1, #self.items, 1, {}), self.bytes - bytes
  self.due = #self.items > 0 and fiber.now() + self.queue.delay or nil
  return batch
end

-- ---- One request ------------------------------------------------------------------------------------

-- Seconds after which it wants to be asked again; nil: it does not say.
local function asked_for(headers)
  local seconds = tonumber(headers["retry-after"])
  return seconds and seconds >= 0 and math.min(seconds, MOST_ASKED) or nil
end

local rejected = { traces = "rejectedSpans", metrics = "rejectedDataPoints", logs = "rejectedLogRecords" }

-- It was taken, but for what the answer says.
local function settle(self, n, body)
  local value = json.decode(body)
  local partial = type(value) == "table" and type(value.partialSuccess) == "table" and value.partialSuccess or {}
  local lost = math.tointeger(tonumber(partial[rejected[self.signal]] or 0)) or 0
  lost = math.max(0, math.min(lost, n))
  self.sent = self.sent + n - lost
  local words = type(partial.errorMessage) == "string" and partial.errorMessage:gsub("%c", " "):sub(1, 200) or ""
  if lost > 0 then drop(self, lost, ("%d of %d were refused: %s"):format(lost, n, words)) elseif words ~= "" then say(self, "partial", words) end
end

-- Returns whether it was taken; else why not, and whether and when it may be tried again.
local function post(self, body, n)
  local timeout = self.to.timeout
  if self.flush_until then timeout = math.max(0.05, math.min(timeout, self.flush_until - fiber.now())) end
  local answer, err = http.request { url = self.to.url, method = "POST", headers = self.to.headers, body = body, timeout = timeout, connect_timeout = math.min(timeout, 10), max_body = MAX_ANSWER }
  if not answer then return nil, err.message, err.code ~= "invalid" end
  if answer.status >= 200 and answer.status < 300 then
    settle(self, n, answer.body)
    return true
  end
  return nil, ("HTTP status %d"):format(answer.status), again[answer.status] or false, asked_for(answer.headers)
end

-- A random part, so that many do not come at once.
local function pause_of(tries, asked)
  if asked then return asked + math.random() end
  return math.min(FIRST_PAUSE * 2 ^ (tries - 1), MOST_PAUSE) * (0.5 + math.random() / 2)
end

-- Whether the program is about to end, and the rest is to be sent now.
local function is_flushed(self)
  if self.flush_for and not self.flush_until then self.flush_until = fiber.now() + self.flush_for end
  return self.flush_until ~= nil
end

local function sleep(self, seconds)
  self.sleeper = fiber.self()
  fiber.park(seconds)
  self.sleeper = nil
end

-- Until then, or until the program ends, which waits for nothing.
local function wait(self, seconds)
  local due = fiber.now() + seconds
  while fiber.now() < due and not is_flushed(self) do sleep(self, math.max(0, due - fiber.now())) end
end

local function send(self, batch)
  local body, began, tries = self.shell(batch), fiber.now(), 0
  while true do
    tries = tries + 1
    local went, ok, why, may_again, asked = pcall(post, self, body, #batch)
    if not went and fiber.cancelled() then error(ok, 0) end
    if not went then ok, why, may_again = nil, caught.error(ok).message, false end
    if ok then return end
    local pause = pause_of(tries, asked)
    local late = fiber.now() + pause > began + math.max(self.queue.patience, asked and asked + 2 or 0)
    if not may_again or late or is_flushed(self) then return drop(self, #batch, ("%s%s: dropped"):format(why, tries > 1 and (" (%d times)"):format(tries) or "")) end
    wait(self, pause)
  end
end

-- ---- Its life ---------------------------------------------------------------------------------------

local function wait_for_batch(self)
  while #self.items < self.queue.batch and not is_flushed(self) do
    local left = self.due and self.due - fiber.now()
    if left and left <= 0 then return end
    sleep(self, left)
  end
end

--- Sends until it was flushed.
---@async
function Exporter:run()
  while true do
    wait_for_batch(self)
    if is_flushed(self) and (#self.items == 0 or fiber.now() >= self.flush_until) then break end
    send(self, take_batch(self))
  end
  if #self.items > 0 then drop(self, #self.items, "the program ends before all was sent: dropped") end
  self.items, self.bytes = {}, 0
end

--- Sends what is left, for at most so many seconds, and ends.
---@param seconds number
function Exporter:flush(seconds)
  self.flush_for = seconds -- whoever says so may be in a run, which has a clock of its own
  if self.sleeper then self.sleeper:wake() end
end

return exporter
