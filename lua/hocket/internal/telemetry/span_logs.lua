--- Records that are told as logs, and as events of the span of their agent.
local names = require "hocket.internal.telemetry.names"
local span_of = require "hocket.internal.telemetry.span"
local put, event, MAX_MESSAGE = span_of.put, span_of.event, span_of.MAX_MESSAGE

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

-- An error's own words are told; what was said in a conversation is not.
local function words_of(record)
  local text = record.type == "model_retry" and record.error or record.message
  return type(text) == "string" and (record.type ~= "tool_denied") and text:sub(1, MAX_MESSAGE) or nil
end

--- Tells of one.
---@param self hocket.SpanReader
---@param record table
---@param time number
---@param known table Of names.events.
return function(self, record, time, known)
  local id = record.op and self.observer.agents[record.op]
  local span = id and self.open[id] or self.root
  local name, list = names.OURS .. record.type, members(self, record, known)
  event(self, span, name, time, list)
  self.sink.log { time = time, severity = known[1], name = name, body = words_of(record), attributes = list, trace = self.context.id, span = span and span.id, sampled = self.context.sampled }
end
