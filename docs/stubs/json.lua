---@meta hocket.json

--- Strict reading, deterministic writing.
---
---     local json = require "hocket.json"
---     local value = assert(json.decode '{"cities": ["Lisbon"], "none": null}')
---     print(value.cities[1], value.none == json.null, json.encode { list = json.array {} })
---
--- Objects and arrays become tables, integers stay integers up to 64 bits, `null` is `json.null`. Arrays that were decoded
--- stay arrays, also when they are empty.
local json = {}

--- The value of `null`, in both directions.
json.null = nil

--- Reads a whole text. Refuses what RFC 8259 refuses, and whole numbers that would lose digits (past 64 bits) or
--- that no double holds (`1e400`), and names the place.
---@param text string
---@param ordered? boolean Objects remember the order of their members, as those that `json.object` makes.
---@return any? value
---@return hocket.Error?
function json.decode(text, ordered) end

--- What a model's text says: all of it, what stands in a fence, or the first object or array in it. Beside JSON it takes
--- comments, commas too many, keys without quotes, single quotes, line ends in texts, `True`, `False` and `None`; a value
--- that is cut off is none. Where there is a schema use its `read`.
---@param text string
---@return any? value
---@return string|hocket.Error json Strict JSON for the value.
function json.find(text) end

--- Writes a value, keys sorted (those of an ordered object in its order), numbers as the shortest text that reads back. Raises on functions, cycles,
--- NaN and mixed keys, with the path.
---@param value any
---@return string
function json.encode(value) end

--- Makes an object whose members are written in this order. A Lua table forgets the order of its keys, and a model that
--- answers by a schema writes the members in the schema's order: what it is to think of first has to come first.
---
---     local schema = {
---       type = "object", required = { "reason", "answer" },
---       properties = json.object { { "reason", { type = "string" } }, { "answer", { type = "string" } } },
---     }
---
--- It is a table like others. A member that is added later is written behind these.
---@param pairs {[1]: string, [2]: any}[] Names with their values. Raises where a name stands twice.
---@return table
function json.object(pairs) end

--- Marks a table as an array, so that it is written as `[]` when it is empty.
---@param list? table
---@return table
function json.array(list) end

--- Whether a value would be written as an array.
---@param value any
---@return boolean
function json.is_array(value) end

return json
