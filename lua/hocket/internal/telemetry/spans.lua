--- Makes spans, logs and metrics of one run: reads its records and its observer's notes in one order.
---
---     invoke_workflow                 the run; of a conversation each turn
---       └ invoke_agent                an agent at work, with the agents that it calls, or under the tool that called them
---           ├ chat                    a model call; each try of one that was tried again is a POST under it
---           ├ execute_tool            with what MCP says, where it went to a server
---           └ wait                    for a person, or a message
---
--- A span is reported when it ends. What ended in a former life of the run was reported then.
local fiber = require "hocket.internal.core.fiber"
local host = require "hocket.internal.core.host"
local isotime = require "hocket.internal.base.isotime"
local json = require "hocket.json"
local names = require "hocket.internal.telemetry.names"
local span_of = require "hocket.internal.telemetry.span"
local work = require "hocket.internal.telemetry.span_run"

local put, event, MAX_MESSAGE = span_of.put, span_of.event, span_of.MAX_MESSAGE

local spans = {}

-- By what a note says that it is.
local begins, ends = {}, {}
for _, kinds in ipairs { (require "hocket.internal.telemetry.span_agent"), (require "hocket.internal.telemetry.span_model") } do
  for what, fn in pairs(kinds.begins) do begins[what] = fn end
  for what, fn in pairs(kinds.ends) do ends[what] = fn end
end

---@class hocket.SpanReader
local Reader = {}
Reader.__index = Reader

---@param run hocket.Run
---@param observer hocket.Observer
---@param sink {config: hocket.TelemetrySettings, attributes: table<string, string|false>, span: fun(span: table), log: fun(one: table), metrics: hocket.Metrics, lost: fun(n: integer)}
---@return hocket.SpanReader
function spans.new(run, observer, sink)
  return setmetatable({
    run = run, observer = observer, sink = sink, context = observer.context, cursor = 0, open = {}, n_open = 0, waits = {}, turns = 0, of_host = host.told(run.journal) ~= nil, told = host.told(run.journal) or 0,
  }, Reader)
end

--- The span that stands for the run just now: a conversation has one for each turn.
---@param time number
---@return string
function Reader:root_at(time)
  if not self.root and self.run.options.conversation then work.begin_root(self, time) end
  return self.root and self.root.id or self.context.span
end

-- ---- Notes ------------------------------------------------------------------------------------------------------

local on_note = {}

function on_note.begin(self, note)
  note.parent = note.parent or self:root_at(note.time)
  begins[note.what](self, note)
end

on_note["end"] = function(self, note)
  local span = self.open[note.id]
  if span then ends[span.what](self, span, note) end
end

function on_note.attempt(self, note)
  local span = self.open[note.id]
  if span and #span.tries < 100 then span.tries[#span.tries + 1] = note end
end

function on_note.parked(self)
  self.parked = true
end

-- ---- Records that are reported as logs, and as events of the span of their agent ---------------------------------

local function members(self, record, known)
  local list = {}
  put(self, list, "run", self.run.id)
  for i = 2, #known do
    local value = record[known[i]]
    if type(value) == "string" or type(value) == "number" or type(value) == "boolean" then
      list[#list + 1] = names.OURS .. known[i]
      list[#list + 1] = value
    end
  end
  put(self, list, "agent", record.agent)
  return list
end

-- An error's own words are reported; what was said in a conversation is not.
local function words_of(record)
  local text = record.type == "model_retry" and record.error or record.message
  return type(text) == "string" and (record.type ~= "tool_denied") and text:sub(1, MAX_MESSAGE) or nil
end

-- Tells of one.
local function tell(self, record, time, known)
  local id = record.op and self.observer.agents[record.op]
  local span = id and self.open[id] or self.root
  local name, list = names.OURS .. record.type, members(self, record, known)
  event(self, span, name, time, list)
  self.sink.log { time = time, severity = known[1], name = name, body = words_of(record), attributes = list, trace = self.context.id, span = span and span.id, sampled = self.context.sampled }
end

-- ---- Records -----------------------------------------------------------------------------------------------------

local function take_record(self, line, seq)
  local kind = line:match '"type":"([%w_]+)"'
  local known, wait, wait_end = names.events[kind], names.waits[kind], names.waits_end[kind]
  if not (known or wait or wait_end or work.on[kind]) then return end
  local record, again = json.decode(line), seq <= self.told
  local time = (isotime.ms(record.time) or 0) / 1000
  if known and not again and not self.parked then tell(self, record, time, known) end
  if wait then work.begin_wait(self, record, time, wait) end
  if wait_end then work.end_wait(self, record, time, wait_end, again) end
  if work.on[kind] then work.on[kind](self, record, time, again) end
end

-- ---- Reading ------------------------------------------------------------------------------------------------------------

-- Whatever came first, of records and notes.
local function step(self)
  local line, seq, missed = self.run.journal:next(self.cursor)
  local note = self.observer:take(line and seq)
  if note then
    on_note[note.kind](self, note)
  elseif line then
    if missed and missed > 0 then self.sink.lost(missed) end
    self.cursor = seq
    take_record(self, line, seq)
  end
  return note ~= nil or line ~= nil
end

--- Whether there is something that it has not read.
---@return boolean
function Reader:is_behind()
  return self.run.journal:last() > self.cursor or self.observer.first <= self.observer.last
end

--- Reads until the run is over here.
---@async
function Reader:run_through()
  self.observer.reader = fiber.self()
  while true do
    while step(self) do fiber.rest() end
    if self.run.journal:finished() or self.parked then break end -- what it tells of its end here is not so
    self.run.journal:wait(self.cursor)
  end
  self.observer.reader = nil
  if self.observer.dropped > 0 then self.sink.lost(self.observer.dropped) end
end

return spans
