--- The JSON of OTLP: protobuf's mapping, but for ids, which are hexadecimal. Integers of 64 bits are texts, enumerations numbers.
---
---     {"resourceSpans":[{"resource":{…},"scopeSpans":[{"scope":{…},"spans":[ITEM,ITEM]}]}]}
---
--- An item is written once, when it is complete, and stands in the queue as text: what waits is known in bytes.
local json = require "hocket.json"
local secrets = require "hocket.internal.core.secrets"
local names = require "hocket.internal.telemetry.names"
local sorted_keys = require "hocket.internal.base.sorted_keys"

local otlp = {}

local text = json.encode

---@class hocket.Attributes A list: name, value, name, value … of texts, integers, numbers, booleans and lists of texts.

local function any_value(value)
  local kind = math.type(value) or type(value)
  if kind == "string" then return '{"stringValue":' .. text(value) .. "}" end
  if kind == "integer" then return ('{"intValue":"%d"}'):format(value) end
  if kind == "boolean" then return ('{"boolValue":%s}'):format(value) end
  if kind == "float" then
    if value ~= value or value == math.huge or value == -math.huge then return ('{"doubleValue":"%s"}'):format(value ~= value and "NaN" or value > 0 and "Infinity" or "-Infinity") end
    return '{"doubleValue":' .. text(value) .. "}"
  end
  local parts = {}
  for i, one in ipairs(value) do parts[i] = any_value(one) end
  return '{"arrayValue":{"values":[' .. table.concat(parts, ",") .. "]}}"
end

-- So many characters of a text; a byte that is of none counts as one.
local function cut(value, most)
  if not most or #value <= most then return value end
  local at, n = 1, 0
  while at <= #value and n < most do
    local byte = value:byte(at)
    at, n = at + (byte >= 0xF0 and 4 or byte >= 0xE0 and 3 or byte >= 0xC0 and 2 or 1), n + 1
  end
  return value:sub(1, at - 1)
end

---@class hocket.OtlpWriter
---@field length integer|false Characters of a text that is a value.
---@field count integer|false Attributes of one thing.
---@field secrets userdata The keys that it masks.
local Writer = {}
Writer.__index = Writer

--- Makes what writes the items of one signal.
---@param length integer|false
---@param count integer|false
---@param keys string[] Texts that must not leave this process.
---@return hocket.OtlpWriter
function otlp.writer(length, count, keys)
  return setmetatable({ length = length, count = count, secrets = secrets.new(keys) }, Writer)
end

--- A text as it may leave this process.
---@param value string
---@return string
function Writer:clean(value)
  return cut(self.secrets:mask(value), self.length)
end

local function cleaned(self, value)
  if type(value) == "string" then return self:clean(value) end
  if type(value) ~= "table" then return value end
  local list = {}
  for i, one in ipairs(value) do list[i] = cleaned(self, one) end
  return list
end

