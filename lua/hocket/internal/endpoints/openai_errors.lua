--- Errors as OpenAI's protocols have them, and as programs made for those act on them.
local json = require "hocket.json"

local openai_errors = {}

local types = {
  [400] = "invalid_request_error", [401] = "invalid_request_error", [403] = "permission_error", [404] = "invalid_request_error", [409] = "conflict_error",
  [413] = "invalid_request_error", [415] = "invalid_request_error", [422] = "invalid_request_error", [429] = "rate_limit_error",
}
local words = { auth = "invalid_api_key", limit = "rate_limit_exceeded", context = "context_length_exceeded" }

--- The object under `error`.
---@param status integer
---@param err hocket.Error
---@return table
function openai_errors.of(status, err)
  return { message = err.message, type = types[status] or "server_error", param = err.param or json.null, code = err.word or words[err.code] or err.code or json.null }
end

--- For the router.
---@param status integer
---@param err hocket.Error
---@return table body
---@return table? headers
function openai_errors.form(status, err)
  -- what another try would only meet again is not tried again by the SDKs
  return { error = openai_errors.of(status, err) }, { ["x-should-retry"] = (status == 429 or status == 503) and "true" or "false" }
end

-- What a run failed with: the caller's own slip, a limit, or our failure. None of them is 200.
local statuses = { invalid = 400, unsupported = 400, context = 400, limit = 429, budget = 429, closed = 503, timeout = 504, rate_limit = 429, denied = 403 }

--- Gives an error of a run the status that it has for a caller.
---@param err hocket.Error
---@return hocket.Error
function openai_errors.of_run(err)
  local own = err.code == "auth" and "server_error" or nil -- our key, not the caller's
  return { code = err.code, message = err.message, param = err.param, word = err.word or own, retry_after = err.retry_after, status = err.status or statuses[err.code] or 500 }
end

return openai_errors
