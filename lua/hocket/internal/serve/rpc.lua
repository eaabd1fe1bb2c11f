--- JSON-RPC 2.0 with a peer that may ask as well: requests, notices and answers both ways, as agents' protocols on standard
--- input and output have it. No batches.
---
---     take(text) ──> request ──> methods[name](params, request) in a fiber of its own ──> its answer
---                ──> notice  ──> notices[name](params)
---                ──> answer  ──> whoever waits in ask()
---
--- What is sent waits in one queue, in order: nobody who tells something is kept waiting. An item of it may be a table, which becomes text
--- when its turn comes, and may be added to until then. A peer that does not read is given up.
local fiber = require "hocket.internal.core.fiber"
local json = require "hocket.json"
local message = require "hocket.internal.mcp.message"
local system = require "hocket.internal.core.system"

local rpc = {}

rpc.codes = setmetatable({ busy = -32600, cancelled = -32800, not_found = -32002 }, { __index = message.codes })
local codes = rpc.codes

--- Requests of the peer that are under way; bytes and items that may wait to be sent.
local MAX_OPEN, MAX_BYTES, MAX_ITEMS = 1000, 64 << 20, 100000

---@class hocket.Rpc
---@field closed? boolean
local Rpc = {}
Rpc.__index = Rpc

---@class hocket.RpcSink
---@field send fun(self, text: string): boolean? Hands one message over; may wait. false: nobody hears it.

-- ---- What is sent ----------------------------------------------------------------------------

local function overfull(self)
  return self.bytes > MAX_BYTES or self.last - self.first > MAX_ITEMS
end

