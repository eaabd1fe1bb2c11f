--- A2A 1.0: agents for agents of others. A card for each agent, and POST /a2a/NAME, JSON-RPC.
---
---     GET /a2a/NAME/.well-known/agent-card.json        who it is; of the first that is offered also at /.well-known/agent-card.json
---     SendMessage, SendStreamingMessage ──> a task     GetTask, ListTasks, CancelTask, SubscribeToTask
local asked = require "hocket.internal.endpoints.asked"
local json = require "hocket.json"
local system = require "hocket.internal.core.system"
local tasks = require "hocket.internal.endpoints.a2a_task"
local turns = require "hocket.internal.endpoints.turn"
local wrong, optional, required = asked.wrong, asked.optional, asked.required

local VERSION = "1.0"
--- Tasks of one page of a list.
local PAGE, MOST = 50, 100

-- ---- Errors ------------------------------------------------------------------------------------

local codes = {
  TASK_NOT_FOUND = -32001, TASK_NOT_CANCELABLE = -32002, PUSH_NOTIFICATION_NOT_SUPPORTED = -32003, UNSUPPORTED_OPERATION = -32004, CONTENT_TYPE_NOT_SUPPORTED = -32005,
  EXTENDED_AGENT_CARD_NOT_CONFIGURED = -32007, VERSION_NOT_SUPPORTED = -32009,
}

local function refuse(reason, text, ...)
  error({ rpc = codes[reason], reason = reason, message = text:format(...) }, 0)
end

local function rpc_error(err)
  local data = err.reason and json.array { { ["@type"] = "type.googleapis.com/google.rpc.ErrorInfo", reason = err.reason, domain = "a2a-protocol.org" } } or nil
  return { code = err.rpc or err.code == "invalid" and -32602 or -32603, message = err.message, data = data }
end

-- ---- Cards -------------------------------------------------------------------------------------

local function card_of(one, base)
  return {
    name = one.def and one.def.display_name or one.name, description = one.description, version = system.version(),
    supportedInterfaces = json.array { { url = ("%s/a2a/%s"):format(base, one.name), protocolBinding = "JSONRPC", protocolVersion = VERSION } },
    capabilities = { streaming = true, pushNotifications = false, extendedAgentCard = false },
    defaultInputModes = json.array { "text/plain", "image/*", "audio/*", "application/pdf" }, defaultOutputModes = json.array { "text/plain" },
    skills = json.array { { id = one.name, name = one.name, description = one.description, tags = json.array { "hocket" } } },
    securitySchemes = { token = { httpAuthSecurityScheme = { scheme = "Bearer" } } }, securityRequirements = json.array { { schemes = { token = { list = json.array {} } } } },
  }
end

local function answer_card(desk, request, response, name)
  local list, err = desk:agents()
  if not list then return response:fail(err) end
  local base = "http://" .. (request.headers.host or "127.0.0.1")
  for _, one in ipairs(list) do
    if name == nil or one.name == name then
      local text = json.encode(card_of(one, base))
      return response:send(200, text, { ["content-type"] = "application/json", ["cache-control"] = "max-age=60", etag = ('"%s"'):format(system.digest(text)) })
    end
  end
  return response:fail { code = "not_found", message = "there is no such agent" }
end

-- ---- Messages ----------------------------------------------------------------------------------

