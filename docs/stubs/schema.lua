---@meta hocket.schema

--- JSON Schema, drafts 2020-12 and 7, with messages that a model can act on.
---
---     local schema = require "hocket.schema"
---     local city = assert(schema.compile { type = "object", required = { "name" }, properties = { name = { type = "string" } } })
---     print(city:check { name = "Lisbon" }, city:check { nmae = "Lisbon" })
local schema = {}

---@class hocket.Schema
local Schema = {}

--- Compiles a schema.
---@param source table|string A table, or JSON text.
---@return hocket.Schema?
---@return hocket.Error?
function schema.compile(source) end

--- Checks a value.
---@param value any
---@param what? string How the text begins, in front of "the schema"; "the arguments do not fit".
---@return boolean ok
---@return string? why What does not fit and where, for a model.
function Schema:check(value, what) end

--- Finds the first value in a model's text that fits the schema, as `json.find` does. It drops a null member that the
--- schema neither accepts nor requires.
---@param text string
---@param what? string How the text begins that says what is wrong; "it does not fit".
---@return any? value
---@return string? json Strict JSON for the value; without one what is wrong, for a model, or nil: there is no JSON in it.
function Schema:read(text, what) end

return schema
