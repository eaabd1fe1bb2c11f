--- The broker: every piece of work that one agent asks of another, or a script of itself, is a
--- job, so that limits, order, retries, dependencies, waiting, events and cancelling exist once.
---
---     local jobs = hocket.broker()                              -- the host's own
---     local id = jobs:submit { run = function(job) return "done" end }
---     local result, err = jobs:wait(id)
---
--- A job that waits for others holds no slot, so that waits inside waits go on under any limit.
local account = require "hocket.account"
local core = require "hocket.core.broker"
local fiber = require "hocket.core.fiber"
local json = require "hocket.json"
local system = require "hocket.core.system"

local broker = {}

---@class hocket.Broker
local Broker = {}
Broker.__index = Broker

---@class hocket.Job What a job's function is given.
---@field id integer
---@field data any What was submitted as `data`.
---@field attempt integer From 1.
---@field last_error? string Of the attempt before.
---@field parent? hocket.Job The job that submitted it.
---@field moved number When it last got on, by the loop's clock.
---@field touch fun(self: hocket.Job) Says that it gets on, without an event.
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

-- Waits until the job holds a slot again; or, unless it ends, until another of its fibers waits
-- for a job: that job may need the very slot, so a job with a fiber that waits holds none.
local function regain(job)
  local self = job.broker
  while job.parked and (job.ending or job.waiters == 0) do
    if not job.resuming then
      job.resuming = true
      self.core:unpark(job.id, job.fence)
    end
    job.waking = job.waking or {}
    table.insert(job.waking, fiber.self())
    fiber.park()
  end
end

local function wake_all(job)
  local waking = job.waking or {}
  job.waking = false
  for _, one in ipairs(waking) do one:wake() end
end

-- What the store keeps of a result: JSON, or the text of what JSON cannot hold.
local function result_text(entry, value)
  if value == nil then return "null" end
  local summary = value
  if entry.summarize then summary = entry.summarize(value) end
  entry.summary = summary
  local encoded, text = pcall(json.encode, summary)
  return encoded and text or json.encode(tostring(summary))
end

