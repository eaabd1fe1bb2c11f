--- The broker: every piece of work that one agent asks of another, or a script of itself, is a job.
---
---     local hocket = require "hocket"
---     local jobs = hocket.broker()                              -- the one that all agents share; with options one of its own
---     local first = assert(jobs:submit { run = function() return "flour" end })
---     local second = assert(jobs:submit { deps = { first }, run = function() return "bread" end })
---     print(jobs:wait(second))
---
--- So limits, order, retries, dependencies, waiting, events and cancelling exist once. A job that waits for others holds
--- no slot, so that waits inside waits go on under any limit.
local arguments = require("hocket.internal.base.arguments").check
local caught = require "hocket.internal.base.caught"
local batch = require "hocket.internal.base.lazy" "hocket.internal.run.batch"
local core = require "hocket.internal.core.broker"
local fiber = require "hocket.internal.core.fiber"
local effects = require "hocket.internal.base.effects"
local json = require "hocket.json"
local misuse = require "hocket.internal.base.lazy" "hocket.internal.base.misuse"
local system = require "hocket.internal.core.system"

local broker = {}

---@class hocket.Broker
local Broker = core.Broker

-- ---- Listeners -----------------------------------------------------------------------------

local payload_field = { completed = "result", failed = "error" }

-- The event for whoever asked to be told, which its run's journal is not.
local function event_of(job, type, id, text, usage)
  return { task = id, op = job.op, usage = usage and json.decode(usage), [payload_field[type] or "message"] = text }
end

local function tell(job, emit, type, id, payload, usage, shown)
  if emit then emit("task_" .. type, event_of(job, type, id, shown, usage)) end
  for _, listener in ipairs(job.listeners or {}) do
    listener[#listener + 1] = { type = type, task = id, payload = payload or "" }
    listener.fiber:wake()
  end
end

-- A listener may raise; the others get the event all the same.
local function hear(job, emit, type, id, ...)
  if not job then return false end
  local ok, err = pcall(tell, job, emit, type, id, ...)
  if not ok then system.log("error", ("the listener of task %d raised: %s"):format(id, tostring(err))) end
  return true
end

local function work(self)
  self:work()
  while hear(self:take_told()) do fiber.rest() end
end

local function report(err)
  system.log("error", "the broker goes on after an error: " .. (type(err) == "table" and err.message or tostring(err)))
end

-- The one fiber that starts and resumes jobs; every change wakes it. Whatever is raised in it, also because memory
-- is out, it goes on: all other jobs, and the ones who wait for them, would wait for ever. Where not even giving a job up
-- is possible this one ends, and all jobs fail; whoever submits the next one makes another.
local function dispatch(self)
  while true do
    local ok, err = pcall(work, self)
    if fiber.cancelled() then return end
    if not ok then
      self:give_up(err)
      pcall(report, err)
      fiber.sleep(0.001)
    end
  end
end

-- ---- Brokers ----------------------------------------------------------------------------------

local dispatchers = setmetatable({}, { __mode = "k" })
local leaders = setmetatable({}, { __mode = "k" }) -- by broker: the fiber that it ends with, where there is one

--- Makes a broker of one's own.
---@param options? {max_running?: integer, max_jobs?: integer, max_depth?: integer} How many jobs run at once; have not ended (a million); stand inside of each other (64, at most 1000).
---@return hocket.Broker
function broker.new(options)
  local self = misuse.called("hocket.broker", core.new, options)
  self:revive()
  return self
end

-- One of ours, whose options nobody has said.
local function own_broker()
  local self = core.new()
  self:revive()
  return self
end

-- Makes the dispatcher, or another one when memory was out for so long that even this one has ended.
function Broker:revive()
  local leader = leaders[self]
  local dispatcher = leader and fiber.spawn_under(leader, dispatch, self) or fiber.detach(dispatch, self)
  self:led_by(dispatcher)
  dispatchers[self] = dispatcher
end

--- Ends a broker of one's own: its jobs are cancelled, and it takes no more (the error's code is `closed`).
function Broker:close()
  if self == broker.shared() then error("the broker that all agents share cannot be closed", 2) end
  self:shut()
  self:cancel_all(0)
  dispatchers[self]:cancel()
