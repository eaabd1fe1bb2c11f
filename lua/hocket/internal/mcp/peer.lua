--- One side of a JSON-RPC connection: requests that wait for their answers, and what the other side asks.
---
---     request ──> pending[id] ──> transport ──> server
---        ^                                        │
---        └──── answer ── hear(message) <──────────┘──> on_notification, on_request
---
--- A request waits for `timeout` seconds without progress, and for `max` seconds in all. One cancelled, or out
--- of time, is reported to the server, and a late answer is dropped. Ids are never used again. While the other side waits for
--- an answer of ours, of a person for example, no time of our requests passes.
local idle_wait = require "hocket.internal.base.idle_wait"
local fiber = require "hocket.internal.core.fiber"
local message = require "hocket.internal.mcp.message"
local runs = require "hocket.internal.run.run"
local failed = require("hocket.internal.core.system").error

local peer = {}

--- Seconds.
local TIMEOUT, MAX = 60, 600
--- Seconds between two progress reports of a request that are passed on. Its last report never waits.
local TOLD_EVERY = 0.05
--- Requests of one connection at once.
local MAX_PENDING = 1000

---@class hocket.McpPeer
---@field closed? hocket.Error Why nothing goes any more.
---@field observer? hocket.Observer Of the run that it is made for, until it is there.
---@field place? table Where it is, as traces say it.
local Peer = {}
Peer.__index = Peer

---@class hocket.McpTransport
---@field send fun(self, text: string, what: {method?: string, name?: string, id?: any}): boolean?, hocket.Error? Hands a message over.
---@field post? fun(self, text: string, what: table): boolean?, hocket.Error? Instead: sends a request, and hears what comes until its answer is over.
---@field close fun(self)

--- Makes a peer. The transport calls `hear` with what comes, and `shut` when nothing more can.
---@param name string The server's, for messages.
---@param on {notification?: fun(method: string, params: table), request?: fun(method: string, params: table): table?, table?}
---@return hocket.McpPeer
function peer.new(name, on)
  return setmetatable({ name = name, on = on, pending = {}, count = 0, next_id = 0, by_token = {}, asked = 0 }, Peer)
end

-- ---- What comes ----------------------------------------------------------------------------

local function answer(self, id, result, err)
  local call = self.pending[id]
  if not call or call.done then return end -- late, twice, or never asked: nobody waits for it
  call.done, call.result, call.err = true, result, err
  call.fiber:wake()
end

-- Lets the calls that wait look again: the other side has asked something, or has its answers.
local function look_again(self, passed)
  for _, call in pairs(self.pending) do
    call.moved, call.until_ = call.moved + passed, call.until_ + passed
    call.fiber:wake()
  end
end

-- The other side waits for us until the handle is closed.
local function hold(self)
  if self.asked == 0 then self.since = fiber.now() end
  self.asked = self.asked + 1
  look_again(self, 0)
  return setmetatable({}, { __close = function()
    self.asked = self.asked - 1
    if self.asked == 0 then look_again(self, fiber.now() - self.since) end
  end })
end

-- The other side's requests are answered beside what goes on.
local function serve(self, one)
  local held <close> = hold(self)
  local handler = self.on.request
  local result, err
  if handler then result, err = handler(one.method, one.params) end
  if not result then
    err = err or { code = message.codes.no_method, message = "this client has no method '" .. one.method .. "'" }
    return self.transport:send(message.error(one.id, err.code, err.message), { id = one.id })
  end
  return self.transport:send(message.result(one.id, result), { id = one.id })
end

local function note_progress(self, params)
  local call = self.by_token[params.progressToken]
  if not call or type(params.progress) ~= "number" or params.progress ~= params.progress then return end
  if call.progress and params.progress <= call.progress then return end -- it has to rise
  call.progress, call.moved = params.progress, fiber.now()
  call.fiber:wake()
  local ends = not call.complete and type(params.total) == "number" and params.progress >= params.total -- a flood may say so of each
  if not call.on_progress or not ends and call.told and call.moved - call.told < TOLD_EVERY then return end
  call.told, call.complete = call.moved, call.complete or ends
  call.on_progress(params)
end

--- Takes one message of the other side.
---@param text string
---@return boolean? heard nil: it was none.
---@return string? wrong
function Peer:hear(text)
  local list, wrong = message.read(text)
  if not list then return nil, wrong end
  for _, one in ipairs(list) do
    if one.kind == "response" then
      answer(self, one.id, one.result)
    elseif one.kind == "error" then
      if one.id then answer(self, one.id, nil, one.error) end
    elseif one.kind == "request" then
      fiber.spawn_under(self.owner, serve, self, one)
    elseif one.method == "notifications/progress" then
      note_progress(self, one.params)
    elseif self.on.notification then
      self.on.notification(one.method, one.params)
    end
  end
  return true
end

--- A request could not be handed over: whoever waits for its answer gets the error.
---@param id any
---@param err hocket.Error
function Peer:fail(id, err)
  local call = self.pending[id]
  if not call or call.done then return end
  call.done, call.lost = true, err
  call.fiber:wake()
end

--- Nothing goes any more: everybody who waits gets the error.
---@param err hocket.Error
function Peer:shut(err)
  if self.closed then return end
  self.closed = err
  for _, call in pairs(self.pending) do
    if not call.done then
      call.done, call.lost = true, err
      call.fiber:wake()
    end
  end
