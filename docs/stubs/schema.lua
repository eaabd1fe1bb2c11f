---@meta hocket.schema

--- JSON Schema, drafts 2020-12 and 7, with messages that a model can act on.
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

return schema
