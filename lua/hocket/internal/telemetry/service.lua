--- Telemetry of this host's runs, as OpenTelemetry has it. Loaded where somebody has asked for it, and nowhere else.
---
---     run ──records, notes──> a reader of its own (spans.lua) ──spans, logs──> exporters (exporter.lua) ──OTLP, JSON──> collector
---                                                              └──> metrics (metrics.lua) ──every minute──┘
---
--- Everything here works in fibers outside of the runs: one that stands still, or fails, is none of theirs.
local caught = require "hocket.internal.base.caught"
local exporters = require "hocket.internal.telemetry.exporter"
local fiber = require "hocket.internal.core.fiber"
local metrics = require "hocket.internal.telemetry.metrics"
local names = require "hocket.internal.telemetry.names"
local observers = require "hocket.internal.telemetry.observer"
local otlp = require "hocket.internal.telemetry.otlp"
local requests = require "hocket.internal.telemetry.requests"
local runs = require "hocket.internal.run.run"
local settings = require "hocket.internal.telemetry.settings"
local spans = require "hocket.internal.telemetry.spans"
local system = require "hocket.internal.core.system"
local trace = require "hocket.internal.telemetry.trace"
local tracing = require "hocket.internal.base.tracing"

local telemetry = {}
local opened -- of this Lua state

---@class hocket.Telemetry
---@field config hocket.TelemetrySettings
---@field exporters table<string, hocket.Exporter>
---@field package readers table<userdata, hocket.SpanReader>
local Telemetry = {}
Telemetry.__index = Telemetry

local function add_to(self, signal, item)
  local exporter = self.exporters[signal]
  if exporter then exporter:add(item) end
end

local function count_dropped(self, what, n)
  self.metrics:add("dropped", n, { self.sink.attributes.dropped_of, what })
end

local function sink_of(self)
  local config, limits = self.config, self.config.limits
  local span_writer = otlp.writer(limits.span_length, limits.span_count, config.secrets)
  local log_writer = otlp.writer(limits.log_length, limits.log_count, config.secrets)
  return {
    config = config, attributes = (names.of(config.latest)), metrics = self.metrics,
    span = function(span) if self.exporters.traces then add_to(self, "traces", span_writer:span(span)) end end,
    log = function(one) if self.exporters.logs then add_to(self, "logs", log_writer:log(one)) end end,
    lost = function(n) count_dropped(self, "events", n) end,
  }
end

-- The trace that a run is in, and its own span there.
local function context_of(self, run)
  local said = run.options.trace
  local parent = type(said) == "table" and trace.read(said.parent, said.state) or nil
  local id = parent and parent.id or trace.id_of(run.id)
  return { id = id, span = trace.span_of(run.id, "workflow", ""), parent = parent and parent.span, state = parent and parent.state, sampled = trace.sample(self.config.sampler, id, parent) }
end

local function read(self, reader, run, observer)
  local me = fiber.self()
  local over <close> = setmetatable({}, { __close = function() self.readers[me] = nil end })
  local ok, err = pcall(reader.run_through, reader)
  if ok then return end
  run.observer, observer.reader = nil, nil
  if fiber.cancelled() then error(err, 0) end
  system.log("error", "telemetry: " .. caught.error(err).message)
end

-- A replay of a recording is no news of anything.
local function follow(self, run)
  if not run.id or run.options.replay then return end
  local observer = observers.new(run, self.config, context_of(self, run))
  run.observer = observer
  local reader = spans.new(run, observer, self.sink)
  local at_work = fiber.outside(read, self, reader, run, observer)
  at_work:serve()
  self.readers[at_work] = reader
end

local function tell_metrics(self)
  local item = self.metrics:tell()
  if item then add_to(self, "metrics", item) end
end

local function keep_telling(self)
  while true do
    fiber.sleep(self.config.interval)
    tell_metrics(self)
  end
end

