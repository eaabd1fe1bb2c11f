--- MCP over HTTP ("Streamable HTTP"): each message is a POST; its answer is one JSON object, or a stream of events that
--- ends with it.
---
---     2026-07-28: no sessions. Every POST names version, method and what it is about in headers; closing the
---                 stream is the cancel; a stream that breaks is a request that is lost.
---     before:     a session id from the first answer on; a stream that breaks continues with a GET from the last event; the
---                 server's own requests come on a GET's stream.
local fiber = require "hocket.internal.core.fiber"
local http = require "hocket.http"
local script_env = require "hocket.internal.base.lazy" "hocket.internal.base.script.env"
local sse = require "hocket.internal.mcp.sse"
local system = require "hocket.internal.core.system"
local failed = system.error

local transport = {}

local MAX_ANSWER = 32 << 20
--- Seconds: silence of a stream, where servers send comments to keep it open; the pause before a stream is taken up again.
local SILENCE, AGAIN = 600, 1
--- How often a broken stream is taken up again, and how often a request is asked for leave.
local MAX_RESUMED, MAX_ASKED = 5, 5

---@class hocket.McpHttp: hocket.McpTransport
---@field url string
---@field modern boolean
---@field version? string What the two have agreed on.
---@field session? string
---@field headers table<string, string> The person's own.
---@field login? hocket.McpLogin Gets tokens, where the server wants some.
local Http = {}
Http.__index = Http

---@param peer hocket.McpPeer
---@param spec {url: string, headers?: table<string, string>, login?: hocket.McpLogin}
---@return hocket.McpHttp
function transport.open(peer, spec)
  local self = setmetatable({ peer = peer, url = spec.url, headers = spec.headers or {}, login = spec.login, modern = true }, Http)
  peer.transport = self
  return self
end

-- ---- Headers -------------------------------------------------------------------------------

-- What is no plain text stands as =?base64?…?=, and so does what looks like that.
local function header_value(text)
  local plain = text:find "^[\x21-\x7E][\x20-\x7E]*$" and not text:find " $" and not text:find "^=%?base64%?"
  return plain and text or "=?base64?" .. system.base64(text) .. "?="
end

local function headers_for(self, what)
  local all = { accept = "application/json, text/event-stream", ["content-type"] = "application/json", ["user-agent"] = "hocket/" .. system.version() }
  for name, value in pairs(self.headers) do all[name:lower()] = value end
  local token = self.login and self.login:token()
  if token then all.authorization = "Bearer " .. token end
  if self.version then all["mcp-protocol-version"] = self.version end
  if self.modern then
    all["mcp-method"] = what.method
    all["mcp-name"] = what.name and header_value(what.name) or nil
    for name, value in pairs(what.headers or {}) do all[name:lower()] = header_value(value) end
  elseif self.session then
    all["mcp-session-id"] = self.session
  end
  return all
end

-- ---- Answers -------------------------------------------------------------------------------

