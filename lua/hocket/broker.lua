--- The broker: every piece of work that one agent asks of another, or a script of itself, is a
--- job, so that limits, order, retries, dependencies, waiting, events and cancelling exist once.
---
---     local jobs = hocket.broker()                              -- the host's own
---     local id = jobs:submit { run = function(job) return "done" end }
---     local result, err = jobs:wait(id)
---
--- A job that waits for others holds no slot, so that waits inside waits go on under any limit.
local core = require "hocket.core.broker"
local fiber = require "hocket.core.fiber"
local json = require "hocket.json"

local broker = {}

---@class hocket.Broker
local Broker = {}
Broker.__index = Broker

---@class hocket.Job What a job's function is given.
---@field id integer
---@field data any What was submitted as `data`.
---@field attempt integer From 1.
---@field last_error? string Of the attempt before.
---@field progress fun(self: hocket.Job, text: string) A task_progress event, kept for check_tasks.
---@field log fun(self: hocket.Job, text: string) A task_log event.
local Job = {}
Job.__index = Job

local function context_job()
  local context = fiber.context()
  return context and context.job
end

-- ---- Running jobs -------------------------------------------------------------------------

local function text_of(err)
  if type(err) == "table" then return err.code or "script", err.message or err.code or "failed", err end
  return "script", tostring(err), nil
end

