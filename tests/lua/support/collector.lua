--- A collector of OpenTelemetry for tests: takes OTLP in JSON, and holds every request against the protobuf definitions
--- (opentelemetry-proto 1.x, trace, metrics and logs, and how the specification of OTLP maps them to JSON).
---
---     local collector <close> = collectors.open()                      collector.url
---     local collector <close> = collectors.open(function(n, request) return 503 end)      what the n-th is answered with
---     collector:spans(), collector:logs(), collector:metrics()          what came, attributes as tables
local fiber = require "hocket.internal.core.fiber"
local json = require "hocket.json"
local listeners = require "hocket.internal.core.server"

local collectors = {}

-- ---- The definitions ---------------------------------------------------------------------------------

-- A type is a name below, a list of one, or a table of members. Members that are not named are wrong.
local types, messages = {}, {}

local function hex(n)
  return function(v) return type(v) == "string" and #v == n and v:find "^[0-9a-f]+$" ~= nil and v:find "[1-9a-f]" ~= nil end
end

local function unsigned(v) return type(v) == "string" and v:find "^%d+$" ~= nil and #v <= 20 end

types.trace_id, types.span_id, types.fixed64 = hex(32), hex(16), unsigned
types.int64 = function(v) return type(v) == "string" and v:find "^%-?%d+$" ~= nil and math.tointeger(tonumber(v)) ~= nil end
types.uint32 = function(v) return math.type(v) == "integer" and v >= 0 and v < 1 << 32 end
types.double = function(v) return type(v) == "number" or v == "NaN" or v == "Infinity" or v == "-Infinity" end
types.string = function(v) return type(v) == "string" and utf8.len(v) ~= nil end
types.bool = function(v) return type(v) == "boolean" end

local function enum(least, most)
  return function(v) return math.type(v) == "integer" and v >= least and v <= most end
end

messages.AnyValue = { stringValue = "string", boolValue = "bool", intValue = "int64", doubleValue = "double", arrayValue = "ArrayValue", kvlistValue = "KeyValueList" }
messages.ArrayValue = { values = { "AnyValue" } }
messages.KeyValueList = { values = { "KeyValue" } }
messages.KeyValue = { key = "string", value = "AnyValue" }
messages.Resource = { attributes = { "KeyValue" }, droppedAttributesCount = "uint32" }
messages.Scope = { name = "string", version = "string", attributes = { "KeyValue" }, droppedAttributesCount = "uint32" }
types.SpanKind, types.StatusCode, types.Severity, types.Temporality = enum(1, 5), enum(1, 2), enum(1, 24), enum(1, 2)
messages.Status = { message = "string", code = "StatusCode" }
messages.Event = { timeUnixNano = "fixed64", name = "string", attributes = { "KeyValue" }, droppedAttributesCount = "uint32" }
messages.Link = { traceId = "trace_id", spanId = "span_id", traceState = "string", attributes = { "KeyValue" }, droppedAttributesCount = "uint32", flags = "uint32" }
messages.Span = {
  traceId = "trace_id", spanId = "span_id", parentSpanId = "span_id", traceState = "string", flags = "uint32", name = "string", kind = "SpanKind", startTimeUnixNano = "fixed64",
  endTimeUnixNano = "fixed64", attributes = { "KeyValue" }, droppedAttributesCount = "uint32", events = { "Event" }, droppedEventsCount = "uint32", links = { "Link" },
  droppedLinksCount = "uint32", status = "Status",
}
messages.LogRecord = {
  timeUnixNano = "fixed64", observedTimeUnixNano = "fixed64", severityNumber = "Severity", severityText = "string", body = "AnyValue", attributes = { "KeyValue" },
  droppedAttributesCount = "uint32", flags = "uint32", traceId = "trace_id", spanId = "span_id", eventName = "string",
}
messages.NumberPoint = { attributes = { "KeyValue" }, startTimeUnixNano = "fixed64", timeUnixNano = "fixed64", asDouble = "double", asInt = "int64", flags = "uint32" }
messages.HistogramPoint = {
  attributes = { "KeyValue" }, startTimeUnixNano = "fixed64", timeUnixNano = "fixed64", count = "fixed64", sum = "double", bucketCounts = { "fixed64" },
  explicitBounds = { "double" }, flags = "uint32", min = "double", max = "double",
}
messages.Sum = { dataPoints = { "NumberPoint" }, aggregationTemporality = "Temporality", isMonotonic = "bool" }
messages.Histogram = { dataPoints = { "HistogramPoint" }, aggregationTemporality = "Temporality" }
messages.Metric = { name = "string", description = "string", unit = "string", sum = "Sum", histogram = "Histogram" }