local function read_part(part, where, texts, files)
  if type(part) ~= "table" then wrong(where, "'%s' has to be a part", where) end
  if type(part.text) == "string" then texts[#texts + 1] = part.text
  elseif part.raw ~= nil then files[#files + 1] = asked.file(asked.from_base64(part.raw, where .. ".raw"), where, type(part.filename) == "string" and part.filename or nil)
  elseif part.data ~= nil then texts[#texts + 1] = json.encode(part.data)
  elseif part.url ~= nil then refuse("CONTENT_TYPE_NOT_SUPPORTED", "'%s.url': nothing is fetched for a caller: send it as 'raw'", where)
  else wrong(where, "'%s' has to have text, raw or data", where) end
end

local function read_message(params)
  local message = required(params, "message", "table")
  required(message, "messageId", "string", "message.")
  if message.role ~= "ROLE_USER" then wrong("message.role", "'message.role' has to be ROLE_USER") end
  local texts, files, self = {}, {}, asked.new()
  for i, part in ipairs(required(message, "parts", "table", "message.")) do read_part(part, ("message.parts[%d]"):format(i - 1), texts, files) end
  self:user(texts, files)
  return { message = message, texts = texts, asked = self, task = optional(message, "taskId", "string", "message."), context = optional(message, "contextId", "string", "message.") }
end

local function find_task(self, id)
  if type(id) ~= "string" then wrong("id", "'id' has to be a text") end
  local task = self.tasks.by_id[id]
  if not task or task.agent ~= self.name then refuse("TASK_NOT_FOUND", "there is no task '%s'", id) end
  return task
end

-- An answer to what a task has asked.
local function go_on(self, made)
  local task = find_task(self, made.task)
  if made.context and made.context ~= task.context then wrong("message.contextId", "the task belongs to another context") end
  if task:is_over() then refuse("UNSUPPORTED_OPERATION", "the task '%s' is over: send a message with its contextId alone", task.id) end
  if task.state ~= "INPUT_REQUIRED" then refuse("UNSUPPORTED_OPERATION", "the task '%s' waits for nothing", task.id) end
  local turn, err = turns.answer(self.desk, { { run = task.context, id = task.asked, text = table.concat(made.texts, "\n") } }, true)
  if not turn then wrong("message", "%s", err and err.message or "the task does not wait for this any more") end
  task.history[#task.history + 1] = made.message
  task:begin(turn)
  return task
end

local function begin(self, made)
  if made.task then return go_on(self, made) end
  local turn, err
  if made.context then
    local input, caller = made.asked:finish()
    turn, err = turns.say(self.desk, made.context, input, caller)
    if not turn and err.code == "not_found" then wrong("message.contextId", "there is no such context, or it has ended") end
  else
    turn, err = turns.of(self.desk, { model = self.name, messages = made.asked, more = {} }, true)
  end
  if not turn then error({ rpc = err.code == "not_found" and -32602 or -32603, message = err.message }, 0) end
  local task = self.tasks:add(self.name, turn.run.name, made.message)
  task:begin(turn)
  return task
end

-- ---- Methods -----------------------------------------------------------------------------------

local function history_length(params)
  local configuration = optional(params, "configuration", "table") or params
  return optional(configuration, "historyLength", "integer")
end

local methods = {}

function methods.SendMessage(self, params)
  local made, most = read_message(params), history_length(params)
  local configuration = optional(params, "configuration", "table") or {}
  if configuration.taskPushNotificationConfig ~= nil then refuse("PUSH_NOTIFICATION_NOT_SUPPORTED", "nothing is pushed: subscribe, or ask") end
  local task = begin(self, made)
  if configuration.returnImmediately ~= true then task:settle() end
  return { task = task:object(most) }
end

function methods.GetTask(self, params)
  return find_task(self, params.id):object(history_length(params))
end

function methods.CancelTask(self, params)
  local task = find_task(self, params.id)
  if not task:cancel() then refuse("TASK_NOT_CANCELABLE", "the task '%s' is over", task.id) end
  task:settle()
  return task:object()
end

local function matches(task, params)
  return (params.contextId == nil or params.contextId == task.context) and (params.status == nil or params.status == "TASK_STATE_" .. task.state)
end

function methods.ListTasks(self, params)
  local size = math.max(1, math.min(MOST, optional(params, "pageSize", "integer") or PAGE))
  local from = math.tointeger(tonumber(optional(params, "pageToken", "string") or "0") or -1)
  if not from or from < 0 then wrong("pageToken", "'pageToken' is none that was given here") end
  local all, list = {}, json.array {}
  for i = #self.tasks.order, 1, -1 do
    local task = self.tasks.order[i]
    if task.agent == self.name and matches(task, params) then all[#all + 1] = task end
  end
  for i = from + 1, math.min(#all, from + size) do list[#list + 1] = all[i]:object(optional(params, "historyLength", "integer") or 0, params.includeArtifacts == true) end
  return { tasks = list, nextPageToken = from + size < #all and tostring(from + size) or "", pageSize = size, totalSize = #all }
end

local function no_push() refuse("PUSH_NOTIFICATION_NOT_SUPPORTED", "nothing is pushed: subscribe, or ask") end
for _, name in ipairs { "CreateTaskPushNotificationConfig", "GetTaskPushNotificationConfig", "DeleteTaskPushNotificationConfig", "ListTaskPushNotificationConfigs" } do methods[name] = no_push end

function methods.GetExtendedAgentCard() refuse("EXTENDED_AGENT_CARD_NOT_CONFIGURED", "there is one card for all") end

local streams = {}

function streams.SendStreamingMessage(self, params) return begin(self, read_message(params)) end

function streams.SubscribeToTask(self, params)
  local task = find_task(self, params.id)
  if task:is_over() then refuse("UNSUPPORTED_OPERATION", "the task '%s' is over", task.id) end
  return task
end

-- ---- Requests ----------------------------------------------------------------------------------

local function check_version(request)
  local version = request.headers["a2a-version"] or request.query["A2A-Version"] or ""
  if version == VERSION then return end
  refuse("VERSION_NOT_SUPPORTED", "A2A %s is not spoken here, but %s (header A2A-Version)", version == "" and "0.3" or version, VERSION)
end

local function answer_stream(task, id, response)
  local pieces, _, _, over <close> = task:pieces()
  local stream = response:stream()
  local function send(result) return stream:event { data = { jsonrpc = "2.0", id = id, result = result } } end
  if not stream or not send { task = task:object() } then return end
  for piece in pieces do
    if not send(piece) then return end
  end
  stream:close()
  return over
end

local function answer(self, request, response)
  local body, err = request:json()
  if not body then return response:json(200, { jsonrpc = "2.0", id = json.null, error = { code = -32700, message = err.message } }) end
  local id = (type(body.id) == "string" or math.type(body.id) == "integer") and body.id or json.null
  local function fail(wrong_) return response:json(200, { jsonrpc = "2.0", id = id, error = wrong_ }) end
  if body.jsonrpc ~= "2.0" or type(body.method) ~= "string" then return fail { code = -32600, message = "that is no request of JSON-RPC 2.0" } end
  local params = type(body.params) == "table" and body.params or {}
  local ok, result = pcall(function()
    check_version(request)
    local method = methods[body.method] or streams[body.method]
    if not method then error({ rpc = -32601, message = ("there is no method '%s'"):format(body.method) }, 0) end
    return method(self, params)
  end)
  if not ok and not (type(result) == "table" and (result.rpc or result.code == "invalid")) then error(result, 0) end
  if not ok then return fail(rpc_error(result)) end
  if streams[body.method] then return answer_stream(result, id, response) end
  return response:json(200, { jsonrpc = "2.0", id = id, result = result })
end

return function(server)
  local router, desk, all = server.router, server.desk, tasks.new()
  router:on("GET", "/.well-known/agent-card.json", function(request, response) return answer_card(desk, request, response) end)
  router:on("GET", "/a2a/{name}/.well-known/agent-card.json", function(request, response) return answer_card(desk, request, response, request.params.name) end)
  router:on("POST", "/a2a/{name}", function(request, response)
    local name = request.params.name
    local one, err = desk:find_agent(name)
    if not one then return response:fail(err) end
    return answer({ desk = desk, name = name, tasks = all }, request, response)
  end)
end
