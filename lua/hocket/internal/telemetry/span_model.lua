--- Spans of calls of models, also of the ones that make vectors, and what they are measured by.
local json = require "hocket.json"
local messages = require "hocket.internal.base.lazy" "hocket.internal.telemetry.messages"
local names = require "hocket.internal.telemetry.names"
local providers = require "hocket.providers"
local span_of = require "hocket.internal.telemetry.span"
local trace = require "hocket.internal.telemetry.trace"
local put, begin, fail, finish, measure = span_of.put, span_of.begin, span_of.fail, span_of.finish, span_of.measure

local begins, ends = {}, {}

local function place_of(self, list, note)
  if note.simulated or not note.provider then return end
  local known, base = pcall(providers.base_of, note.provider)
  local scheme, host_name, port = tostring(known and base):match "^(https?)://([^/:?#]+):?(%d*)"
  if not host_name then return end
  put(self, list, "address", host_name)
  put(self, list, "port", math.tointeger(tonumber(port)) or (scheme == "https" and 443 or 80))
end

local function stop_of(text)
  local list = type(text) == "string" and json.decode(text)
  return type(list) == "table" and #list > 0 and list or nil
end

-- What it is measured by, which is not many different things.
local function kind_of_call(span)
  return { "provider", span.provider, "model", span.model, "response_model", span.response_model }
end

function begins.chat(self, note)
  local span = begin(self, "chat", note.id, note.parent, note.time, note.model)
  if not span then return end
  local list, spec = span.attributes, note.spec
  span.provider, span.model, span.tries, span.op, span.said = names.provider(note.provider), note.model, {}, note.op, note.lines and { lines = note.lines, system = spec.system }
  put(self, list, "operation", "chat")
  put(self, list, "provider", span.provider)
  put(self, list, "model", note.model)
  put(self, list, "agent", note.agent)
  put(self, list, "conversation", self.run.options.conversation and self.run.id or nil)
  put(self, list, "output_type", spec.schema and "json" or "text")
  for _, key in ipairs { "temperature", "top_p", "max_tokens", "seed" } do put(self, list, key, spec[key]) end
  put(self, list, "top_k", spec.top_k and self.sink.config.latest and math.tointeger(spec.top_k) or spec.top_k and spec.top_k + 0.0)
  put(self, list, "stop", stop_of(spec.stop))
  put(self, list, "stream", spec.stream)
  put(self, list, "simulated", note.simulated)
  place_of(self, list, note)
end

-- Each try of a call that was tried again.
local function tell_tries(self, span, to, again)
  local from = span.from
  for i = 1, #span.tries + 1 do
    local one = span.tries[i]
    local try = begin(self, "attempt", trace.span_of(self.run.id, "attempt " .. span.id, i), span.id, from)
    if not try then return end
    put(self, try.attributes, "http_method", "POST")
    if i > 1 then put(self, try.attributes, "resend", i - 1) end
    local failed = one or span.status and { error = span.error, message = span.message, status = span.http_status }
    if failed then
      put(self, try.attributes, "http_status", failed.status)
      fail(self, try, failed.error, failed.message)
    end
    if one then put(self, try.attributes, "delay", one.delay) end
    finish(self, try, one and one.time or to, again)
    from = one and one.time + one.delay or from
  end
end

local counts = { "input", "output", "cached", "cache_write", "reasoning" }

local function tell_usage(self, span, usage)
  for _, key in ipairs(counts) do put(self, span.attributes, key, usage[key]) end
  put(self, span.attributes, "cost", usage.cost)
end

