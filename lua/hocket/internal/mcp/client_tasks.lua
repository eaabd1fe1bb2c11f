--- Calls of tools that a server continues with as tasks: waited for as other calls are, by asking how they stand.
---
---     2026-07-28   the server answers a call with a handle where it likes; what it asks meanwhile is answered by tasks/update
---     2025-11-25   a tool says that it is called as a task alone; the result is fetched by tasks/result
local fiber = require "hocket.internal.core.fiber"
local truncate = require "hocket.internal.base.truncate"
local failed = require("hocket.internal.core.system").error

local client_tasks = {}

client_tasks.EXTENSION = "io.modelcontextprotocol/tasks"

--- Seconds that a task is awaited, and between two looks: what a server says, within these; looks in a row that may fail;
--- questions of one task; bytes of what it says of itself.
local MAX, SOONEST, LATEST, FAILURES, QUESTIONS, SAID = 3600, 0.05, 30, 5, 50, 500

local function wrong(self, text, ...)
  return nil, failed { code = "server", message = ("%s: %s"):format(self.name, text:format(...)) }
end

-- Seconds until the next look.
local function pause_of(task)
  local ms = tonumber(task.pollIntervalMs or task.pollInterval) or 1000
  return ms == ms and math.min(math.max(ms / 1000, SOONEST), LATEST) or 1
end

-- Nobody waits for it any more, and it is not over: the server may stop.
local function give_up(self, state)
  if state.over or self.peer.closed then return end
  fiber.spawn_under(self.peer.owner, function() self:ask("tasks/cancel", { taskId = state.id }, { name = state.id }) end)
end

-- How it stands. What does not come through is asked again: the task goes on meanwhile.
local function look(self, state)
  for i = 1, FAILURES do
    local task, err = self:ask("tasks/get", { taskId = state.id }, { name = state.id })
    if task then return task end
    if err.rpc or self.peer.closed or i == FAILURES then return nil, err end
    fiber.sleep(math.min(i, 5))
  end
end

-- What it says of how it stands, as much of it as anybody reads.
local function words_of(task)
  return type(task.statusMessage) == "string" and truncate(task.statusMessage, SAID, "…") or nil
end

local function tell(state, task, opts)
  local said = words_of(task)
  if not opts.on_progress or not said or said == state.said then return end
  state.said, state.steps = said, state.steps + 1
  opts.on_progress { progress = state.steps, message = said }
end

-- Answers what was not answered yet.
local function answer(self, state, task, fulfil)
  local wanted, any = {}, false
  for key, one in pairs(type(task.inputRequests) == "table" and task.inputRequests or {}) do
    if not state.answered[key] then wanted[key], state.answered[key], state.questions, any = one, true, state.questions + 1, true end
  end
  if state.questions > QUESTIONS then return wrong(self, "a task asks back without end (%d times)", QUESTIONS) end
  if not any then return true end
  local answers, err = fulfil(self, wanted)
  if not answers then return nil, err end
  local ok
  ok, err = self:ask("tasks/update", { taskId = state.id, inputResponses = answers }, { name = state.id })
  return ok and true, err
end

local goes_on = { working = true, input_required = true }

-- What has come of it.
local function outcome(self, task)
  local said = words_of(task)
  if task.status == "completed" and type(task.result) == "table" then return task.result end
  if task.status == "completed" then return wrong(self, "a task was done, and has no result") end
  if task.status == "failed" then
    local err = type(task.error) == "table" and task.error or {}
    return nil, failed { code = "server", message = ("%s: %s"):format(self.name, tostring(err.message or said or "the task failed")),
      rpc = { code = math.tointeger(err.code) or -32603, message = tostring(err.message) } }
  end
  if task.status == "cancelled" then return wrong(self, "the task was cancelled there%s", said and ": " .. said or "") end
  return wrong(self, "a task is '%s', which we do not know", tostring(task.status))
end

-- Looks again and again until it is over: then finish(task) has the result. step(task) is called while it is not: with false it
-- ends it before.
local function follow(self, task, opts, step, finish)
  if type(task) ~= "table" or type(task.taskId) ~= "string" then return wrong(self, "a task without an id") end
  local state, due = { id = task.taskId, answered = {}, questions = 0, steps = 0 }, fiber.now() + MAX
  local open <close> = setmetatable({}, { __close = function() give_up(self, state) end })
  while goes_on[task.status] do
    tell(state, task, opts)
    local more, why = step(state, task)
    if more == nil then return nil, why elseif not more then break end
    if fiber.now() >= due then return nil, failed { code = "timeout", message = ("%s has not done a task within %d s"):format(self.name, MAX) } end
    fiber.sleep(math.min(pause_of(task), due - fiber.now() + SOONEST))
    local failure
    task, failure = look(self, state)
    if not task then return nil, failure end
  end
  local result, err = finish(task)
  state.over = true
  return result, err
end

--- Waits for what a server has answered a call with.
---@async
---@param self hocket.McpClient
---@param task table
---@param opts {on_progress?: fun(params: table)}
---@param fulfil fun(self: hocket.McpClient, wanted: table): table?, hocket.Error?
---@return table? result
---@return hocket.Error?
function client_tasks.await(self, task, opts, fulfil)
  return follow(self, task, opts, function(state, now) return answer(self, state, now, fulfil) end, function(last) return outcome(self, last) end)
end

--- Whether a tool is called as a task alone (2025-11-25).
---@param self hocket.McpClient
---@param one hocket.McpTool
---@return boolean
function client_tasks.is_needed(self, one)
  local can = self.version == "2025-11-25" and self.offers.tasks
  can = type(can) == "table" and type(can.requests) == "table" and type(can.requests.tools) == "table" and can.requests.tools.call
  return one.as_task and can ~= nil and can ~= false
end

--- Calls one.
---@async
---@param self hocket.McpClient
---@param params table
---@param opts {on_progress?: fun(params: table)}
---@return table? result
---@return hocket.Error?
function client_tasks.call(self, params, opts)
  params.task = { ttl = MAX * 1000 }
  local created, err = self:ask("tools/call", params, opts)
  if not created then return nil, err end
  if created.content then return created end -- it has done without
  return follow(self, created.task, opts, function(_, task) return task.status ~= "input_required" end, function(task)
    if task.status == "cancelled" then return outcome(self, task) end
    return self:ask("tasks/result", { taskId = task.taskId }, { timeout = MAX, max = MAX }) -- it asks on the way to the result
  end)
end

return client_tasks
