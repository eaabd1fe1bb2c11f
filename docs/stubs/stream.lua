---@meta

--- An answer that is read as it arrives. It ends when it is closed or collected.
---@class hocket.HttpStream
local stream = {}

---@return integer
function stream:status() end

--- By name, in lower case.
---@return table<string, string>
function stream:headers() end

--- The text since the last call, or the next piece. nil: the answer has ended. At most 32 MiB wait for a slow reader.
---@async
---@return string?
---@return hocket.Error?
function stream:read() end

--- Closes it and its connection. So does a `local stream <close>`.
function stream:close() end
