--- A2A 0.3 for clients that speak it: its names and shapes, to those of 1.0 and back.
---
---     message/send, message/stream, tasks/get …  ──> SendMessage …       {kind = "text", text}  <──>  {text}
local json = require "hocket.json"

local legacy = {}

--- The methods, by the names of 0.3.
legacy.methods = {
  ["message/send"] = "SendMessage", ["message/stream"] = "SendStreamingMessage", ["tasks/get"] = "GetTask", ["tasks/cancel"] = "CancelTask",
  ["tasks/resubscribe"] = "SubscribeToTask", ["agent/getAuthenticatedExtendedCard"] = "GetExtendedAgentCard",
  ["tasks/pushNotificationConfig/set"] = "CreateTaskPushNotificationConfig", ["tasks/pushNotificationConfig/get"] = "GetTaskPushNotificationConfig",
  ["tasks/pushNotificationConfig/list"] = "ListTaskPushNotificationConfigs", ["tasks/pushNotificationConfig/delete"] = "DeleteTaskPushNotificationConfig",
}

-- ---- What comes ----------------------------------------------------------------------------------

local function part_from(part)
  if type(part) ~= "table" then return part end
  local file = type(part.file) == "table" and part.file or nil
  if not file then return { text = part.text, data = part.data } end
  return { raw = file.bytes, url = file.uri, mediaType = file.mimeType, filename = file.name }
end

local roles = { user = "ROLE_USER", agent = "ROLE_AGENT" }

-- What has another shape than it should is handed on as it is: it is refused where all are.
local function message_from(message)
  if type(message) ~= "table" then return message end
  local parts = message.parts
  if type(parts) == "table" then
    parts = json.array {}
    for i, part in ipairs(message.parts) do parts[i] = part_from(part) end
  end
  return { messageId = message.messageId, role = roles[message.role] or message.role, parts = parts, taskId = message.taskId, contextId = message.contextId, metadata = message.metadata }
end

local function some(length)
  return length ~= 0 and length or nil -- 0 was "all"
end

--- Parameters of 0.3 as 1.0 has them.
---@param params table
---@return table
function legacy.params(params)
  local configuration
  if type(params.configuration) == "table" then
    local given = params.configuration
    configuration = { returnImmediately = given.blocking == false or nil, historyLength = some(given.historyLength), taskPushNotificationConfig = given.pushNotificationConfig }
  end
  return { id = params.id, historyLength = some(params.historyLength), message = message_from(params.message), metadata = params.metadata, configuration = configuration }
end

-- ---- What goes -----------------------------------------------------------------------------------

local function part_to(part)
  if part.text then return { kind = "text", text = part.text } end
  if part.raw then return { kind = "file", file = { bytes = part.raw, mimeType = part.mediaType, name = part.filename } } end
  return { kind = "data", data = type(part.data) == "table" and part.data or { value = part.data } }
end

local function parts_to(parts)
  local list = json.array {}
  for i, part in ipairs(parts) do list[i] = part_to(part) end
  return list
end

local function message_to(message)
  return message and {
    kind = "message", messageId = message.messageId, role = message.role == "ROLE_USER" and "user" or "agent", taskId = message.taskId, contextId = message.contextId,
    parts = parts_to(message.parts),
  }
end

local function status_to(status)
  return { state = status.state:gsub("^TASK_STATE_", ""):lower():gsub("_", "-"), timestamp = status.timestamp, message = message_to(status.message) }
end

local function artifact_to(artifact)
  return { artifactId = artifact.artifactId, name = artifact.name, parts = parts_to(artifact.parts) }
end

local function each(list, fn)
  if not list then return nil end
  local made = json.array {}
  for i, one in ipairs(list) do made[i] = fn(one) end
  return made
end

local function task_to(task)
  return { kind = "task", id = task.id, contextId = task.contextId, status = status_to(task.status), artifacts = each(task.artifacts, artifact_to), history = each(task.history, message_to), metadata = task.metadata }
end

local last = { ["completed"] = true, ["failed"] = true, ["canceled"] = true, ["rejected"] = true, ["input-required"] = true }

--- A result, or what a stream tells, of 1.0 as 0.3 has it.
---@param result table
---@return table
function legacy.result(result)
  local update, made = result.statusUpdate, result.artifactUpdate
  if update then
    local status = status_to(update.status)
    return { kind = "status-update", taskId = update.taskId, contextId = update.contextId, status = status, final = last[status.state] == true, metadata = update.metadata }
  elseif made then
    return { kind = "artifact-update", taskId = made.taskId, contextId = made.contextId, artifact = artifact_to(made.artifact), append = made.append, lastChunk = made.lastChunk }
  end
  return task_to(result.task or result)
end

--- What a card has for clients of 0.3, beside what it has for others.
---@param card table
---@param url string
function legacy.add_to_card(card, url)
  card.protocolVersion, card.url, card.preferredTransport = "0.3.0", url, "JSONRPC"
  card.securitySchemes.token.type, card.securitySchemes.token.scheme = "http", "bearer"
  card.security = json.array { { token = json.array {} } }
end

return legacy
