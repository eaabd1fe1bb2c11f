---@meta

--- Who writes in an agent's name. See journal:writer.
---@class hocket.EventWriter
local writer = {}

--- Appends a record without a table for its payload.
---@param type string
---@param ... any Names of members, sorted, and their values: "calls", 2, "model", "sim/default".
---@return integer? seq
---@return hocket.Error?
function writer:write(type, ...) end
