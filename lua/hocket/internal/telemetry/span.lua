--- A span as all kinds are made: begun, given attributes, failed, ended. `self` is the reader of its run (spans.lua).
local json = require "hocket.json"
local names = require "hocket.internal.telemetry.names"

--- Spans of a run that go on at once; bytes of a message, and of content that is no span's attribute's concern any more.
local MAX_OPEN, MAX_MESSAGE = 10000, 1000
local ERROR = 2

local function put(self, list, key, value)
  local name = self.sink.attributes[key]
  if value == nil or value == json.null or not name then return end
  list[#list + 1] = name
  list[#list + 1] = value
end

local function begin(self, what, id, parent, from, title)
  if self.n_open >= MAX_OPEN then
    self.sink.lost(1)
    return nil
  end
  local kind = names.spans[what]
  local span = {
    what = what, trace = self.context.id, id = id, parent = parent, state = self.context.state, sampled = self.context.sampled, kind = kind[2], from = from, to = from,
    name = kind[1] and title and kind[1] .. " " .. title or kind[1] or title, attributes = {}, events = {}, dropped_events = 0, links = {},
  }
  self.open[id], self.n_open = span, self.n_open + 1
  put(self, span.attributes, "run", self.run.id)
  return span
end

-- Whoever called it was at work as long.
local function stretch(self, span)
  local above = self.open[span.parent]
  while above do
    above.to = math.max(above.to, span.to)
    above = self.open[above.parent]
  end
end

local function fail(self, span, code, message)
  if not code then return end
  span.status, span.message, span.error = ERROR, message and message:sub(1, MAX_MESSAGE), code
  put(self, span.attributes, "error_type", code)
end

-- again: it ended in a former life.
local function finish(self, span, to, again)
  self.open[span.id], self.n_open = nil, self.n_open - 1
  span.to = math.max(span.from, span.to, to)
  stretch(self, span)
  if again or self.parked then return end
  if self.context.sampled then self.sink.span(span) end
end

local function event(self, span, name, time, attributes)
  if not span then return end
  local most = self.sink.config.limits.events
  if #span.events >= most then
    span.dropped_events = span.dropped_events + 1
    return
  end
  span.events[#span.events + 1] = { name = name, time = time, attributes = attributes }
end

-- What is still open below a span that ends was cut off with it.
local function close_below(self, id, to, again)
  for _, span in pairs(self.open) do
    if span.parent == id then
      close_below(self, span.id, to, again)
      if self.open[span.id] then
        fail(self, span, "cancelled")
        finish(self, span, to, again)
      end
    end
  end
end

local function measure(self, key, span, more)
  local list = {}
  put(self, list, "operation", names.spans[span.what][1] or nil)
  for i = 1, #more, 2 do put(self, list, more[i], more[i + 1]) end
  put(self, list, "error_type", span.error)
  self.sink.metrics:add(key, span.to - span.from, list)
end

return { MAX_MESSAGE = MAX_MESSAGE, put = put, begin = begin, fail = fail, finish = finish, event = event, close_below = close_below, measure = measure }