--- Attributes, as JSON; and how many were too many.
---@param list hocket.Attributes
---@return string
---@return integer dropped
function Writer:attributes(list)
  local parts, dropped = {}, 0
  for i = 1, #list, 2 do
    if self.count and #parts >= self.count then
      dropped = dropped + 1
    else
      parts[#parts + 1] = '{"key":' .. text(list[i]) .. ',"value":' .. any_value(cleaned(self, list[i + 1])) .. "}"
    end
  end
  return "[" .. table.concat(parts, ",") .. "]", dropped
end

--- Nanoseconds, as they are written, of seconds since 1970, which are known to the microsecond.
---@param seconds number
---@return string
function otlp.nanos(seconds)
  return ("%d000"):format(math.floor(seconds * 1e6 + 0.5))
end

local function with_dropped(name, n)
  return n > 0 and (',"%s":%d'):format(name, n) or ""
end

local function event(self, one)
  local attributes, dropped = self:attributes(one.attributes)
  return ('{"timeUnixNano":"%s","name":%s,"attributes":%s%s}'):format(otlp.nanos(one.time), text(one.name), attributes, with_dropped("droppedAttributesCount", dropped))
end

local function link(self, one)
  return ('{"traceId":"%s","spanId":"%s","attributes":%s}'):format(one.trace, one.span, (self:attributes(one.attributes)))
end

local function list_of(self, name, list, write)
  if #list == 0 then return "" end
  local parts = {}
  for i, one in ipairs(list) do parts[i] = write(self, one) end
  return (',"%s":[%s]'):format(name, table.concat(parts, ","))
end

--- A span.
---@param span {trace: string, id: string, parent?: string, state?: string, sampled: boolean, remote?: boolean, name: string, kind: integer, from: number, to: number, attributes: hocket.Attributes, events: table[], dropped_events: integer, links: table[], status?: integer, message?: string}
---@return string
function Writer:span(span)
  local attributes, dropped = self:attributes(span.attributes)
  local status = span.status and (',"status":{"code":%d%s}'):format(span.status, span.message and ',"message":' .. text(self:clean(span.message)) or "") or ""
  return table.concat {
    '{"traceId":"', span.trace, '","spanId":"', span.id, '"', span.state and ',"traceState":' .. text(span.state) or "",
    span.parent and ',"parentSpanId":"' .. span.parent .. '"' or "",
    -- W3C's flags, and whether the parent is of another process (bits 8 and 9)
    (',"flags":%d'):format((span.sampled and 1 or 0) | 0x100 | (span.remote and 0x200 or 0)),
    ',"name":', text(span.name), (',"kind":%d'):format(span.kind), ',"startTimeUnixNano":"', otlp.nanos(span.from), '","endTimeUnixNano":"',
    otlp.nanos(math.max(span.to, span.from)), '","attributes":', attributes, with_dropped("droppedAttributesCount", dropped), list_of(self, "events", span.events, event),
    with_dropped("droppedEventsCount", span.dropped_events), list_of(self, "links", span.links, link), status, "}",
  }
end

local severities = { [9] = "INFO", [13] = "WARN", [17] = "ERROR" }

--- A log record.
---@param one {time: number, severity: integer, name: string, body?: string, attributes: hocket.Attributes, trace: string, span?: string, sampled: boolean}
---@return string
function Writer:log(one)
  local attributes, dropped = self:attributes(one.attributes)
  local nanos = otlp.nanos(one.time)
  return table.concat {
    '{"timeUnixNano":"', nanos, '","observedTimeUnixNano":"', nanos, ('","severityNumber":%d,"severityText":"%s"'):format(one.severity, severities[one.severity]),
    ',"eventName":', text(one.name), one.body and ',"body":' .. any_value(self:clean(one.body)) or "", ',"attributes":', attributes,
    with_dropped("droppedAttributesCount", dropped), ',"traceId":"', one.trace, one.span and '","spanId":"' .. one.span or "", ('","flags":%d}'):format(one.sampled and 1 or 0),
  }
end

-- ---- A request -------------------------------------------------------------------------------------

local shells = {
  traces = '{"resourceSpans":[{%s"scopeSpans":[{%s"spans":[%s]%s}]%s}]}', logs = '{"resourceLogs":[{%s"scopeLogs":[{%s"logRecords":[%s]%s}]%s}]}',
  metrics = '{"resourceMetrics":[{%s"scopeMetrics":[{%s"metrics":[%s]%s}]%s}]}',
}

--- What stands around the items of a signal: a function that makes a request's body of them.
---@param signal "traces"|"metrics"|"logs"
---@param resource table<string, string>
---@param version string Ours.
---@return fun(items: string[]): string
function otlp.shell(signal, resource, version)
  local list = {}
  for _, name in ipairs(sorted_keys(resource)) do
    list[#list + 1] = name
    list[#list + 1] = resource[name]
  end
  local about = '"resource":{"attributes":' .. otlp.writer(false, false, {}):attributes(list) .. "},"
  local scope = ('"scope":{"name":%s,"version":%s},'):format(text(names.SCOPE), text(version))
  local schema = ',"schemaUrl":' .. text(names.SCHEMA)
  return function(items) return shells[signal]:format(about, scope, table.concat(items, ","), schema, schema) end
end

-- ---- Metrics ----------------------------------------------------------------------------------------

local function numbers(list, format)
  local parts = {}
  for i, one in ipairs(list) do parts[i] = format(one) end
  return "[" .. table.concat(parts, ",") .. "]"
end

local function as_text(n)
  return ('"%d"'):format(n)
end

local function point(self, one, since, now)
  return ('"attributes":%s,"startTimeUnixNano":"%s","timeUnixNano":"%s"'):format((self:attributes(one.attributes)), otlp.nanos(since), otlp.nanos(now))
end

--- A metric with its points: a histogram where it has boundaries, else a sum that rises.
---@param metric {name: string, unit: string, bounds?: number[], points: table[]}
---@param since number
---@param now number
---@param delta boolean
---@return string
function Writer:metric(metric, since, now, delta)
  local parts, temporality = {}, delta and 1 or 2
  for i, one in ipairs(metric.points) do
    local head = point(self, one, since, now)
    if metric.bounds then
      parts[i] = ('{%s,"count":"%d","sum":%s,"min":%s,"max":%s,"bucketCounts":%s,"explicitBounds":%s}'):format(head, one.count, text(one.sum), text(one.min), text(one.max),
        numbers(one.buckets, as_text), numbers(metric.bounds, text))
    elseif math.type(one.sum) == "integer" then
      parts[i] = ('{%s,"asInt":"%d"}'):format(head, one.sum)
    else
      parts[i] = ('{%s,"asDouble":%s}'):format(head, text(one.sum))
    end
  end
  local list = "[" .. table.concat(parts, ",") .. "]"
  local kind = metric.bounds and ('"histogram":{"dataPoints":%s,"aggregationTemporality":%d}'):format(list, temporality)
    or ('"sum":{"dataPoints":%s,"aggregationTemporality":%d,"isMonotonic":true}'):format(list, temporality)
  return ('{"name":%s,"unit":%s,%s}'):format(text(metric.name), text(metric.unit), kind)
end

return otlp
