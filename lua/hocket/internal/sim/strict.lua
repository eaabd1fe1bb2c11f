--- What the APIs of real providers and servers refuse of a request, beyond its protocol: schemas of tools, names, ids,
--- empty messages. `strict = "openai"` of a script, or of hocket.sim.serve, plays one of them.
local json = require "hocket.json"
local wire = require "hocket.internal.sim.wire"

local strict = {}

--- Schemas in each other that an API takes.
local MAX_DEPTH = 34
--- What llama.cpp's grammars count up to.
local MAX_REPETITIONS = 2000

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

-- The schema of the answer, where a body has one.
local schema_of = {}

function schema_of.openai_chat(body)
  return wire.table(wire.table(body.response_format).json_schema).schema
end

function schema_of.openai_responses(body)
  return wire.table(wire.table(body.text).format).schema
end

function schema_of.anthropic(body)
  return wire.table(wire.table(body.output_config).format).schema
end

function schema_of.gemini(body)
  return wire.table(body.generationConfig).responseJsonSchema
end

function schema_of.bedrock(body)
  local text = wire.table(wire.table(wire.table(wire.table(body.outputConfig).textFormat).structure).jsonSchema).schema
  return type(text) == "string" and json.decode(text) or nil
end

function schema_of.ollama(body)
  return type(body.format) == "table" and body.format or nil
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

-- What llama.cpp makes a grammar of.
local function grammar(schema)
  local pattern = schema.pattern
  if type(pattern) == "string" and not pattern:find "^%^.*%$$" then return "Pattern must start with '^' and end with '$'" end
  if type(pattern) == "string" and (pattern:find "\\%w" or pattern:find("(?", 1, true)) then return "failed to parse grammar: unknown escape at " .. pattern end
  for _, key in ipairs { "maxLength", "minLength", "maxItems", "minItems" } do
    if (tonumber(schema[key]) or 0) >= MAX_REPETITIONS then return "failed to parse grammar: number of repetitions exceeds sane defaults" end
  end
end

-- What Claude's servers take of an answer's schema.
local function closed(schema)
  if schema.type == "object" and schema.additionalProperties ~= false then return "For 'object' type, 'additionalProperties' must be explicitly set to false" end
  for _, key in ipairs { "oneOf", "allOf", "not", "$ref", "pattern", "minLength", "maxLength", "minimum", "maximum", "maxItems" } do
    if schema[key] ~= nil then return ("property '%s' is not supported"):format(key) end
  end
  return plain_names(schema)
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

-- ---- Conversations of others ---------------------------------------------------------------------

local function has_words(text)
  return type(text) == "string" and text:find "%S" ~= nil
end

local function no_blank_blocks(body)
  for i, message in ipairs(wire.table(body.messages)) do
    if message.content == "" or type(message.content) == "table" and #message.content == 0 then return ("messages.%d: all messages must have non-empty content"):format(i - 1) end
    for _, block in ipairs(wire.table(message.content)) do
      if block.type == "text" and not has_words(block.text) then return "messages: text content blocks must contain non-whitespace text" end
    end
  end
end

local function no_blank_texts(body)
  for i, message in ipairs(wire.table(body.messages)) do
    if #wire.table(message.content) == 0 then return ("The content field in the Message object at messages.%d is empty"):format(i - 1) end
    for _, block in ipairs(message.content) do
      if block.text ~= nil and not has_words(block.text) then return ("The text field in the ContentBlock object at messages.%d is blank"):format(i - 1) end
    end
  end
end

local function parts_with_data(body)
  for i, content in ipairs(wire.table(body.contents)) do
    if #wire.table(content.parts) == 0 then return ("contents[%d].parts must not be empty"):format(i - 1) end
    for _, part in ipairs(content.parts) do
      if type(part) ~= "table" or next(part) == nil then return ("contents[%d].parts: required oneof field 'data' must have one initialized field"):format(i - 1) end
    end
  end
end

-- ---- Who refuses what -------------------------------------------------------------------------------

-- name: of a tool. top, look: of schemas. answer: of an answer's schema, in the place of look. By protocol: of conversations.
local apis = {
  openai = { name = "^[%w_-]+$", top = true, look = any },
  anthropic = { name = "^[%w_-]+$", top = true, look = plain_names, answer = closed, anthropic = no_blank_blocks, bedrock = no_blank_texts },
  gemini = { name = "^[%a_][%w_.-]*$", top = true, look = any, gemini = parts_with_data },
  mistral = { name = "^[%w_-]+$", top = true, look = any, openai_chat = mistral_messages },
  llamacpp = { name = ".", look = grammar, openai_chat = readable_arguments },
  vllm = { name = ".", look = any, openai_chat = readable_arguments },
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
  local function wrong_in(schema, look) return api.top and check_top(schema) or each(schema, look, 0) end
  for i, tool in ipairs(tools_of[protocol](body)) do
    local at = ("tools.%d (%s): "):format(i - 1, tostring(tool.name))
    if not tostring(tool.name):find(api.name) or #tostring(tool.name) > 64 then return at .. "invalid name" end
    local wrong = wrong_in(tool.schema, api.look)
    if wrong then return at .. wrong end
  end
  local schema = schema_of[protocol](body)
  local wrong = schema and wrong_in(schema, api.answer or api.look)
  if wrong then return "Invalid schema for response_format: " .. wrong end
  return api[protocol] and api[protocol](body) or nil
end

return strict
