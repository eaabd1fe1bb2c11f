--- Metrics: sums and histograms by their attributes, told from time to time.
---
--- Cumulative: each telling has all since the program began. Of values of attributes that are too many further ones are one, as the
--- specification has it: a model's name that is always another one cannot fill the memory.
local names = require "hocket.internal.telemetry.names"
local otlp = require "hocket.internal.telemetry.otlp"
local system = require "hocket.internal.core.system"

local metrics = {}

--- Points of one metric; what all others are.
local MAX_POINTS, OVERFLOW = 2000, { names.OVERFLOW, true }

---@class hocket.Metrics
local Metrics = {}
Metrics.__index = Metrics

---@param config hocket.TelemetrySettings
---@return hocket.Metrics
function metrics.new(config)
  local _, defined = names.of(config.latest)
  return setmetatable({ defined = defined, delta = config.delta, by_name = {}, order = {}, since = system.wall(), writer = otlp.writer(false, false, config.secrets) }, Metrics)
end

local function find(self, key)
  local def = self.defined[key]
  if not def then return nil end
  local metric = self.by_name[def[1]]
  if not metric then
    metric = { name = def[1], unit = def[2], bounds = def[3], points = {}, by_key = {} }
    self.by_name[def[1]] = metric
    self.order[#self.order + 1] = metric
  end
  return metric
end

local function new_point(metric, attributes)
  local point = { attributes = attributes, sum = 0 }
  if metric.bounds then
    point.count, point.sum, point.buckets = 0, 0.0, {}
    for i = 1, #metric.bounds + 1 do point.buckets[i] = 0 end
  end
  return point
end

local function point_of(metric, attributes)
  local parts = {}
  for i, one in ipairs(attributes) do parts[i] = tostring(one) end
  local key = table.concat(parts, "\0")
  local point = metric.by_key[key]
  if point then return point end
  if #metric.points >= MAX_POINTS then
    attributes, key = OVERFLOW, ""
    point = metric.by_key[key]
    if point then return point end
  end
  point = new_point(metric, attributes)
  metric.by_key[key] = point
  metric.points[#metric.points + 1] = point
  return point
end

local function bucket_of(bounds, value)
  for i, bound in ipairs(bounds) do
    if value <= bound then return i end
  end
  return #bounds + 1
end

--- Adds a value. A metric that the set of names does not have is passed over.
---@param key string As names.lua calls it.
---@param value number
---@param attributes hocket.Attributes
function Metrics:add(key, value, attributes)
  local metric = find(self, key)
  if not metric or not (value >= 0) then return end
  local point = point_of(metric, attributes)
  point.sum = point.sum + value
  if not metric.bounds then return end
  point.count, point.min, point.max = point.count + 1, math.min(point.min or value, value), math.max(point.max or value, value)
  local i = bucket_of(metric.bounds, value)
  point.buckets[i] = point.buckets[i] + 1
end

--- What exists, as one item of a request; nil: nothing.
---@return string?
function Metrics:tell()
  local parts, now = {}, system.wall()
  for _, metric in ipairs(self.order) do
    if #metric.points > 0 then parts[#parts + 1] = self.writer:metric(metric, self.since, now, self.delta) end
  end
  if #parts == 0 then return nil end
  if self.delta then self.by_name, self.order, self.since = {}, {}, now end
  return table.concat(parts, ",")
end

return metrics
