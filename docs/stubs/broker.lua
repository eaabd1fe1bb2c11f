---@meta hocket.internal.core.broker

---@class hocket.Broker
local Broker = {}

---@class hocket.Job What a job's function is given. Scripts may put fields of their own into it.
---@field id integer
---@field data any What was submitted as `data`.
---@field attempt integer From 1.
---@field last_error? string Of the attempt before.
---@field parent? hocket.Job The job that submitted it.
---@field run? hocket.Run The run that it belongs to.
---@field broker hocket.Broker
---@field package moved number When it last got on, by the loop's clock.
---@field package waiters integer How many of its fibers wait for jobs.
---@field over boolean Whether it has ended.
local Job = {}

---@class hocket.JobSpec What is submitted.
---@field run fun(job: hocket.Job): ... What it returns is the result; `nil, error`, or a raised error, a failure.
---@field data? any What JSON can hold.
---@field agent? string
---@field provider? string
---@field group? string With agent and provider: names that limits count.
---@field priority? integer -100 to 100.
---@field deadline? number Seconds.
---@field retries? integer
---@field backoff? number Seconds before the second attempt, at most (0.5); they double up to `backoff_max` (30).
---@field backoff_max? number
---@field deps? integer[] Ids of jobs that have to complete before.
---@field name? string In this call alone, for `needs` and `after`.
---@field needs? string[] Names of those that have to complete before.
---@field after? string[] Names of those that have to have ended before.
---@field on_dependency? "skip"|"continue"|"fail" What becomes of it when a dependency does not complete.
---@field detached? boolean It outlives the job that submits it.
---@field parent? hocket.Job Whose it is, instead of that job's.
---@field background? boolean Nobody waits for it: its result is for `take`.
---@field op? string The operation that its events name.
---@field trigger? string Why, as its account says.
---@field budget? hocket.Budget

--- Submits 1 to 1000 jobs, all or none.
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

--- Waits for a job and gives its outcome; when the waiting fiber is cancelled, so is the job. Without a
--- timeout, and where jobs would wait for each other in a ring, it is refused at once (`invalid`).
---@async
---@param id integer
---@param seconds? number
---@return any? value
---@return hocket.Error?
function Broker:wait(id, seconds) end

--- Waits until any or all of the jobs have ended; with "failed" until all have, or one has not completed. For at
--- most 10,000 jobs, and in 100,000 waits at a time; refused as `wait` is where jobs would wait for each other.
---@async
---@param ids integer[]
---@param mode? "any"|"all"|"failed" Default: all.
---@param seconds? number
---@return boolean? ended false when the time is over
---@return hocket.Error?
function Broker:wait_for(ids, mode, seconds) end

--- Whether a job has ended, or is not known any more.
---@param id integer
---@return boolean
---@internal
function Broker:has_ended(id) end

--- The outcome of a job when it has ended, which is forgotten then.
---@param id integer
---@return boolean ended
---@return any? value
---@return hocket.Error?
---@internal
function Broker:reap(id) end

--- The outcome of a job that has ended: its value, or nil and why there is none. It counts as
--- read: `take` will not give it again.
---@param id integer
---@return any? value
---@return hocket.Error?
function Broker:result(id) end

--- What is known of a job: status, agent, attempt, result (JSON text), error, seconds, notes.
---@param id integer
---@return table?
function Broker:poll(id) end

--- The job itself, until it is forgotten.
---@param id integer
---@return hocket.Job?
function Broker:job(id) end

--- How many jobs there are in each state, and `slots`: how many slots are in use.
---@param run? integer A run's number; of all runs when it is left out.
---@return table<string, integer>
function Broker:counts(run) end

--- Cancels a job and all that it started.
---@param id integer
---@return boolean? cancelled
---@return hocket.Error?
function Broker:cancel(id) end

--- Cancels a job that the running fiber has started; that fiber then ends after the job's.
---@param id integer
---@return boolean? cancelled
---@return hocket.Error?
function Broker:cancel_own(id) end

--- Cancels all jobs of a run, or of every run.
---@param run? integer A run's number; the current run when it is left out, or every run where there is none. 0: every run.
---@return integer count
function Broker:cancel_all(run) end

--- Limits how many jobs run at once: of an agent, of a provider, of a group, or in all.
---@param kind "agent"|"provider"|"group"|"all"
---@param name? string
---@param count? integer At least 1; nil: no limit.
function Broker:limit(kind, name, count) end

--- Cancels a job, and drops all that is known of it when it has cleaned up: nobody asks for it any more.
---@param id integer
---@internal
function Broker:drop(id) end

--- Drops all that is known of a job that has ended.
---@param id integer
---@return boolean? forgotten
---@return hocket.Error?
---@internal
function Broker:forget(id) end

--- Drops all that is known of a run whose jobs have all ended.
---@param run integer
---@return boolean? forgotten
---@return hocket.Error?
---@internal
function Broker:forget_run(run) end

--- Background jobs of a job that have ended and were not read yet, each once, ever.
---@param job hocket.Job
---@return integer[] ids
---@internal
function Broker:take(job) end

--- All background jobs of a job, oldest first.
---@param job hocket.Job
---@return integer[] ids
function Broker:background(job) end

--- Whether a job was submitted as one in the background.
---@param id integer
---@return boolean
---@internal
function Broker:is_background(id) end

--- The account of what the job uses, below that of the job that submitted it. It is opened when it is
--- first asked for: a job that calls no model costs nothing.
---@return integer? id nil outside of a run
---@internal
function Job:account() end

--- What the job and all that it submitted have used so far; nil when nobody has called a model.
---@return table? usage As run:usage() gives it.
function Job:usage() end

--- Notes that the job gets on, and so do those that wait for it; `moved` is when.
---@internal
function Job:touch() end

--- A task_progress event, kept for check_tasks; at most 4000 bytes of it.
---@param text string
function Job:progress(text) end

--- A task_log event, kept like progress.
---@param text string
function Job:log(text) end

return {}
