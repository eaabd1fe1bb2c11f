--- How long a list in a workflow's text can be, from the text alone and from the schemas that values were checked by.
local bind = require "hocket.internal.base.script.bind"

local lengths = {}

-- Whether a name is what it was written or checked as; `depth`: lists inside of it.
local function stays(binding, depth)
  depth = depth or 0
  if not binding or binding.assigned or binding.changed or binding.grown and binding.grown <= depth then return false end
  return not binding.item_of or stays(binding.item_of, depth + 1)
end

local function schema_of_index(outputs, node)
  local object = lengths.schema_of(outputs, node.object)
  local known, key = bind.constant(node.key)
  if type(object) ~= "table" or not known then return nil end
  if type(key) == "string" and type(object.properties) == "table" then return object.properties[key] end
end

--- The schema that a value was checked by: of the workflow's input, or of an agent's answer.
---@param outputs table<table, table> Schemas of agents' answers, by the call's node.
---@param node table
---@return table? schema
function lengths.schema_of(outputs, node)
  if node.kind == "paren" then return lengths.schema_of(outputs, node.value) end
  if node.kind == "index" then return schema_of_index(outputs, node) end
  if node.kind == "call" then return outputs[node] end
  if node.kind ~= "name" or not stays(node.binding) then return nil end
  if node.binding.schema then return node.binding.schema end
  return node.binding.value and lengths.schema_of(outputs, node.binding.value)
end

local several = { call = true, method = true, vararg = true }

--- The items of a table that is written out; nil where the text does not show how many there are.
---@param node table
---@return integer?
function lengths.items(node)
  for i, item in ipairs(node.items) do
    if item.key or i == #node.items and several[item.value.kind] then return nil end
  end
  return #node.items
end

--- A whole number, 0 or more, that a table of options has by a name.
---@param node? table The table.
---@param name string
---@return integer?
function lengths.option(node, name)
  local given = node and bind.written(node)
  local item = given and given.kind == "table" and bind.item(given, name)
  if not item then return nil end
  local known, value = bind.constant(item)
  return known and math.type(value) == "integer" and value >= 0 and value or nil
end

--- The items of a call of `map` or `pipeline`.
---@param outputs table<table, table>
---@param node table The call.
---@param options integer Which argument has the options.
---@return integer?
function lengths.of_call(outputs, node, options)
  local list = node.arguments[1]
  local most_of = lengths.option(node.arguments[options], "max")
  local known = list and lengths.of(outputs, list)
  if most_of and known then return math.min(most_of, known) end
  return most_of or known
end

local lists = { map = 3, pipeline = 3 }

local length_of = {
  paren = function(outputs, node) return lengths.of(outputs, node.value) end,
  table = function(_, node) return lengths.items(node) end,
  index = function(outputs, node)
    local found = lengths.schema_of(outputs, node)
    return type(found) == "table" and found.type == "array" and math.tointeger(found.maxItems) or nil
  end,
  name = function(outputs, node)
    if not stays(node.binding) then return nil end
    local found = lengths.schema_of(outputs, node)
    if type(found) == "table" and found.type == "array" then return math.tointeger(found.maxItems) end
    return node.binding.value and lengths.of(outputs, node.binding.value)
  end,
  binary = function(outputs, node)
    if node.operator ~= "or" then return nil end
    local left, right = lengths.of(outputs, node.left), lengths.of(outputs, node.right)
    return left and right and math.max(left, right)
  end,
  call = function(outputs, node)
    local module, name = bind.member(node.fn)
    if module == "hocket.json" and name == "array" and node.arguments[1] then return lengths.of(outputs, node.arguments[1]) end
    if module == bind.WORKFLOW and lists[name] then return lengths.of_call(outputs, node, lists[name]) end
    local found = outputs[node]
    return type(found) == "table" and found.type == "array" and math.tointeger(found.maxItems) or nil
  end,
}

--- The most items that a list can have; nil: it has no bound.
---@param outputs table<table, table>
---@param node table
---@return integer?
function lengths.of(outputs, node)
  local fn = length_of[node.kind]
  return fn and fn(outputs, node)
end

return lengths
