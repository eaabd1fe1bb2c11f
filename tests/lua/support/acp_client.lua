-- An editor for tests: a client of the Agent Client Protocol in this process, as good or as bad as a test wants.
local acp = require "hocket.internal.serve.acp"
local fiber = require "hocket.internal.core.fiber"
local json = require "hocket.json"
local process = require "hocket.process"

local acp_client = {}

local Client = {}
Client.__index = Client

local function heard(self, text)
  local m = json.decode(text)
  self.raw[#self.raw + 1] = text
  if m.method and m.id ~= nil then
    self.requests[#self.requests + 1] = m
    local answer = self.on[m.method]
    if answer then fiber.spawn_under(self.owner, function()
      local result, err = answer(m.params, m)
      if result or err then self:send { jsonrpc = "2.0", id = m.id, result = result, error = err } end
    end) end
  elseif m.method then
    self.updates[#self.updates + 1] = m.params.update or m
  elseif m.id ~= nil then
    self.answers[m.id] = m
  else
    self.lost[#self.lost + 1] = m
  end
  for waiting in pairs(self.waiting) do waiting:wake() end
end

--- Opens one. `on` answers requests: a function of params for each method.
function acp_client.open(spec)
  local self = setmetatable({ raw = {}, requests = {}, updates = {}, answers = {}, lost = {}, waiting = {}, on = spec.on or {}, last = 0 }, Client)
  self.owner = fiber.detach(function()
    self.server = acp.new { target = spec.target, options = spec.options or {}, store = spec.store, sink = {
      send = function(_, text)
        while self.deaf do fiber.park() end
        heard(self, text)
        return not self.gone
      end,
    } }
    for waiting in pairs(self.waiting) do waiting:wake() end
    while true do fiber.park() end
  end)
  self:wait(function() return self.server end)
  return self
end

--- The same with `hocket acp` as a program: {argv, env, cwd, on}.
function acp_client.program(spec)
  local self = setmetatable({ raw = {}, requests = {}, updates = {}, answers = {}, lost = {}, waiting = {}, on = spec.on or {}, last = 0 }, Client)
  local program = assert(process.open { argv = spec.argv, env = spec.env, cwd = spec.cwd, sandbox = "limits", network = true, sockets = true })
  self.owner = fiber.detach(function()
    while true do
      local line = program:read_line()
      if not line then break end
      heard(self, line)
    end
    while true do fiber.park() end
  end)
  self.owner:serve()
  self.server = { take = function(_, text) program:write(text .. "\n") end, close = function()
    program:end_input()
    self.ended = program:wait(30)
    program:close()
  end }
  return self
end

--- Waits until it is so.
function Client:wait(fn)
  local me = fiber.self()
  self.waiting[me] = true
  while not fn() do fiber.park() end
  self.waiting[me] = nil
  return fn()
end

function Client:send(message)
  self.server:take(type(message) == "string" and message or json.encode(message))
end

--- Asks; returns the id.
function Client:ask(method, params)
  self.last = self.last + 1
  self:send { jsonrpc = "2.0", id = self.last, method = method, params = params }
  return self.last
end

--- Asks, and waits for the answer: its result, or nil and the error.
function Client:call(method, params)
  local id = self:ask(method, params)
  return self:answer(id)
end

function Client:answer(id)
  local m = self:wait(function() return self.answers[id] end)
  return m.result, m.error
end

function Client:tell(method, params)
  self:send { jsonrpc = "2.0", method = method, params = params }
end

local nothing = json.decode "{}"

--- A session in a folder: its id.
function Client:session(cwd, capabilities, more)
  assert(self:call("initialize", { protocolVersion = 1, clientCapabilities = capabilities or nothing }))
  local params = { cwd = cwd, mcpServers = json.array {} }
  for name, value in pairs(more or {}) do params[name] = value end
  local made, err = self:call("session/new", params)
  if not made then error(err.message, 0) end
  self.id = made.sessionId
  return made
end

function Client:prompt(text)
  return self:call("session/prompt", { sessionId = self.id, prompt = type(text) == "table" and text or { { type = "text", text = text } } })
end

--- The updates of a kind since the last call, or since `from`.
function Client:of(kind)
  local list = {}
  for _, one in ipairs(self.updates) do
    if one.sessionUpdate == kind then list[#list + 1] = one end
  end
  return list
end

--- All text of a kind of chunk.
function Client:text(kind)
  local parts = {}
  for _, one in ipairs(self:of(kind or "agent_message_chunk")) do parts[#parts + 1] = one.content.text end
  return table.concat(parts)
end

function Client:forget()
  self.updates, self.requests = {}, {}
end

function Client:close()
  self.server:close()
  self.owner:cancel()
  self.owner:join()
end
Client.__close = Client.close

return acp_client
