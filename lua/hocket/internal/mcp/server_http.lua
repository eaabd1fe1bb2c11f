--- A server over HTTP (Streamable HTTP): one address, /mcp, to which each message is posted.
---
---     modern   a request is answered with JSON, or with a stream: what belongs to it, then its answer. Who goes away cancels.
---     legacy   the same within a session that begins with `initialize`; GET is a stream for what belongs to no request
---
--- Only this machine is listened to, and only who brings the token is let in. Host and Origin have to be of this machine, so that no page
--- in a browser gets here by a name that it has made point to it.
local admission = require "hocket.internal.base.http.admission"
local protocol_version = require "hocket.internal.mcp.protocol_version"
local fiber = require "hocket.internal.core.fiber"
local json = require "hocket.json"
local message = require "hocket.internal.mcp.message"
local system = require "hocket.internal.core.system"
local tool_headers = require "hocket.internal.mcp.tool_headers"
local codes = message.codes

local server_http = {}

--- Seconds after which an answer becomes a stream, so that the client sees that we are at it; between two signs of life on it.
local PATIENCE, ALIVE = 5, 15
--- Sessions of clients of before, and seconds that one is kept without a message.
local MAX_SESSIONS, SESSION = 1000, 3600

local META = message.META

---@class hocket.McpHttp
local Http = {}
Http.__index = Http

local JSON = { ["content-type"] = "application/json" }
local STREAM = { ["content-type"] = "text/event-stream", ["cache-control"] = "no-cache", ["x-accel-buffering"] = "no" }

local function refuse(self, http, status, code, text, headers)
  local with = { ["content-type"] = "application/json" }
  for name, value in pairs(headers or {}) do with[name] = value end
  self.listener:respond(http.id, status, with, message.error(nil, code, text))
end

-- ---- Who is let in ---------------------------------------------------------------------------

-- Whether a request may come in; nil: it was refused.
local function let_in(self, http)
  if not admission.host(http.headers) then return refuse(self, http, 403, codes.invalid_request, "the Host header names another machine") end
  if not admission.origin(http.headers) then
    return refuse(self, http, 403, codes.invalid_request, "pages of other origins are not let in")
  end
  if not admission.token(http.headers, self.token) then
    return refuse(self, http, 401, codes.invalid_request, "missing or wrong token (send Authorization: Bearer TOKEN)", { ["www-authenticate"] = "Bearer" })
  end
  if http.path:match "^[^?]*" ~= "/mcp" then return refuse(self, http, 404, codes.invalid_request, "there is nothing but /mcp") end
  return true
end

-- ---- Answers ---------------------------------------------------------------------------------

---@class hocket.McpHttpSink: hocket.McpSink
local Sink = {}
Sink.__index = Sink

local function event(text)
  return ("event: message\ndata: %s\n\n"):format(text)
end

-- From now on it is a stream.
local function begin(self)
  if self.begun or self.over then return self.begun end
  self.begun = self.listener:begin(self.id, 200, self.headers(STREAM)) ~= nil
  self.over = not self.begun
  return self.begun
end

function Sink:send(text)
  if begin(self) and not self.over and not self.listener:write(self.id, event(text)) then self.over = true end
end

-- HTTP statuses for errors of the modern protocol.
local statuses = {
  [codes.no_method] = 404, [codes.parse] = 400, [codes.invalid_request] = 400, [codes.header_mismatch] = 400,
  [codes.unsupported_version] = 400, [codes.missing_capability] = 400,
}

local function end_with(self, text, status)
  if not self.begun then return self.listener:respond(self.id, status, self.headers(JSON), text) end
  local ok, err = self.listener:write(self.id, event(text))
  if ok then self.listener:finish(self.id) end
  return ok, err
end