--- Puts an item into the queue: a text, or a table with `size` and `text()`.
---@param item string|{size: integer, text: fun(self): string}
function Rpc:put(item)
  if self.closed then return end
  self.last = self.last + 1
  self.queue[self.last] = item
  self.bytes = self.bytes + (type(item) == "string" and #item or item.size)
  if overfull(self) then
    system.log("error", "the client does not read: it is given up")
    return self:close()
  end
  self.sender:wake()
end

--- The item that was put last, while nobody has begun to send it.
---@return string|table|nil
function Rpc:newest()
  return self.queue[self.last]
end

--- An item has grown by so many bytes.
---@param bytes integer
function Rpc:grew(bytes)
  self.bytes = self.bytes + bytes
  if overfull(self) then self:close() end
end

-- A tool's result, or a model's text, may hold bytes that are no UTF-8: a peer could not read the message.
local function readable(text)
  if utf8.len(text) then return text end
  return (text:gsub("[\128-\255]+", function(bytes) return utf8.len(bytes) and bytes or "\u{FFFD}" end))
end

local function next_item(self)
  local item = self.queue[self.first]
  self.queue[self.first], self.first = nil, self.first + 1
  self.bytes = self.bytes - (type(item) == "string" and #item or item.size)
  return readable(type(item) == "string" and item or item:text())
end

local function send_all(self)
  while true do
    while self.first <= self.last do
      if self.sink:send(next_item(self)) == false then return self:close() end
    end
    if self.settling then self.settling:wake() end
    fiber.park()
  end
end

--- Nothing more comes: waits until everything that was asked is answered and sent, for at most so many seconds.
---@async
---@param seconds number
function Rpc:settle(seconds)
  local due = fiber.now() + seconds
  self.settling = fiber.self()
  while (self.count > 0 or self.first <= self.last) and not self.closed and fiber.now() < due do fiber.park(due - fiber.now()) end
  self.settling = nil
end

-- ---- What comes ------------------------------------------------------------------------------

local function internal(err)
  local text = type(err) == "table" and err.message or tostring(err)
  system.log("error", "the server failed: " .. text)
  return { code = codes.internal, message = text }
end

local function answer_request(self, request, result, err)
  if self.open[request.id] ~= request then return end
  self.open[request.id], self.count = nil, self.count - 1
  if request.before_answer then request.before_answer(result) end
  if err then self:put(message.error(request.id, err.code, err.message, err.data)) else self:put(message.result(request.id, result)) end
  if request.after_answer then request.after_answer() end
end

local cancelled = { code = codes.cancelled, message = "cancelled" }

local function perform(self, request, method)
  request.begun = true
  local ok, result, err = pcall(method, request.params, request)
  if not ok then
    if fiber.cancelled() then
      if not request.dropped then error(result, 0) end
      return answer_request(self, request, nil, cancelled)
    end
    result, err = nil, type(result) == "table" and result.code and math.type(result.code) == "integer" and result or internal(result)
  end
  answer_request(self, request, result, not result and (err or internal "it has no answer") or nil)
end

local function refuse(self, id, code, text)
  self:put(message.error(id, code, text))
end

local function begin(self, one)
  local method = self.methods[one.method]
  if self.open[one.id] then return refuse(self, one.id, codes.invalid_request, "this id is in use by a request that is not answered yet") end
  if not method then return refuse(self, one.id, codes.no_method, ("there is no method '%s'"):format(one.method)) end
  if self.count >= MAX_OPEN then return refuse(self, one.id, codes.internal, ("more than %d requests at once"):format(MAX_OPEN)) end
  local request = { id = one.id, method = one.method, params = one.params }
  self.open[one.id], self.count = request, self.count + 1
  request.fiber = fiber.spawn_under(self.owner, perform, self, request, method)
end

local function answered(self, value)
  local call = math.type(value.id) == "integer" and self.asked[value.id]
  if not call then return end -- late, twice, or never asked
  self.asked[value.id] = nil
  call.done = true
  if type(value.error) == "table" then
    call.err = { code = math.type(value.error.code) == "integer" and value.error.code or codes.internal, message = tostring(value.error.message or "no message") }
  else
    call.result = type(value.result) == "table" and value.result or {}
  end
  call.fiber:wake()
end

-- A notice that something does not do is none of the peer's business, and no end of the connection.
local function notice(self, one)
  local fn = self.notices[one.method]
  if fn then fiber.spawn_under(self.owner, function()
    local ok, err = pcall(fn, one.params)
    if not ok and not fiber.cancelled() then internal(err) end
  end) end
end

--- Takes one message.
---@param text string
function Rpc:take(text)
  local value, err = json.decode(text)
  if value == nil then return refuse(self, nil, codes.parse, "it is no JSON: " .. err.message) end
  if type(value) == "table" and value.method == nil and value.jsonrpc == "2.0" and (value.result ~= nil or value.error ~= nil) then return answered(self, value) end
  local one, wrong = message.check(value)
  if not one then return refuse(self, wrong.id, wrong.code, wrong.message) end
  if one.kind == "request" then return begin(self, one) end
  return notice(self, one)
end

--- Ends a request of the peer that is under way, which is answered with "cancelled".
---@param id integer|string
function Rpc:drop(id)
  local request = self.open[id]
  if not request then return end
  if request.on_drop then return request.on_drop() end
  request.dropped = true
  request.fiber:cancel()
  if not request.begun then answer_request(self, request, nil, cancelled) end -- its fiber does nothing any more
end

-- ---- What is asked ---------------------------------------------------------------------------

--- Sends a notice.
---@param method string
---@param params table
function Rpc:tell(method, params)
  self:put(message.request(nil, method, params))
end

--- Asks, and waits for as long as it takes.
---@async
---@param method string
---@param params table
---@return table? result {} where it is no object.
---@return {code: integer, message: string}?
function Rpc:ask(method, params)
  if self.closed then return nil, { code = codes.internal, message = "the client is gone" } end
  self.last_id = self.last_id + 1
  local id, call = self.last_id, { fiber = fiber.self() }
  self.asked[id] = call
  local left <close> = setmetatable({}, { __close = function()
    if self.asked[id] ~= call then return end
    self.asked[id] = nil
    self:tell("$/cancel_request", { requestId = id })
  end })
  self:put(message.request(id, method, params))
  while not call.done do fiber.park_for_program() end
  return call.result, call.err
end

-- ---- Beginning and end -----------------------------------------------------------------------

--- Ends everything that is under way.
function Rpc:close()
  if self.closed then return end
  self.closed = true
  for _, call in pairs(self.asked) do
    call.done, call.err = true, { code = codes.internal, message = "the client is gone" }
    call.fiber:wake()
  end
  self.asked, self.queue, self.first, self.last, self.bytes = {}, {}, 1, 0, 0
  if self.on_close then self.on_close() end
end

--- Makes one below the running fiber.
---@param spec {sink: hocket.RpcSink, methods: table<string, fun(params: table, request: table): table?, table?>, notices: table<string, fun(params: table)>, on_close?: fun()} on_close: nobody hears anything any more.
---@return hocket.Rpc
function rpc.new(spec)
  local self = setmetatable({
    sink = spec.sink, methods = spec.methods, notices = spec.notices, on_close = spec.on_close, owner = fiber.self(),
    open = {}, count = 0, asked = {}, last_id = 0, queue = {}, first = 1, last = 0, bytes = 0,
  }, Rpc)
  self.sender = fiber.spawn(send_all, self)
  self.sender:serve()
  return self
end

return rpc
