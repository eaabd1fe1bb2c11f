--- What goes wrong with A2A: one reason, told by JSON-RPC (a code) or REST (a status).
local json = require "hocket.json"

local errors = {}

-- The code of JSON-RPC, the status of HTTP, and gRPC's name of it.
local reasons = {
  TASK_NOT_FOUND = { -32001, 404, "NOT_FOUND" },
  TASK_NOT_CANCELABLE = { -32002, 400, "FAILED_PRECONDITION" },
  PUSH_NOTIFICATION_NOT_SUPPORTED = { -32003, 400, "FAILED_PRECONDITION" },
  UNSUPPORTED_OPERATION = { -32004, 400, "FAILED_PRECONDITION" },
  CONTENT_TYPE_NOT_SUPPORTED = { -32005, 400, "INVALID_ARGUMENT" },
  EXTENDED_AGENT_CARD_NOT_CONFIGURED = { -32007, 400, "FAILED_PRECONDITION" },
  VERSION_NOT_SUPPORTED = { -32009, 400, "FAILED_PRECONDITION" },
  METHOD_NOT_FOUND = { -32601, 404, "NOT_FOUND" },
  INVALID_PARAMS = { -32602, 400, "INVALID_ARGUMENT" },
  INTERNAL_ERROR = { -32603, 500, "INTERNAL" },
}

--- Raises one.
---@param reason string
---@param text string A format.
function errors.refuse(reason, text, ...)
  error({ reason = reason, message = text:format(...) }, 0)
end

--- Carries out `fn`, and gives its results; nil and the error where it was refused.
---@param fn function
---@return any result
---@return {reason: string, message: string}? refused
function errors.caught(fn, ...)
  local ok, result = pcall(fn, ...)
  if ok then return result end
  if type(result) ~= "table" or not (result.reason or result.code == "invalid") then error(result, 0) end
  return nil, { reason = result.reason or "INVALID_PARAMS", message = result.message }
end

--- The one for an error of ours, from a desk or a run.
---@param err hocket.Error
function errors.of(err)
  return { reason = (err.code == "not_found" or err.code == "invalid") and "INVALID_PARAMS" or "INTERNAL_ERROR", message = err.message, status = err.code == "limit" and 429 or nil, retry_after = err.retry_after }
end

local function details(err)
  return json.array { { ["@type"] = "type.googleapis.com/google.rpc.ErrorInfo", reason = err.reason, domain = "a2a-protocol.org" } }
end

--- As JSON-RPC tells it.
---@param err {reason: string, message: string}
---@return table
function errors.rpc(err)
  local code = reasons[err.reason][1]
  return { code = code, message = err.message, data = code > -32100 and code <= -32000 and details(err) or nil }
end

--- As REST tells it.
---@param err {reason: string, message: string, status?: integer}
---@return integer status
---@return table body
function errors.rest(err)
  local row = reasons[err.reason]
  local status = err.status or row[2]
  return status, { error = { code = status, status = err.status == 429 and "RESOURCE_EXHAUSTED" or row[3], message = err.message, details = details(err) } }
end

local names = { [400] = "INVALID_ARGUMENT", [401] = "UNAUTHENTICATED", [403] = "PERMISSION_DENIED", [404] = "NOT_FOUND", [405] = "UNIMPLEMENTED", [429] = "RESOURCE_EXHAUSTED" }

--- The same for what goes wrong before a method is found.
---@param status integer
---@param err hocket.Error
---@return table
function errors.form(status, err)
  return { error = { code = status, status = names[status] or "INTERNAL", message = err.message } }
end

return errors
