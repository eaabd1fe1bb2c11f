--- Tools that the embedding program carries out: see hocket_tool_add in the public header.
local core = require "hocket.internal.core.host"
local fiber = require "hocket.internal.core.fiber"
local json = require "hocket.json"
local tool = require "hocket.tool"

local host_tools = {}

local function check_free(name)
  if tool.is_known(name) then error({ code = "exists", message = ("there is a tool '%s' already"):format(name) }, 0) end
end

--- Registers one. Raises what is wrong with it.
---@param name string
---@param description string
---@param parameters? string JSON Schema.
---@param timeout? number Seconds.
---@param idempotent? boolean A call that was interrupted may be made again.
function host_tools.add(name, description, parameters, timeout, idempotent)
  local schema
  if parameters then
    local err
    schema, err = json.decode(parameters, true)
    if type(schema) ~= "table" then
      error({ code = "invalid", message = ("the parameters of tool '%s' are no JSON object: %s"):format(name, err and err.message or parameters) }, 0)
    end
  end
  local function make(run)
    return tool.new { name = name, description = description, parameters = schema, timeout = timeout, idempotent = idempotent, run = run }
  end
  make(function() end) -- raises at once what is wrong
  check_free(name)
  tool.set(name, function(env)
    return make(function(args) return core.call_tool(name, next(args) and json.encode(args) or "{}", env.agent.name) end)
  end)
end

--- Takes one back.
---@param name string
function host_tools.remove(name)
  tool.set(name, nil)
end

-- ---- The ones that are functions of this state: host:tool ------------------------------------------

local kept, open = {}, {}

---@class hocket.HostCall
---@field agent string Who calls.
local Call = {}
Call.__index = Call

local function settle(call, value, err)
  if call.over then return false end
  call.over, call.value, call.err = true, value, err
  open[call] = nil
  call.fiber:wake()
  return true
end

--- Answers a call that was left open.
---@return boolean waited_for
function Call:answer(value)
  if value == nil then error("bad argument #1 to 'answer' (value expected)", 2) end
  return settle(self, value)
end

---@return boolean waited_for
function Call:fail(message)
  return settle(self, nil, tostring(message))
end

-- Until somebody answers. Who is cancelled meanwhile needs no answer any more.
---@async
local function await(call)
  local left <close> = setmetatable({}, { __close = function()
    local told = not call.over
    call.over, open[call] = true, nil
    if told and call.def.on_cancel then call.def.on_cancel(call) end
  end })
  while not call.over do fiber.park_for_program() end
  return call.value, call.err
end

local function count(...)
  return select("#", ...), ...
end

---@async
local function carry_out(def, agent, args)
  local call = setmetatable({ agent = agent, def = def, fiber = fiber.self() }, Call)
  open[call] = true
  local n, value, err = count(def.run(args, call))
  if n == 0 then return await(call) end
  call.over, open[call] = true, nil
  return value, err
end

--- Registers a function as a tool. Raises what is wrong with it.
---@param def table
function host_tools.keep(def)
  local function make(run)
    return tool.new { name = def.name, description = def.description, parameters = def.parameters, timeout = def.timeout, idempotent = def.idempotent, run = run }
  end
  make(def.run)
  check_free(def.name)
  kept[def.name] = def
  tool.set(def.name, function(env)
    return make(function(args) return carry_out(def, env.agent.name, args) end)
  end)
end

--- Takes one back, and ends its open calls.
---@param name string
function host_tools.take_back(name)
  local def = kept[name]
  if not def then error({ code = "not_found", message = ("the program has no tool '%s'"):format(name) }, 0) end
  kept[name] = nil
  tool.set(name, nil)
  for call in pairs(open) do
    if call.def == def then settle(call, nil, "the program has taken this tool back") end
  end
end

return host_tools
