--- Makes spans, logs and metrics of one run: reads its records and its observer's notes in one order.
---
---     invoke_workflow                 the run; of a conversation each turn
---       └ invoke_agent                an agent at work, with the agents that it calls, or under the tool that called them
---           ├ chat                    a model call; each try of one that was tried again is a POST under it
---           ├ execute_tool            with what MCP says, where it went to a server
---           └ wait                    for a person, or a message
---
--- A span is told when it ends. What ended in a former life of the run was told then.
local fiber = require "hocket.internal.core.fiber"
local host = require "hocket.internal.core.host"
local json = require "hocket.json"
local messages = require "hocket.internal.base.lazy" "hocket.internal.telemetry.messages"
local names = require "hocket.internal.telemetry.names"
local providers = require "hocket.providers"
local store = require "hocket.internal.core.store"
local trace = require "hocket.internal.telemetry.trace"

local spans = {}

--- Spans of a run that go on at once; bytes of a message, and of content that is no span's attribute's concern any more.
local MAX_OPEN, MAX_MESSAGE = 10000, 1000
local ERROR = 2

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

-- ---- Spans -----------------------------------------------------------------------------------------------

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
    name = title and kind[1] .. " " .. title or kind[1], attributes = {}, events = {}, dropped_events = 0, links = {},
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
  put(self, list, "operation", names.spans[span.what][1])
  for i = 1, #more, 2 do put(self, list, more[i], more[i + 1]) end
  put(self, list, "error_type", span.error)
  self.sink.metrics:add(key, span.to - span.from, list)
end

-- ---- Agents ------------------------------------------------------------------------------------------------

local begins, ends = {}, {}

function begins.agent(self, note)
  local span = begin(self, "agent", note.id, note.parent, note.time, note.agent)
  if not span then return end
  local list = span.attributes
  put(self, list, "operation", "invoke_agent")
  put(self, list, "agent", note.agent)
  put(self, list, "agent_description", note.description)
  put(self, list, "conversation", self.run.options.conversation and self.run.id or nil)
  put(self, list, "op", note.op)
  put(self, list, "trigger", note.trigger)
  span.agent = note.agent
end

function ends.agent(self, span, note)
  fail(self, span, note.error, note.message)
  close_below(self, span.id, note.time, note.replayed)
  finish(self, span, note.time, note.replayed)
  if not note.replayed then measure(self, "agent_seconds", span, { "agent", span.agent }) end
end

-- ---- Model calls ----------------------------------------------------------------------------------------------

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

-- ---- Tools -----------------------------------------------------------------------------------------------------

function begins.tool(self, note)
  local span = begin(self, "tool", note.id, note.parent, note.time, note.tool)
  if not span then return end
  local list = span.attributes
  span.tool, span.arguments = note.tool, note.arguments
  put(self, list, "operation", "execute_tool")
  put(self, list, "tool", note.tool)
  put(self, list, "tool_type", note.set == "mcp" and "extension" or "function")
  put(self, list, "tool_description", note.description)
  put(self, list, "call_id", note.call)
  put(self, list, "agent", note.agent)
end

local function tell_server(self, span, about)
  local list = span.attributes
  put(self, list, "mcp_method", "tools/call")
  put(self, list, "mcp_server", about.server)
  put(self, list, "tool_set", about.tool)
  put(self, list, "mcp_version", about.version)
  put(self, list, "mcp_session", about.session)
  put(self, list, "rpc_id", about.id and tostring(about.id))
  put(self, list, "transport", about.transport)
  put(self, list, "protocol", about.transport == "tcp" and "http" or nil)
  put(self, list, "address", about.address)
  put(self, list, "port", about.port)
end

function ends.tool(self, span, note)
  if note.began then span.from = math.max(span.from, note.began) end
  fail(self, span, note.refused and "denied" or note.error)
  if note.mcp then tell_server(self, span, note.mcp) end
  if self.sink.config.content.span and note.result then
    put(self, span.attributes, "arguments", messages.encode(span.arguments))
    put(self, span.attributes, "result", note.result)
  end
  close_below(self, span.id, note.time, note.replayed)
  finish(self, span, note.time, note.replayed)
  if note.replayed then return end
  measure(self, "tool_seconds", span, { "tool", span.tool })
  if note.mcp then measure(self, "mcp_seconds", span, { "tool", span.tool, "mcp_method", "tools/call", "transport", note.mcp.transport }) end
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

-- ---- Records -----------------------------------------------------------------------------------------------------

-- Seconds since 1970 of a time as records have it.
local function seconds_of(text)
  local y, m, d, h, min, s, ms = tostring(text):match "^(%d%d%d%d)%-(%d%d)%-(%d%d)T(%d%d):(%d%d):(%d%d)%.?(%d*)Z$"
  if not y then return 0 end
  y, m, d = tonumber(y), tonumber(m), tonumber(d)
  if m < 3 then y, m = y - 1, m + 12 end
  local days = 365 * y + y // 4 - y // 100 + y // 400 + (153 * (m - 3) + 2) // 5 + d - 719469
  return ((days * 24 + tonumber(h)) * 60 + tonumber(min)) * 60 + tonumber(s) + (tonumber((ms .. "000"):sub(1, 3)) or 0) / 1000
end

local function name_of(run)
  local serve, target = run.options.serve, run.target
  if type(serve) == "table" and type(serve.agent) == "string" then return serve.agent end
  if target and target.agent then return target.agent.name end
  local path = target and target.path
  return path and path:match "([^/]+)$":gsub("%.lua$", "") or nil
end

