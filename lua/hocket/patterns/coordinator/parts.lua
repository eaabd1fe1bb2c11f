--- A task of a plan that its specialist splits: the parts are tasks of the plan with owners of their own, and the task is done when they are.
---
---     walls ──split_task──> walls.bricks ──> walls.roof
---       └── waits, and is done with what the parts came to; who depends on `walls` waits for it
---
--- Depth, the limit of tasks and the budget of the task bind: a split that goes beyond is refused, and what was done stays.
local ask = require "hocket.ask"
local orchestrate = require "hocket.orchestrate"
local outcome = require "hocket.patterns.outcome"
local plan = require "hocket.patterns.plan"
local tool = require "hocket.tool"

local parts = {}

--- How deep tasks are split, where nobody says otherwise.
parts.DEPTH = 2

local function limit_of(state)
  return state.options.task_limit or plan.TASK_LIMIT
end

--- Tasks that there are in the plan, and parts that were accepted and are not in it yet.
---@param state table The coordinator's.
---@param but? string A task whose accepted parts do not count.
---@return integer
function parts.count(state, but)
  local count = #state.channel.order
  for id, list in pairs(state.reserved) do count = count + (id == but and 0 or #list) end
  return count
end

-- A part never takes the place of another task. Parts of an earlier attempt at the same task make room.
local function find_taken(state, entry, list)
  for _, one in ipairs(list) do
    local id = ("%s.%s"):format(entry.id, one.id)
    local known = state.channel.by_id[id]
    if known and known.parent ~= entry.id then return id end
  end
end

-- What is wrong with a split, in words that a model can fix it by.
local function wrong_with(state, entry, list)
  local deepest = state.options.split_depth or parts.DEPTH
  if (entry.depth or 0) >= deepest then
    return ("task '%s' is not split: tasks are split %d deep at most. Do it yourself, or say what of it cannot be done"):format(entry.id, deepest)
  end
  local count = parts.count(state, entry.id) + #list
  if count > limit_of(state) then
    return ("task '%s' is not split: the plan would have %d tasks, and %d is the limit. Make fewer parts, or do it yourself"):format(entry.id, count, limit_of(state))
  end
  local taken = find_taken(state, entry, list)
  if taken then return ("task '%s' is not split: there is a task '%s' already. Give that part another id"):format(entry.id, taken) end
  return plan.check({ type = "task", tasks = list }, state.specialists, nil, state.team)
end

-- The parts with ids below the task's: "house.bricks".
local function below(task, list)
  local made = {}
  for i, one in ipairs(list) do
    local needs = {}
    for j, id in ipairs(one.depends_on or {}) do needs[j] = ("%s.%s"):format(task.id, id) end
    made[i] = { id = ("%s.%s"):format(task.id, one.id), specialist = one.specialist, description = one.description, context = one.context, active_form = one.active_form, depends_on = needs, files = one.files, expected = one.expected, check = one.check }
  end
  return made
end

-- Whether whoever has to approve the plan wants the parts. Others may change it meanwhile: it is checked once more.
local function approve(state, entry, list, made)
  local ask = state.options.approve_parts
  if not ask then return true end
  local ok, err = ask(made)
  if not ok then return nil, err end
  local wrong = wrong_with(state, entry, list)
  if wrong then return nil, { code = "limit", message = wrong } end
  return true
end

--- Asks the user about parts: a specialist gives work to others.
---@async
---@param list hocket.PlanTask[]
---@return true?
---@return hocket.Error?
function parts.ask_user(list)
  local verdict, said = ask.plan(plan.describe { tasks = list }, { part = true })
  if verdict == "accept" then return true end
  if not verdict and said.code ~= "unsupported" then return nil, said end
  local why = verdict == "refuse" and "the user refused the parts" or verdict == "revise" and "the user wants other parts: " .. said
    or "the parts need the user's approval, and nobody is there to give it"
  return nil, { code = "denied", message = ("the task is not split, and nothing of it was done: %s"):format(why) }
end

--- Takes a split, or says what is wrong with it.
---@async
---@param state table The coordinator's.
---@param task hocket.PlanTask
---@param list hocket.PlanTask[]
---@return hocket.PlanTask[]? parts
---@return hocket.Error?
function parts.accept(state, task, list)
  local entry, made = state.channel.by_id[task.id], below(task, list)
  local wrong = wrong_with(state, entry, list)
  if wrong then return nil, { code = "limit", message = wrong } end
  local ok, err = approve(state, entry, list, made)
  if not ok then return nil, err end
  state.reserved[task.id] = made
  return made
end

local function schema_of(id, specialists)
  local one = plan.schema(specialists).properties.tasks.items
  return { type = "object", required = { "id", "tasks" }, properties = {
    id = id,
    tasks = { type = "array", minItems = 1, items = one, description = "The parts, with ids of their own; depends_on names other parts" },
  } }
end

--- The tool of `tools: [split_task]`: of a specialist at work on a task of a plan. Anybody else has none.
---@param env table
---@return hocket.Tool[]
---@internal
function parts.tools(env)
  local said = env.outcome
  local split = said and said.split
  if not split then return {} end
  table.insert(env.ends_when, function() return said.parts ~= nil or outcome.is_over(said) end)
  return { tool {
    steps = true, name = "split_task",
    description = "Split your task into parts for specialists, where it is too large for one. Your work ends with this call; your task is done when they are.",
    parameters = schema_of(split.id, split.specialists),
    run = function(args)
      if said.parts or said.splits then return nil, { code = "state", message = "the task is split already" } end
      said.splits = true -- a person may be asked
      local list, err = split.accept(args.tasks, args.id)
      said.splits = nil
      if not list then return outcome.refuse(said, err) end
      said.parts, said.split_id = list, args.id
      return ("%d parts"):format(#list)
    end,
  } }
end

-- Why a task has not been done whose parts were not.
local function failure(entries, text)
  local lines, cause = {}, nil
  for _, entry in ipairs(entries) do
    if entry.status ~= "completed" then
      lines[#lines + 1] = ("%s (%s) %s: %s"):format(entry.id, entry.specialist, entry.status, entry.error or "no reason is known")
      cause = cause or entry
    end
  end
  return { code = "state", no_retry = true, partial = text, message = ("%d of %d parts did not complete: %s"):format(#lines, #entries, table.concat(lines, "; ")) }
end

--- What the parts of a task came to, as its reply.
---@param entries hocket.Outcome[]
---@param summarize fun(outcomes: hocket.Outcome[]): string
---@return hocket.Reply?
---@return hocket.Error?
function parts.result(entries, summarize)
  local text = summarize(entries)
  for _, entry in ipairs(entries) do
    if entry.status ~= "completed" then return nil, failure(entries, text) end
  end
  return { text = text, finish = "stop", calls = {}, usage = {} }
end

--- Reports a split as an event.
---@param parent hocket.Outcome
---@param list hocket.PlanTask[]
---@param on {board?: integer, task_id: integer, task_ids?: integer[]} Where they are on the board.
function parts.announce(parent, list, on)
  local told = {}
  for i, one in ipairs(list) do told[i] = { id = one.id, specialist = one.specialist, description = one.description, depends_on = one.depends_on } end
  orchestrate.current_run():emit("task_split", { id = parent.id, depth = (parent.depth or 0) + 1, tasks = told,
    board = on.board, task_id = on.task_id, task_ids = on.task_ids }, parent.specialist)
end

return parts
