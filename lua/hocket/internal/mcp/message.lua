--- JSON-RPC 2.0 as MCP uses it: one object for each message, no batches (but of servers before 2025-06-18).
local json = require "hocket.json"

local message = {}

--- Error codes that MCP's specification names.
message.codes = {
  parse = -32700, invalid_request = -32600, no_method = -32601, no_resource = -32002, invalid_params = -32602, internal = -32603,
  header_mismatch = -32020, missing_capability = -32021, unsupported_version = -32022,
}

--- What the names of MCP's own members of `_meta` begin with.
message.META = "io.modelcontextprotocol/"

---@class hocket.McpMessage
---@field kind "request"|"notification"|"response"|"error"
---@field id? integer|string
---@field method? string
---@field params? table
---@field result? table
---@field error? {code: integer, message: string, data?: any}

local function is_id(id)
  return math.type(id) == "integer" or type(id) == "string"
end

local function read_error(value)
  if type(value) ~= "table" then return nil end
  return { code = math.type(value.code) == "integer" and value.code or message.codes.internal,
    message = type(value.message) == "string" and value.message or "the server gave no message", data = value.data }
end

local function classify(value)
  if type(value) ~= "table" then return nil, "a message is one JSON object" end
  if type(value.method) == "string" then
    local params = type(value.params) == "table" and value.params or {}
    if value.id == nil then return { kind = "notification", method = value.method, params = params } end
    if not is_id(value.id) then return nil, "a request's id is a text or an integer" end
    return { kind = "request", id = value.id, method = value.method, params = params }
  end
  local wrong = read_error(value.error)
  if wrong then return { kind = "error", id = is_id(value.id) and value.id or nil, error = wrong } end
  if not is_id(value.id) then return nil, "an answer without an id" end
  if type(value.result) ~= "table" then return nil, "an answer without a result" end
  return { kind = "response", id = value.id, result = value.result }
end

--- Reads what came: a message, or several of a batch.
---@param text string
---@return hocket.McpMessage[]? messages
---@return string? wrong
function message.read(text)
  local value, err = json.decode(text, true) -- schemas and results keep the order that they have there
  if value == nil then return nil, err.message end
  if type(value) ~= "table" or not json.is_array(value) then value = { value } end
  local list = {}
  for _, one in ipairs(value) do
    local read, wrong = classify(one)
    if not read then return nil, wrong end
    list[#list + 1] = read
  end
  return list
end

local function refused(code, text, id)
  return nil, { code = code, message = text, id = id }
end

-- What makes a value no message, if so.
local function fault(value)
  if value.jsonrpc ~= "2.0" then return "'jsonrpc' has to be \"2.0\"" end
  if value.id ~= nil and not is_id(value.id) then return "an id is a text or an integer" end
  if value.method ~= nil and type(value.method) ~= "string" then return "'method' has to be a text" end
  if value.method == nil and value.result == nil and value.error == nil then return "it has no 'method'" end
end

--- One message of a client, as strictly as a server has to be: nothing is guessed at.
---@param value any What was read.
---@return hocket.McpMessage? message
---@return {code: integer, message: string, id?: integer|string}? wrong
function message.check(value)
  if type(value) ~= "table" or json.is_array(value) then return refused(message.codes.invalid_request, "a message is one JSON object") end
  local id, wrong = is_id(value.id) and value.id or nil, fault(value)
  if wrong then return refused(message.codes.invalid_request, wrong, id) end
  local params = value.params
  if value.method and params ~= nil and (type(params) ~= "table" or json.is_array(params) and #params > 0) then
    return refused(message.codes.invalid_params, "'params' have to be an object", id)
  end
  local read, why = classify(value)
  if not read then return refused(message.codes.invalid_request, why, id) end
  return read
end

--- A request, or with no id a notification.
---@param id? integer
---@param method string
---@param params? table
---@return string
function message.request(id, method, params)
  return json.encode { jsonrpc = "2.0", id = id, method = method, params = params }
end

---@param id integer|string
---@param result table
---@return string
function message.result(id, result)
  return json.encode { jsonrpc = "2.0", id = id, result = result }
end

---@param id? integer|string nil: it could not be read.
---@param code integer
---@param text string
---@param data? any
---@return string
function message.error(id, code, text, data)
  return json.encode { jsonrpc = "2.0", id = id, error = { code = code, message = text, data = data } }
end

return message
