--- MCP over the standard input and output of a program: one message a line. What is no message on its output is
--- counted and skipped (many print a greeting there); what it writes to its standard error is kept for when it fails.
local fiber = require "hocket.internal.core.fiber"
local script_env = require "hocket.internal.base.lazy" "hocket.internal.base.script.env"
local failed = require("hocket.internal.core.system").error
local trim = require "hocket.internal.base.trim"

local stdio = {}

--- Bytes of one message.
local MAX_MESSAGE = 32 << 20
--- Seconds that a program has to end by itself once its input has ended, and from SIGTERM to SIGKILL.
local FAREWELL, GRACE = 2, 2
--- Lines that are no message, after which nothing more is believed.
local MAX_NOISE = 10000

---@class hocket.McpStdio: hocket.McpTransport
local Stdio = {}
Stdio.__index = Stdio

-- The end of its standard error, as one line for a message.
local function last_words(program)
  local text = trim.both((program:stderr():gsub("%c+", " ")))
  if text == "" then return "" end
  return ": " .. (#text > 400 and "…" .. text:sub(-400) or text)
end

local function ending(result, err)
  if not result then return err and err.message or "it was closed" end
  if result.signal then return "it was ended by SIG" .. result.signal end
  return ("it ended with exit code %d"):format(result.code)
end

-- Hears until there is no more.
local function listen(self, peer)
  while true do
    local line, err = self.program:read_line(MAX_MESSAGE)
    if not line and not err then break end
    local heard = line and (not line:find "%S" or peer:hear(line))
    if not heard then
      self.noise = self.noise + 1
      if self.noise > MAX_NOISE then break end
    end
  end
  local result, err = self.program:wait(FAREWELL + GRACE)
  local noise = self.noise > 0 and (" (%d lines of its output were no messages)"):format(self.noise) or ""
  self.program:close()
  peer:shut(failed { code = "server", message = ("%s: %s%s%s"):format(peer.name, ending(result, err), noise, last_words(self.program)) })
end

--- Starts a server.
---@param peer hocket.McpPeer
---@param spec hocket.ProcessSpec
---@return hocket.McpStdio? transport
---@return hocket.Error?
function stdio.open(peer, spec)
  spec.grace = GRACE
  local program, err = script_env.open_program(spec)
  if not program then return nil, err end
  local self = setmetatable({ program = program, noise = 0 }, Stdio)
  peer.transport = self
  fiber.spawn_under(peer.owner, listen, self, peer)
  return self
end

function Stdio:send(text)
  local ok, err = self.program:write(text .. "\n")
  if ok then return true end
  return nil, err
end

--- What it has written to its standard error.
---@return string
function Stdio:stderr()
  return (self.program:stderr())
end

--- Ends it, with everything that it started: its input first, then SIGTERM, then SIGKILL.
---@async
function Stdio:close()
  self.program:end_input()
  if self.program:wait(FAREWELL) == nil then self.program:stop() end
end

return stdio
