--- Long calls as tasks (the extension io.modelcontextprotocol/tasks of 2026-07-28). A client that supports tasks gets a handle
--- instead of an answer. With it, the client polls the state, answers questions, and takes the result.
---
---     tools/call ──> working ──> completed | failed | cancelled        for an hour after it has ended
---                     │    ^
---              input_required ──tasks/update──┘
local fiber = require "hocket.internal.core.fiber"
local json = require "hocket.json"
local message = require "hocket.internal.mcp.message"
local system = require "hocket.internal.core.system"
local codes = message.codes

local tasks = {}

tasks.EXTENSION = "io.modelcontextprotocol/tasks"

--- Tasks at once; seconds that one is kept after its end; milliseconds between two looks of a client, a tenth of the task's age.
local MAX, KEPT, SOONEST, LATEST = 1000, 3600, 200, 10000

--- Whether the client of a request knows tasks.
---@param request hocket.McpRequest
---@return boolean
function tasks.is_known_to(request)
  local extensions = request.modern and request.capabilities.extensions
  return type(extensions) == "table" and type(extensions[tasks.EXTENSION]) == "table"
end

--- The error for a client that does not.
---@return nil
---@return {code: integer, message: string, data: table}
function tasks.missing()
  return nil, { code = codes.missing_capability, message = ("the client does not declare the extension '%s'"):format(tasks.EXTENSION),
    data = { requiredCapabilities = { extensions = { [tasks.EXTENSION] = json.decode "{}" } } } }
end

local function iso(time)
  return os.date("!%Y-%m-%dT%H:%M:%SZ", time)
end

local function state_of(work)
  if work.cancelled then return "cancelled" end
  if work.done then return (work.raised or not work.result) and "failed" or "completed" end
  return next(work.asks) and "input_required" or "working"
end

-- What all say of it. It is kept for an hour from its end on, whenever that will be.
local function envelope(work)
  local task = work.task
  local age = (task.ended or fiber.now()) - task.began
  return {
    taskId = task.id, status = state_of(work), statusMessage = task.text, createdAt = iso(task.created), lastUpdatedAt = iso(task.updated),
    ttlMs = math.floor((age + KEPT) * 1000), pollIntervalMs = math.floor(math.min(math.max(age * 100, SOONEST), LATEST)),
  }
end

local function error_of(work)
  if not work.raised then return work.err end
  local text = type(work.raised) == "table" and work.raised.message or tostring(work.raised)
  return { code = codes.internal, message = "the server failed: " .. tostring(text) }
end

local function details(work)
  local shown = envelope(work)
  if shown.status == "completed" then shown.result = work.result
  elseif shown.status == "failed" then shown.error = error_of(work)
  elseif shown.status == "input_required" then
    shown.inputRequests = {}
    for key, one in pairs(work.asks) do shown.inputRequests[key] = { method = one.method, params = one.params or json.decode "{}" } end
  end
  return shown
end

local function tell(server, work)
  for one in pairs(server.connections) do
    for _, listen in pairs(one.listens) do
      if listen.tasks[work.task.id] then
        local params = details(work)
        params._meta = { ["io.modelcontextprotocol/subscriptionId"] = listen.request.id }
        listen.request.sink:send(message.request(nil, "notifications/tasks", params), true)
      end
    end
  end
end

--- Something of it is another thing now.
---@param work hocket.McpWork
---@param text? string What it is at.
function tasks.touch(work, text)
  local task = work.task
  task.updated, task.text = os.time(), text or task.text
  if work.done or work.cancelled then task.ended = task.ended or fiber.now() end
  tell(task.server, work)
end

-- Follows it to its end, and forgets it an hour later.
local function follow(server, work)
  work.waiter = fiber.self()
  local asked = 0
  while not work.done do
    if work.n_asks ~= asked then
      asked = work.n_asks
      tasks.touch(work)
    end
    fiber.park_for_program()
  end
  tasks.touch(work)
  fiber.sleep(KEPT)
  server.tasks[work.task.id] = nil
end

--- Makes work that goes on a task. Returns the answer to its request; nil: there are too many.
---@param server hocket.McpServer_
---@param work hocket.McpWork
---@return table?
function tasks.make(server, work)
  local count = 0
  for _ in pairs(server.tasks) do count = count + 1 end
  if count >= MAX then return nil end
  work.task = { id = system.token(48), server = server, created = os.time(), updated = os.time(), began = fiber.now() }
  work.request = nil
  server.tasks[work.task.id] = work
  fiber.detach(follow, server, work):serve()
  local result = envelope(work)
  result.resultType = "task"
  return result
end

-- ---- What clients ask of them ----------------------------------------------------------------

local function task_of(self, request)
  if not tasks.is_known_to(request) then return tasks.missing() end
  local work = self.server.tasks[request.params.taskId or false]
  if work then return work end
  return nil, { code = codes.invalid_params, message = "'taskId' is none of a task here, or its time is over" }
end

function tasks.get(self, request)
  local work, err = task_of(self, request)
  return work and details(work), err
end

--- Answers what it has asked; what was not asked, or was answered, is passed over.
function tasks.update(self, request)
  local work, err = task_of(self, request)
  if not work then return nil, err end
  local given = request.params.inputResponses
  if type(given) ~= "table" then return nil, { code = codes.invalid_params, message = "'inputResponses' has to be an object" } end
  work:answer(given)
  tasks.touch(work)
  return json.decode "{}"
end

function tasks.cancel(self, request)
  local work, err = task_of(self, request)
  if not work then return nil, err end
  if not work.done and not work.cancelled then
    work.cancelled = true
    work:cancel()
    tasks.touch(work)
  end
  return json.decode "{}"
end

return tasks
