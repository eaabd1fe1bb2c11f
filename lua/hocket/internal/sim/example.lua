--- A value that fits a JSON Schema: what the scripted model answers where an answer of a certain form
--- is asked for. It knows the keywords that such schemas are made of, and gives up on none: a
--- schema that asks for more than it knows gets a value that may not fit.
local json = require "hocket.json"

local DEPTH = 16

local make

local makers = {}

function makers.object(schema, root, depth)
  local object = {}
  for name, property in pairs(type(schema.properties) == "table" and schema.properties or {}) do
    object[name] = make(property, root, depth + 1)
  end
  return object
end

function makers.array(schema, root, depth)
  local list = json.array {}
  for i = 1, math.max(1, math.min(schema.minItems or 1, 100)) do list[i] = make(schema.items, root, depth + 1) end
  return list
end

function makers.string(schema)
  local text = "simulated"
  if math.type(schema.minLength) == "integer" then text = text .. ("."):rep(math.min(schema.minLength, 10000) - #text) end
  if math.type(schema.maxLength) == "integer" then text = text:sub(1, schema.maxLength) end
  return text
end

function makers.integer(schema)
  local low = schema.minimum or (schema.exclusiveMinimum and schema.exclusiveMinimum + 1)
  return math.ceil(low or schema.maximum and math.min(1, schema.maximum) or 1)
end

function makers.number(schema)
  return schema.minimum or schema.maximum or 1
end

-- A yes commits to something: that questions follow, that it is done.
function makers.boolean() return false end

makers["null"] = function() return json.null end

local function resolve(reference, root)
  local value = root
  for name in reference:match "^#(.*)$":gmatch "[^/]+" do
    value = type(value) == "table" and value[(name:gsub("~1", "/"):gsub("~0", "~"))] or nil
  end
  return value
end

local function kind_of(schema)
  local kind = schema.type
  if type(kind) == "table" then kind = kind[1] end
  return kind or schema.properties and "object" or schema.items and "array" or "string"
end

function make(schema, root, depth)
  if type(schema) ~= "table" or depth > DEPTH then return json.null end
  if schema.const ~= nil then return schema.const end
  if type(schema.enum) == "table" and #schema.enum > 0 then return schema.enum[1] end
  if type(schema["$ref"]) == "string" and schema["$ref"]:sub(1, 1) == "#" then
    return make(resolve(schema["$ref"], root), root, depth + 1)
  end
  local one = schema.anyOf or schema.oneOf or schema.allOf
  if type(one) == "table" and one[1] then return make(one[1], root, depth + 1) end
  local maker = makers[kind_of(schema)]
  if not maker then return json.null end
  return maker(schema, root, depth)
end

---@param schema table
---@return any
return function(schema)
  if next(schema) == nil then return {} end
  return make(schema, schema, 0)
end