end

-- ---- What is asked -------------------------------------------------------------------------

local function late(self, call, method)
  local now = fiber.now()
  local seconds, what
  if now >= call.until_ then seconds, what = call.max, "in all"
  elseif now >= call.moved + call.timeout then seconds, what = call.timeout, call.progress and "without progress" or ""
  else return nil end
  return failed { code = "timeout", message = ("%s did not answer %s within %g s%s"):format(self.name, method, seconds, what ~= "" and " " .. what or "") }
end

local function wait(self, call, method)
  while not call.done do
    if self.asked > 0 then
      idle_wait("people", fiber.park)
    else
      local err = late(self, call, method)
      if err then return nil, err end
      fiber.park(math.max(math.min(call.until_, call.moved + call.timeout) - fiber.now(), 0.001))
    end
  end
  if call.lost then return nil, call.lost end
  if call.result then return call.result end
  return nil, failed { code = "server", message = ("%s: %s"):format(self.name, call.err.message), rpc = call.err }
end

-- Nobody waits any more. A server that works on it is informed, in the words of its protocol version.
local function drop(self, call)
  self.pending[call.id], self.by_token[call.id], self.count = nil, nil, self.count - 1
  if call.worker then call.worker:cancel() end -- closing its stream
  if not call.done and not self.closed and not call.quiet then
    self.transport:send(message.request(nil, "notifications/cancelled", { requestId = call.id, reason = "no longer needed" }), { method = "notifications/cancelled" })
  end
end

-- A transport that answers each request by itself has it go in a fiber of its own.
local function hand_over(self, call, text, what)
  if not self.transport.post then return self.transport:send(text, what) end
  call.worker = fiber.spawn(function()
    local ok, err = self.transport:post(text, what)
    if call.done then return end
    call.done = true
    call.lost = not ok and err or failed { code = "server", message = ("%s ended its answer to %s before there was one"):format(self.name, what.method) }
    call.fiber:wake()
  end)
  return true
end

-- The same parameters, which say more of themselves.
local function with_meta(params, more)
  local copy, meta = {}, {}
  for name, value in pairs(params or {}) do copy[name] = value end
  for name, value in pairs(copy._meta or {}) do meta[name] = value end
  for name, value in pairs(more) do meta[name] = value end
  copy._meta = meta
  return copy
end

-- The ones that are about what both sides can, which older servers take to the letter.
local agreeing = { initialize = true, ["server/discover"] = true }

-- As far as a trace tells it: some of it is a model's.
local function text_of(value)
  return type(value) == "string" and value:sub(1, 200) or nil
end

-- The span of a request, where somebody wants the trace of the run that asks; a tool's own call is in the tool's.
local function observe(self, method, params, id)
  local run = runs.current()
  local observer = run and run.observer or self.observer
  if not observer or method == "tools/call" and observer:here() then return nil end
  local place, transport = self.place or {}, self.transport or {}
  local name, uri = params and params.name, params and params.uri
  return observer:rpc { method = method, id = id, name = text_of(name), uri = text_of(uri), server = place.server, version = transport.version,
    session = transport.session, transport = place.transport or "pipe", address = place.address, port = place.port }
end

--- Asks, and waits for the answer.
---@async
---@param method string
---@param params? table
---@param opts? {timeout?: number, max?: number, on_progress?: fun(params: table), name?: string, headers?: table<string, string>, quiet?: boolean} timeout: seconds without progress (60); max: in all (600); name: what it is about, headers: further ones, both for HTTP; quiet: it must not be cancelled.
---@return table? result
---@return hocket.Error? The field `rpc` has the server's own error.
function Peer:request(method, params, opts)
  opts = opts or {}
  if self.closed then return nil, self.closed end
  if self.count >= MAX_PENDING then return nil, failed { code = "limit", message = ("more than %d requests to %s at once"):format(MAX_PENDING, self.name) } end
  self.next_id = self.next_id + 1
  local now = fiber.now()
  local call = {
    id = self.next_id, fiber = fiber.self(), timeout = opts.timeout or TIMEOUT, max = opts.max or MAX, moved = now,
    until_ = now + (opts.max or MAX), on_progress = opts.on_progress, quiet = opts.quiet,
  }
  self.pending[call.id], self.count = call, self.count + 1
  local open <close> = setmetatable({}, { __close = function() drop(self, call) end })
  if opts.on_progress then
    self.by_token[call.id] = call
    params = with_meta(params, { progressToken = call.id })
  end
  local observed <close> = observe(self, method, params, call.id)
  local meta = observed and not agreeing[method] and observed:meta()
  if meta then params = with_meta(params, meta) end
  local ok, err = hand_over(self, call, message.request(call.id, method, params), { method = method, name = opts.name, headers = opts.headers, id = call.id })
  local result
  if ok then result, err = wait(self, call, method) end
  if observed then observed:rpc_answered(not result and err or nil) end
  if result then return result end
  return nil, err
end

--- Tells something that needs no answer.
---@async
---@param method string
---@param params? table
---@return boolean? told
---@return hocket.Error?
function Peer:notify(method, params)
  if self.closed then return nil, self.closed end
  return self.transport:send(message.request(nil, method, params), { method = method })
end

return peer