for signal, item in pairs { Spans = "Span", Metrics = "Metric", Logs = "LogRecord" } do
  local list = signal == "Logs" and "logRecords" or signal:lower()
  messages["Scope" .. signal] = { scope = "Scope", [list] = { item }, schemaUrl = "string" }
  messages["Resource" .. signal] = { resource = "Resource", ["scope" .. signal] = { "Scope" .. signal }, schemaUrl = "string" }
  messages["Export" .. signal] = { ["resource" .. signal] = { "Resource" .. signal } }
end

-- Members that make no sense when they are left out.
local required = {
  Span = { "traceId", "spanId", "name", "kind", "startTimeUnixNano", "endTimeUnixNano" }, KeyValue = { "key", "value" }, Metric = { "name", "unit" },
  LogRecord = { "timeUnixNano", "severityNumber", "eventName" }, ResourceSpans = { "resource", "scopeSpans" }, ResourceLogs = { "resource", "scopeLogs" },
  ResourceMetrics = { "resource", "scopeMetrics" }, ScopeSpans = { "scope" }, ScopeLogs = { "scope" }, ScopeMetrics = { "scope" }, Link = { "traceId", "spanId" },
  HistogramPoint = { "count", "sum", "timeUnixNano" }, NumberPoint = { "timeUnixNano" },
}

local check

local function check_message(name, value, at)
  if type(value) ~= "table" then error(("%s is no %s: %s"):format(at, name, tostring(value)), 0) end
  for key, inner in pairs(value) do
    local of = messages[name][key] or error(("%s.%s: a %s has no such member"):format(at, tostring(key), name), 0)
    check(of, inner, at .. "." .. key)
  end
  for _, key in ipairs(required[name] or {}) do
    if value[key] == nil then error(("%s: a %s needs '%s'"):format(at, name, key), 0) end
  end
end

local function check_keys(list, at)
  local seen = {}
  for _, one in ipairs(list) do
    if seen[one.key] then error(("%s: the key %s stands there twice"):format(at, one.key), 0) end
    seen[one.key] = true
  end
end

function check(of, value, at)
  if type(of) == "table" then
    if type(value) ~= "table" or not json.is_array(value) then error(at .. " is no list", 0) end
    for i, one in ipairs(value) do check(of[1], one, ("%s[%d]"):format(at, i)) end
    if of[1] == "KeyValue" then check_keys(value, at) end
  elseif messages[of] then
    check_message(of, value, at)
  elseif not types[of](value) then
    error(("%s is no %s: %s"):format(at, of, tostring(value)), 0)
  end
end

local paths = { ["/v1/traces"] = "ExportSpans", ["/v1/metrics"] = "ExportMetrics", ["/v1/logs"] = "ExportLogs" }

local function check_request(request, value)
  if request.method ~= "POST" or request.headers["content-type"] ~= "application/json" then error("no POST of JSON", 0) end
  check(paths[request.path] or error("a request to " .. request.path, 0), value, request.path)
end

-- ---- The collector --------------------------------------------------------------------------------------

local Collector = {}
Collector.__index = Collector

