--- `hocket acp`: an agent or a team for an editor, over this process's standard input and output, one message a line.
local acp = require "hocket.internal.serve.acp"
local fiber = require "hocket.internal.core.fiber"
local rule_check = require "hocket.internal.session.rule_check"
local sockets = require "hocket.internal.core.socket"
local targets = require "hocket.internal.runner.target"

--- Bytes of one message, of what may wait to be sent; from how many on whoever sends waits.
local MAX_MESSAGE, MAX_QUEUE, FULL = 64 << 20, 192 << 20, 1 << 20
--- Messages that are taken before others have their turn; seconds in which the last ones are sent.
local AT_ONCE, FAREWELL = 50, 2

local Sink = {}
Sink.__index = Sink

function Sink:send(text)
  while self.stream:queued() > FULL and not self.closed do self.stream:wait() end
  return self.stream:send(text) and true or false
end

local function next_line(stream, server)
  while not server.rpc.closed do
    local line, err = stream:line()
    if line then return line end
    if err and err.code ~= "limit" then return nil end
    if err then server:take "" else stream:wait() end
  end
end

local function read_all(stream, server)
  local taken = 0
  for line in function() return next_line(stream, server) end do
    if line:find "%S" then server:take(line) end
    taken = taken + 1
    if taken % AT_ONCE == 0 then fiber.rest() end
  end
end

---@async
---@param args {target?: string, options: table}
return function(args)
  require "hocket.internal.runner.builtins"
  local wrong = rule_check.early(args.options or {}, { args.target })
  if not wrong and args.target then -- a name with a mistake is reported here; a file with one, to the editor
    local _, err = targets.find(args.target)
    wrong = err and err.code == "invalid" and err
  end
  if wrong then return nil, wrong end
  local stream, err = sockets.stdio(MAX_MESSAGE, MAX_QUEUE)
  if not stream then return nil, err end
  local own = fiber.self()
  local server = acp.new { target = args.target, options = args.options or {}, sink = setmetatable({ stream = stream }, Sink), on_close = function() own:wake() end }
  local closing <close> = setmetatable({}, { __close = function()
    server:close()
    stream:close()
  end })
  read_all(stream, server)
  server:finish(FAREWELL)
  server:close()
  local due = fiber.now() + FAREWELL
  while stream:queued() > 0 and fiber.now() < due do stream:wait(due - fiber.now()) end
  return { text = "" }
end
