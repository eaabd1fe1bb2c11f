--- How a run ends, and what every door says of it: the one table. A door asks `ending.of` for the row and takes its own column.
---
---     {ok, finish, error, partial}  ──ending.of──>  row  ──>  row.chat, row.a2a, row.http …
---
--- tests/lua/endpoints/test_ends.lua drives each row through each door, and prints them; it holds the program's exit codes
--- (src/cli/exit.c), which know no Lua, against this table.
local ending = {}

--- Seconds that a client should wait before it tries again, where the provider named no time.
ending.RETRY_AFTER = 5

---@class hocket.Ending
---@field name string
---@field finishes? string[] Values of `finish` that mean it.
---@field codes? string[] Error codes that mean it.
---@field state "done"|"failed"|"cancelled"|"parked" The run in the store, in /api, in webhooks and on the page.
---@field task "done"|"failed"|"cancelled"|"running" A task whose agent ended so.
---@field http? integer Status where there is no answer to send; absent: there always is one.
---@field retry? boolean Whether the same request may work later.
---@field chat? string Chat completions: finish_reason. Absent, here and in acp: an error.
---@field responses? string Responses: status.
---@field details? string Responses: incomplete_details.reason.
---@field anthropic? string Messages: stop_reason.
---@field a2a string State of the task.
---@field agui "success"|"interrupt"|"error" AG-UI: outcome of RUN_FINISHED; error: RUN_ERROR.
---@field acp? string Stop reason.
---@field mcp boolean isError of the tool's result, `success` of an AgentResponse is the opposite, and so is the status of a span.
---@field exit integer Of the program.
---@field unmeasured? boolean An evaluation learns nothing of it: the provider, a policy or the machine ended it.

local rows = {
  -- ---- Answers
  { name = "done", finishes = { "stop", "stopped" }, state = "done", task = "done", mcp = false, exit = 0,
    chat = "stop", responses = "completed", anthropic = "end_turn", a2a = "COMPLETED", agui = "success", acp = "end_turn" },
  { name = "partial", finishes = { "partial" }, state = "done", task = "done", mcp = false, exit = 0,
    chat = "stop", responses = "completed", anthropic = "end_turn", a2a = "COMPLETED", agui = "success", acp = "end_turn" },
  { name = "calls", finishes = { "tool_calls" }, state = "parked", task = "running", mcp = false, exit = 0,
    chat = "tool_calls", responses = "completed", anthropic = "tool_use", a2a = "INPUT_REQUIRED", agui = "success", acp = "end_turn" },

  -- ---- Answers that are not whole
  { name = "cut", finishes = { "length" }, state = "failed", task = "failed", mcp = true, exit = 5, http = 500,
    chat = "length", responses = "incomplete", details = "max_output_tokens", anthropic = "max_tokens", a2a = "FAILED", agui = "error", acp = "max_tokens" },
  { name = "refused", finishes = { "refusal" }, state = "failed", task = "failed", mcp = true, exit = 4, http = 500,
    chat = "content_filter", responses = "incomplete", details = "content_filter", anthropic = "refusal", a2a = "REJECTED", agui = "error", acp = "refusal" },
  { name = "filtered", finishes = { "content_filter" }, state = "failed", task = "failed", mcp = true, exit = 4, unmeasured = true, http = 500,
    chat = "content_filter", responses = "incomplete", details = "content_filter", anthropic = "refusal", a2a = "REJECTED", agui = "error", acp = "refusal" },
  { name = "budget", finishes = { "budget" }, codes = { "budget", "limit" }, state = "failed", task = "failed", mcp = true, exit = 5, http = 429,
    chat = "length", responses = "incomplete", details = "max_output_tokens", anthropic = "max_tokens", a2a = "FAILED", agui = "error", acp = "max_turn_requests" },
  { name = "turns", finishes = { "turns", "loop" }, state = "failed", task = "failed", mcp = true, exit = 5, http = 500,
    chat = "length", responses = "incomplete", details = "max_output_tokens", anthropic = "max_tokens", a2a = "FAILED", agui = "error", acp = "max_turn_requests" },

  -- ---- No answer
  { name = "timeout", codes = { "timeout" }, state = "failed", task = "failed", mcp = true, exit = 124, http = 504, a2a = "FAILED", agui = "error" },
  { name = "cancelled", finishes = { "cancelled" }, codes = { "cancelled" }, state = "cancelled", task = "cancelled", mcp = true, exit = 130, http = 503, a2a = "CANCELED", agui = "error", acp = "cancelled" },
  { name = "waits", finishes = { "questions", "approval", "parked" }, codes = { "parked" }, state = "parked", task = "running", mcp = true, exit = 75, http = 503,
    chat = "stop", responses = "completed", anthropic = "end_turn", -- an answer that is a question: the next message answers it
    a2a = "INPUT_REQUIRED", agui = "interrupt", acp = "end_turn" },

  -- ---- The provider failed
  { name = "auth", codes = { "auth" }, state = "failed", task = "failed", mcp = true, exit = 4, unmeasured = true, http = 500, a2a = "FAILED", agui = "error" },
  { name = "rate_limit", state = "failed", task = "failed", mcp = true, exit = 4, unmeasured = true, http = 429, retry = true, a2a = "FAILED", agui = "error" },
  { name = "overload", state = "failed", task = "failed", mcp = true, exit = 4, unmeasured = true, http = 503, retry = true, a2a = "FAILED", agui = "error" },
  { name = "network", codes = { "connect", "tls", "offline" }, state = "failed", task = "failed", mcp = true, exit = 4, unmeasured = true, http = 502, a2a = "FAILED", agui = "error" },
  { name = "protocol", codes = { "http", "provider", "protocol", "truncated" }, state = "failed", task = "failed", mcp = true, exit = 4, unmeasured = true, http = 502,
    a2a = "FAILED", agui = "error" },

  -- ---- Ours, or the model's
  { name = "model", codes = { "model" }, state = "failed", task = "failed", mcp = true, exit = 1, http = 502, a2a = "FAILED", agui = "error" },
  { name = "failed", codes = { "script", "server" }, state = "failed", task = "failed", mcp = true, exit = 1, http = 500, a2a = "FAILED", agui = "error" },

  -- ---- Nothing was done: a person refused the plan, the request or the agent is wrong, or nobody takes it
  { name = "declined", finishes = { "declined" }, codes = { "declined" }, state = "failed", task = "failed", mcp = true, exit = 6, http = 403,
    chat = "stop", responses = "completed", anthropic = "end_turn", a2a = "REJECTED", agui = "success", acp = "end_turn" }, -- in a conversation the agent's words are an answer
  { name = "request", codes = { "invalid" }, state = "failed", task = "failed", mcp = true, exit = 2, http = 400, a2a = "FAILED", agui = "error" },
  { name = "unsupported", codes = { "unsupported" }, state = "failed", task = "failed", mcp = true, exit = 1, http = 400, a2a = "FAILED", agui = "error" },
  { name = "agent", codes = { "agent" }, state = "failed", task = "failed", mcp = true, exit = 3, http = 500, a2a = "FAILED", agui = "error" },
  { name = "replay", codes = { "replay" }, state = "failed", task = "failed", mcp = true, exit = 1, unmeasured = true, http = 500, a2a = "FAILED", agui = "error" },
  { name = "denied", codes = { "denied" }, state = "failed", task = "failed", mcp = true, exit = 1, unmeasured = true, http = 403, a2a = "FAILED", agui = "error" },
  { name = "closed", codes = { "closed", "io" }, state = "failed", task = "failed", mcp = true, exit = 1, unmeasured = true, http = 503, retry = true, a2a = "FAILED", agui = "error" },
}

