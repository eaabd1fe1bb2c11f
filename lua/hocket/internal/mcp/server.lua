--- The server's side of MCP, without a transport: messages of clients in, answers out, in both eras at once.
---
---     transport ──take(text, sink)──> connection ──> method ──> at once, or a fiber of its own ──> sink:finish(text)
---                                                                 └ progress, log, questions ───> sink:send(text)
---
---     modern   a request says all about itself (version, what the client can do); nothing is remembered between two
---     legacy   initialize, and from then on what was agreed on there, for this connection
---
--- A sink is where the answer to one request goes: `send(text)` for what belongs to it on the way, `finish(text, code)` for the
--- end (`code`: of an error). What belongs to no request goes to the connection's own. What is offered is a catalog.
local protocol_version = require "hocket.internal.mcp.protocol_version"
local fiber = require "hocket.internal.core.fiber"
local json = require "hocket.json"
local message = require "hocket.internal.mcp.message"
local methods = require "hocket.internal.mcp.server_methods"
local system = require "hocket.internal.core.system"
local tracing = require "hocket.internal.base.tracing"
local work = require "hocket.internal.mcp.server_work"
local codes = message.codes

local server = {}

--- Requests of one connection that are under way; messages of one batch.
local MAX_OPEN, MAX_BATCH = 1000, 100

local META = message.META

---@class hocket.McpSink
---@field send fun(self, text: string, droppable?: boolean) What belongs to a request, before its end.
---@field over? boolean Nobody hears it any more.
---@field finish fun(self, text: string, code?: integer, is_bad?: boolean) The end of it; code: of an error; is_bad: it is the request itself that is none.
---@field drop? fun(self) Its end without an answer: it was cancelled, or its connection is closed.
---@field whole? hocket.McpSink That of the batch that it is a part of.

---@class hocket.McpRequest
---@field id integer|string
---@field method string
---@field params table
---@field modern boolean
---@field version string
---@field capabilities table The client's.
---@field client? table The client's name and version.
---@field token? string|integer For progress.
---@field level? string From which on it wants to hear what is logged.
---@field sink hocket.McpSink
---@field connection hocket.McpConnection

---@class hocket.McpServer_ What is offered, to all who connect.
---@field catalog hocket.McpCatalog
---@field connections table<hocket.McpConnection, boolean>
---@field tasks table<string, table> Work that clients have a handle of, and what came of it.
---@field parked table<string, table> Work that waits for its client to come back with an answer.
local Server = {}
Server.__index = Server

---@class hocket.McpConnection
---@field version? string Of a legacy one, once agreed on.
local Connection = {}
Connection.__index = Connection

--- Makes a server of a catalog.
---@param catalog hocket.McpCatalog
---@return hocket.McpServer_
function server.new(catalog)
  local self = setmetatable({ catalog = catalog, connections = {}, parked = {}, tasks = {} }, Server)
  catalog:on_change(self, function(what, uri) self:changed(what, uri) end)
  return self
end

-- Everything of it lives below a fiber of its own, and ends with it.
local function owner()
  local made = fiber.detach(function()
    while true do fiber.park() end
  end)
  made:serve()
  return made
end

--- Somebody connects. `sink` is where it hears what belongs to no request.
---@param sink? hocket.McpSink nil: it hears nothing of that.
---@return hocket.McpConnection
function Server:connect(sink)
  local made = setmetatable({ server = self, sink = sink, owner = owner(), open = {}, count = 0, asked = {}, last_asked = 0, listens = {}, uris = {} }, Connection)
  self.connections[made] = true
  return made
end

--- Ends all connections, and what waits for a client to come back.
function Server:close()
  self.catalog:on_change(self, nil)
  for connection in pairs(self.connections) do connection:close() end
  for _, waiting in ipairs { self.parked, self.tasks } do
    for token, work in pairs(waiting) do
      waiting[token] = nil
      work:cancel()
    end
  end
end

-- ---- Changes -------------------------------------------------------------------------------

local wanted_as = { tools = "toolsListChanged", resources = "resourcesListChanged", prompts = "promptsListChanged" }

local function note(what, uri, subscription)
  local params = uri and { uri = uri } or nil
  if subscription then
    params = params or {}
    params._meta = { [META .. "subscriptionId"] = subscription }
  end
  local method = uri and "notifications/resources/updated" or ("notifications/%s/list_changed"):format(what)
  return message.request(nil, method, params)
end

--- What is offered has changed: a list of it, or (with `uri`) what stands in a resource.
---@param what "tools"|"resources"|"prompts"
---@param uri? string
function Server:changed(what, uri)
  for one in pairs(self.connections) do
    if one.sink and one.version and (not uri or one.uris[uri]) then one.sink:send(note(what, uri), true) end
    for _, listen in pairs(one.listens) do
      local wants = listen.filter
      if uri and listen.uris[uri] or not uri and wants[wanted_as[what]] then listen.request.sink:send(note(what, uri, listen.request.id), true) end
    end
  end
