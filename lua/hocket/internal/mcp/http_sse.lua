--- MCP over HTTP as it was in 2024-11-05 ("HTTP+SSE"), for servers that know nothing newer. All messages of the server come on the
--- stream of one GET. Its first event names the address for posting messages.
local address_check = require "hocket.internal.base.http.address_check"
local fiber = require "hocket.internal.core.fiber"
local sse = require "hocket.internal.mcp.sse"
local system = require "hocket.internal.core.system"
local script_env = require "hocket.internal.base.lazy" "hocket.internal.base.script.env"
local failed = system.error

local transport = {}

--- Seconds that the first event may take, and that the stream may be silent.
local FIRST, SILENCE = 10, 600

---@class hocket.McpHttpSse: hocket.McpTransport
local HttpSse = {}
HttpSse.__index = HttpSse

local function headers_for(self, accept)
  local all = { accept = accept, ["user-agent"] = "hocket/" .. system.version() }
  for name, value in pairs(self.headers) do all[name:lower()] = value end
  local token = self.login and self.login:token()
  if token then all.authorization = "Bearer " .. token end
  return all
end

-- The address that the first event names; what is meant for this server goes to no other.
local function address_of(self, said)
  local own, address = address_check.read(self.url), address_check.read(said, self.url)
  if own and address and own.scheme == address.scheme and address_check.is_same_place(own, address) then return address.url end
  return nil, failed { code = "server", message = ("%s wants its messages at %s, which is another server"):format(self.peer.name, said:gsub("%c", "?"):sub(1, 200)) }
end

local function take(self, event)
  if event.event == "endpoint" and not self.address then
    self.address, self.err = address_of(self, event.data)
    self.waiter:wake()
  elseif event.event == "message" and event.data:find "%S" then
    self.peer:hear(event.data)
  end
end

local function hear(self, stream)
  local reader = sse.reader()
  while true do
    local piece, err = stream:read()
    local events = piece and reader:feed(piece)
    if not events then return err end
    for _, event in ipairs(events) do take(self, event) end
  end
end

local function listen(self)
  local stream, err = script_env.open_stream { url = self.url, headers = headers_for(self, "text/event-stream"), idle_timeout = SILENCE }
  if stream and (stream:status() ~= 200 or not (stream:headers()["content-type"] or ""):find "^text/event%-stream") then
    err = failed { code = "http", http_status = stream:status(), message = ("%s: HTTP %d, and no stream of events"):format(self.peer.name, stream:status()) }
    stream:close()
  elseif stream then
    err = hear(self, stream)
  end
  self.err = self.err or err or failed { code = "server", message = ("%s ended its stream"):format(self.peer.name) }
  self.waiter:wake()
  self.peer:shut(self.err)
end

--- Opens the stream, and waits for the address.
---@async
---@param peer hocket.McpPeer
---@param spec {url: string, headers?: table<string, string>, login?: hocket.McpLogin}
---@return hocket.McpHttpSse?
---@return hocket.Error?
function transport.open(peer, spec)
  local self = setmetatable({ peer = peer, url = spec.url, headers = spec.headers or {}, login = spec.login, waiter = fiber.self() }, HttpSse)
  peer.transport = self
  fiber.spawn_under(peer.owner, listen, self)
  local due = fiber.now() + FIRST
  while not self.address and not self.err and fiber.now() < due do fiber.park(math.max(due - fiber.now(), 0.001)) end
  if self.address then return self end
  return nil, self.err or failed { code = "timeout", message = ("%s did not say within %d s where messages go"):format(peer.name, FIRST) }
end

local function post(self, text, id)
  local headers = headers_for(self, "application/json")
  headers["content-type"] = "application/json"
  local stream, err = script_env.open_stream { url = self.address, body = text, headers = headers, idle_timeout = SILENCE }
  local status = stream and stream:status()
  if stream then stream:close() end
  if not stream or status >= 300 then
    self.peer:fail(id, err or failed { code = "http", http_status = status, message = ("%s: HTTP %d"):format(self.peer.name, status) })
  end
end

--- Posts a message; what is answered comes on the stream.
function HttpSse:send(text, what)
  fiber.spawn_under(self.peer.owner, post, self, text, what.id)
  return true
end

function HttpSse:close() end

return transport