end

local shared

-- One for the code of a tool or a step of a run that is kept, which ends with it. Its jobs have numbers of the run's own.
local function broker_within(within)
  local self, run = core.new(), within.run
  if run.options.jobs then self:limit("all", nil, run.options.jobs) end
  self:numbered_by(function(n) return run:log("jobs", n) end)
  within.broker, leaders[self] = self, within.fiber
  self:revive()
  return self
end

--- The broker that all agents of this host share.
---@return hocket.Broker
function broker.shared()
  local here = effects.here()
  if here then -- a run that is kept has one of its own: what others do is no business of its log
    here.broker = here.broker or own_broker()
    return here.broker
  end
  local within = effects.within()
  if within then return within.broker or broker_within(within) end
  shared = shared or own_broker()
  return shared
end

--- What stands in the place of a run's broker for the code that runs, which is not the run's.
---@return hocket.Broker
---@internal
function Broker:own_here()
  return effects.within() and broker.shared() or self
end

--- The job that the running fiber works for.
---@return hocket.Job?
function broker.job()
  local context = fiber.context()
  return context and context.job
end

--- Calls fn(...) without holding a slot: for a wait that is for no job, but for a person, say.
---@async
---@param fn fun(...): any, any
---@return any, any Its first two results.
function Broker:aside(fn, ...)
  local left <close> = self:leave()
  if not left then return fn(...) end
  local first, second = fn(...)
  self:come_back(left)
  return first, second
end

--- Submits jobs, all or none, that end with whoever started them: `local batch <close> = jobs:batch(specs)`.
---@param specs hocket.JobSpec[]
---@return hocket.Batch?
---@return hocket.Error?
function Broker:batch(specs)
  arguments("broker:batch", 1, "table", specs)
  return batch.start(self, specs)
end

local final = { completed = true, failed = true, cancelled = true, skipped = true }

--- Iterates over a job's events until it has ended: `for event in jobs:stream(id) do`. Raises `invalid` where the jobs would wait for
--- each other in a ring, as `wait` does.
---@async
---@param id integer
---@return fun(): {type: string, task: integer, payload: string}?
function Broker:stream(id)
  local job, listener = misuse.called("stream", self.job, self, id), { fiber = fiber.self() }
  if not job then return function() end end
  local ended = self:has_ended(id)
  if not ended then
    self:watch(id)
    job.listeners = job.listeners or {}
    table.insert(job.listeners, listener)
  end
  return function()
    while #listener == 0 do
      if ended then return nil end
      local ok, err = self:await_event(id)
      if not ok then error(err, 0) end
    end
    local event = table.remove(listener, 1)
    ended = final[event.type] or false
    return event
  end
end

-- Ends what the running fiber has begun for a run, also fibers of its jobs, and waits for that.
local function end_begun(run)
  local list = {}
  for _, child in ipairs(fiber.children()) do
    local context = child:context()
    if type(context) == "table" and context.run == run then list[#list + 1] = child end
  end
  for _, child in ipairs(list) do child:cancel() end
  for _, child in ipairs(list) do child:outlast() end
end

--- Ends everything that a run has started, waits for that, and drops what is known of it: the run is over. So what was cancelled has been
--- counted, and has told its end.
---@async
---@param run hocket.Run
---@internal
function Broker:close_run(run)
  self:cancel_all(run.number)
  local ok, err = pcall(end_begun, run)
  self:forget_run(run.number) -- also where memory is out: then nobody is awaited
  if not ok and not caught.no_memory(err) then error(err, 0) end
end

return setmetatable(broker, { __call = function(_, options)
  if options == nil then return broker.shared() end
  return broker.new(options)
end })
