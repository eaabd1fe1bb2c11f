--- Errors as OpenAI's protocols have them, and as programs made for those act on them.
local ending = require "hocket.internal.base.ending"
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

--- Whether the SDKs should send the same request again.
---@param status integer
---@param err hocket.Error
---@return table headers
function openai_errors.retry_header(status, err)
  local retry = err.retry
  if retry == nil then retry = status == 429 or status == 503 end
  return { ["x-should-retry"] = retry and "true" or "false" }
end

--- For the router.
---@param status integer
---@param err hocket.Error
---@return table body
---@return table? headers
function openai_errors.form(status, err)
  return { error = openai_errors.of(status, err) }, openai_errors.retry_header(status, err)
end

--- Gives an error of a run the status that it has for a caller.
---@param err hocket.Error
---@return hocket.Error
function openai_errors.of_run(err)
  local row = ending.of_error(err)
  local own = err.code == "auth" and "server_error" or row.name == "rate_limit" and "rate_limit_exceeded" or nil -- our key, not the caller's
  local retry = row.retry or err.retryable or false
  return { code = err.code, message = err.message, param = err.param, word = err.word or own, retry = retry, retry_after = err.retry_after or retry and ending.RETRY_AFTER or nil,
    status = err.status or row.http or 500 }
end

return openai_errors