-- What the broker refuses to keep is too long (or memory is out): said of the answer, not of a job.
local function too_long(entry, refused)
  if refused.code ~= "limit" then return refused end
  local text = type(entry.value) == "table" and entry.value.text
  return { code = "limit", message = ("the answer%s is longer than what can be kept of one (16 MiB)"):format(
    type(text) == "string" and (" of %.1f MiB"):format(#text / 2 ^ 20) or "") }
end

local function give_up(job, err, usage)
  local entry = job.entry
  entry.value, entry.err, entry.last_error = nil, err, err.message
  job.broker.core:fail(job.id, job.fence, { code = err.code, message = err.message, usage = usage, no_retry = true })
end

-- How an attempt ended is told to the broker, which may want another one.
local function settle(job, ok, value, err)
  local self, entry = job.broker, job.entry
  if job.over or fiber.self():cancelled() or not self.entries[job.id] then return end
  job.ending = true
  if job.parked then regain(job) end
  local usage = entry.account and entry.run.accounts:json(entry.account) or nil
  if ok and (value ~= nil or err == nil) then
    entry.value, entry.err = value, nil
    local done, refused = self.core:complete(job.id, job.fence, result_text(entry, value), usage)
    if not done and refused.code ~= "state" then give_up(job, too_long(entry, refused), usage) end
  else
    local code, message, whole = text_of(ok and err or value)
    entry.err = whole or { code = code, message = message }
    job.entry.last_error = message
    self.core:fail(job.id, job.fence, { code = code, message = message, usage = usage, no_retry = whole and whole.no_retry or false })
  end
end

-- Contexts of jobs differ from their submitter's in the job alone; their metatable is shared, and kept by
-- the submitter's context itself: a weak table by contexts would hold each as long as a collection takes.
local function inherit(context)
  local meta = rawget(context, "inherited")
  if not meta then
    meta = { __index = context }
    rawset(context, "inherited", meta)
  end
  return meta
end

-- The context has room for what an agent adds to it (see orchestrate).
local function work(job, entry)
  local context = { job = job, op = nil, agent = nil, depth = nil, deepest = nil, allowed = nil, rules = nil, labels = nil }
  fiber.set_context(setmetatable(context, inherit(entry.context)))
  settle(job, pcall(entry.fn, job))
end

local function attempt(self, id, fence)
  local entry = self.entries[id]
  local attempts = (entry.attempts or 0) + 1
  entry.attempts = attempts
  local job = setmetatable({
    broker = self, id = id, fence = fence, entry = entry, data = entry.data, attempt = attempts,
    last_error = entry.last_error, waiters = 0, waking = false, run = entry.run, parent = entry.parent,
    parked = false, resuming = false, ending = false, over = false, moved = fiber.now(),
  }, Job)
  entry.job = job
  local scope = entry.scope or entry.run and entry.run.scope
  if scope and scope:status() ~= "done" then
    entry.fiber = fiber.spawn_under(scope, work, job, entry)
  else
    entry.fiber = fiber.detach(work, job, entry)
  end
end

local function resume(self, id)
  local job = self.entries[id].job
  job.resuming = false
  if job.waiters > 0 and not job.ending then -- another fiber of it has begun to wait
    job.parked = self.core:park(job.id, job.fence) or false
  else
    job.parked = false
  end
  wake_all(job)
end

-- Whether the rest of the entry may go: results stay as long as the job is known.
local function after_end(self, id, type)
  local entry = self.entries[id]
  if not entry then return end
  if entry.job then entry.job.over = true end
  if entry.account then entry.run.accounts:close(entry.account) end
  if type ~= "completed" and entry.fiber then entry.fiber:cancel() end
  entry.fiber, entry.job, entry.fn, entry.scope, entry.parent = nil, nil, nil, nil, nil
  entry.final = type
end

--- Bytes of a result or a message that its event shows; the result is kept whole.
local SHOWN = 2000
local payload_field = { completed = "result", failed = "error" }
local none = {}

-- A payload as events show it: the answer of an agent as its text, anything else as it is.
local function shown(entry, type, payload)
  local text = type == "completed" and entry.summary
  if _G.type(text) == "table" then text = text.text end
  if _G.type(text) ~= "string" then text = payload end
  if #text <= SHOWN then return text end
  return text:sub(1, utf8.offset(text, 0, SHOWN) - 1) .. "…"
end

-- The event for whoever asked to be told, which its run's journal is not.
local function event_of(entry, type, id, text, usage)
  return { task = id, op = entry.op, usage = usage and json.decode(usage), [payload_field[type] or "message"] = text }
end

local function tell(self, type, id, payload, usage)
  local entry = self.entries[id]
  if not entry then return end
  local text = payload and shown(entry, type, payload)
  if entry.emit then
    entry.emit("task_" .. type, event_of(entry, type, id, text, usage))
  elseif entry.run then
    core.record(entry.run.journal, type, id, entry.agent, entry.op, text, usage)
  end
  if not entry.listeners then return end
  for _, listener in ipairs(entry.listeners) do
    listener[#listener + 1] = { type = type, task = id, payload = payload or "" }
    listener.fiber:wake()
  end
end

local final = { completed = true, failed = true, cancelled = true, skipped = true }

-- Whoever is told may raise; the job's end must not be lost for it.
local function hear(self, type, id, payload, usage)
  local ok, err = pcall(tell, self, type, id, payload, usage)
  if not ok then system.log("error", ("the listener of task %d raised: %s"):format(id, tostring(err))) end
  if final[type] then after_end(self, id, type) end
end

-- What has happened so far, without waiting for the dispatcher.
local function drain_events(self)
  local type, id, payload, usage = self.core:take()
  while type do
    hear(self, type, id, payload, usage)
    type, id, payload, usage = self.core:take()
  end
end

-- The one fiber that starts and resumes jobs; every change wakes it.
local function dispatch(self)
  local core_broker = self.core
  core_broker:dispatcher()
  while true do
    local what, id, detail, usage = core_broker:step()
    if what == nil then
      fiber.park(id)
    elseif what == "start" then
      attempt(self, id, detail)
    elseif what == "resume" then
      resume(self, id)
    else
      hear(self, what, id, detail, usage)
    end
    fiber.rest()
  end
end

-- ---- Submitting ---------------------------------------------------------------------------------

--- Makes a broker of one's own; `hocket.broker()` is the one that all agents share.
---@param options? {max_running?: integer, max_jobs?: integer, max_depth?: integer}
---@return hocket.Broker
function broker.new(options)
  local self = setmetatable({ core = core.new(options), entries = {}, runs = {} }, Broker)
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

local fields = {
  agent = true, provider = true, group = true, priority = true, retries = true, backoff = true,
  backoff_max = true, deadline = true, deps = true, needs = true, name = true, on_dependency = true,
  run = true, data = true, background = true, summarize = true, emit = true, scope = true, detached = true, context = true,
  parent = true, op = true, trigger = true, budget = true,
}

-- Whose job a new one is: the one that is named, else the one that submits it.
local function parent_of(self, spec)
  local job = spec.parent
  if job == nil and not spec.detached then job = context_job() end
  return job and job.broker == self and job or nil
end

local function check(spec)
  if type(spec.run) ~= "function" then error("a job needs the field 'run' (a function)", 3) end
  for field in next, spec do
    if not fields[field] then error(("unknown field '%s' in a job"):format(tostring(field)), 3) end
  end
end

-- What the core reads beside the specs: of each its data as JSON, its parent and the fence of that.
local function beside(self, specs)
  local list, parents = {}, {}
  for i, spec in ipairs(specs) do
    check(spec)
    local parent, n = parent_of(self, spec), #list
    parents[i] = parent or false
    list[n + 1], list[n + 2], list[n + 3] = spec.data == nil and "null" or json.encode(spec.data), parent and parent.id or 0, parent and parent.fence or 0
  end
  return list, parents
end

-- What a job of a script seldom has.
local seldom = { "data", "scope", "emit", "background", "trigger", "budget", "op" }

-- An agent's job has most fields. Of others a hundred thousand may be queued: they have room for what they have.
local function enter(self, id, spec, parent, here)
  local context, entry = spec.context or here or none, nil
  local run = context.run
  if spec.summarize then
    entry = {
      fn = spec.run, data = spec.data, agent = spec.agent, attempts = 0, run = run, op = spec.op,
      context = context, summarize = spec.summarize, scope = spec.scope,
      emit = spec.emit, parent = parent or nil,
      background = spec.background, trigger = spec.trigger, budget = spec.budget,
    }
  else
    entry = { fn = spec.run, agent = spec.agent, context = context, run = run }
    if parent then entry.parent = parent end
    for i = 1, #seldom do
      local field = seldom[i]
      if spec[field] ~= nil then entry[field] = spec[field] end
    end
  end
  self.entries[id] = entry
  if run then self:ids_of(run)[id] = true end
end

--- Submits jobs, all or none. Each has `run` (a function of the job; what it returns is the result,
--- `nil, error` or a raised error a failure), and may have: data (what JSON can hold), agent and
--- provider (names that limits count), group (another such name), priority (-100…100), deadline
--- (seconds), retries, backoff, backoff_max, deps (ids), name and needs (names within this call),
--- on_dependency ("skip", "continue", "fail"), detached (outlives the job that submits it), parent (a
--- job whose it is instead), background (nobody waits for it: its result is for `take`), op (the
--- operation that its events name), trigger (why, as its account says), budget (limits, as hocket.account.read gives them).
---@param specs table[]
---@return integer[]? ids
---@return hocket.Error?
function Broker:submit_all(specs)
  local context = fiber.context()
  local list, parents = beside(self, specs)
  local ids, err = self.core:submit(specs, context and context.run and context.run.number or 1, list)
  if not ids then return nil, err end
  for i, id in ipairs(ids) do enter(self, id, specs[i], parents[i], context) end
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

-- Also when the wait ends by a cancel.
local leaving = { __close = function(left)
  if left.job then left.job.waiters = left.job.waiters - 1 end
end }

-- While a job's fiber waits the job holds no slot, and gets one back before it goes on. When others
-- of its fibers still wait it goes on without.
local function wait_parked(job, fn, ...)
  job.waiters = job.waiters + 1
  if job.resuming then wake_all(job) end
  if not job.parked then job.parked = job.broker.core:park(job.id, job.fence) or false end
  local left <close> = setmetatable({ job = job }, leaving)
  local first, second = fn(...)
  left.job, job.waiters = nil, job.waiters - 1
  if job.parked then regain(job) end
  return first, second
end

local function wait_core(self, ids, mode, seconds)
  local due = seconds and fiber.now() + seconds
  while true do
    local state, err = self.core:wait_once(ids, mode, due and math.max(0, due - fiber.now()))
    if state ~= 0 then return state, err end
  end
end

--- Whether a job has ended, or is not known any more.
---@param id integer
---@return boolean
function Broker:has_ended(id)
  drain_events(self)
  local entry = self.entries[id]
  if entry then return entry.final ~= nil end
  local record = self.core:get(id)
  return record == nil or record.final
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
  if job and job.broker == self and not job.over then
    return wait_parked(job, wait_core, self, ids, mode or "all", seconds)
  end
  return wait_core(self, ids, mode or "all", seconds)
end

--- Calls fn(...) without holding a slot: for a wait that is for no job, but for a person, say.
---@async
---@param fn fun(...): any, any
---@return any, any Its first two results.
function Broker:aside(fn, ...)
  local job = context_job()
  if job and job.broker == self and not job.over then return wait_parked(job, fn, ...) end
  return fn(...)
end

--- The outcome of a job that has ended: its value, or nil and why there is none. It counts as
--- read: `take` will not give it again.
---@param id integer
---@return any? value
---@return hocket.Error?
function Broker:result(id)
  drain_events(self)
  local entry = self.entries[id]
  if entry and entry.final == "completed" then
    self.core:mark_read(id)
    return entry.value
  end
  local record = self.core:get(id)
  if not record then return nil, { code = "not_found", message = ("there is no task %d"):format(id) } end
  if not record.final then return nil, { code = "state", message = ("task %d is %s"):format(id, record.status) } end
  self.core:mark_read(id)
  if record.status == "failed" and entry and entry.err and entry.err.message == record.error then return nil, entry.err end
  local code = record.status == "failed" and record.code or record.status == "skipped" and "state" or "cancelled"
  return nil, { code = code, message = record.error or record.status, cause = record.cause }
end

local cancelling = { __close = function(guard)
  if guard.core then guard.core:cancel(guard.id) end
end }

--- Waits for a job and gives its outcome; when the waiting fiber is cancelled, so is the job.
---@async
---@param id integer
---@param seconds? number
---@return any? value
---@return hocket.Error?
function Broker:wait(id, seconds)
  local guard <close> = setmetatable({ core = self.core, id = id }, cancelling)
  local ended, err = self:wait_for({ id }, "all", seconds)
  if ended == nil then return nil, err end
  guard.core = nil
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
  local entry = ok and self.entries[id]
  if entry then
    self.entries[id] = nil
    if entry.run then self:ids_of(entry.run)[id] = nil end
  end
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
  drain_events(self)
  local ended = entry.final ~= nil
  if not ended then
    entry.listeners = entry.listeners or {}
    table.insert(entry.listeners, listener)
  end
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

--- Cancels all jobs of a run, or of every run.
---@param run? integer A run's number; the current run when it is left out, or every run where there is none. 0: every run.
---@return integer count
function Broker:cancel_all(run)
  local context = fiber.context()
  local count = self.core:cancel_all(run or context and context.run and context.run.number or 0)
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
  local ok, err = self.core:forget_run(run)
  if not ok and err.code ~= "not_found" then return end
  for id in pairs(self.runs[run] or none) do self.entries[id] = nil end
  self.runs[run] = nil
end

--- Ends all that a run has started, and drops what is known of it: the run is over.
---@param run hocket.Run
function Broker:close_run(run)
  if not self.runs[run.number] then return end
  self:cancel_all(run.number)
  self:forget_run(run.number)
end

-- The ids that are known of a run, as a set.
function Broker:ids_of(run)
  local ids = self.runs[run.number]
  if not ids then
    ids = {}
    self.runs[run.number] = ids
  end
  return ids
end

--- Background jobs of a job that have ended and were not read yet, each once, ever.
---@param job hocket.Job
---@return integer[] ids
function Broker:take(job)
  drain_events(self)
  local taken = {}
  while true do
    local ids = self.core:take_finished(0, job.id)
    for _, id in ipairs(ids) do
      if self.entries[id] and self.entries[id].background then taken[#taken + 1] = id end
    end
    if #ids < 256 then return taken end
  end
end

--- Whether a job was submitted as one in the background.
---@param id integer
---@return boolean
function Broker:is_background(id)
  local entry = self.entries[id]
  return entry ~= nil and entry.background == true
end

--- All background jobs of a job, oldest first.
---@param job hocket.Job
---@return integer[] ids
function Broker:background(job)
  local found, after = {}, 0
  while true do
    local ids = self.core:children(0, job.id, after)
    for _, id in ipairs(ids) do
      if self:is_background(id) then found[#found + 1] = id end
    end
    if #ids < 256 then return found end
    after = ids[#ids]
  end
end

--- The job that the running fiber works for.
---@return hocket.Job?
function broker.job()
  local job = context_job()
  return job
end

--- The account of what the job uses, below that of the job that submitted it. It is opened when it is
--- first asked for: a job that calls no model costs nothing.
---@return integer? id nil outside of a run
function Job:account()
  local entry, run = self.entry, self.run
  if not run or entry.account then return entry.account end
  local parent = self.parent
  local above = parent and parent.run == run and parent:account() or account.ROOT
  entry.account = run.accounts:open(above, entry.op, entry.agent, entry.trigger)
  if entry.budget then assert(run.accounts:limit(entry.account, entry.budget)) end
  return entry.account
end

--- What the job and all that it submitted have used so far; nil when nobody has called a model.
---@return table? usage As run:usage() gives it.
function Job:usage()
  return self.entry.account and self.run.accounts:usage(self.entry.account)
end

--- Bytes of one note.
local NOTE = 4000

-- Told at once, so that a call's progress stands before its result.
local function note(job, kind, text)
  if #text > NOTE then text = text:sub(1, utf8.offset(text, 0, NOTE) - 1) .. "…" end
  job.broker.core:note(job.id, job.fence, kind, text)
  drain_events(job.broker)
end

--- Notes that the job gets on, and so do those that wait for it; `moved` is when.
function Job:touch()
  local now, job = fiber.now(), self
  while job do
    job.moved, job = now, job.parent
  end
end

function Job:progress(text)
  self:touch()
  note(self, "progress", text)
end

function Job:log(text)
  self:touch()
  note(self, "log", text)
end

return setmetatable(broker, { __call = function() return broker.shared() end })