local function read_all(stream)
  local parts, size = {}, 0
  while true do
    local piece, err = stream:read()
    if not piece then return not err and table.concat(parts) or nil, err end
    parts[#parts + 1], size = piece, size + #piece
    if size > MAX_ANSWER then return nil, failed { code = "limit", message = ("an answer of more than %d MiB"):format(MAX_ANSWER >> 20) } end
  end
end

local function is_event_stream(stream)
  return (stream:headers()["content-type"] or ""):find "^text/event%-stream" ~= nil
end

-- Hears the events of a stream to its end. Returns its reader, and what broke it.
local function hear_stream(self, stream, reader)
  while true do
    local piece, err = stream:read()
    if not piece then return err end
    local events = reader:feed(piece)
    if not events then return failed { code = "limit", message = "an event of more than 32 MiB" } end
    for _, event in ipairs(events) do
      if event.event == "message" and event.data:find "%S" then self.peer:hear(event.data) end
    end
  end
end

local function is_answered(self, what)
  local call = what.id and self.peer.pending[what.id]
  return not call or call.done
end

-- A stream of the older protocols that broke goes on from its last event.
local function resume(self, what, reader)
  for _ = 1, MAX_RESUMED do
    if is_answered(self, what) or self.modern or not reader.id then return end
    fiber.sleep(reader.retry or AGAIN)
    local headers = headers_for(self, what)
    headers.accept, headers["content-type"], headers["last-event-id"] = "text/event-stream", nil, reader.id
    local stream = script_env.open_stream { url = self.url, headers = headers, idle_timeout = SILENCE }
    if stream and (stream:status() ~= 200 or not is_event_stream(stream)) then return end
    if stream then hear_stream(self, stream, reader) end
  end
end

local function hear_answer(self, stream, what)
  if is_event_stream(stream) then
    local reader = sse.reader()
    local err = hear_stream(self, stream, reader)
    resume(self, what, reader)
    return not (err and not is_answered(self, what)) or nil, err
  end
  local body, err = read_all(stream)
  if not body then return nil, err end
  if not body:find "%S" then return true end
  local heard, wrong = self.peer:hear(body)
  if heard then return true end
  return nil, failed { code = "server", message = ("%s: the answer is no message: %s"):format(self.peer.name, wrong) }
end

-- What an answer of 400 and more says: a message of the protocol, where it is one for this request.
local function refusal(self, stream, what)
  local status = stream:status()
  local body = read_all(stream) or ""
  if what.id and body:find '"jsonrpc"' then
    self.peer:hear((body:gsub('"id"%s*:%s*null', '"id":' .. what.id))) -- a server may not have got as far as the id
    if is_answered(self, what) then return true end
  end
  local line = body:gsub("%c+", " "):sub(1, 300)
  return nil, failed { code = "http", http_status = status, session_lost = status == 404 and self.session ~= nil or nil,
    message = ("%s: HTTP %d%s"):format(self.peer.name, status, line:find "%S" and ": " .. line or "") }
end

local function send_once(self, text, what)
  local stream, err = script_env.open_stream { url = self.url, body = text, headers = headers_for(self, what), idle_timeout = SILENCE }
  if not stream then return nil, err end
  local status, headers = stream:status(), stream:headers()
  if (status == 401 or status == 403) and self.login then
    stream:close()
    local token, refused = self.login:answer(status, headers["www-authenticate"])
    return token and "again" or nil, refused
  elseif status >= 300 then
    return refusal(self, stream, what)
  end
  if self.login then self.login:went_well() end
  if what.method == "initialize" then self.session = headers["mcp-session-id"] end
  if status == 202 then return true end
  return hear_answer(self, stream, what)
end

--- Sends a message and hears what comes until its answer is over.
---@async
function Http:post(text, what)
  for _ = 1, MAX_ASKED do
    local ok, err = send_once(self, text, what)
    if ok ~= "again" then return ok, err end
  end
  return nil, failed { code = "auth", message = ("%s refuses us, though it has just given us leave"):format(self.peer.name) }
end

--- Notifications and answers need no answer; but for a cancel, which here is the end of its stream.
function Http:send(text, what)
  if self.modern and what.method == "notifications/cancelled" then return true end
  fiber.spawn_under(self.peer.owner, self.post, self, text, what)
  return true
end

--- Hears what the server says by itself, in the older protocols: until there is no such stream.
---@async
function Http:listen()
  local reader, failures = sse.reader(), 0
  while failures < MAX_RESUMED do
    local headers = headers_for(self, {})
    headers.accept, headers["content-type"], headers["last-event-id"] = "text/event-stream", nil, reader.id
    local stream, began = script_env.open_stream { url = self.url, headers = headers }, fiber.now()
    if stream and (stream:status() ~= 200 or not is_event_stream(stream)) then return end
    if stream then hear_stream(self, stream, reader) end
    failures = fiber.now() - began > 10 and 0 or failures + 1
    fiber.sleep(reader.retry or AGAIN)
  end
end

--- A session of the older protocols is given back.
---@async
function Http:close()
  if self.session and not self.modern then
    http.request { url = self.url, method = "DELETE", headers = headers_for(self, {}), timeout = 5 }
  end
end

return transport
