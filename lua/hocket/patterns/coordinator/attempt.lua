--- One attempt of a specialist at a task of a plan: what comes out, and whether it gets on at all.
local flow = require "hocket.flow"
local orchestrate = require "hocket.orchestrate"
local outcome = require "hocket.patterns.outcome"

--- Seconds without a sign of progress that are a stall.
local STALL = 120
--- How often the watch looks for one in that time.
local LOOKS = 8

-- Attempts that stand still: silent since they were counted. One with progress since then does not count any more; one that has
-- ended counts on.
local function count_stalls(state)
  local n = 0
  for one, moved in pairs(state.silent) do
    if one.job.attempt ~= one.attempt or one.job.moved == moved then n = n + 1 end
  end
  return n
end

-- Returns whether that was one too many.
local function stall(state, task, one, message)
  if state.silent[one] == one.job.moved then return false end
  state.silent[one] = one.job.moved
  local stalls = count_stalls(state)
  state.run:emit("task_stalled", { id = task.id, stalls = stalls, message = message }, task.specialist)
  state.stalled = state.stalled or stalls >= state.max_stalls and state.replan ~= nil and state.replans < state.max_replans
  return state.stalled
end

-- Beside an attempt: sees when nothing has come from it for so long. A job that waits for a person, or for
-- a job of its own, is not the one that stands still. Nor is one whose whole process was held up: that is
-- one look, however long it was. With one stall too many the job is over. The watch waits for `worker`, the fiber at work, under a
-- time limit: that is no work of the run, which can park meanwhile.
local function watch(state, task, one, worker)
  local job, after = one.job, state.options.stall or STALL
  local moved, looks = job.moved, 0
  while true do
    worker:wait(after / LOOKS)
    if worker:status() == "done" then return end
    looks = looks + 1
    if job.moved ~= moved or job.waiters > 0 then
      moved, looks = job.moved, 0
    elseif looks == LOOKS then
      looks = 0
      if stall(state, task, one, ("no sign of progress for %g seconds"):format(after)) then
        state.stop_reason = state.stop_reason or state.anew
        state.jobs:cancel(job.id)
      end
    end
  end
end

-- One conversation of the specialist.
local function try(state, task, one, inner, said)
  outcome.begin(said)
  local worker = flow.spawn(pcall, inner, one.job)
  local watcher = flow.spawn(watch, state, task, one, worker)
  local ok, reply, err = worker:wait()
  watcher:cancel()
  if flow.cancelled() then error({ code = "cancelled", message = "cancelled" }, 0) end
  if not ok then
    local code = reply == "not enough memory" and "no_memory" or "script" -- these are Lua's words
    reply, err = nil, type(reply) == "table" and reply or { code = code, message = tostring(reply) }
  end
  return outcome.of(said, reply, err)
end

-- The same until the task is not blocked: what blocks it is done in between, or refused.
local function try_until(state, task, one, inner, said)
  local reply, err = try(state, task, one, inner, said)
  while reply and said.blocked do
    state.reserved[task.id] = nil -- a split of the same turn comes to nothing
    local ok, wrong = state.unblock(state, task, said)
    if not ok then return nil, wrong end
    reply, err = try(state, task, one, inner, said)
  end
  if not reply or not said.parts then return reply, err end
  reply, err = state.carry_parts(state, task, said.parts)
  if reply and said.step.checking then return said.step.checking:of(reply) end
  return reply, err
end

--- One attempt, as the job's function: it shows on the board and in the channel.
---@async
---@param state table The coordinator's.
---@param task hocket.PlanTask
---@param inner fun(job: hocket.Job): hocket.Reply?, hocket.Error? Lets the specialist work.
---@param job hocket.Job
---@param said {status?: string, reason?: string} What the specialist's tool has said of the outcome.
---@return hocket.Reply?
---@return hocket.Error?
return function(state, task, inner, job, said)
  local entry, one = state.channel.by_id[task.id], { job = job, attempt = job.attempt }
  entry.status, entry.attempts = "running", job.attempt
  assert(state.board:start(task.specialist, { entry.board_id }))
  local reply, err = try_until(state, task, one, inner, said)
  state.reserved[task.id] = nil
  if reply then
    state.silent[one] = nil
    entry.status, entry.result, entry.error, entry.partial, entry.tried = "completed", reply.text, nil, nil, reply.tried
    if reply.tried then entry.answered_by = reply.agent end
    state.board:complete(task.specialist, { entry.board_id }, entry.board_id, reply.text:match "^[^\n]*", reply.tried and reply.agent)
    return reply
  end
  if orchestrate.is_refusal(err) then err.no_retry = true end
  if err.code == "timeout" and stall(state, task, one, err.message) then err.no_retry = true end
  entry.status, entry.error, entry.partial = "failed", err.message, err.partial
  state.board:settle(task.specialist, { entry.board_id }, false, ("attempt %d: %s"):format(job.attempt, err.message)) -- also where it had completed it itself
  return nil, err
end