local by_name, by_finish, by_code = {}, {}, {}
for _, row in ipairs(rows) do
  by_name[row.name] = row
  for _, word in ipairs(row.finishes or {}) do by_finish[word] = row end
  for _, word in ipairs(row.codes or {}) do by_code[word] = row end
end

--- All rows, in their order.
ending.rows = rows

local RATE_LIMIT, OVERLOAD = 429, { [503] = true, [529] = true }
local of_provider = { http = true, provider = true }

--- The row of an error.
---@param err hocket.Error
---@return hocket.Ending
function ending.of_error(err)
  local row = by_finish[err.finish] or by_code[err.code] or by_name.failed
  if row ~= by_name.protocol then return row end
  if err.http_status == RATE_LIMIT then return by_name.rate_limit end
  return (OVERLOAD[err.http_status] or err.retryable and of_provider[err.code]) and by_name.overload or row
end

--- The row of an end, as the result of a run or the event turn_finished tells it.
---@param told {finish?: string, error?: hocket.Error, partial?: any}
---@return hocket.Ending
function ending.of(told)
  local err = type(told.error) == "table" and type(told.error.code) == "string" and told.error or nil
  local row = by_finish[told.finish] or by_name.done
  if row ~= by_name.done then return row end
  if err then return ending.of_error(err) end
  return type(told.partial) == "table" and next(told.partial) and by_name.partial or row
end

--- Whether a reply that was cut is an answer all the same: in a conversation, which reports the cut with its turn, or after a stop.
---@param reply hocket.Reply
---@param conversation boolean?
---@return boolean
function ending.is_answer(reply, conversation)
  local cut = reply.cut
  return not cut or cut.reason == "stopped" or conversation and (cut.reason == "length" or cut.reason == "refusal") or false
end

--- What events and results tell of an error: its words, and what a client needs to know to try again.
---@param err hocket.Error
---@return table
function ending.told(err)
  return { code = err.code, message = err.message, http_status = err.http_status, retryable = err.retryable or nil, retry_after = err.retry_after, path = err.path, agent = err.path and err.agent }
end

--- The state of a run that ended with a status word: "ok", or an error's code.
---@param code string
---@return "done"|"failed"|"cancelled"|"parked"
function ending.state(code)
  return code == "ok" and "done" or (by_code[code] or by_name.failed).state
end

return ending
