--- An evaluation at work: all runs of all cases with all models, so many side by side. Repeats of a case are far apart, so that what is
--- known when it is ended early is something of all cases.
---
---     local eval = Eval.new { cases = …, models = {{ model = "a/b" }}, folder = dir, jobs = 4, options = {} }
---     eval:run()                     -- waits; eval:stop() ends it, and what is done stays
---     eval.records                   -- in the order in which they ended
local attempt = require "hocket.internal.eval.attempt"
local fiber = require "hocket.internal.core.fiber"
local runs = require "hocket.internal.run.run"
local system = require "hocket.internal.core.system"

local evals = {}

--- Runs of one evaluation; seconds between two looks at what was spent.
local MAX_RUNS, LOOK = 100000, 0.2

---@class hocket.Eval
---@field cases hocket.EvalCase[]
---@field models {model?: string, name: string}[]
---@field records hocket.EvalRecord[]
---@field spent? boolean The budget is used up.
---@field stopping? boolean
local Eval = {}
Eval.__index = Eval

--- Seconds that one run may take where nobody says so.
Eval.TIMEOUT = 600

--- options: those of each run; max_cost: of all; on_record(record): learns of each; seed: where what is left to chance begins.
---@param spec {cases: hocket.EvalCase[], models: table[], folder: string, jobs: integer, options: table, times?: integer, max_cost?: number, seed?: integer, keep?: boolean, judge_model?: string, on_record?: fun(record: hocket.EvalRecord)}
---@return hocket.Eval
function evals.new(spec)
  local self = setmetatable({ records = {}, open = {}, by_journal = setmetatable({}, { __mode = "k" }), cost = 0.0, judge_cost = 0.0, began = fiber.now(), total = 0 }, Eval)
  for name, value in pairs(spec) do self[name] = value end
  for _, case in ipairs(self.cases) do self.total = self.total + (case.spec.skip and 0 or self:times_of(case) * #self.models) end
  return self
end

---@param case hocket.EvalCase
---@return integer
function Eval:times_of(case)
  return self.times or case.spec["repeat"] or 1
end

--- Whether there are too many runs; nil where not.
---@return string?
function Eval:too_many()
  if self.total > MAX_RUNS then return ("%d runs in all: an evaluation has at most %d"):format(self.total, MAX_RUNS) end
end

-- The same for all models, so that they are compared like with like.
local function seed_of(self, case, turn)
  return tonumber(system.hash(("%d\0%s\0%s\0%d"):format(self.seed or 0, case.base, case.name, turn)):sub(1, 8), 16) >> 1
end

-- Each run that is to be made, one after the other.
local function jobs_of(self)
  return coroutine.wrap(function()
    local most = 0
    for _, case in ipairs(self.cases) do most = math.max(most, self:times_of(case)) end
    for turn = 1, most do
      for i, case in ipairs(self.cases) do
        for m = 1, turn <= self:times_of(case) and not case.spec.skip and #self.models or 0 do
          coroutine.yield { case = i, model = m, turn = turn, seed = seed_of(self, case, turn) }
        end
      end
    end
  end)
end

-- ---- Money -----------------------------------------------------------------------------------------

local function known(usage)
  return usage and (type(usage.cost) == "number" and usage.cost or usage.cost_known) or 0
end

local function spent(self)
  local sum = self.cost + self.judge_cost
  for _, one in pairs(self.open) do sum = sum + known(one.seen and one.seen:usage()) end
  return sum
end

--- What a run that begins now may cost, as its option.
---@return {cost: number}?
function Eval:budget_left()
  return self.max_cost and { cost = math.max(0.0, self.max_cost - spent(self)) } or nil
end

local function cancel_all(self)
  for _, one in pairs(self.open) do one.started:cancel() end
end

-- Runs side by side see only what was spent when they began.
local function watch_budget(self)
  while not self.spent do
    fiber.sleep(LOOK)
    if spent(self) >= self.max_cost then
      self.spent = true
      cancel_all(self)
    end
  end
end

-- ---- Runs ------------------------------------------------------------------------------------------

--- Holds a run while it goes on: closed, it is ended.
---@param started userdata
---@param seen? hocket.Observed
---@return table
function Eval:hold(started, seen)
  local one = { started = started, seen = seen }
  self.open[one] = one
  if seen then self.by_journal[started:journal()] = seen end
  if self.stopping then started:cancel() end
  return setmetatable({}, { __close = function()
    self.open[one] = nil
    started:cancel()
  end })
end

local function take(self, record)
  self.cost = self.cost + (record.known_cost or 0)
  self.judge_cost = self.judge_cost + (record.judge and record.judge.cost or 0)
  record.known_cost = nil
  if record.state ~= "interrupted" then self.records[#self.records + 1] = record end
  if self.max_cost and spent(self) >= self.max_cost then self.spent = true end
  if self.on_record then self.on_record(record) end
end

local function work(self, next_job)
  while not self.stopping and not self.spent do
    local job = next_job()
    if not job then return end
    take(self, attempt.run(self, job))
  end
end

--- Makes the runs.
---@async
function Eval:run()
  runs.on_begin(self, function(run)
    local seen = self.by_journal[run.journal]
    if seen then seen:watch(run) end
  end)
  local closing <close> = setmetatable({}, { __close = function() runs.on_begin(self, nil) end })
  local watcher = self.max_cost and fiber.spawn(watch_budget, self)
  local next_job, workers = jobs_of(self), {}
  local function guarded()
    local job = not self.over and next_job() or nil
    self.over = job == nil
    return job
  end
  for i = 1, math.min(self.jobs, self.total) do workers[i] = fiber.spawn(work, self, guarded) end
  for _, worker in ipairs(workers) do worker:wait() end
  if watcher then watcher:cancel() end
  self.seconds = fiber.now() - self.began
end

--- Ends it: what goes on is cancelled and not counted, what is done stays.
function Eval:stop()
  self.stopping = true
  cancel_all(self)
end

return evals
