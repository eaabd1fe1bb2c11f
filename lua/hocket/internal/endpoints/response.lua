--- The answer to a request, given once by its handler:
---
---     response:json(200, { ok = true })                 or response:send(200, bytes, { ["content-type"] = "text/plain" })
---     response:fail { code = "not_found", message = … } in the interface's own form (router:form), with the status of the code
---     local stream = response:stream()                  server-sent events from here on
---     stream:event { event = "run", data = line, id = 7 }
---     stream:close()
---
--- `stream:write` and `stream:event` wait while the client has much still to read, and return nil when it is gone. A client that goes away
--- cancels the handler's fiber, whatever it waits for. Work that must outlive it is no child of the fiber (the runs of desk.lua are not); other
--- work cleans up by a close handler. If a handler returns without an answer, or raises, the client gets an error.
local fiber = require "hocket.internal.core.fiber"
local json = require "hocket.json"
local store = require "hocket.internal.core.store"

local response = {}

--- Bytes of a stream that may wait to be taken before its handler does.
local FULL = 256 << 10

---@class hocket.Response
local Response = {}
Response.__index = Response

---@param server hocket.EndpointServer
---@param request hocket.Request
---@return hocket.Response
function response.new(server, request)
  return setmetatable({ server = server, listener = server.listener, request = request, id = request.id }, Response)
end

-- Names are in lower case: a second one of the same name replaces the first.
local function joined(headers, more)
  for name, value in pairs(more or {}) do headers[name:lower()] = tostring(value) end
  return headers
end

local function common(self, headers)
  local cors = self.server:cors(self.request)
  return cors and joined(headers, cors) or headers
end

--- Answers whole.
---@param status integer
---@param body? string
---@param headers? table<string, any>
---@return boolean? sent
---@return hocket.Error? The client is gone.
function Response:send(status, body, headers)
  if self.status then error("the request has its answer already", 2) end
  self.status, self.bytes = status, #(body or "")
  local ok, err = self.listener:respond(self.id, status, common(self, joined({}, headers)), body)
  if not ok and err.code == "limit" then -- more than may wait for a client: the client is not to wait for it
    self.status = 500
    self.listener:respond(self.id, 500, { ["content-type"] = "text/plain" }, "the answer is larger than this server sends\n")
  end
  return ok, err
end

--- Answers with JSON.
---@param status integer
---@param value table|string A text is JSON already.
---@param headers? table<string, any>
---@return boolean?
---@return hocket.Error?
function Response:json(status, value, headers)
  return self:send(status, type(value) == "string" and value or json.encode(value), joined({ ["content-type"] = "application/json" }, headers))
end

local statuses = {
  invalid = 400, parse = 400, media_type = 415, auth = 401, denied = 403, not_found = 404, method = 405, exists = 409, state = 409,
  conflict = 409, too_large = 413, limit = 429, agent = 422, script = 500, unsupported = 501, model = 502, provider = 502, closed = 503, timeout = 504,
  io = 503, -- our store is away, or full: another time
}

--- The status that goes with an error.
---@param err hocket.Error
---@return integer
function response.status_of(err)
  return statuses[err.code] or 500
end

--- While the store is away nobody knows what is not there.
---@param err hocket.Error
---@return hocket.Error
function Response:known(err)
  local unknown = err.code == "not_found" and not err.status and self.server.desk.kept and store.is_away()
  return unknown and { code = "io", message = "the store is away", retry_after = 5 } or err
end

--- Answers with an error. `err.retry_after` (seconds) becomes a header, `err.status` the status where the code says too little.
---@param err hocket.Error
---@param headers? table<string, any>
---@return boolean?
---@return hocket.Error?
function Response:fail(err, headers)
  err = self:known(err)
  local status = err.status or response.status_of(err)
  local body, more = self.server.router:form_of(self.request.path)(status, err, self.request)
  local all = joined(joined({}, more), headers)
  if err.retry_after then all["retry-after"] = tostring(math.max(1, math.ceil(err.retry_after))) end
  return self:json(status, body, all)
end

-- ---- Streams ------------------------------------------------------------------------------------

---@class hocket.EventStream
local Stream = {}
Stream.__index = Stream

--- Begins a stream. `ping` is what is sent when nothing else was for 15 seconds, so that the client and what is between sees that we are
--- alive; false: nothing. Where the client is gone the stream is over from the start: what is written to it says so.
---@param options? {status?: integer, headers?: table, ping?: string|false}
---@return hocket.EventStream stream
function Response:stream(options)
  if self.status then error("the request has its answer already", 2) end
  options = options or {}
  local headers = joined({
    ["content-type"] = "text/event-stream", ["cache-control"] = "no-cache, no-transform", ["x-accel-buffering"] = "no",
  }, options.headers)
  self.status, self.bytes = options.status or 200, 0
  local stream = setmetatable({ listener = self.listener, id = self.id, response = self, written = fiber.now() }, Stream)
  local ok, err = self.listener:begin(self.id, self.status, common(self, headers))
  if not ok then
    if err.code ~= "closed" then error(err, 2) end
    stream.closed = true
    return stream
  end
  if options.ping ~= false then stream.ping = options.ping or ": at work\n\n" end
  store.hurry(0) -- it goes on for as long as it takes
  self.stream_open = stream
  self.server.streams[self.id], self.server.n_streams = stream, self.server.n_streams + 1
  return stream
end

--- Sends bytes.
---@async
---@param bytes string
---@return boolean? sent
---@return hocket.Error? The client is gone.
function Stream:write(bytes)
  if self.closed then return nil, { code = "closed", message = "the stream is over, or its client is gone" } end
  local ok, err = self.listener:write(self.id, bytes)
  if ok then
    self.written, self.response.bytes = fiber.now(), self.response.bytes + #bytes
    return self.listener:drain(self.id, FULL)
  elseif err.code ~= "limit" then
    self.closed = true
    return nil, err
  end
  ok, err = self.listener:drain(self.id, 0) -- one piece that is larger than the limit has to go alone
  if ok then ok, err = self.listener:write(self.id, bytes) end
  if not ok then
    self.closed = true
    self.listener:abort(self.id, "eof")
  end
  return ok, err
end

--- One server-sent event as bytes.
---@param event {event?: string, data: string|table, id?: string|integer}
---@return string
function response.event(event)
  local data = type(event.data) == "table" and json.encode(event.data) or event.data
  if data:find("[\r\n]") then data = data:gsub("\r\n?", "\n"):gsub("\n", "\ndata: ") end
  local head = event.event and ("event: %s\n"):format(event.event) or ""
  if event.id then head = ("%sid: %s\n"):format(head, event.id) end
  return ("%sdata: %s\n\n"):format(head, data)
end

--- Sends one event; `data` that is a table becomes JSON.
---@async
---@param event {event?: string, data: string|table, id?: string|integer}
---@return boolean?
---@return hocket.Error?
function Stream:event(event)
  return self:write(response.event(event))
end

--- Ends it in order.
function Stream:close()
  if self.closed then return end
  self.closed = true
  self.listener:finish(self.id)
end

--- Ends it so that the client sees that something is missing.
function Stream:abort()
  if self.closed then return end
  self.closed = true
  self.listener:abort(self.id, "eof")
end

return response
