--- The sandboxed process of a script that a model wrote: without files, network or time.
---
--- In a run that is kept each exchange is an effect, whose outcome is what the script said next. In a replay no process is there; where
--- the log ends one is started, and given the answers that were: so it stands where the other one stood.
local code = require "hocket.internal.tools.code"
local effects = require "hocket.internal.base.effects"
local flow = require "hocket.flow"
local json = require "hocket.json"
local process = require "hocket.process"
local sandbox = require "hocket.internal.tools.sandbox"
local system = require "hocket.internal.core.system"
local failed = system.failure

local script_process = {}

--- Seconds between two messages: what a call of it takes is not in them.
script_process.SECONDS = 60
--- Bytes of a message; CPU seconds and bytes of memory.
local MESSAGE, CPU, MEMORY = 4 << 20, 60, 256 << 20

---@class hocket.ScriptProcess
---@field env table
---@field files string[] Its program.
---@field sent string[] Lines that it was, or is to be, given.
---@field said string[] What it said to each.
---@field given integer How many of them the process has.
local ScriptProcess = {}
ScriptProcess.__index = ScriptProcess

-- Files as one program: each gets what those before it have returned.
local function program_of(files)
  local parts = { "local parts = {}" }
  for _, name in ipairs(files) do
    local text = system.asset(("hocket/internal/tools/%s.lua"):format(name))
    parts[#parts + 1] = ("parts[#parts + 1] = (function(...)\n%s\nend)(table.unpack(parts))"):format(text)
  end
  return table.concat(parts, ";\n") .. "\n"
end

local function open(self)
  local argv, readable, environment = code.lua "--hocket-talking-lua"
  if not argv then return failed("unsupported", "scripts cannot be run here: the host has no launcher") end
  local level, err = sandbox.level_for(self.env.run, self.env.agent)
  if not level then return nil, err end
  local prelude = program_of(self.files)
  self.program, err = process.open { argv = argv, cwd = "/tmp", env = environment, sandbox = level, readable = readable, memory = MEMORY, processes = 16, cpu = CPU,
    file_size = 1 << 20, written = 16 << 20, open_files = 64 }
  if not self.program then return nil, err end
  return self.program:write(("%d\n%s"):format(#prelude, prelude))
end

local TOO_MUCH, LUA_SAYS = ("it took more than %d MiB of memory"):format(MEMORY >> 20), "not enough memory"

-- Why it said nothing more.
local function ending(self)
  local result = self.program:wait(5)
  if result and result.limit == "memory" then return TOO_MUCH end
  if result and result.signal == "XCPU" or result and result.cpu >= CPU then return ("it took more than %d s of CPU time"):format(CPU) end
  local words = self.program:stderr():gsub("%c+", " "):sub(1, 300)
  if words:find(LUA_SAYS, 1, true) then return TOO_MUCH end
  return result and (result.signal and "it was ended by SIG" .. result.signal or ("it ended with exit code %s: %s"):format(result.code, words)) or "it hangs"
end

local function exchange(self, line)
  local ok, err = self.program:write(line .. "\n")
  if not ok and err.code ~= "closed" then return nil, err end
  local said, wrong = self.program:read_line(MESSAGE)
  if said then return said end
  return failed("limit", "the script was ended: %s", wrong and "it said too much at once" or ending(self))
end

-- Lets the process come to where the run is; what it says there.
local function advance(self)
  if not self.program then
    local ok, err = open(self)
    if not ok then return nil, err end
  end
  local said, err
  while self.given < #self.sent do
    local n = self.given + 1
    said, err = exchange(self, self.sent[n])
    if not said then return nil, err end
    if self.said[n] and self.said[n] ~= said then return failed("state", "the script did something else than when it was run first") end
    self.given = n
  end
  return said
end

-- Time is the script's own: what its calls take, and a person who is asked, is not in it.
local function within_time(self)
  local function advancing() return advance(self) end
  local said, err = flow.timeout(script_process.SECONDS, advancing)
  if err and err.expired == advancing then return failed("timeout", "the script took more than %g s between two calls", script_process.SECONDS) end
  return said, err
end

--- Gives it a line of JSON; the message that it says to that.
---@async
---@param line string
---@return table? message
---@return hocket.Error?
function ScriptProcess:give(line)
  self.sent[#self.sent + 1] = line
  local said, err = effects.run("script", { n = #self.sent, of = effects.asked(line) }, function() return within_time(self) end, { reads = true })
  self.said[#self.sent] = said
  if not said then return nil, err end
  local message = json.decode(said)
  if type(message) ~= "table" then return failed("invalid", "the script wrote what is no message") end
  -- As Lua's error, where the process lives on without the memory.
  if message.done and message.value == LUA_SAYS then message.value = TOO_MUCH end
  return message
end

ScriptProcess.__close = function(self)
  if self.program then self.program:close() end
end

--- Makes one, which is started when it is first given something. To be closed.
---@param env table Of the tool.
---@param files string[] Of hocket/internal/tools; the last of them runs the script.
---@return hocket.ScriptProcess
function script_process.new(env, files)
  return setmetatable({ env = env, files = files, sent = {}, said = {}, given = 0 }, ScriptProcess)
end

return script_process
