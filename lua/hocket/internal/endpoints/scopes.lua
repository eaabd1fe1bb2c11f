--- The scope that each endpoint needs: the one place that says so. An endpoint without a row is the owner's alone.
---
--- A row names a scope, or several of which one is enough. "any" is for every token, "public" for everybody. What a scope does not say: of
--- runs a token has its own, and others only by `read-all`, `answer` and `manage` (caller.lua). The scope `link` is that of a link for one
--- question, which has no other, and is not let in by "any".
local scopes = {}

local own_answer, own_past = { "run", "answer", "link" }, { "read", "run" }

local rows = {
  ["GET /"] = "public", ["GET /page/{name}"] = "public", ["GET /page/views/{name}"] = "public", ["GET /healthz"] = "public", ["GET /readyz"] = "public",
  ["GET /metrics"] = "metrics",

  ["GET /api"] = "any", ["GET /api/agents"] = "any", ["GET /api/openapi.json"] = "any",
  ["GET /api/runs"] = "read", ["GET /api/runs/{id}"] = "read", ["GET /api/runs/{id}/files"] = "read", ["GET /api/runs/{id}/files/{hash}"] = "read",
  ["GET /api/runs/{id}/snapshot"] = "read", ["GET /api/runs/{id}/records"] = "read", ["GET /api/runs/{id}/events"] = "read",
  ["GET /api/runs/{id}/prompts"] = "read", ["GET /api/events"] = "read",
  ["POST /api/runs"] = "run", ["POST /api/runs/{id}/fork"] = "run", ["POST /api/runs/{id}/resume"] = "run", ["POST /api/runs/{id}/say"] = "run",
  ["POST /api/runs/{id}/signals"] = "run", ["POST /api/runs/{id}/stop"] = "run", ["POST /api/runs/{id}/interrupt"] = "run",
  ["POST /api/runs/{id}/park"] = "run", ["POST /api/runs/{id}/change"] = "run", ["POST /api/runs/{id}/cancel"] = "run", ["DELETE /api/runs/{id}"] = "run",
  ["POST /api/runs/{id}/answers"] = own_answer, ["GET /api/inbox"] = own_answer,
  ["GET /api/workers"] = "read-all", ["GET /api/pools"] = "read-all",

  ["GET /v1/models"] = "any", ["GET /v1/models/{name}"] = "any",
  ["POST /v1/chat/completions"] = "run", ["POST /v1/messages"] = "run", ["POST /v1/messages/count_tokens"] = "run",
  ["POST /v1/responses"] = "run", ["GET /v1/responses/{id}"] = own_past, ["GET /v1/responses/{id}/input_items"] = own_past,
  ["POST /v1/responses/{id}/cancel"] = "run", ["DELETE /v1/responses/{id}"] = "run",
  ["POST /v1/conversations"] = "run", ["GET /v1/conversations/{id}"] = own_past, ["GET /v1/conversations/{id}/items"] = own_past, ["DELETE /v1/conversations/{id}"] = "run",

  ["GET /.well-known/agent-card.json"] = "any", ["GET /a2a/{name}/.well-known/agent-card.json"] = "any", ["GET /a2a/{name}/extendedAgentCard"] = "any",
  ["POST /a2a/{name}"] = "run", ["POST /a2a/{name}/message:send"] = "run", ["POST /a2a/{name}/message:stream"] = "run",
  ["GET /a2a/{name}/tasks"] = own_past, ["GET /a2a/{name}/tasks/{id}"] = own_past, ["POST /a2a/{name}/tasks/{id}:cancel"] = "run",
  ["GET /a2a/{name}/tasks/{id}:subscribe"] = own_past, ["POST /a2a/{name}/tasks/{id}:subscribe"] = own_past,
  ["POST /a2a/{name}/tasks/{id}/pushNotificationConfigs"] = "run", ["GET /a2a/{name}/tasks/{id}/pushNotificationConfigs"] = own_past,
  ["GET /a2a/{name}/tasks/{id}/pushNotificationConfigs/{config}"] = own_past, ["DELETE /a2a/{name}/tasks/{id}/pushNotificationConfigs/{config}"] = "run",

  ["POST /agui/{name}"] = "run",
  ["POST /mcp"] = "run", ["GET /mcp"] = "run", ["DELETE /mcp"] = "run",
}

--- The row of an endpoint.
---@param method string
---@param form string The path as the router has it.
---@return string|string[]|nil
function scopes.of(method, form)
  return rows[(method == "HEAD" and "GET" or method) .. " " .. form]
end

--- All of them, "METHOD /path" by scope.
---@return table<string, string|string[]>
function scopes.all()
  return rows
end

--- What is missing: nil where nothing is.
---@param granted table<string, true>
---@param method string
---@param form string
---@return string? scope
function scopes.missing(granted, method, form)
  local row = scopes.of(method, form)
  if row == "public" or row == "any" and not granted.link then return nil end
  local list = type(row) == "table" and row or { row or "owner" }
  for _, scope in ipairs(list) do
    if granted[scope] then return nil end
  end
  return list[1]
end

return scopes
