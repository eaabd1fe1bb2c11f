--- What the APIs of real providers and servers refuse of a request, beyond its protocol: schemas of tools, names, ids,
--- empty messages. `strict = "openai"` of a script, or of hocket.sim.serve, plays one of them.
local json = require "hocket.json"
local wire = require "hocket.internal.sim.wire"

local strict = {}

--- Schemas in each other that an API takes.
local MAX_DEPTH = 34

-- ---- What a body has, whatever its protocol -------------------------------------------------

local tools_of = {}

function tools_of.openai_chat(body)
  local list = {}
  for i, tool in ipairs(wire.table(body.tools)) do
    local one = wire.table(tool["function"])
    list[i] = { name = one.name, schema = one.parameters }
  end
  return list
end
tools_of.ollama = tools_of.openai_chat

function tools_of.openai_responses(body)
  local list = {}
  for _, tool in ipairs(wire.table(body.tools)) do
    if tool.type == "function" then list[#list + 1] = { name = tool.name, schema = tool.parameters } end
  end
  return list
end

function tools_of.anthropic(body)
  local list = {}
  for _, tool in ipairs(wire.table(body.tools)) do
    if not tool.type or tool.type == "custom" then list[#list + 1] = { name = tool.name, schema = tool.input_schema } end
  end
  return list
end

function tools_of.gemini(body)
  local list = {}
  for _, tool in ipairs(wire.table(body.tools)) do
    for _, one in ipairs(wire.table(tool.functionDeclarations)) do list[#list + 1] = { name = one.name, schema = one.parametersJsonSchema } end
  end
  return list
end

function tools_of.bedrock(body)
  local list = {}
  for i, tool in ipairs(wire.table(wire.table(body.toolConfig).tools)) do
    local one = wire.table(tool.toolSpec)
    list[i] = { name = one.name, schema = wire.table(one.inputSchema).json }
  end
  return list
end

-- ---- Schemas ------------------------------------------------------------------------------------

local combining = { "oneOf", "anyOf", "allOf", "enum", "not" }

local function check_top(schema)
  if type(schema) ~= "table" or schema.type ~= "object" then return "schema must be a JSON Schema of 'type: \"object\"'" end
  if type(schema.properties) ~= "table" then return "object schema missing properties" end
  for _, key in ipairs(combining) do
    if schema[key] ~= nil then return ("schema must not have '%s' at the top level"):format(key) end
  end
end

-- Calls look(schema) for each schema in it; the first refusal. `true` and `false` are no schemas to it.
local function each(schema, look, depth)
  if type(schema) ~= "table" then return "a schema has to be an object" end
  if depth > MAX_DEPTH then return "schema is nested too deep" end
  local wrong = look(schema)
  if wrong then return wrong end
  for _, inner in pairs(wire.table(schema.properties)) do
    wrong = wrong or each(inner, look, depth + 1)
  end
  for _, key in ipairs { "items", "additionalProperties" } do
    if type(schema[key]) == "table" then wrong = wrong or each(schema[key], look, depth + 1) end
  end
  for _, key in ipairs { "anyOf", "oneOf", "allOf" } do
    for _, inner in ipairs(wire.table(schema[key])) do wrong = wrong or each(inner, look, depth + 1) end
  end
  return wrong
end

local function any() end

local function plain_names(schema)
  for name in pairs(wire.table(schema.properties)) do
    if not name:find "^[%w_.-]+$" or #name > 64 then return "Property keys should match pattern '^[a-zA-Z0-9_.-]{1,64}$'" end
  end
end

local function whole_patterns(schema)
  if type(schema.pattern) == "string" and not schema.pattern:find "^%^.*%$$" then return "Pattern must start with '^' and end with '$'" end
end

-- ---- Conversations of chat ----------------------------------------------------------------------

local function has_text(message)
  local content = message.content
  return type(content) == "string" and content:find "%S" or type(content) == "table" and #content > 0
end

local function no_empty_answers(body)
  for _, message in ipairs(wire.table(body.messages)) do
    if message.role == "assistant" and not has_text(message) and #wire.table(message.tool_calls) == 0 then
      return "Assistant message must have either content or tool_calls, but not none."
    end
  end
end

local function each_call(body, look)
  for _, message in ipairs(wire.table(body.messages)) do
    for _, call in ipairs(wire.table(message.tool_calls)) do
      local wrong = look(call)
      if wrong then return wrong end
    end
  end
end

local function readable_arguments(body)
  return each_call(body, function(call)
    local text = wire.table(call["function"]).arguments
    if type(json.decode(text)) ~= "table" or not text:find "^%s*{" then return "Failed to parse tool call arguments as JSON" end
  end)
end

local message_fields = wire.set "role content tool_calls tool_call_id name prefix"

local function mistral_messages(body)
  for _, message in ipairs(wire.table(body.messages)) do
    local unknown = wire.unknown(message, message_fields)
    if unknown then return "Extra inputs are not permitted: " .. unknown end
  end
  return no_empty_answers(body) or each_call(body, function(call)
    if not tostring(call.id):find "^%w%w%w%w%w%w%w%w%w$" then return "Tool call id was " .. tostring(call.id) .. " but must be a-z, A-Z, 0-9, with a length of 9." end
  end)
end

-- ---- Who refuses what -------------------------------------------------------------------------------

local apis = {
  openai = { name = "^[%w_-]+$", top = true, look = any },
  anthropic = { name = "^[%w_-]+$", top = true, look = plain_names },
  gemini = { name = "^[%a_][%w_.-]*$", top = true, look = any },
  mistral = { name = "^[%w_-]+$", top = true, look = any, chat = mistral_messages },
  llamacpp = { name = ".", look = whole_patterns, chat = readable_arguments },
  vllm = { name = ".", look = any, chat = readable_arguments },
}

--- Whether there is such an API.
---@param name string
---@return boolean
function strict.knows(name)
  return apis[name] ~= nil
end

--- Why an API refuses a body; nil: it takes it.
---@param name string
---@param protocol string
---@param body table
---@return string?
function strict.refuse(name, protocol, body)
  local api = apis[name]
  for i, tool in ipairs(tools_of[protocol](body)) do
    local at = ("tools.%d (%s): "):format(i - 1, tostring(tool.name))
    if not tostring(tool.name):find(api.name) or #tostring(tool.name) > 64 then return at .. "invalid name" end
    local wrong = api.top and check_top(tool.schema) or each(tool.schema, api.look, 0)
    if wrong then return at .. wrong end
  end
  return protocol == "openai_chat" and api.chat and api.chat(body) or nil
end

return strict