end

-- ---- Answers -------------------------------------------------------------------------------

-- What went wrong in here is reported to whoever runs the server as well.
local function internal(err)
  local text = type(err) == "table" and err.message or tostring(err)
  system.log("error", "MCP: " .. text)
  return { code = codes.internal, message = "the server failed: " .. text }
end

-- The end of a request; nobody learns of one that was cancelled.
local function finish(self, request, result, err)
  if self.open[request.id] ~= request then return end
  self.open[request.id], self.count = nil, self.count - 1
  if not result then return request.sink:finish(message.error(request.id, err.code, err.message, err.data), err.code, err.is_bad) end
  if request.modern then
    result.resultType = result.resultType or "complete"
    result._meta = result._meta or {}
    result._meta[META .. "serverInfo"] = self.server.catalog:info()
  end
  local ok, text = pcall(message.result, request.id, result)
  if ok then return request.sink:finish(text) end
  err = internal(text)
  request.sink:finish(message.error(request.id, err.code, err.message), err.code)
end

-- The span of a request that begins no run: a tool's call has its own, above its run (serve/agent_call.lua).
local function observe(request)
  if not tracing.begin or request.method == "tools/call" or request.method == "subscriptions/listen" then return nil end
  local params, context = request.params, fiber.context()
  local meta = type(params._meta) == "table" and params._meta or {}
  local from = meta.traceparent and { parent = meta.traceparent, state = meta.tracestate } or context and context.trace
  return tracing.begin("mcp", { method = request.method, name = request.method == "prompts/get" and params.name, uri = params.uri, version = request.version, id = request.id,
    parent = from and from.parent, state = from and from.state, inside = not meta.traceparent })
end

local function perform(self, request, method)
  local traced <close> = observe(request)
  local ok, result, err = pcall(method.run, self, request)
  if not ok then
    if fiber.cancelled() then error(result, 0) end
    result, err = nil, internal(result)
  end
  if traced then traced:ended { error = not result and tostring(err.code) or nil, rpc = not result and tostring(err.code) or nil } end
  finish(self, request, result, err)
end

-- ---- Requests ------------------------------------------------------------------------------

local function wrong(code, text, data)
  return nil, { code = code, message = text, data = data, is_bad = true }
end

-- The metadata of a modern request.
local function read_meta(request, meta)
  local version, can = meta[META .. "protocolVersion"], meta[META .. "clientCapabilities"]
  if type(version) ~= "string" then return wrong(codes.invalid_params, ("params._meta: '%sprotocolVersion' has to be a text"):format(META)) end
  if version ~= protocol_version.MODERN then
    return wrong(codes.unsupported_version, ("the protocol version %s is not supported"):format(version), { supported = protocol_version.VERSIONS, requested = version })
  end
  if type(can) ~= "table" or json.is_array(can) and #can > 0 then
    return wrong(codes.invalid_params, ("params._meta: '%sclientCapabilities' has to be an object"):format(META))
  end
  request.modern, request.version, request.capabilities = true, version, can
  request.client = meta[META .. "clientInfo"]
  request.level = work.level(meta[META .. "logLevel"])
  return true
end

local before_all = { initialize = true, ping = true }

-- Which protocol it belongs to, and what follows from that.
local function read_era(self, request)
  local meta = type(request.params._meta) == "table" and request.params._meta or {}
  local token = meta.progressToken
  request.token = (type(token) == "string" or math.type(token) == "integer") and token or nil
  if meta[META .. "protocolVersion"] ~= nil then return read_meta(request, meta) end
  if not self.version and not before_all[request.method] then
    return wrong(codes.invalid_params, ("params._meta lacks '%sprotocolVersion' (%s); older clients send 'initialize' first"):format(META, table.concat(protocol_version.VERSIONS, ", ")))
  end
  request.modern, request.version, request.capabilities, request.client, request.level = false, self.version, self.capabilities or {}, self.client, self.level
  return true
end

local function find_method(request)
  local method = methods.of[request.method]
  if method and (request.modern and method.modern or not request.modern and method.legacy) then return method end
  return nil, { code = codes.no_method, message = ("there is no method '%s'%s"):format(request.method, method and (" in version " .. tostring(request.version)) or "") }
end

local function begin(self, one, sink)
  if self.open[one.id] then
    return sink:finish(message.error(nil, codes.invalid_request, ("the id %s is in use by a request that is not answered yet"):format(json.encode(one.id))), codes.invalid_request)
  end
  local request = { id = one.id, method = one.method, params = one.params, sink = sink, connection = self }
  self.open[one.id], self.count = request, self.count + 1
  if self.count > MAX_OPEN then return finish(self, request, wrong(codes.internal, ("more than %d requests at once"):format(MAX_OPEN))) end
  local ok, err = read_era(self, request)
  if not ok then return finish(self, request, nil, err) end
  local method
  method, err = find_method(request)
  if not method then return finish(self, request, nil, err) end
  if not method.waits then return perform(self, request, method) end
  request.fiber = fiber.spawn_under(self.owner, perform, self, request, method)
