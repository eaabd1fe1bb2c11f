--- The tools of a request for responses: functions, custom tools, which take a text, and namespaces of both. The model is offered
--- functions alone; a call goes back as what the caller has declared.
---
---     {type: custom, name: patch}                      ──> function patch(input)            ──> custom_tool_call
---     {type: namespace, name: git, tools: [{log}]}     ──> function log, or git__log        ──> function_call, with the namespace
---     {type: web_search}                               ──> passed over: the agent has its own tools
local asked = require "hocket.internal.endpoints.asked"
local json = require "hocket.json"
local optional, required = asked.optional, asked.required

local tools = {}

local a_text = { type = "object", required = json.array { "input" }, properties = { input = { type = "string", description = "The whole input" } } }

local function with_format(one)
  local format = type(one.format) == "table" and one.format or {}
  local text = type(one.description) == "string" and one.description or ""
  if type(format.definition) ~= "string" then return text end
  return ("%s\n\nIts input has this grammar (%s):\n%s"):format(text, tostring(format.syntax), format.definition)
end

-- The name that the model sees: two namespaces may have a function of one name.
local function free_name(list, name, namespace)
  for _, one in ipairs(list) do
    if namespace and one.name == name then return namespace .. "__" .. name end
  end
  return name
end

local function add(list, one, where, namespace)
  local name = required(one, "name", "string", where .. ".")
  local is_custom = one.type == "custom"
  local description, parameters = one.description, one.parameters
  if is_custom then description, parameters = with_format(one), a_text end
  local made = asked.tool(list, free_name(list, name, namespace), description, parameters, where)
  made.custom, made.namespace, made.called = is_custom or nil, namespace, made.name ~= name and name or nil
end

local own = { ["function"] = true, custom = true }

-- Those of the outermost list have their names first.
local function read_namespaces(body, list, ignored)
  for i, one in ipairs(body.tools) do
    if one.type == "namespace" then
      local where = ("tools[%d]"):format(i - 1)
      local name = required(one, "name", "string", where .. ".")
      for j, inner in ipairs(required(one, "tools", "table", where .. ".")) do
        local at = ("%s.tools[%d]"):format(where, j - 1)
        if asked.is_own(inner, own, at, ignored) then add(list, inner, at, name) end
      end
    end
  end
end

--- Reads them, and what is to be called first.
---@param body table
---@param ignored table Gets the ones that are passed over.
---@return table[]? tools
---@return string? first
function tools.read(body, ignored)
  local list = json.array {}
  for i, one in ipairs(optional(body, "tools", "table") or {}) do
    local where = ("tools[%d]"):format(i - 1)
    local is_namespace = type(one) == "table" and one.type == "namespace"
    if not is_namespace and asked.is_own(one, own, where, ignored) then add(list, one, where) end
  end
  if type(body.tools) == "table" then read_namespaces(body, list, ignored) end
  return asked.choose_as_openai(list, body.tool_choice, function(one) return one.name end)
end

--- The name by which the model knows a call of before.
---@param list? table[] As tools.read gives them.
---@param item table
---@return string
function tools.offered(list, item)
  for _, one in ipairs(list or {}) do
    if one.namespace and one.namespace == item.namespace and (one.called or one.name) == item.name then return one.name end
  end
  return item.name
end

--- A call as the item that its caller has declared.
---@param list? table[]
---@param call {id: string, name: string, arguments: string}
---@return table item Without its id.
function tools.item(list, call)
  local made = {}
  for _, one in ipairs(list or {}) do
    if one.name == call.name then made = one end
  end
  local item = { type = "function_call", status = "completed", call_id = call.id, name = made.called or call.name, namespace = made.namespace }
  if not made.custom then
    item.arguments = call.arguments
    return item
  end
  local arguments = json.decode(call.arguments)
  item.type, item.input = "custom_tool_call", type(arguments) == "table" and type(arguments.input) == "string" and arguments.input or ""
  return item
end

return tools
