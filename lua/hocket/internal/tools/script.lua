--- lua: a script that the model writes, which calls the agent's other tools, loops over them, and returns what matters. It runs in
--- a process of its own behind the walls, without files, network or time; each call comes here as a message, and passes the same
--- checks as a call of the model's.
---
---     process ──{call, args}──> checks, approval, the tool ──{ok, text}──> process … {done}
---
--- In a run that is kept each exchange is an effect, whose outcome is what the script said next. In a replay no process is there; where
--- the log ends one is started, and given the answers that were: so it stands where the other one stood.
local code = require "hocket.internal.tools.code"
local effects = require "hocket.internal.base.effects"
local fence = require "hocket.fence"
local fiber = require "hocket.internal.core.fiber"
local flow = require "hocket.flow"
local json = require "hocket.json"
local process = require "hocket.process"
local sandbox = require "hocket.internal.tools.sandbox"
local system = require "hocket.internal.core.system"
local tool = require "hocket.tool"
local tool_calls = require "hocket.internal.base.lazy" "hocket.internal.session.tool_calls"

local script = {}

--- Calls of one script; bytes of a message and of what comes of it all; seconds between two calls; CPU seconds and bytes of memory.
local CALLS, MESSAGE, RESULT, SECONDS, CPU, MEMORY = 200, 4 << 20, 1 << 20, 60, 60, 256 << 20

local function failed(code_word, message, ...)
  return nil, system.error { code = code_word, message = message:format(...) }
end

-- ---- The process ------------------------------------------------------------------------------

---@class hocket.Script
---@field env table
---@field sent string[] Lines that it was, or is to be, given.
---@field said string[] What it said to each.
---@field given integer How many of them the process has.
local Script = {}
Script.__index = Script

local function open(self)
  local argv, readable, environment = code.lua "--hocket-talking-lua"
  if not argv then return failed("unsupported", "scripts cannot be run here: the host has no launcher") end
  local level, err = sandbox.level_for(self.env.run, self.env.agent)
  if not level then return nil, err end
  local prelude = system.asset "hocket/internal/tools/script_prelude.lua"
  self.program, err = process.open { argv = argv, cwd = "/tmp", env = environment, sandbox = level, readable = readable, memory = MEMORY, processes = 16, cpu = CPU,
    file_size = 1 << 20, written = 16 << 20, open_files = 64 }
  if not self.program then return nil, err end
  return self.program:write(("%d\n%s"):format(#prelude, prelude))
end

-- Why it said nothing more.
local function ending(self)
  local result = self.program:wait(5)
  if result and result.limit == "memory" then return "it took more than 256 MiB of memory" end
  if result and result.signal == "XCPU" or result and result.cpu >= CPU then return ("it took more than %d s of CPU time"):format(CPU) end
  local words = self.program:stderr():gsub("%c+", " "):sub(1, 300)
  if words:find "not enough memory" then return "it took more than 256 MiB of memory" end
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
  local ok, said, err = pcall(flow.timeout, SECONDS, function() return advance(self) end)
  if ok then return said, err end
  if type(said) == "table" and said.code == "timeout" then return failed("timeout", "the script took more than %d s between two calls", SECONDS) end
  error(said, 0)
end

-- Gives it a line; what it says to that.
local function give(self, line)
  self.sent[#self.sent + 1] = line
  local said, err = effects.run("script", { n = #self.sent, of = effects.asked(line) }, function() return within_time(self) end, { reads = true })
  self.said[#self.sent] = said
  if not said then return nil, err end
  local message = json.decode(said)
  if type(message) ~= "table" then return failed("invalid", "the script wrote what is no message") end
  return message
end

-- ---- Its calls -----------------------------------------------------------------------------------

local function answer(self, ctx, message)
  self.calls = self.calls + 1
  local name, args = message.call, message.args
  if type(name) ~= "string" or type(args) ~= "table" then return { ok = false, text = "a call has a name and arguments" } end
  if name == "lua" then return { ok = false, text = "a script calls no other script" } end
  if self.calls > CALLS then return { ok = false, text = ("a script makes %d calls at most"):format(CALLS) } end
  local text, is_error = tool_calls.of_script(ctx.session, name, args, ("%s.%d"):format(ctx.call_id, self.calls))
  if is_error then text = text:gsub("^error: ", "", 1) end
  return { ok = not is_error, text = text }
end

-- Until it is done, and what it says then.
local function converse(self, ctx, text)
  local message, err = give(self, json.encode { code = text })
  while message and message.call and not message.done do message, err = give(self, json.encode(answer(self, ctx, message))) end
  return message, err
end

local function as_text(value)
  return type(value) == "string" and value or ""
end

-- What it printed and returned is made of what its calls came to: it stands in a frame as they would.
local function outcome(self, message)
  local printed, value = as_text(message.printed), as_text(message.value)
  if message.ok ~= true then
    return failed("script", "the script failed after %d calls: %s%s", self.calls, value:sub(1, 4000), printed ~= "" and "\n" .. fence.wrap("output", "the script", printed:sub(1, RESULT)) or "")
  end
  local text = printed .. (printed ~= "" and value ~= "" and "\n" or "") .. value
  if text == "" then return ("(%d calls; the script returned and printed nothing)"):format(self.calls) end
  return fence.wrap("output", ("the script, calls: %d"):format(self.calls), #text > RESULT and text:sub(1, utf8.offset(text, 0, RESULT + 1) - 1) or text)
end

local function run(env, args, ctx)
  if not ctx.session then return failed("unsupported", "a script needs an agent's session") end
  local self = setmetatable({ env = env, sent = {}, said = {}, given = 0, calls = 0 }, Script)
  local closing <close> = setmetatable({}, { __close = function()
    if self.program then self.program:close() end
  end })
  local message, err = converse(self, ctx, args.code)
  if fiber.cancelled() then error({ code = "cancelled", message = "cancelled" }, 0) end
  if not message then return nil, err end
  return outcome(self, message)
end

local parameters = {
  type = "object", required = { "code" }, additionalProperties = false,
  properties = { code = { type = "string", minLength = 1, maxLength = 200000, description = "The script. Return what you want to know." } },
}

local DESCRIPTION = ("Run a Lua 5.4 script that calls your other tools: tools.NAME{argument = value} gives the result as a text, or nil and why not. "
  .. "You are shown what the script returns and prints, and not what its calls came to: use it for many calls, for loops, for picking out of long results. "
  .. "json.decode(text) and json.encode(value) are there; files, network and time are not. At most %d calls."):format(CALLS)

---@return table parameters JSON Schema.
function script.parameters() return parameters end

---@param name "lua"
---@param env table
---@return hocket.Tool
function script.make(name, env)
  return tool.new { name = name, description = DESCRIPTION, parameters = parameters, effects = {}, subject = "code", steps = true, serial = true,
    run = function(args, ctx) return run(env, args, ctx) end }
end

return script
