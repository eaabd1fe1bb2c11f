--- Spans of requests that this process answers, over HTTP and of MCP clients. They belong to no run: the runs that they begin are below
--- them. One without a trace of its own, by its header or its `_meta`, is in that of the request that it came with, or begins one.
local names = require "hocket.internal.telemetry.names"
local span_of = require "hocket.internal.telemetry.span"
local system = require "hocket.internal.core.system"
local trace = require "hocket.internal.telemetry.trace"
local put = span_of.put

local requests = {}

--- Bytes of what a stranger writes, as far as it is reported.
local MAX = 500

---@class hocket.RequestSpan : hocket.TracedRequest
local Request = {}
Request.__index = Request

-- Methods that there are: another one could be anything, each time anew.
local known = { GET = true, HEAD = true, POST = true, PUT = true, PATCH = true, DELETE = true, OPTIONS = true, CONNECT = true, TRACE = true }

local kinds = { http = {}, mcp = {} }

function kinds.http.begin(self, fields)
  local list, host = self.span.attributes, fields.host
  self.method = known[fields.method] and fields.method or "_OTHER"
  put(self, list, "http_method", self.method)
  put(self, list, "url_path", fields.path:sub(1, MAX))
  put(self, list, "url_scheme", fields.scheme)
  put(self, list, "protocol_version", "1.1")
  put(self, list, "client", fields.address)
  put(self, list, "user_agent", fields.agent and fields.agent:sub(1, MAX))
  local address, port = (host or ""):match "^%[?([%w.:-]-)%]?:?(%d*)$"
  put(self, list, "address", address ~= "" and address or nil)
  put(self, list, "port", math.tointeger(tonumber(port)) or nil)
end

-- What went wrong at the client's is no error of ours.
function kinds.http.finish(self, fields)
  local span = self.span
  span.name = (self.method == "_OTHER" and "HTTP" or self.method) .. (fields.route and " " .. fields.route or "")
  local failed = fields.error or not fields.status and "cancelled" or fields.status >= 500 and tostring(fields.status) or nil
  for _, list in ipairs { span.attributes, self.measured } do
    put(self, list, "http_route", fields.route)
    put(self, list, "http_status", fields.status)
    put(self, list, "error_type", failed)
  end
  span.status = failed and failed ~= "cancelled" and 2 or nil
  put(self, self.measured, "http_method", self.method)
  put(self, self.measured, "url_scheme", self.fields.scheme)
end

function kinds.mcp.begin(self, fields)
  local name = type(fields.name) == "string" and fields.name:sub(1, 200) or nil
  self.span.name = name and fields.method .. " " .. name or fields.method
  local list = self.span.attributes
  put(self, list, "mcp_method", fields.method)
  put(self, list, fields.method == "prompts/get" and "prompt" or "tool", name)
  put(self, list, "resource", type(fields.uri) == "string" and fields.uri:sub(1, MAX) or nil)
  put(self, list, "mcp_version", fields.version)
  put(self, list, "rpc_id", tostring(fields.id):sub(1, 100))
end

function kinds.mcp.finish(self, fields)
  local span = self.span
  for _, list in ipairs { span.attributes, self.measured } do
    put(self, list, "rpc_status", fields.rpc)
    put(self, list, "error_type", fields.error)
  end
  span.status = fields.error and fields.error ~= "cancelled" and 2 or nil
  put(self, self.measured, "mcp_method", self.fields.method)
end

--- It was answered; or not, for a reason.
---@param fields {status?: integer, route?: string, error?: string, rpc?: string}
function Request:ended(fields)
  if self.is_over then return end
  self.is_over = true
  local span = self.span
  kinds[self.kind].finish(self, fields)
  span.to = system.wall()
  self.sink.metrics:add(self.kind .. "_request_seconds", span.to - span.from, self.measured)
  if span.sampled and not self.fields.quiet then self.sink.span(span) end
end

function Request.__close(self)
  self:ended { error = "cancelled" }
end

--- What makes such spans.
---@param sink table As readers have it (spans.lua).
---@return fun(kind: "http"|"mcp", fields: table): hocket.TracedRequest
function requests.beginner(sink)
  return function(kind, fields)
    local config, unique = sink.config, system.run_id()
    local parent = config.propagate and trace.read(fields.parent, fields.state) or nil
    local id, now = parent and parent.id or trace.id_of(unique), system.wall()
    local span = {
      what = kind .. "_request", name = kind, trace = id, id = trace.span_of(unique, kind, ""), parent = parent and parent.span, state = parent and parent.state,
      sampled = trace.sample(config.sampler, id, parent), remote = parent ~= nil and not fields.inside, kind = names.spans[kind .. "_request"][2], from = now, to = now,
      attributes = {}, events = {}, dropped_events = 0, links = {},
    }
    local self = setmetatable({ kind = kind, fields = fields, sink = sink, span = span, measured = {}, trace = { parent = trace.write(id, span.id, span.sampled), state = span.state } }, Request)
    kinds[kind].begin(self, fields)
    return self
  end
end

return requests
