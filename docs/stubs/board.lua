---@meta

--- A list of tasks. A task is assigned to an agent by name, and only that agent can complete it. `finished` is true for
--- tasks that are done. `#board` is the number of tasks.
---@class hocket.Board
local board = {}

---@class hocket.Task
---@field id integer From 1, without gaps.
---@field text string
---@field assigned_to string An agent's name.
---@field active_form? string The text while an agent works on the task: "Finding restaurants".
---@field status "pending"|"running"|"done"|"failed"|"skipped"|"cancelled"
---@field finished boolean
---@field completed_by? string The agent. "auto": the agent's work succeeded, but it left the task open.
---@field error? string
---@field result? string
---@field parent? integer The task that it is a part of.
---@field unblocks? integer The blocked task that waits for it.
---@field reassigned_to? string[] The agents that got it after `assigned_to` had failed, in order.
---@field board? integer The number of its board within the run.

--- Creates all of the tasks. If one is invalid, it creates none.
---@param agent string The agent that plans.
---@param tasks {text: string, assigned_to: string, active_form?: string, parent?: integer, unblocks?: integer}[] parent, unblocks: existing tasks.
---@return integer[]? ids
---@return hocket.Error?
function board:create(agent, tasks) end

--- Allows `n` more tasks from now on, whatever the limit was before.
---@param n integer 0 to 100000.
function board:allow(n) end

--- All tasks, or those with these ids.
---@param ids? integer[]
---@return hocket.Task[]? tasks
---@return hocket.Error?
function board:tasks(ids) end

--- "3/6 done, tasks 5, 6 pending"
---@return string
function board:status() end

--- Sets tasks to running because `agent` starts to work on them. With `one_by_one` only the first task is set to running;
--- each `complete` then starts the next one.
---@param agent string
---@param ids integer[]
---@param one_by_one? boolean
---@return true? ok
---@return hocket.Error?
function board:start(agent, ids, one_by_one) end

--- Completes a task. If `id` is not in `own` and exactly one task of `own` is open, the method assumes a slip and completes
--- that one. Otherwise it refuses such an id.
---@param agent string
---@param own integer[] The tasks that the agent was started for.
---@param id integer
---@param result? string
---@param by? string Who did the work for the agent, such as a router's target. It becomes the task's `completed_by`.
---@return {id: integer, corrected: boolean, already: boolean}? done
---@return hocket.Error?
function board:complete(agent, own, id, result, by) end

--- Marks an open task as failed.
---@param agent string
---@param id integer
---@param why string
---@return true? ok
---@return hocket.Error?
function board:fail(agent, id, why) end

--- Marks a pending task as skipped.
---@param agent string
---@param id integer
---@param why? string
---@return true? ok
---@return hocket.Error?
function board:skip(agent, id, why) end

--- Marks an open task as cancelled.
---@param agent string
---@param id integer
---@param why? string
---@return true? ok
---@return hocket.Error?
function board:cancel(agent, id, why) end

--- Gives a running task to another agent, because the agent that had it has failed. `assigned_to` does not change.
---@param agent string The agent that failed.
---@param id integer
---@param to string The next agent.
---@param why? string Why the other one failed.
---@return true? ok
---@return hocket.Error?
function board:reassign(agent, id, to, why) end

--- Settles the tasks `own` when `agent` has ended its work on them. On success it completes the open ones, with "auto" as
--- `completed_by`. On failure it marks all of them as failed with `why`; tasks that were completed keep their result.
---@param agent string
---@param own integer[]
---@param success boolean
---@param why? string The error, when it failed.
---@return integer[]? ids The tasks that have changed.
---@return hocket.Error?
function board:settle(agent, own, success, why) end

--- Records changes as events from now on. A run calls this itself.
---@param journal hocket.Journal
---@param number? integer The board's number within the run, from 1.
---@internal
function board:attach(journal, number) end

--- The board's number within its run, from 1. Events and tasks have it as `board`. It is nil until a run uses the board.
---@return integer?
function board:number() end

--- Applies one record of a journal. This rebuilds a board from its records.
---@param record string One line.
---@return boolean? applied false: the record does not concern a board, or concerns another one.
---@return hocket.Error?
---@internal
function board:replay(record) end