local function measure_usage(self, span, usage)
  local metrics, kind = self.sink.metrics, { "operation", "chat" }
  for _, one in ipairs(kind_of_call(span)) do kind[#kind + 1] = one end
  local function add(key, value, more)
    if not value then return end
    local list = {}
    for i = 1, #kind, 2 do put(self, list, kind[i], kind[i + 1]) end
    put(self, list, "token_type", more)
    metrics:add(key, value, list)
  end
  for _, key in ipairs(counts) do add(key, usage[key]) end
  for _, key in ipairs { "input", "output" } do
    add("tokens", usage[key], key)
    add(key .. "_per_call", usage[key])
  end
  add("cost", usage.cost and usage.cost + 0.0)
end

local function tell_reply(self, span, reply)
  local list = span.attributes
  span.response_model = reply.model ~= "" and reply.model or nil
  put(self, list, "response_model", span.response_model)
  put(self, list, "response_id", reply.id ~= "" and reply.id or nil)
  put(self, list, "finish", { reply.finish })
  put(self, list, "first_seconds", reply.first_seconds)
  tell_usage(self, span, reply.usage)
end

-- What was said, where somebody has asked for that.
local function tell_content(self, span, reply, again)
  if not span.said or again then return end
  local wants, list = self.sink.config.content, {}
  put(self, list, "system", messages.system(span.said.system))
  put(self, list, "input_messages", messages.input(span.said.lines))
  if reply then put(self, list, "output_messages", messages.output(reply)) end
  if wants.span then table.move(list, 1, #list, #span.attributes + 1, span.attributes) end
  if not wants.log then return end
  local all = table.move(span.attributes, 1, #span.attributes, 1, {})
  if not wants.span then table.move(list, 1, #list, #all + 1, all) end
  self.sink.log { time = span.to, severity = 9, name = names.DETAILS, attributes = all, trace = span.trace, span = span.id, sampled = span.sampled }
end

function ends.chat(self, span, note)
  local again, reply = note.replayed, note.reply
  span.http_status = note.status
  fail(self, span, note.error, note.message)
  put(self, span.attributes, "http_status", note.status)
  put(self, span.attributes, "reused", note.reused)
  if #span.tries > 0 then
    put(self, span.attributes, "attempts", #span.tries + 1)
    tell_tries(self, span, note.time, again)
  end
  if reply then tell_reply(self, span, reply) end
  span.to = note.time
  tell_content(self, span, reply, again)
  finish(self, span, note.time, again)
  if again or note.reused then return end
  measure(self, "chat_seconds", span, kind_of_call(span))
  if not reply then return end
  measure_usage(self, span, reply.usage)
  if reply.first_seconds then
    local list = {}
    put(self, list, "operation", "chat")
    local kind = kind_of_call(span)
    for i = 1, #kind, 2 do put(self, list, kind[i], kind[i + 1]) end
    self.sink.metrics:add("first_seconds", reply.first_seconds, list)
  end
end

-- ---- Vectors ---------------------------------------------------------------------------------------------------

function begins.embeddings(self, note)
  local span = begin(self, "embeddings", note.id, note.parent, note.time, note.model)
  if not span then return end
  local list = span.attributes
  span.provider, span.model = note.provider and names.provider(note.provider), note.model
  put(self, list, "operation", "embeddings")
  put(self, list, "provider", span.provider)
  put(self, list, "model", note.model)
  put(self, list, "agent", note.agent)
  put(self, list, "dimensions", note.dimensions)
  place_of(self, list, note)
end

function ends.embeddings(self, span, note)
  fail(self, span, note.error, note.message)
  put(self, span.attributes, "http_status", note.status)
  put(self, span.attributes, "input", note.tokens)
  put(self, span.attributes, "cost", note.cost)
  finish(self, span, note.time, note.replayed)
  if note.replayed then return end
  measure(self, "embeddings_seconds", span, kind_of_call(span))
  if not note.tokens then return end
  local list = {}
  put(self, list, "operation", "embeddings")
  local kind = kind_of_call(span)
  for i = 1, #kind, 2 do put(self, list, kind[i], kind[i + 1]) end
  self.sink.metrics:add("embedded", note.tokens, list)
  put(self, list, "token_type", "input")
  self.sink.metrics:add("tokens", note.tokens, list)
end

return { begins = begins, ends = ends }
