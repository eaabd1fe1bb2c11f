--- What A2A asks for, in the shapes of 1.0, whichever way it came.
local asked = require "hocket.internal.endpoints.asked"
local errors = require "hocket.internal.endpoints.a2a.errors"
local json = require "hocket.json"
local turns = require "hocket.internal.endpoints.turn"
local refuse, wrong, optional, required = errors.refuse, asked.wrong, asked.optional, asked.required

--- Tasks of one page of a list.
local PAGE, MOST = 50, 100

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
  local meta = type(message.metadata) == "table" and message.metadata or type(params.metadata) == "table" and params.metadata or {}
  return { message = message, user = asked.user(meta), texts = texts, asked = self, task = optional(message, "taskId", "string", "message."), context = optional(message, "contextId", "string", "message.") }
end

local function find_task(self, id)
  if type(id) ~= "string" then wrong("id", "'id' has to be a text") end
  local task = self.tasks.by_id[id]
  if not task or task.agent ~= self.name then refuse("TASK_NOT_FOUND", "there is no task '%s'", id) end
  return task
end

-- The turn that a message begins which answers a question, or an answer that was one.
local function answer(self, task, made)
  if task.asked then return turns.answer(self.desk, { { run = task.context, id = task.asked, text = table.concat(made.texts, "\n") } }, true) end
  local input, caller = made.asked:finish()
  return turns.say(self.desk, task.context, input, caller, task.asked_in)
end

-- An answer to what a task has asked.
local function go_on(self, made)
  local task = find_task(self, made.task)
  if made.context and made.context ~= task.context then wrong("message.contextId", "the task belongs to another context") end
  if task:is_over() then refuse("UNSUPPORTED_OPERATION", "the task '%s' is over: send a message with its contextId alone", task.id) end
  if task.state ~= "INPUT_REQUIRED" then refuse("UNSUPPORTED_OPERATION", "the task '%s' waits for nothing", task.id) end
  local turn, err = answer(self, task, made)
  if not turn then wrong("message", "%s", err and err.message or "the task does not wait for this any more") end
  task.history[#task.history + 1] = made.message
  task:begin(turn)
  return task
end

-- Whether the agent promises the form of its answers.
local function is_typed(self)
  for _, one in ipairs(self.desk:agents() or {}) do
    if one.name == self.name then return one.def ~= nil and one.def.output ~= nil end
  end
  return false
end

local function begin(self, made)
  if made.task then return go_on(self, made) end
  local turn, err
  if made.context then
    local input, caller = made.asked:finish()
    turn, err = turns.say(self.desk, made.context, input, caller)
    if not turn and err.code == "not_found" then wrong("message.contextId", "there is no such context, or it has ended") end
  else
    turn, err = turns.of(self.desk, { model = self.name, messages = made.asked, user = made.user, more = {} }, true)
  end
  if not turn then error(errors.of(err), 0) end
  local task = self.tasks:add(self.name, turn.run.name, made.message, is_typed(self))
  task:begin(turn)
  return task
end

-- ---- Methods -----------------------------------------------------------------------------------

local function history_length(params)
  local configuration = optional(params, "configuration", "table") or params
  return optional(configuration, "historyLength", "integer")
end

--- Each is called with `{desk, name, tasks}` and the parameters of the protocol, and gives its result.
local methods = {}
--- These give the task that is to be looked at.
local streams = {}

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

-- Seconds of "2026-11-23T07:00:00.000Z".
local function since(params)
  local text = optional(params, "statusTimestampAfter", "string")
  if not text then return nil end
  local year, month, day, hour, min, sec = text:match "^(%d%d%d%d)-(%d%d)-(%d%d)T(%d%d):(%d%d):(%d%d)%.?%d*Z$"
  if not year then wrong("statusTimestampAfter", "'statusTimestampAfter' has to be a time in UTC, as in 2026-11-23T07:00:00Z") end
  return ("%s-%s-%sT%s:%s:%s"):format(year, month, day, hour, min, sec)
end

-- What says nothing: the second is what the JavaScript SDK writes where nothing was said.
local any = { TASK_STATE_UNSPECIFIED = true, UNRECOGNIZED = true }

local function matches(task, params, after)
  if after and task:timestamp():sub(1, 19) < after then return false end
  return (params.contextId == nil or params.contextId == task.context) and (params.status == nil or any[params.status] or params.status == "TASK_STATE_" .. task.state)
end

function methods.ListTasks(self, params)
  local size = math.max(1, math.min(MOST, optional(params, "pageSize", "integer") or PAGE))
  local from = math.tointeger(tonumber(optional(params, "pageToken", "string") or "0") or -1)
  if not from or from < 0 then wrong("pageToken", "'pageToken' is none that was given here") end
  local all, list, after = {}, json.array {}, since(params)
  for i = #self.tasks.order, 1, -1 do
    local task = self.tasks.order[i]
    if task.agent == self.name and matches(task, params, after) then all[#all + 1] = task end
  end
  for i = from + 1, math.min(#all, from + size) do list[#list + 1] = all[i]:object(optional(params, "historyLength", "integer") or 0, params.includeArtifacts == true) end
  return { tasks = list, nextPageToken = from + size < #all and tostring(from + size) or "", pageSize = size, totalSize = #all }
end

local function no_push() refuse("PUSH_NOTIFICATION_NOT_SUPPORTED", "nothing is pushed: subscribe, or ask") end
for _, name in ipairs { "CreateTaskPushNotificationConfig", "GetTaskPushNotificationConfig", "DeleteTaskPushNotificationConfig", "ListTaskPushNotificationConfigs" } do methods[name] = no_push end

function methods.GetExtendedAgentCard() refuse("EXTENDED_AGENT_CARD_NOT_CONFIGURED", "there is one card for all") end

function streams.SendStreamingMessage(self, params) return begin(self, read_message(params)) end

function streams.SubscribeToTask(self, params)
  local task = find_task(self, params.id)
  if task:is_over() then refuse("UNSUPPORTED_OPERATION", "the task '%s' is over", task.id) end
  return task
end

return { whole = methods, streams = streams }