-- Waits until the job holds a slot again.
local function regain(job)
  local self = job.broker
  if not job.parked then return end
  if not job.resuming then
    job.resuming = true
    self.core:unpark(job.id, job.fence)
  end
  job.waking[#job.waking + 1] = fiber.self()
  while job.parked do fiber.park() end
end

-- How an attempt ended is told to the broker, which may want another one.
local function settle(job, ok, value, err)
  local self, entry = job.broker, job.entry
  if fiber.self():cancelled() or not self.entries[job.id] or job.over then return end
  regain(job)
  local usage = job.usage and json.encode(job.usage) or nil
  if ok and (value ~= nil or err == nil) then
    entry.value, entry.err = value, nil
    local encoded, result = pcall(json.encode, entry.summarize and entry.summarize(value) or value == nil and json.null or value)
    if not encoded then result = json.encode(tostring(value)) end
    self.core:complete(job.id, job.fence, result, usage)
  else
    local code, message, whole = text_of(ok and err or value)
    entry.err = whole or { code = code, message = message }
    job.entry.last_error = message
    self.core:fail(job.id, job.fence, { code = code, message = message, usage = usage, no_retry = whole and whole.no_retry or false })
  end
end

local function attempt(self, id, fence)
  local entry = self.entries[id]
  entry.attempts = entry.attempts + 1
  local job = setmetatable({
    broker = self, id = id, fence = fence, entry = entry, data = entry.data, attempt = entry.attempts,
    last_error = entry.last_error, waiters = 0, waking = {}, run = entry.run,
  }, Job)
  entry.job = job
  local context = setmetatable({ job = job }, { __index = entry.context })
  local function body()
    fiber.set_context(context)
    settle(job, pcall(entry.fn, job))
  end
  local scope = entry.scope
  entry.fiber = scope and scope:status() ~= "done" and fiber.spawn_under(scope, body) or fiber.detach(body)
end

local function resume(self, id)
  local job = self.entries[id].job
  job.parked, job.resuming = false, false
  local waking = job.waking
  job.waking = {}
  for _, one in ipairs(waking) do one:wake() end
end

-- Whether the rest of the entry may go: results stay as long as the job is known.
local function after_end(self, id, type)
  local entry = self.entries[id]
  if not entry then return end
  if entry.job then entry.job.over = true end
  if type ~= "completed" and entry.fiber then entry.fiber:cancel() end
  entry.fiber, entry.job, entry.fn, entry.scope = nil, nil, nil, nil
  entry.final = type
end

local function tell(self, type, id, payload, usage)
  local entry = self.entries[id]
  if not entry then return end
  local event = { task = id }
  if payload ~= "" then
    event[type == "completed" and "result" or type == "failed" and "error" or "message"] = payload:sub(1, 2000)
  end
  if usage ~= "" then event.usage = json.decode(usage) end
  if entry.emit then entry.emit("task_" .. type, event) end
  for _, listener in ipairs(entry.listeners) do
    listener[#listener + 1] = { type = type, task = id, payload = payload }
    listener.fiber:wake()
  end
end

local final = { completed = true, failed = true, cancelled = true, skipped = true }

local function drain_events(self)
  while true do
    local type, id, _, _, payload, usage = self.core:take()
    if not type then return end
    tell(self, type, id, payload, usage)
    if final[type] then after_end(self, id, type) end
  end
end

-- The one fiber that starts and resumes jobs; every change wakes it.
local function dispatch(self)
  self.core:dispatcher()
  while true do
    drain_events(self)
    local id, fence, resumed = self.core:next()
    if not id then
      drain_events(self)
      fiber.park(self.core:due())
    elseif resumed then
      resume(self, id)
    else
      attempt(self, id, fence)
    end
  end
end

-- ---- Submitting ---------------------------------------------------------------------------------

--- Makes a broker of one's own; `hocket.broker()` is the one that all agents share.
---@param options? {max_running?: integer, max_jobs?: integer, max_depth?: integer}
---@return hocket.Broker
function broker.new(options)
  local self = setmetatable({ core = core.new(options), entries = {} }, Broker)
  self.dispatcher = fiber.detach(dispatch, self)
  return self
end

local shared

--- The broker that all agents of this host share.
---@return hocket.Broker
function broker.shared()
  shared = shared or broker.new()
  return shared
end

local spec_fields = {
  agent = true, provider = true, group = true, priority = true, retries = true, backoff = true,
  backoff_max = true, deadline = true, deps = true, needs = true, name = true, on_dependency = true,
}
local own_fields = { run = true, data = true, background = true, summarize = true, emit = true, scope = true, detached = true, context = true }

local function to_core(self, spec, number)
  local wire = { data = json.encode(spec.data == nil and json.null or spec.data), run = number }
  for field, value in pairs(spec) do
    if spec_fields[field] then
      wire[field] = value
    elseif not own_fields[field] then
      error(("unknown field '%s' in a job"):format(tostring(field)), 4)
    end
  end
  local job = context_job()
  if job and job.broker == self and not spec.detached then
    wire.parent, wire.fence = job.id, job.fence
  end
  return wire
end

local function enter(self, id, spec)
  local context = spec.context or fiber.context() or {}
  local run = context.run
  self.entries[id] = {
    fn = spec.run, data = spec.data, agent = spec.agent, attempts = 0, listeners = {}, run = run,
    context = context, summarize = spec.summarize, scope = spec.scope or run and run.scope,
    emit = spec.emit or run and function(type, event) run:emit(type, event, spec.agent) end,
  }
end

--- Submits jobs, all or none. Each has `run` (a function of the job; what it returns is the result,
--- `nil, error` or a raised error a failure), and may have: data (what JSON can hold), agent and
--- provider (names that limits count), group (another such name), priority (-100…100), deadline
--- (seconds), retries, backoff, backoff_max, deps (ids), name and needs (names within this call),
--- on_dependency ("skip", "continue", "fail"), detached (outlives the job that submits it).
---@param specs table[]
---@return integer[]? ids
---@return hocket.Error?
function Broker:submit_all(specs)
  local wires, context = {}, fiber.context()
  local number = context and context.run and context.run.number or 1
  for i, spec in ipairs(specs) do
    if type(spec.run) ~= "function" then error("a job needs the field 'run' (a function)", 2) end
    wires[i] = to_core(self, spec, number)
  end
  local ids, err = self.core:submit(wires)
  if not ids then return nil, err end
  for i, id in ipairs(ids) do enter(self, id, specs[i]) end
  self.dispatcher:wake()
  return ids
end

--- Submits one job.
---@param spec table
---@return integer? id
---@return hocket.Error?
function Broker:submit(spec)
  local ids, err = self:submit_all { spec }
  return ids and ids[1], err
end

-- ---- Waiting ------------------------------------------------------------------------------------

-- While a job's fiber waits the job holds no slot, and gets one back before it goes on. When others
-- of its fibers still wait it goes on without.
local function wait_parked(job, fn)
  job.waiters = job.waiters + 1
  if not job.parked then
    job.parked = job.broker.core:park(job.id, job.fence) or false
  end
  local left <close> = setmetatable({}, { __close = function() job.waiters = job.waiters - 1 end })
  local results = table.pack(fn())
  if job.waiters == 1 then regain(job) end
  return table.unpack(results, 1, results.n)
end

local function wait_core(self, ids, mode, seconds)
  local due = seconds and fiber.now() + seconds
  while true do
    local state, err = self.core:wait_once(ids, mode, due and math.max(0, due - fiber.now()))
    if state ~= 0 then return state, err end
  end
end

--- Waits until any or all of the jobs have ended.
---@async
---@param ids integer[]
---@param mode? "any"|"all" Default: all.
---@param seconds? number
---@return boolean? ended false when the time is over
---@return hocket.Error?
function Broker:wait_for(ids, mode, seconds)
  local job = context_job()
  local function wait() return wait_core(self, ids, mode or "all", seconds) end
  if job and job.broker == self and not job.over then return wait_parked(job, wait) end
  return wait()
end

--- The outcome of a job that has ended: its value, or nil and why there is none.
---@param id integer
---@return any? value
---@return hocket.Error?
function Broker:result(id)
  drain_events(self)
  local entry, record = self.entries[id], self.core:get(id)
  if not record then return nil, { code = "not_found", message = ("there is no task %d"):format(id) } end
  if not record.final then return nil, { code = "state", message = ("task %d is %s"):format(id, record.status) } end
  if record.status == "completed" then return entry and entry.value end
  local err = entry and entry.err
  if record.status == "failed" and err then return nil, err end
  local code = record.status == "failed" and record.code or record.status == "skipped" and "state" or "cancelled"
  return nil, { code = code, message = record.error ~= nil and record.error ~= "" and record.error or record.status }
end

--- Waits for a job and gives its outcome; when the waiting fiber is cancelled, so is the job.
---@async
---@param id integer
---@param seconds? number
---@return any? value
---@return hocket.Error?
function Broker:wait(id, seconds)
  local ended
  local guard <close> = setmetatable({}, { __close = function()
    if ended == nil then self.core:cancel(id) end
  end })
  local err
  ended, err = self:wait_for({ id }, "all", seconds)
  if ended == nil then return nil, err end
  if not ended then return nil, { code = "timeout", message = ("task %d has not ended in time"):format(id) } end
  return self:result(id)
end

--- Submits a job and waits for its outcome.
---@async
---@param spec table
---@return any? value
---@return hocket.Error?
function Broker:call(spec)
  local id, err = self:submit(spec)
  if not id then return nil, err end
  local value, failed = self:wait(id)
  self:forget(id) -- whoever called has it
  return value, failed
end

--- Drops all that is known of a job that has ended.
---@param id integer
---@return boolean? forgotten
---@return hocket.Error?
function Broker:forget(id)
  drain_events(self)
  local ok, err = self.core:forget(id)
  if ok then self.entries[id] = nil end
  return ok, err
end

-- ---- Looking ---------------------------------------------------------------------------------------

--- What is known of a job: status, agent, attempt, result (JSON text), error, seconds, notes.
---@param id integer
---@return table?
function Broker:poll(id)
  local record = self.core:get(id)
  if record then record.notes = self.core:notes(id) end
  return record
end

--- Iterates over a job's events until it has ended: `for event in jobs:stream(id) do`.
---@async
---@param id integer
---@return fun(): {type: string, task: integer, payload: string}?
function Broker:stream(id)
  local entry, listener = self.entries[id], { fiber = fiber.self() }
  if not entry then return function() end end
  local ended = entry.final ~= nil
  if not ended then table.insert(entry.listeners, listener) end
  return function()
    while #listener == 0 do
      if ended then return nil end
      fiber.park()
    end
    local event = table.remove(listener, 1)
    ended = final[event.type] or false
    return event
  end
end

--- Cancels a job and all that it started.
---@param id integer
---@return boolean? cancelled
---@return hocket.Error?
function Broker:cancel(id)
  local ok, err = self.core:cancel(id)
  drain_events(self)
  return ok, err
end

--- Cancels all jobs of the current run, or of every run.
---@param run? integer
---@return integer count
function Broker:cancel_all(run)
  local count = self.core:cancel_all(run or 0)
  drain_events(self)
  return count
end

--- Limits how many jobs run at once: of an agent, of a provider, of a group, or in all.
---@param kind "agent"|"provider"|"group"|"all"
---@param name? string
---@param count? integer nil: no limit
function Broker:limit(kind, name, count)
  if kind == "all" then return self.core:limit_all(count) end
  self.core:limit(kind, name, count)
end

--- Drops all that is known of a run whose jobs have all ended.
---@param run integer
function Broker:forget_run(run)
  drain_events(self)
  if self.core:forget_run(run) then
    for id, entry in pairs(self.entries) do
      if entry.run and entry.run.number == run then self.entries[id] = nil end
    end
  end
end

function Job:progress(text)
  self.broker.core:note(self.id, self.fence, "progress", text)
end

function Job:log(text)
  self.broker.core:note(self.id, self.fence, "log", text)
end

return setmetatable(broker, { __call = function() return broker.shared() end })
