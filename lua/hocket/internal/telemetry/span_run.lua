--- Spans of the run itself, of each turn of a conversation, and of what is awaited: made of records.
local json = require "hocket.json"
local span_of = require "hocket.internal.telemetry.span"
local store = require "hocket.internal.core.store"
local trace = require "hocket.internal.telemetry.trace"
local put, begin, fail, finish, close_below, measure = span_of.put, span_of.begin, span_of.fail, span_of.finish, span_of.close_below, span_of.measure

local work = { on = {} }

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
function work.begin_root(self, time)
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

local function begin_served(self, about, time)
  local served = begin(self, "served", trace.span_of(self.run.id, "served", ""), self.context.parent, time, "tools/call " .. about.tool)
  served.tool, served.remote, self.served = about.tool, self.context.parent ~= nil, served
  put(self, served.attributes, "mcp_method", "tools/call")
  put(self, served.attributes, "operation", "execute_tool")
  put(self, served.attributes, "tool", about.tool)
  put(self, served.attributes, "mcp_version", about.version)
end

function work.on.workflow_started(self, _, time)
  local about = self.run.options.trace
  self.title = name_of(self.run)
  if self.run.options.conversation then return end
  if type(about) == "table" and type(about.served) == "table" then begin_served(self, about.served, time) end
  work.begin_root(self, time)
  link_parent(self, self.root)
end

function work.on.workflow_finished(self, record, time, again)
  local root = self.root
  if root and self.run.options.conversation then fail(self, root, "cancelled") end
  if root and not root.error and record.state == "failed" then fail(self, root, record.ending) end -- there is an answer, and no error
  finish_root(self, record.usage, time, again)
  if not self.served then return end
  fail(self, self.served, root.error and "tool_error" or nil, root.message)
  finish(self, self.served, time, again)
  if not again and not self.parked then measure(self, "mcp_request_seconds", self.served, { "mcp_method", "tools/call", "tool", self.served.tool }) end
end

function work.on.input_received(self, _, time)
  if self.run.options.conversation and not self.root then work.begin_root(self, time) end
end

function work.on.turn_finished(self, record, time, again)
  if not self.root then return end
  if record.ok == false then fail(self, self.root, type(record.code) == "string" and record.code or "_OTHER", type(record.error) == "string" and record.error or nil) end
  finish_root(self, record.usage, time, again)
end

function work.on.error(self, record)
  if record.code == "parked" then self.parked = true end
  if self.root then fail(self, self.root, record.code or "_OTHER", record.message) end
end

-- ---- Waits ----------------------------------------------------------------------------------------------------------

--- Something is awaited.
function work.begin_wait(self, record, time, kind)
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

function work.end_wait(self, record, time, how, again)
  local span = record.id and self.waits[record.id]
  if not span then return end
  self.waits[record.id] = nil
  put(self, span.attributes, "outcome", record.decision or how)
  if self.open[span.id] then finish(self, span, time, again) end
end

return work
