--- What an answer was made without: who was called in a run and failed, and was not made good. A run that ends well all
--- the same says so in its result (`partial`).
---
---     a facilitator's plan   tasks of its board that are not done in the end
---     a planner's plan       tasks that did not complete, as the coordinator tells
---     a stage of a chain     that was cut before the next one went on with what there was
---     any other call         an agent that failed, unless the same caller asked it again after that, with success
local json = require "hocket.json"

local partial_result = {}

--- Entries of one run, at most; the first ones count.
local MAX = 200

---@class hocket.Shortfall
---@field agent string
---@field error string
---@field code? string
---@field path? string[] Who was at work, from the run's first agent to this one; nil: that one called it.
---@field task? integer|string Of a plan.
---@field text? string What the task was.
---@field package of? string The agent that was called, where `agent` is another stage of its chain.

-- Who called, by its operation: what is kept must not keep a conversation.
local function caller_of(step)
  return step.above and step.above.op or ""
end

-- Who called each other down to a step, and behind it the chain that the step led.
local function path_to(step, chain)
  local path, names = json.array {}, {}
  local above = step.above
  while above do
    names[#names + 1] = above.def.name
    above = above.above
  end
  for i = #names, 1, -1 do path[#path + 1] = names[i] end
  table.move(chain or { step.def.name }, 1, #(chain or { 1 }), #path + 1, path)
  return #path > 2 and path or chain
end

local function number_of(op)
  return tonumber(op:sub(2)) or 0
end

--- Adds an entry to the list of a run.
---@param run hocket.Run
---@param entry hocket.Shortfall
---@internal
function partial_result.add(run, entry)
  local list = run.failures or {}
  run.failures = list
  if #list < MAX then list[#list + 1] = entry end
end

local function add(run, entry)
  run:log("failure", entry)
end

-- Tasks of a plan are reported by their plan.
local planned = { dispatch = true, plan = true }

-- What went wrong in the work of a step.
local function note(step, entry)
  entry.caller, entry.op, entry.after = caller_of(step), step.op, step.run.operations
  add(step.run, entry)
end

-- The plan tells of the task by its error.
local function keep_blame(run, err, path)
  run.blames = run.blames or {}
  run.blames[err.message] = { agent = err.agent, path = path }
end

--- An agent that was called has failed.
---@param step hocket.Step
---@param err hocket.Error
function partial_result.failed(step, err)
  local trigger, chain = step.opts.trigger, err.path
  if not trigger or step.opts.given then return end
  local path = path_to(step, chain)
  if planned[trigger] then return chain and keep_blame(step.run, err, path) end
  note(step, { agent = chain and err.agent or step.def.name, path = path, of = chain and step.def.name, error = err.message, code = err.code })
end

--- The chain that a step leads has an answer for a script, and a stage of it was cut.
---@param step hocket.Step
---@param cut hocket.StageCut
function partial_result.cut(step, cut)
  local who = cut.path and table.concat(cut.path, " -> ") or cut.agent
  note(step, { agent = cut.agent, path = path_to(step, cut.path), of = step.def.name, error = ("%s was cut short: %s"):format(who, cut.message), code = cut.code })
end

--- One has succeeded: what it failed at before, for the same caller, it was asked for again.
---@param step hocket.Step
function partial_result.succeeded(step)
  step.run:log("made_good", step.def.name, caller_of(step), step.op)
end

---@param run hocket.Run
---@param agent string
---@param caller string
---@param op string
---@internal
function partial_result.made_good(run, agent, caller, op)
  local list = run.failures or {}
  for i = #list, 1, -1 do
    local one = list[i]
    if (one.of or one.agent) == agent and one.caller == caller and (one.op == op or number_of(op) > one.after) then
      table.remove(list, i)
      return
    end
  end
end

-- In the place of a plan's specialist stands who has failed for it, where its chain said so.
local function blame(run, entry)
  local one = run.blames and run.blames[entry.error]
  if one then entry.agent, entry.path = one.agent, one.path end
  return entry
end

--- A task of a plan did not complete.
---@param run hocket.Run
---@param outcome hocket.Outcome
function partial_result.task(run, outcome)
  add(run, blame(run, { agent = outcome.specialist, error = outcome.error or "it did not complete", task = outcome.id, text = outcome.description, code = outcome.status }))
end

--- From now on a board's tasks are a plan that has to be done.
---@param run hocket.Run
---@param board hocket.Board
function partial_result.expect(run, board)
  run.plans = run.plans or {}
  for _, other in ipairs(run.plans) do
    if other == board then return end
  end
  table.insert(run.plans, board)
end

--- What the answer of a run was made without that was called by this one.
---@param run hocket.Run
---@param list any As `partial` of its result.
function partial_result.of_child(run, list)
  if type(list) ~= "table" then return end
  for _, one in ipairs(list) do
    if type(one) == "table" and type(one.agent) == "string" and type(one.error) == "string" then add(run, one) end
  end
end

local of_board

--- A board is let go of, whose agent has ended: what is not done now is not done.
---@param run hocket.Run
---@param board hocket.Board
function partial_result.settle(run, board)
  for i, other in ipairs(run.plans or {}) do
    if other == board then
      table.remove(run.plans, i)
      return of_board(board, function(entry) add(run, blame(run, entry)) end)
    end
  end
end

local reasons = { pending = "it was never begun", running = "it was not finished" }

function of_board(board, tell)
  for _, task in ipairs(board:tasks()) do
    if task.status ~= "done" then
      local why = task.error and task.error ~= "" and task.error or reasons[task.status] or task.status
      tell { agent = task.assigned_to, error = why, code = task.status, task = task.id, text = task.text }
    end
  end
end

local function of_boards(run, list)
  for _, board in ipairs(run.plans or {}) do
    of_board(board, function(entry) if #list < MAX then list[#list + 1] = blame(run, entry) end end)
  end
end

--- What the run's answer was made without; nil when that is nothing.
---@param run hocket.Run
---@return hocket.Shortfall[]?
function partial_result.of(run)
  local list = {}
  for _, one in ipairs(run.failures or {}) do
    list[#list + 1] = { agent = one.agent, path = one.path, error = one.error, code = one.code, task = one.task, text = one.text }
  end
  of_boards(run, list)
  return #list > 0 and json.array(list) or nil
end

return partial_result
