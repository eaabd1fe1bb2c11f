---@meta

--- What failed, and whether trying again may help. `tostring` gives "code: message".
---@class hocket.Error
---@field code string The word of a status: "timeout", "limit", "auth" … (docs/reference/commands.md lists them).
---@field message string One line for people; never holds a key.
---@field retryable? boolean The same call may succeed later.
---@field http_status? integer
---@field retry_after? number Seconds that the server asked for.