-- The run that this one was forked from is the beginning of what it does.
local function link_parent(self, root)
  if not self.of_host or not self.observer.kept then return end
  local found, row = pcall(store.find, self.run.id)
  if not found or type(row) ~= "table" or not row.parent then return end
  local has, above = pcall(store.find, row.parent)
  local options = has and type(above) == "table" and above.options and json.decode(above.options)
  local said = type(options) == "table" and type(options.trace) == "table" and trace.read(options.trace.parent)
  local list = {}
  put(self, list, "link", "forked_from")
  put(self, list, "run", row.parent)
  root.links[1] = { trace = said and said.id or trace.id_of(row.parent), span = trace.span_of(row.parent, "workflow", ""), attributes = list }
end

-- The workflow's span: the n-th of the run.
local function begin_root(self, time)
  local parent = self.served and self.served.id or self.context.parent
  self.turns = self.turns + 1
  local id = self.turns == 1 and self.context.span or trace.span_of(self.run.id, "workflow", self.turns)
  local root = begin(self, "workflow", id, parent, time, self.title)
  if not root then return end
  root.remote, self.root = parent ~= nil and not self.served, root
  put(self, root.attributes, "operation", "invoke_workflow")
  put(self, root.attributes, "workflow", self.title)
  put(self, root.attributes, "conversation", self.run.options.conversation and self.run.id or nil)
end

--- The span that stands for the run just now: a conversation has one for each turn.
---@param time number
---@return string
function Reader:root_at(time)
  if not self.root and self.run.options.conversation then begin_root(self, time) end
  return self.root and self.root.id or self.context.span
end

local totals = { total_input = "input", total_output = "output", total_cost = "cost", total_calls = "calls", total_tools = "tool_calls" }

local function finish_root(self, usage, time, again)
  local root = self.root
  if not root then return end
  for key, of in pairs(totals) do
    local value = type(usage) == "table" and usage[of]
    if type(value) == "number" then put(self, root.attributes, key, of == "cost" and value + 0.0 or value) end
  end
  close_below(self, root.id, time, again)
  finish(self, root, time, again)
  self.root = nil
  if not again and not self.parked then measure(self, "workflow_seconds", root, { "workflow", self.title }) end
end

local on = {}

local function begin_served(self, about, time)
  local served = begin(self, "served", trace.span_of(self.run.id, "served", ""), self.context.parent, time, about.tool)
  served.remote, self.served = self.context.parent ~= nil, served
  put(self, served.attributes, "mcp_method", "tools/call")
  put(self, served.attributes, "operation", "execute_tool")
  put(self, served.attributes, "tool", about.tool)
  put(self, served.attributes, "mcp_version", about.version)
end

function on.workflow_started(self, _, time)
  local about = self.run.options.trace
  self.title = name_of(self.run)
  if self.run.options.conversation then return end
  if type(about) == "table" and type(about.served) == "table" then begin_served(self, about.served, time) end
  begin_root(self, time)
  link_parent(self, self.root)
end

function on.workflow_finished(self, record, time, again)
  local root = self.root
  if root and self.run.options.conversation then fail(self, root, "cancelled") end
  finish_root(self, record.usage, time, again)
  if not self.served then return end
  fail(self, self.served, root.error and "tool_error" or nil, root.message)
  finish(self, self.served, time, again)
end

function on.input_received(self, _, time)
  if self.run.options.conversation and not self.root then begin_root(self, time) end
end

function on.turn_finished(self, record, time, again)
  if not self.root then return end
  if record.ok == false then fail(self, self.root, type(record.code) == "string" and record.code or "_OTHER", type(record.error) == "string" and record.error or nil) end
  finish_root(self, record.usage, time, again)
end

function on.error(self, record)
  if record.code == "parked" then self.parked = true end
  if self.root then fail(self, self.root, record.code or "_OTHER", record.message) end
end

-- ---- Waits ----------------------------------------------------------------------------------------------------------

local function begin_wait(self, record, time, kind)
  if kind == "input" and self.run.options.conversation then return end -- between two turns nothing waits
  local above = record.op and self.observer.agents[record.op] or self:root_at(time)
  local span = begin(self, "wait", trace.span_of(self.run.id, "wait", tostring(record.id)), above, time, kind)
  if not span then return end
  put(self, span.attributes, "wait", kind)
  put(self, span.attributes, "wait_id", record.id)
  put(self, span.attributes, "tool", record.tool)
  put(self, span.attributes, "signal", record.name)
  self.waits[record.id] = span
end

local function end_wait(self, record, time, how, again)
  local span = record.id and self.waits[record.id]
  if not span then return end
  self.waits[record.id] = nil
  put(self, span.attributes, "outcome", record.decision or how)
  if self.open[span.id] then finish(self, span, time, again) end
end

-- ---- Logs -----------------------------------------------------------------------------------------------------------

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

local function tell(self, record, time, known)
  local id = record.op and self.observer.agents[record.op]
  local span = id and self.open[id] or self.root
  local name, list = names.OURS .. record.type, members(self, record, known)
  event(self, span, name, time, list)
  self.sink.log { time = time, severity = known[1], name = name, body = words_of(record), attributes = list, trace = self.context.id, span = span and span.id, sampled = self.context.sampled }
end

local function take_record(self, line, seq)
  local kind = line:match '"type":"([%w_]+)"'
  local known, wait, wait_end = names.events[kind], names.waits[kind], names.waits_end[kind]
  if not (known or wait or wait_end or on[kind]) then return end
  local record, again = json.decode(line), seq <= self.told
  local time = seconds_of(record.time)
  if known and not again and not self.parked then tell(self, record, time, known) end
  if wait then begin_wait(self, record, time, wait) end
  if wait_end then end_wait(self, record, time, wait_end, again) end
  if on[kind] then on[kind](self, record, time, again) end
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
