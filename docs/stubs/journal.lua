---@meta

--- What happened in a run, in order: numbered records without gaps. A run has one; `hocket.events` reads it.
---@class hocket.Journal
local journal = {}

--- Appends a record.
---@param type string Lower-case words: "tasks_created".
---@param payload? table
---@param agent? string
---@param op? string
---@return integer? seq
---@return hocket.Error?
function journal:append(type, payload, agent, op) end

--- Ends it in the place of a run that cannot: with an `error` unless the code is "ok", and with `workflow_finished`. Needs no
--- memory.
---@param code string
function journal:close(code) end

--- The accounts of its run: what code of a tool or a step does with them is in the log of a run that is kept.
---@param accounts hocket.Accounts
---@internal
function journal:accounts(accounts) end

--- Each record from now on has this `generation`.
---@param number integer
function journal:generation(number) end

--- Who writes in an agent's name. What tells of something takes a writer, or a function in its place.
---@param agent string
---@param op? string
---@param job? hocket.Job It gets on with each event.
---@param old? hocket.EventWriter One no longer needed, and may become it.
---@return hocket.EventWriter
function journal:writer(agent, op, job, old) end

--- The first record after `cursor`; nothing when there is none yet.
---@param cursor integer 0 for the first.
---@return string? line JSON.
---@return integer? seq
---@return integer? missed Records in between that are no longer kept.
function journal:next(cursor) end

--- Waits for a record after `cursor`.
---@async
---@param cursor integer
---@param seconds? number
---@return boolean there_is_one
function journal:wait(cursor, seconds) end

--- The number of the last record.
---@return integer
function journal:last() end

--- Whether `workflow_finished` has been appended, so that nothing can follow.
---@return boolean
function journal:finished() end

--- From here on the running fiber, and everything that it starts, is the run's, where that is kept.
---@internal
function journal:enter() end

--- The next record has the number behind `seq`.
---@param seq integer
---@internal
function journal:skip(seq) end

--- So many things more (1), or fewer (-1), are about to be said to a run that is kept by hocket itself: it is not put away before.
---@param n 1|-1
---@internal
function journal:hold(n) end

--- fn(), which says something to the run: where it is kept, as something in its log, whoever says it. fn does not wait.
---@param wish string
---@param a string
---@param b string
---@param fn fun(): ...
---@param check? fun(): ... Is asked before: what it refuses, with nil and an error, is not in the log.
---@return any ... Of fn, or of a check that refuses; or nil and an error while nothing can be said.
---@internal
function journal:tell(wish, a, b, fn, check) end