--- Begins: for the runs that begin from now on. nil without an error: nobody wants anything.
---@async
---@param variables? table<string, string>
---@return hocket.Telemetry?
---@return hocket.Error?
function telemetry.open(variables)
  if opened then return nil, system.error { code = "state", message = "telemetry runs already" } end
  local config, err, warnings = settings.read(variables)
  for _, text in ipairs(warnings or {}) do system.log("warn", "telemetry: " .. text) end
  if not config then return nil, err end
  local self = setmetatable({ config = config, exporters = {}, readers = {}, working = {}, metrics = metrics.new(config) }, Telemetry)
  for signal in pairs(config.signals) do
    local exporter = exporters.new(signal, config, function(what, n) count_dropped(self, what, n) end)
    self.exporters[signal] = exporter
    self.working[#self.working + 1] = fiber.outside(exporter.run, exporter)
    self.working[#self.working]:serve()
  end
  self.teller = fiber.outside(keep_telling, self)
  self.teller:serve()
  opened, self.sink = self, sink_of(self)
  runs.traces, tracing.begin = config.propagate, requests.beginner(self.sink)
  runs.on_begin(self, function(run)
    local ok, wrong = pcall(follow, self, run)
    if not ok then system.log("error", "telemetry: " .. caught.error(wrong).message) end
  end)
  return self
end

-- No run that begins from now on is reported.
local function hear_no_more(self)
  runs.on_begin(self, nil)
  opened, runs.traces, tracing.begin = nil, nil, nil
  self.teller:cancel()
end

--- Ends it at once; what was not sent is lost. After `close` it does nothing.
function Telemetry:abort()
  if opened ~= self then return end
  hear_no_more(self)
  for reader in pairs(self.readers) do reader:cancel() end
  for _, one in ipairs(self.working) do one:cancel() end
end

-- Until all was read that there is; operations of the host, and runs that go on, have no end here.
local function catch_up(self, due)
  local function is_behind()
    for _, reader in pairs(self.readers) do
      if reader:is_behind() then return true end
    end
    return false
  end
  while is_behind() and fiber.now() < due do fiber.sleep(0.002) end
end

--- Sends what is left, for at most so many seconds, and ends.
---@async
---@param seconds number
---@return {sent: table<string, integer>, dropped: table<string, integer>}
function Telemetry:close(seconds)
  local due = fiber.now() + seconds
  hear_no_more(self)
  catch_up(self, fiber.now() + seconds / 4)
  tell_metrics(self)
  for _, exporter in pairs(self.exporters) do exporter:flush(math.max(0, due - fiber.now())) end
  local sent, dropped = {}, {}
  for _, one in ipairs(self.working) do
    one:join(math.max(0.001, due - fiber.now()))
    one:cancel()
    one:join()
  end
  for reader in pairs(self.readers) do reader:cancel() end -- of runs that go on
  for signal, exporter in pairs(self.exporters) do sent[signal], dropped[signal] = exporter.sent, exporter.dropped end
  return { sent = sent, dropped = dropped }
end

--- The operation `telemetry`: the host's runs are reported to a collector, as the variables of OpenTelemetry say, until it is asked to end.
---
---     run:answer("flush", seconds) ──> {sent, dropped}       what is left is sent, for so long at most
---
--- The program starts it where a variable of OpenTelemetry is set; a program that embeds hocket where it wants it.
---@async
---@param args {variables?: table<string, string>} What counts instead of the host's variables.
---@param journal userdata
function telemetry.telemetry(args, journal, id)
  local run = runs.new { journal = journal, id = id, options = {} }
  local me, seconds = fiber.self(), nil
  run.answer = function(_, question, text)
    if question ~= "flush" then return nil, { code = "not_found", message = "there is no such question" } end
    seconds = tonumber(text) or 0
    me:wake()
    return true
  end
  local made, err = telemetry.open(args.variables)
  if not made then
    if err then return nil, err end
    return { text = "nothing is configured", on = false }
  end
  local closing <close> = setmetatable({}, { __close = function() made:abort() end }) -- where it was cancelled
  while not seconds do fiber.park_for_program() end
  local result = made:close(seconds)
  result.text, result.on = "", true
  return result
end

return telemetry