local function take(self, request)
  local value = json.decode(request.body)
  local ok, wrong = pcall(check_request, request, value)
  if not ok then self.wrong[#self.wrong + 1] = wrong end
  self.requests[#self.requests + 1] = { path = request.path, headers = request.headers, body = request.body, value = value, at = fiber.now() }
  local status, headers, body = 200, {}, "{}"
  if self.answer then
    local s, h, b = self.answer(#self.requests, request)
    status, headers, body = s or status, h or headers, b or body
  end
  if status == "hang" then return end
  headers["content-type"] = "application/json"
  if status >= 200 and status < 300 then self.taken[#self.taken + 1] = { path = request.path, value = value } end
  self.listener:respond(request.id, status, headers, body)
end

--- `answer(n, request)` gives status ("hang": none at all), headers, body.
function collectors.open(answer)
  local listener = assert(listeners.new { port = 0 })
  local self = setmetatable({ listener = listener, url = ("http://127.0.0.1:%d"):format(listener:port()), answer = answer, requests = {}, taken = {}, wrong = {} }, Collector)
  self.fiber = fiber.detach(function()
    while true do
      local request = listener:accept()
      if not request then return end
      take(self, request)
    end
  end)
  self.fiber:serve()
  return self
end

local function plain(value)
  local _, inner = next(value)
  if value.arrayValue then
    local list = {}
    for i, one in ipairs(inner.values) do list[i] = plain(one) end
    return list
  end
  return value.intValue and math.tointeger(tonumber(inner)) or inner
end

local function flat(one)
  local attributes = {}
  for _, pair in ipairs(one.attributes or {}) do attributes[pair.key] = plain(pair.value) end
  one.of = attributes
  for _, name in ipairs { "events", "links" } do
    for _, inner in ipairs(one[name] or {}) do flat(inner) end
  end
  return one
end

local function items(self, path, resource, scope, list)
  local all = {}
  for _, request in ipairs(self.taken) do
    for _, of_resource in ipairs(request.path == path and request.value[resource] or {}) do
      for _, of_scope in ipairs(of_resource[scope]) do
        for _, one in ipairs(of_scope[list]) do all[#all + 1] = flat(one) end
      end
    end
  end
  return all
end

--- Spans that were taken, `of` being their attributes; each id once.
function Collector:spans()
  local list, seen = items(self, "/v1/traces", "resourceSpans", "scopeSpans", "spans"), {}
  for _, span in ipairs(list) do
    if seen[span.spanId] then error("the span " .. span.name .. " was told twice", 2) end
    seen[span.spanId] = span
  end
  return list, seen
end

function Collector:logs() return items(self, "/v1/logs", "resourceLogs", "scopeLogs", "logRecords") end

--- The points of the newest telling, by the metric's name.
function Collector:metrics()
  local all = {}
  for _, metric in ipairs(items(self, "/v1/metrics", "resourceMetrics", "scopeMetrics", "metrics")) do
    all[metric.name] = (metric.histogram or metric.sum).dataPoints
    for _, point in ipairs(all[metric.name]) do flat(point) end
  end
  return all
end

--- The spans as a tree: a line each, deeper ones indented, by their names.
function Collector:tree()
  local list, by_id = self:spans()
  local below, lines = {}, {}
  for _, span in ipairs(list) do
    local above = by_id[span.parentSpanId] and span.parentSpanId or "root"
    below[above] = below[above] or {}
    table.insert(below[above], span)
  end
  local function show(id, depth)
    table.sort(below[id] or {}, function(a, b) return a.name < b.name end)
    for _, span in ipairs(below[id] or {}) do
      lines[#lines + 1] = ("  "):rep(depth) .. span.name .. (span.status and " ERROR " .. span.of["error.type"] or "")
      show(span.spanId, depth + 1)
    end
  end
  show("root", 0)
  return table.concat(lines, "\n")
end

--- A span by its name.
function Collector:span(name)
  for _, span in ipairs(self:spans()) do
    if span.name == name then return span end
  end
end

--- Nothing was wrong with what came.
function Collector:check()
  if self.wrong[1] then error(("%d requests are no OTLP: %s"):format(#self.wrong, self.wrong[1]), 2) end
end

function Collector:close()
  self.listener:close()
  self.fiber:cancel()
end
Collector.__close = Collector.close

return collectors