end

-- ---- Asking the client (before 2026-07-28) ---------------------------------------------------

local GONE = { code = codes.internal, message = "the client is gone" }

local function answered(self, one)
  local call = self.asked[one.id]
  if not call then return end -- late, twice, or never asked
  self.asked[one.id] = nil
  call.done, call.result, call.err = true, one.result, one.error
  call.fiber:wake()
end

--- Asks a legacy client in the middle of a request.
---@async
---@param request hocket.McpRequest
---@param method string
---@param params table
---@return table? result
---@return {code: integer, message: string}?
function Connection:ask(request, method, params)
  self.last_asked = self.last_asked + 1
  local id = "s" .. self.last_asked
  local call = { fiber = fiber.self(), sink = request.sink }
  self.asked[id] = call
  local left <close> = setmetatable({}, { __close = function()
    if self.asked[id] ~= call then return end
    self.asked[id] = nil
    request.sink:send(message.request(nil, "notifications/cancelled", { requestId = id, reason = "no longer needed" }))
  end })
  if request.sink.over then return nil, GONE end
  request.sink:send(message.request(id, method, params))
  while not call.done do fiber.park_for_program() end
  return call.result, call.err
end

--- Nobody hears a sink any more: what was asked there is not going to be answered.
---@param sink hocket.McpSink
function Connection:gone(sink)
  for id, call in pairs(self.asked) do
    if call.sink == sink or call.sink.whole == sink then
      self.asked[id] = nil
      call.done, call.err = true, GONE
      call.fiber:wake()
    end
  end
end

-- ---- Notifications ---------------------------------------------------------------------------

-- Who waits for an answer must not wait for ever.
local function drop(request)
  if request.sink.drop then request.sink:drop() end
end

--- Ends a request that is under way, without an answer.
---@param id integer|string
function Connection:cancel(id)
  local request = self.open[id]
  if not request or not request.fiber then return end
  self.open[id], self.count = nil, self.count - 1
  request.cancelled = true
  if request.work then request.work:cancel() end
  request.fiber:cancel()
  drop(request)
end

local notices = {
  ["notifications/cancelled"] = function(self, params)
    local id = params.requestId
    if type(id) == "string" or math.type(id) == "integer" then self:cancel(id) end
  end,
}

-- ---- Messages --------------------------------------------------------------------------------

local function take_one(self, value, sink)
  local one, err = message.check(value)
  if not one then return sink:finish(message.error(err.id, err.code, err.message), err.code) end
  if one.kind == "request" then return begin(self, one, sink) end
  local notice = one.kind == "notification" and notices[one.method]
  if notice then notice(self, one.params) end
  if one.kind == "response" or one.kind == "error" and one.id then answered(self, one) end
end

-- The answers of a batch are one message as well (2025-03-26 alone has batches); without any it has no end of its own.
local function batch_sink(list, sink)
  local waits, answers = 0, {}
  for _, value in ipairs(list) do
    local one = message.check(value)
    if not one or one.kind == "request" then waits = waits + 1 end
  end
  local function over(text)
    waits, answers[#answers + 1] = waits - 1, text
    if waits > 0 then return end
    if answers[1] then return sink:finish("[" .. table.concat(answers, ",") .. "]") end
    if sink.drop then sink:drop() end
  end
  return setmetatable({
    whole = sink, send = function(_, text, droppable) sink:send(text, droppable) end, finish = function(_, text) over(text) end, drop = function() over() end,
  }, { __index = sink })
end

local function take_batch(self, list, sink)
  local may = self.version == "2025-03-26" and #list > 0 and #list <= MAX_BATCH
  if not may then return sink:finish(message.error(nil, codes.invalid_request, "one message at a time: batches are none"), codes.invalid_request) end
  local gathering = batch_sink(list, sink)
  for _, value in ipairs(list) do take_one(self, value, gathering) end
end

--- Takes what a client has sent. What is none of a message is answered, too.
---@param text string
---@param sink hocket.McpSink Where the answer goes.
function Connection:take(text, sink)
  local value, err = json.decode(text, true)
  if value == nil then return sink:finish(message.error(nil, codes.parse, "it is no JSON: " .. err.message), codes.parse) end
  return self:take_value(value, sink)
end

--- The same with what was read already.
---@param value any
---@param sink hocket.McpSink
function Connection:take_value(value, sink)
  if type(value) == "table" and json.is_array(value) and #value > 0 then return take_batch(self, value, sink) end
  return take_one(self, value, sink)
end

--- The client is gone: everything that it had under way ends.
function Connection:close()
  if not self.server.connections[self] then return end
  self.server.connections[self] = nil
  for id, request in pairs(self.open) do
    self.open[id] = nil
    if request.work then request.work:cancel() end
    drop(request)
  end
  self.listens = {}
  self.owner:cancel()
end

return server
