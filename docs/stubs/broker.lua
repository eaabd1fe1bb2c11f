---@meta hocket.internal.core.broker

---@class hocket.Broker
local Broker = {}

---@class hocket.Job The argument of a job's function. Scripts may add fields.
---@field id integer
---@field data any The `data` of the specification.
---@field attempt integer From 1.
---@field last_error? string The error of the previous attempt.
---@field parent? hocket.Job The job that submitted it.
---@field run? hocket.Run The run that it belongs to.
---@field broker hocket.Broker
---@field package moved number When it last made progress, by the loop's clock.
---@field package waiters integer How many of its fibers wait for jobs.
---@field over boolean Whether it has ended.
local Job = {}

---@class hocket.JobSpec The specification of a job.
---@field run fun(job: hocket.Job): ... It returns the result. If it returns `nil, error` or raises an error, the job fails.
---@field data? any Any value that JSON can hold.
---@field agent? string
---@field provider? string
---@field group? string Limits can apply to an agent, a provider, or a group.
---@field priority? integer -100 to 100.
---@field deadline? number Seconds.
---@field retries? integer
---@field backoff? number Upper bound of the seconds before the second attempt (0.5). It doubles up to `backoff_max` (30).
---@field backoff_max? number
---@field deps? integer[] Ids of jobs that must complete first.
---@field name? string A name within this call, for `needs` and `after`.
---@field needs? string[] Names of jobs that must complete first.
---@field after? string[] Names of jobs that must end first.
---@field on_dependency? "skip"|"continue"|"fail" What happens to it if a dependency does not complete.
---@field detached? boolean It continues after the job that submits it has ended.
---@field parent? hocket.Job Its parent, instead of the job that submits it.
---@field background? boolean Nobody waits for it; `take` returns its result.
---@field op? string The name of the operation in its events.
---@field trigger? string The reason, for its account.
---@field budget? hocket.Budget

--- Submits 1 to 1000 jobs. If one is invalid, it submits none.
---@param specs hocket.JobSpec[]
---@return integer[]? ids
---@return hocket.Error?
function Broker:submit_all(specs) end

--- Submits one job.
---@param spec hocket.JobSpec
---@return integer? id
---@return hocket.Error?
function Broker:submit(spec) end

--- Submits a job and waits for its outcome.
---@async
---@param spec hocket.JobSpec
---@return any? value
---@return hocket.Error?
function Broker:call(spec) end

--- Waits for a job and returns its outcome. If the waiting fiber is cancelled, the job is cancelled too. Without a timeout,
--- a wait that would never end because jobs wait for each other fails at once (`invalid`).
---@async
---@param id integer
---@param seconds? number
---@return any? value
---@return hocket.Error?
function Broker:wait(id, seconds) end

--- Waits until any or all of the jobs have ended. With "failed" it waits until all have ended or one has not completed.
--- It takes up to 10,000 jobs; there can be 100,000 waits at a time. Like `wait`, it refuses jobs that wait for each other.
---@async
---@param ids integer[]
---@param mode? "any"|"all"|"failed" Default: all.
---@param seconds? number
---@return boolean? ended false: the time is over.
---@return hocket.Error?
function Broker:wait_for(ids, mode, seconds) end

--- Tells whether a job has ended. It is also true for an unknown job.
---@param id integer
---@return boolean
---@internal
function Broker:has_ended(id) end

--- Returns the outcome of a job that has ended, and drops the job.
---@param id integer
---@return boolean ended
---@return any? value
---@return hocket.Error?
---@internal
function Broker:reap(id) end

--- Returns the outcome of a job that has ended: its value, or nil and an error. The job then counts as read, so that `take`
--- does not return it.
---@param id integer
---@return any? value
---@return hocket.Error?
function Broker:result(id) end

--- Describes a job: status, agent, attempt, result (JSON text), error, seconds, notes.
---@param id integer
---@return table?
function Broker:poll(id) end

--- The job's table, until the job is dropped.
---@param id integer
---@return hocket.Job?
function Broker:job(id) end

--- Counts the jobs in each state. `slots` is the number of slots in use.
---@param run? integer A run's number. Default: all runs.
---@return table<string, integer>
function Broker:counts(run) end

--- Cancels a job and everything that it started.
---@param id integer
---@return boolean? cancelled
---@return hocket.Error?
function Broker:cancel(id) end

--- Cancels a job that the running fiber started. The fiber ends after the job.
---@param id integer
---@return boolean? cancelled
---@return hocket.Error?
function Broker:cancel_own(id) end

--- Cancels all jobs of a run, or of every run.
---@param run? integer A run's number; 0 means every run. Default: the current run, or every run if there is none.
---@return integer count
function Broker:cancel_all(run) end

--- Limits how many jobs run at once: for an agent, a provider, a group, or all jobs.
---@param kind "agent"|"provider"|"group"|"all"
---@param name? string
---@param count? integer At least 1. nil removes the limit.
function Broker:limit(kind, name, count) end

--- Cancels a job, and drops its data after its cleanup because nobody will ask for it.
---@param id integer
---@internal
function Broker:drop(id) end

--- Drops the data of a job that has ended.
---@param id integer
---@return boolean? forgotten
---@return hocket.Error?
---@internal
function Broker:forget(id) end

--- Drops the data of a run whose jobs have all ended.
---@param run integer
---@return boolean? forgotten
---@return hocket.Error?
---@internal
function Broker:forget_run(run) end

--- Returns the background jobs of a job that have ended. Each is returned only once.
---@param job hocket.Job
---@return integer[] ids
---@internal
function Broker:take(job) end

--- Returns all background jobs of a job, oldest first.
---@param job hocket.Job
---@return integer[] ids
function Broker:background(job) end

--- Tells whether a job was submitted as a background job.
---@param id integer
---@return boolean
---@internal
function Broker:is_background(id) end

--- The account for the job's usage, below the account of its parent job. It is opened at the first call, so a job that
--- calls no model has none.
---@return integer? id nil outside a run
---@internal
function Job:account() end

--- What the job and its descendants have used so far. It is nil if none of them has called a model.
---@return table? usage In the form of run:usage().
function Job:usage() end

--- Notes progress of the job and of the jobs that wait for it. `moved` is the time.
---@internal
function Job:touch() end

--- Writes a task_progress event. check_tasks returns it later; it holds up to 4000 bytes.
---@param text string
function Job:progress(text) end

--- Writes a task_log event. It is stored in the same way as progress.
---@param text string
function Job:log(text) end

return {}
