--- Tools that the embedding program carries out: see hocket_tool_add in the public header.
local core = require "hocket.internal.core.host"
local json = require "hocket.json"
local tool = require "hocket.tool"

local host_tools = {}

--- Registers one. Raises what is wrong with it.
---@param name string
---@param description string
---@param parameters? string JSON Schema.
---@param timeout? number Seconds.
function host_tools.add(name, description, parameters, timeout)
  local schema
  if parameters then
    local err
    schema, err = json.decode(parameters)
    if type(schema) ~= "table" then
      error({ code = "invalid", message = ("the parameters of tool '%s' are no JSON object: %s"):format(name, err and err.message or parameters) }, 0)
    end
  end
  local function make(run)
    return tool.new { name = name, description = description, parameters = schema, timeout = timeout, run = run }
  end
  make(function() end) -- raises at once what is wrong
  if tool.is_known(name) then error({ code = "exists", message = ("there is a tool '%s' already"):format(name) }, 0) end
  tool.set(name, function(env)
    return make(function(args) return core.call_tool(name, next(args) and json.encode(args) or "{}", env.agent.name) end)
  end)
end

--- Takes one back.
---@param name string
function host_tools.remove(name)
  tool.set(name, nil)
end

return host_tools
