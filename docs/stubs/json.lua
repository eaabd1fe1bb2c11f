---@meta hocket.json

--- Strict reading, deterministic writing.
---
---     local json = require "hocket.json"
---     local value = assert(json.decode '{"cities": ["Lisbon"], "none": null}')
---     print(value.cities[1], value.none == json.null, json.encode { list = json.array {} })
---
--- Objects and arrays become tables, integers stay integers up to 64 bits, `null` is `json.null`. Decoded arrays stay arrays, even
--- if they are empty.
local json = {}

--- The value of `null`, in both directions.
json.null = nil

--- Reads a whole text. Refuses what RFC 8259 refuses, and numbers that would lose digits (integers past 64 bits) or
--- fit no double (`1e400`). The error has the position.
---@param text string
---@param ordered? boolean Objects remember the order of their members, as from `json.object`.
---@return any? value
---@return hocket.Error?
function json.decode(text, ordered) end

--- Finds the JSON in a model's text: the whole text, a code fence, or the first object or array in it. It accepts comments, extra
--- commas, keys without quotes, single quotes, line ends in texts, `True`, `False` and `None`, but no value that is cut off. If you
--- have a schema, use its `read`.
---@param text string
---@return any? value
---@return string|hocket.Error json Strict JSON for the value.
function json.find(text) end

--- Writes a value: keys sorted (an ordered object in its order), numbers as the shortest text that reads back. Raises an error on
--- functions, cycles, NaN and mixed keys, with the path.
---@param value any
---@return string
function json.encode(value) end

--- Makes an object whose members are written in this order. A Lua table has no order, and a model writes members in the order of
--- its schema: put first what it should consider first.
---
---     local schema = {
---       type = "object", required = { "reason", "answer" },
---       properties = json.object { { "reason", { type = "string" } }, { "answer", { type = "string" } } },
---     }
---
--- It is a table like others. Members that are added later are written after these.
---@param pairs {[1]: string, [2]: any}[] Names with their values. Raises an error for a duplicate name.
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