function Sink:finish(text, code, is_bad)
  if self.over then return end
  local status = self.notified and 400 or self.modern and (is_bad and 400 or statuses[code]) or code == codes.parse and 400 or 200
  local ok, err = end_with(self, text, status)
  if not ok and err.code == "limit" then
    local id = text:match '^{"id":([^,]+),'
    ok = end_with(self, message.error(id and json.decode(id), codes.internal, ("the answer is larger than fits (%d bytes)"):format(#text)), 200)
  end
  if not ok then self.listener:abort(self.id, "eof") end
  self.over = true
  if self.on_end then self.on_end() end
end

-- As a stream in which nothing more comes.
function Sink:drop()
  if begin(self) then self.listener:finish(self.id) end
  self.over = true
  if self.on_end then self.on_end() end
end

-- Signs of life for what takes its time; until it is over, or the client is gone.
local function keep_alive(self)
  fiber.sleep(PATIENCE)
  while not self.over do
    if not begin(self) or not self.listener:write(self.id, ": at work\n\n") then self.over = true end
    fiber.sleep(ALIVE)
  end
end

local function new_sink(self, http, modern, more)
  local sink = setmetatable({ listener = self.listener, id = http.id, modern = modern, headers = function(list) return list end }, Sink)
  if more then
    sink.headers = function(list)
      local all = {}
      for name, value in pairs(list) do all[name] = value end
      for name, value in pairs(more) do all[name] = value end
      return all
    end
  end
  return sink
end

-- A request that may wait: its client going is noticed, and it shows that it is alive.
local function attend(self, http, sink, on_gone)
  if sink.over then return end
  local alive = fiber.spawn_under(self.owner, keep_alive, sink)
  self.attended[http.id] = function()
    sink.over = true
    alive:cancel()
    self.attended[http.id] = nil
    if on_gone then on_gone() end
  end
  local before = sink.on_end
  sink.on_end = function()
    alive:cancel()
    self.attended[http.id] = nil
    if before then before() end
  end
end

-- ---- The modern protocol
-- ----------------------------------------------------------------------------

-- A header's own text: =?base64?…?= stands for what a header cannot hold.
local function plain(value)
  local inside = value and value:match "^=%?base64%?(.*)%?=$"
  return inside and system.unbase64(inside) or value
end

local named_by = { ["tools/call"] = "name", ["prompts/get"] = "name", ["resources/read"] = "uri",
  ["tasks/get"] = "taskId", ["tasks/update"] = "taskId", ["tasks/cancel"] = "taskId" }

-- The arguments that a tool's schema wants to see in headers.
local function wrong_parameter(self, http, params)
  local one = self.server.catalog:tool(params.name)
  local list = one and tool_headers.of(one.shown.inputSchema) or {}
  local wanted = tool_headers.fill(list, type(params.arguments) == "table" and params.arguments or {})
  for _, entry in ipairs(list) do
    local name = ("mcp-param-%s"):format(entry.header:lower():gsub("^mcp%-param%-", ""))
    if plain(http.headers[name]) ~= wanted[entry.header] then return name end
  end
end

-- What of the headers does not say the same as the body, if anything.
local function mismatch(self, http, value)
  local params = type(value.params) == "table" and value.params or {}
  local meta = type(params._meta) == "table" and params._meta or {}
  local version = meta[META .. "protocolVersion"]
  if version == nil then return nil end -- it is no message of this version at all, which is reported
  if http.headers["mcp-protocol-version"] ~= version then return "MCP-Protocol-Version" end
  if value.id == nil then return nil end
  if http.headers["mcp-method"] ~= value.method then return "Mcp-Method" end
  local field = named_by[value.method]
  if field and plain(http.headers["mcp-name"]) ~= params[field] then return "Mcp-Name" end
  return value.method == "tools/call" and type(params.name) == "string" and wrong_parameter(self, http, params) or nil
end

local function take_modern(self, http, value)
  local wrong = mismatch(self, http, value)
  if wrong then
    local text = ("the header %s is missing, or says something else than the message"):format(wrong)
    return self.listener:respond(http.id, 400, JSON, message.error(value.id, codes.header_mismatch, text))
  end
  if value.method == nil then return refuse(self, http, 400, codes.invalid_request, "clients send no answers") end
  if value.id == nil then return self.listener:respond(http.id, 202, {}, "") end
  local connection, sink = self.server:connect(nil), new_sink(self, http, true)
  sink.on_end = function() connection:close() end
  connection:take_value(value, sink)
  attend(self, http, sink, function() connection:close() end)
end

-- ---- Those before --------------------------------------------------------------------------------

local function end_session(self, id)
  local session = self.sessions[id]
  if not session then return false end
  self.sessions[id], self.count = nil, self.count - 1
  if session.stream then session.stream:finish_stream() end
  session.connection:close()
  return true
end

local function expire_sessions(self)
  while true do
    fiber.sleep(60)
    for id, session in pairs(self.sessions) do
      local idle = fiber.now() - session.used
      if idle > SESSION and not next(session.connection.open) or idle > 24 * SESSION then end_session(self, id) end
    end
  end
end

-- What belongs to no request goes to the stream that a session's client has open, or nowhere.
local function new_session(self)
  local session = { used = fiber.now() }
  session.connection = self.server:connect { send = function(_, text) if session.stream then session.stream:send(text) end end, finish = function() end }
  return session
end

-- Clients that begin anew each time leave theirs behind: the one makes room that was idle for longest.
local function make_room(self)
  local oldest
  for id, session in pairs(self.sessions) do
    local idle = not session.stream and not next(session.connection.open)
    if idle and (not oldest or session.used < self.sessions[oldest].used) then oldest = id end
  end
  return oldest and end_session(self, oldest)
end

local function initialize(self, http, value)
  if self.count >= MAX_SESSIONS and not make_room(self) then return refuse(self, http, 503, codes.internal, "too many sessions") end
  local id, session = system.token(48), new_session(self)
  session.connection:take_value(value, new_sink(self, http, false, { ["mcp-session-id"] = id }))
  if not session.connection.version then return session.connection:close() end
  self.sessions[id], self.count = session, self.count + 1
end

-- The session that is meant; nil: it was refused.
local function session_of(self, http)
  local id = http.headers["mcp-session-id"]
  if not id then return refuse(self, http, 400, codes.invalid_request, "the header Mcp-Session-Id is missing: a session begins with 'initialize'") end
  local session = self.sessions[id]
  if not session then return refuse(self, http, 404, codes.invalid_request, "there is no such session: begin a new one") end
  session.used = fiber.now()
  return session, id
end

local spoken = {}
for _, version in ipairs(protocol_version.LEGACY) do spoken[version] = true end

local function is_request(value)
  if value.method ~= nil and value.id ~= nil then return true end
  if value.method ~= nil or value.result ~= nil or value.error ~= nil then return false end
  return true -- it is nothing, which is to be said
end

-- Whether it wants an answer, or is a batch in which something does.
local function has_request(value)
  if not json.is_array(value) or #value == 0 then return is_request(value) end
  for _, one in ipairs(value) do
    if type(one) ~= "table" or is_request(one) then return true end
  end
  return false
end

local function take_legacy(self, http, value)
  if value.method == "initialize" and not http.headers["mcp-session-id"] then return initialize(self, http, value) end
  local session = session_of(self, http)
  if not session then return end
  local version = http.headers["mcp-protocol-version"]
  if version and not spoken[version] then return refuse(self, http, 400, codes.invalid_request, ("the protocol version %s is not supported"):format(version)) end
  local sink = new_sink(self, http, false)
  if has_request(value) then
    session.connection:take_value(value, sink)
    return attend(self, http, sink, function() session.connection:gone(sink) end)
  end
  sink.notified = true -- what answers it says what is wrong with it
  session.connection:take_value(value, sink)
  if not sink.over then self.listener:respond(http.id, 202, {}, "") end
end

-- ---- Methods ---------------------------------------------------------------------------------------

local function is_modern(http, value)
  local params = type(value.params) == "table" and value.params or {}
  local meta = type(params._meta) == "table" and params._meta or {}
  if meta[META .. "protocolVersion"] ~= nil then return true end
  local version = http.headers["mcp-protocol-version"]
  return version ~= nil and not spoken[version] and value.method ~= "initialize" and not http.headers["mcp-session-id"]
end

local by_method = {}

function by_method.POST(self, http)
  local kind, accept = http.headers["content-type"] or "", http.headers.accept or "*/*"
  if not kind:lower():find "^application/json" then return refuse(self, http, 415, codes.invalid_request, "messages are application/json") end
  if not (accept:find("*/*", 1, true) or accept:find("application/json", 1, true) and accept:find("text/event-stream", 1, true)) then
    return refuse(self, http, 406, codes.invalid_request, "'Accept' has to list application/json and text/event-stream")
  end
  local value, err = json.decode(http.body, true)
  if value == nil then return refuse(self, http, 400, codes.parse, "it is no JSON: " .. err.message) end
  if type(value) ~= "table" then return refuse(self, http, 400, codes.invalid_request, "a message is one JSON object") end
  if is_modern(http, value) then return take_modern(self, http, value) end
  return take_legacy(self, http, value)
end

function by_method.GET(self, http)
  local accept = http.headers.accept or ""
  if not accept:find("text/event-stream", 1, true) then return refuse(self, http, 405, codes.invalid_request, "messages are posted", { allow = "POST, GET, DELETE" }) end
  if not http.headers["mcp-session-id"] then return refuse(self, http, 405, codes.invalid_request, "messages are posted", { allow = "POST" }) end
  local session = session_of(self, http)
  if not session then return end
  if session.stream and not session.stream.over then return refuse(self, http, 409, codes.invalid_request, "this session has a stream already") end
  local sink = new_sink(self, http, false)
  function sink.finish_stream(stream)
    if not stream.over then stream.listener:finish(stream.id) end
    stream.over = true
  end
  session.stream = sink
  begin(sink)
  attend(self, http, sink, function() session.stream = nil end)
end

function by_method.DELETE(self, http)
  local _, id = session_of(self, http)
  if not id then return end
  end_session(self, id)
  self.listener:respond(http.id, 204, {}, "")
end

local function take(self, http)
  if http.gone then
    local gone = self.attended[http.id]
    return gone and gone()
  end
  if not let_in(self, http) then return end
  local act = by_method[http.method]
  if not act then return refuse(self, http, 405, codes.invalid_request, "messages are posted", { allow = "POST, GET, DELETE" }) end
  return act(self, http)
end

-- ---- In another server ---------------------------------------------------------------------------

-- The listener of that server, for one request after the other: the handler waits until its answer is whole.
local Mounted = {}
Mounted.__index = Mounted

local function over(self, id)
  local one = self.open[id]
  if not one then return end
  one.done = true
  one.fiber:wake()
end

function Mounted:respond(id, status, headers, body)
  local one = self.open[id]
  if not one then return nil, { code = "closed", message = "the client is gone" } end
  over(self, id)
  return one.response:send(status, body, headers)
end

function Mounted:begin(id, status, headers)
  local one = self.open[id]
  return one and one.response:stream { status = status, headers = headers, ping = false } and true
end

-- A client that does not read is given up by itself, and holds up nobody.
function Mounted:write(id, bytes)
  local one = self.open[id]
  if not one then return nil, { code = "closed", message = "the client is gone" } end
  one.response.bytes = one.response.bytes + #bytes
  return one.response.listener:write(id, bytes)
end

function Mounted:finish(id) over(self, id) end

function Mounted:abort(id)
  local one = self.open[id]
  if one and one.response.stream_open then one.response.stream_open:abort() end
  over(self, id)
end

--- A handler for an HTTP server of ours (endpoints/server.lua), which has let the request in: whose it is, and from where, was
--- looked at there. What belongs to no request lives as long as the running fiber.
---@param server hocket.McpServer_
---@return fun(request: hocket.Request, response: hocket.Response)
function server_http.mount(server)
  local listener = setmetatable({ open = {} }, Mounted)
  local self = setmetatable({ server = server, listener = listener, sessions = {}, count = 0, attended = {}, owner = fiber.self() }, Http)
  fiber.spawn(expire_sessions, self):serve()
  return function(request, response)
    local one = { response = response, fiber = fiber.self() }
    listener.open[request.id] = one
    local closing <close> = setmetatable({}, { __close = function()
      listener.open[request.id] = nil
      local gone = self.attended[request.id]
      if gone and not one.done then gone() end
    end })
    by_method[request.method](self, request)
    while not one.done do fiber.park() end
  end
end

--- Serves on a port of this machine until the running fiber is cancelled.
---@async
---@param server hocket.McpServer_
---@param options {port?: integer, token?: string|false, on_listen?: fun(url: string, token?: string)} token: false for none, nil for one made.
---@return nil
---@return hocket.Error?
function server_http.serve(server, options)
  local listener, err = require("hocket.internal.core.server").new { port = options.port or 0, address = "127.0.0.1", tells_gone = true }
  if not listener then return nil, err end
  local token = options.token
  if token == nil then token = system.token(32) end
  local self = setmetatable({ server = server, listener = listener, token = token or nil, sessions = {}, count = 0, attended = {}, owner = fiber.self() }, Http)
  local closing <close> = setmetatable({}, { __close = function()
    for id in pairs(self.sessions) do end_session(self, id) end
    listener:close()
  end })
  fiber.spawn(expire_sessions, self):serve()
  if options.on_listen then options.on_listen(("http://127.0.0.1:%d/mcp"):format(listener:port()), self.token) end
  while true do
    local http = listener:accept()
    if not http then return nil, nil end
    local ok, wrong = pcall(take, self, http)
    if not ok then
      if fiber.cancelled() then error(wrong, 0) end
      listener:give_up(http.id)
      system.log("error", "MCP: " .. tostring(type(wrong) == "table" and wrong.message or wrong))
    end
  end
end

return server_http
