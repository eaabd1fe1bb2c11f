--- lua: a script that the model writes, which calls the agent's other tools, loops over them, and returns what matters. It runs in
--- a sandboxed process of its own, without files, network or time. Each call comes here as a message, and passes the same checks
--- as a call by the model.
---
---     process ──{call, args}──> checks, approval, the tool ──{ok, text}──> process … {done}
---             ──{calls}──> the same side by side, unless they touch the same thing ──{id, ok, text}, as they end──>
---
--- How the process is resumed is in script/process.lua.
local fence = require "hocket.fence"
local fiber = require "hocket.internal.core.fiber"
local json = require "hocket.json"
local call_order = require "hocket.internal.session.call_order"
local script_queue = require "hocket.internal.tools.script.queue"
local script_process = require "hocket.internal.tools.script.process"
local system = require "hocket.internal.core.system"
local tool = require "hocket.tool"
local tool_calls = require "hocket.internal.base.lazy" "hocket.internal.session.tool_calls"
local failed = system.failure

local script = {}

--- Calls of one script; calls at once; bytes of its result.
local CALLS, AT_ONCE, RESULT = 200, 16, 1 << 20

-- ---- Its calls -----------------------------------------------------------------------------------

-- Counts a call, in the order in which the script makes them: so its number is the same where it is resumed. What one comes to that is not to be made.
local function refused(self, message)
  self.calls = self.calls + 1
  message.number = self.calls
  local name, args = message.call, message.args
  if type(name) ~= "string" or type(args) ~= "table" then return { ok = false, text = "a call has a name and arguments" } end
  if name == "lua" then return { ok = false, text = "a script calls no other script" } end
  if self.calls > CALLS then return { ok = false, text = ("a script makes %d calls at most"):format(CALLS) } end
end

local function answer(ctx, message)
  local text, is_error = tool_calls.of_script(ctx.session, message.call, message.args, ("%s.%d"):format(ctx.call_id, message.number))
  if is_error then text = text:gsub("^error: ", "", 1) end
  return { ok = not is_error, text = text }
end

-- As in a turn of the model: calls run side by side, unless they touch the same thing.
local function may_begin(ctx, call, others)
  local function as_call(one) return { one = ctx.session:tool_named(one.call), args = one.args } end
  local mine = as_call(call)
  for _, other in ipairs(others) do
    if call_order.meet(as_call(other), mine) then return false end
  end
  return true
end

-- Until it is done, and what it says then.
local function converse(self, ctx, text)
  local queue <close> = script_queue.new(ctx.session.spec.parallel or AT_ONCE, function(call) return answer(ctx, call) end,
    function(call, others) return may_begin(ctx, call, others) end, function(call) return refused(self, call) end)
  local message, err = self.process:give(json.encode { code = text })
  while message and (message.call or message.calls) and not message.done do
    local said
    if message.call then said = refused(self, message) or answer(ctx, message) else said, err = queue:next(message) end
    if not said then return nil, err end
    message, err = self.process:give(json.encode(said))
  end
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
  local process <close> = script_process.new(env, { "script/prelude", "script/fibers", "script/run" })
  local self = { process = process, calls = 0 }
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
  .. "map(list, fn) and parallel{fn, fn} call side by side, and give lists of results and errors. "
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
