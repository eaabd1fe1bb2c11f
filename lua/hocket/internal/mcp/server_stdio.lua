--- A server over this process's standard input and output: one message a line. Nothing else gets onto that output while it
--- serves; what is printed goes to standard error.
local fiber = require "hocket.internal.core.fiber"
local json = require "hocket.json"
local message = require "hocket.internal.mcp.message"
local sockets = require "hocket.internal.core.socket"

local server_stdio = {}

--- Bytes of one message, of what may wait to be sent; from how many on the next message waits, and from how many on what
--- may be left out is.
local MAX_MESSAGE, MAX_QUEUE, FULL, TOO_FULL = 32 << 20, 128 << 20, 1 << 20, 4 << 20
--- Messages that are taken before others have their turn; seconds in which the last answers are taken.
local AT_ONCE, FAREWELL = 50, 2

---@class hocket.McpStdioSink: hocket.McpSink
local Sink = {}
Sink.__index = Sink

-- A client that does not read keeps whoever answers it waiting, and nobody else.
function Sink:send(text, droppable)
  if self.stream:queued() > TOO_FULL then
    if droppable then return end
    while self.stream:queued() + #text > MAX_QUEUE // 2 and not self.closed do self.stream:wait() end
  end
  local sent, err = self.stream:send(text)
  if not sent and err.code == "limit" then
    local id = text:match '^{"id":([^,]+),'
    self.stream:send(message.error(id and json.decode(id), message.codes.internal, ("the answer is larger than fits (%d bytes)"):format(#text)))
  elseif not sent then
    self.closed = true
  end
end

function Sink:finish(text)
  return self:send(text, false)
end

-- The next line; nil when there is no more.
local function next_line(self, sink)
  while not sink.closed do
    if self:queued() > FULL then
      self:wait()
    else
      local line, err = self:line()
      if line then return line end
      if err and err.code ~= "limit" then return nil end
      if err then sink:finish(message.error(nil, message.codes.invalid_request, ("a message has at most %d bytes"):format(MAX_MESSAGE))) else self:wait() end
    end
  end
end

--- Takes standard input and output, before anything that could print is loaded.
---@return hocket.Stream?
---@return hocket.Error?
function server_stdio.open()
  return sockets.stdio(MAX_MESSAGE, MAX_QUEUE)
end

--- Serves until the input ends, or nobody reads the output any more.
---@async
---@param server hocket.McpServer_
---@param stream userdata As `open` gave it; it is closed.
---@return true ended
function server_stdio.serve(server, stream)
  local sink = setmetatable({ stream = stream }, Sink)
  local connection = server:connect(sink)
  local closing <close> = setmetatable({}, { __close = function()
    connection:close()
    stream:close()
  end })
  local taken = 0
  for line in function() return next_line(stream, sink) end do
    if line:find "%S" then connection:take(line, sink) end
    taken = taken + 1
    if taken % AT_ONCE == 0 then fiber.rest() end
  end
  connection:close()
  local due = fiber.now() + FAREWELL
  while stream:queued() > 0 and fiber.now() < due do stream:wait(due - fiber.now()) end
  return true
end

return server_stdio
