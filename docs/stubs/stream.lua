---@meta

--- An answer that is read while it comes. Ended when it is closed, or nobody holds it any more.
---@class hocket.HttpStream
local stream = {}

---@return integer
function stream:status() end

--- By name, in lower case.
---@return table<string, string>
function stream:headers() end

--- What has come since the last time, or comes next. nil: that was all. At most 32 MiB are kept for whoever does not read.
---@async
---@return string?
---@return hocket.Error?
function stream:read() end

--- Ends it, down to the socket. So does a `local stream <close>`.
function stream:close() end
