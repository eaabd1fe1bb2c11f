--- Requests that this process answers, as spans: whoever tells of them sets `begin` (internal/telemetry); nearly always nobody does.
local tracing = {}

---@class hocket.TracedRequest To be closed; closed without a word it was cancelled.
---@field trace {parent: string, state?: string} For what it begins.
---@field ended fun(self, fields: {status?: integer, route?: string, error?: string, rpc?: string})

--- Something is asked: `fields` say what (telemetry/requests.lua).
---@type (fun(kind: "http"|"mcp", fields: table): hocket.TracedRequest)?
tracing.begin = nil

return tracing
