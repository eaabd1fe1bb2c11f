---@meta

--- A task is assigned to an agent by name and completed by nobody else; finished is what is done, and nothing else.
--- `#board` is the number of tasks.
---@class hocket.Board
local board = {}

---@class hocket.Task
---@field id integer From 1, without gaps.
---@field text string
---@field assigned_to string An agent's name.
---@field active_form? string The text while it is being done: "Finding restaurants".
---@field status "pending"|"running"|"done"|"failed"|"skipped"|"cancelled"
---@field finished boolean
---@field completed_by? string The agent, or "auto" when it ended well and had left the task open.
---@field error? string
---@field result? string
---@field board? integer Which of the run's boards it stands on.

--- Creates all the tasks, or none.
---@param agent string Who plans.
---@param tasks {text: string, assigned_to: string, active_form?: string}[]
---@return integer[]? ids
---@return hocket.Error?
function board:create(agent, tasks) end

--- All tasks, or those with these ids.
---@param ids? integer[]
---@return hocket.Task[]? tasks
---@return hocket.Error?
function board:tasks(ids) end

--- "3/6 done, tasks 5, 6 pending"
---@return string
function board:status() end

--- Makes tasks running: `agent` is sent to work on them. One by one: the first is running, and the next one when `complete` has taken
--- the one before it.
---@param agent string
---@param ids integer[]
---@param one_by_one? boolean
---@return true? ok
---@return hocket.Error?
function board:start(agent, ids, one_by_one) end

--- Says that a task is done. An id that is none of `own` is taken for a slip when exactly one of them is
--- open, and refused otherwise.
---@param agent string
---@param own integer[] What the agent was sent to work on.
---@param id integer
---@param result? string
---@param by? string Who has done it in the agent's place, and is the task's `completed_by`: a router's target, the last of a chain.
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

--- The safety net when `agent` has ended its work on `own`, the tasks that were started for it. On success what it left open
--- is done, completed by "auto". Otherwise all of them have failed, with `why`: what it completed before keeps its result.
---@param agent string
---@param own integer[]
---@param success boolean
---@param why? string The error, when it failed.
---@return integer[]? ids The tasks that have changed.
---@return hocket.Error?
function board:settle(agent, own, success, why) end

--- Records changes as events from now on. A run does this by itself.
---@param journal hocket.Journal
---@param number? integer Which of the run's boards it is, from 1.
---@internal
function board:attach(journal, number) end

--- Which of its run's boards it is, from 1: `board` in events and in tasks. nil before a run has taken it.
---@return integer?
function board:number() end

--- Applies one record of a journal, so that a board can be rebuilt.
---@param record string One line.
---@return boolean? applied false when it is no record of a board, or of another one.
---@return hocket.Error?
---@internal
function board:replay(record) end
