--- Carries a plan out, without a model: specialists with fresh context work side by side as far as their dependencies allow.
--- Then it puts together what they report.
---
---     local hocket = require "hocket"
---     local coordinator = require "hocket.patterns.coordinator"
---     local team = {
---       guide = hocket.agent { name = "guide", prompt = "You know the sights of Lisbon." },
---       cook = hocket.agent { name = "cook", prompt = "You know where to eat." },
---     }
---     local reply = assert(coordinator.run({
---       type = "task",
---       tasks = {
---         { id = "sights", specialist = "guide", description = "Choose a sight for the morning." },
---         { id = "lunch", specialist = "cook", description = "Choose a place for lunch near it.", depends_on = { "sights" } },
---       },
---     }, { team = team }))
---     print(reply.text)
---
---     plan ──> jobs with dependencies ──> specialist: description, context, results it depends on
---                 │ group limit 3 (1 when sequential), retries, timeouts
---                 ├─ completed ──> channel, board
---                 └─ failed ─────> dependents are skipped, or go on; or all stops; or a new plan
---
--- The board shows content and active form of every task. A task is running while a specialist
--- works on it, done as soon as it is, and failed between two attempts: never done with an error.
local agents = require "hocket.agent"
local assignments = require "hocket.patterns.coordinator.assignments"
local attempt = require "hocket.patterns.coordinator.attempt"
local outcome = require "hocket.patterns.outcome"
local parts = require "hocket.patterns.coordinator.parts"
local blockers = require "hocket.patterns.blockers"
local board = require "hocket.board"
local broker = require "hocket.broker"
local json = require "hocket.json"
local orchestrate = require "hocket.orchestrate"
local plan = require "hocket.patterns.plan"
local texts = require "hocket.text"

local coordinator = {}

--- Seconds for one attempt, by kind of specialist, where neither its file nor the caller says more.
coordinator.timeouts = { conversation = 60, file = 60, shell = 300, web = 120, code = 120, default = 300 }

--- What every specialist reads last: a report is not taken for success when it says otherwise.
coordinator.closing = "When it is fully done report what came out. If it could not be done say so with task_outcome where you have that tool, "
  .. "and in any case begin your report with FAILED: and say why."

-- For patterns whose specialists split tasks: depth, what the user says to parts, their event, what they came to.
coordinator.SPLIT_DEPTH, coordinator.ask_about_parts, coordinator.announce_parts, coordinator.result_of_parts = parts.DEPTH, parts.ask_user, parts.announce, parts.result

--- Attempts after a failed one, where nobody says otherwise.
coordinator.RETRIES = 2
--- Tasks that a board may have.
local BOARD = 100000
--- Specialists that work at once.
local LIMIT = 3
local BACKOFF = 0.5
--- Stalls before the plan is made anew, and how often that may be.
local MAX_STALLS, MAX_REPLANS = 2, 2
local ANEW = "the plan is made anew: tasks stand still, or ran out of time"

local known_options = {
  team = true, limit = true, execution_mode = true, retries = true, backoff = true, timeouts = true, on_failure = true,
  replan = true, max_replans = true, max_stalls = true, stall = true, board = true, model = true, allowed = true, specialists = true,
  tools = true, task_limit = true, split_depth = true, on_blocker = true, approve_parts = true, findings = true, parent = true, document = true,
}

-- ---- A round: one plan as jobs ----------------------------------------------------------------------

local function timeout_of(state, def)
  local own = state.options.timeouts or {}
  return own[def.name] or def.timeout or coordinator.timeouts[def.name] or own.default or coordinator.timeouts.default
end

-- The order in which tasks are done one at a time: always the first of the plan whose dependencies are done.
local function line_up(state, tasks)
  local order, placed = {}, {}
  local function is_next(task)
    if placed[task.id] then return false end
    for _, id in ipairs(task.depends_on or {}) do
      if state.in_round[id] and not placed[id] then return false end
    end
    return true
  end
  while #order < #tasks do
    for _, task in ipairs(tasks) do
      if is_next(task) then
        placed[task.id], order[#order + 1] = true, task
        break
      end
    end
  end
  return order
end

-- Which task each comes after, by id, when one is done at a time: priorities age, and are no order.
local function one_by_one(state, tasks)
  local before, order = {}, line_up(state, tasks)
  for i = 2, #order do before[order[i].id] = { order[i - 1].id } end
  return before
end

local closing_tools = { outcome.tool, beside = true }
local to_specialists = { "specialist" }

-- The ones that the task itself names.
local function alternates_of(state, task)
  if not task.alternates then return nil end
  local list = {}
  for i, name in ipairs(task.alternates) do list[i] = { agent = state.team[name] } end
  return list
end

local function check_of(state, task)
  if task.check == nil then return nil end
  local made = { task = task.id, board = state.board:number(), task_id = state.channel.by_id[task.id].board_id }
  for name, value in pairs(orchestrate.read_check(task.check)) do made[name] = value end
  return made
end

local function job_of(state, task, index, sequential)
  local def, said = state.team[task.specialist], {}
  said.split = { id = { type = "string", enum = { task.id }, description = "Your task" }, specialists = state.specialists, accept = function(list) return parts.accept(state, task, list) end }
  said.block = { id = { type = "string", enum = { task.id }, description = "Your task" }, accept = function() return blockers.may_wait(state.channel.by_id[task.id]) end }
  local shares = state.options.document ~= nil
  local spec, step = orchestrate.job(def, function(job) return state.channel:brief(task, job, coordinator.closing) end, {
    board = shares and state.board or nil, document = state.options.document, task_ids = shares and { state.channel.by_id[task.id].board_id } or nil,
    extra_tools = shares and to_specialists or nil, trigger = "plan", timeout = timeout_of(state, def), model = state.options.model, allowed = state.options.allowed,
    tools = state.options.tools and state.options.tools[def.name], closing = closing_tools, outcome = said,
    on_reassigned = function(from, to, err) state.board:reassign(from, state.channel.by_id[task.id].board_id, to, err.message) end,
    judge = function(reply, err) return outcome.of(said, reply, err) end, attempts = (state.options.retries or coordinator.RETRIES) + 1, alternates = alternates_of(state, task), check = check_of(state, task),
    findings = state.findings, material = task.findings,
  })
  if not spec then return nil, step end
  said.step = step
  local inner = spec.run
  local needs = {}
  for _, id in ipairs(task.depends_on or {}) do
    if state.in_round[id] then needs[#needs + 1] = id end
  end
  spec.run = function(job) return attempt(state, task, inner, job, said) end
  spec.name, spec.needs, spec.group = task.id, needs, state.group
  spec.retries = state.options.retries or coordinator.RETRIES
  spec.backoff = sequential and 0 or state.options.backoff or BACKOFF -- the others wait for it
  spec.priority = math.max(-100, (spec.priority or 100) - index)
  spec.on_dependency = state.on_failure == "continue" and "continue" or "skip"
  return spec
end

-- Puts the round's tasks, or the parts of one, on the board and into the channel.
local function enter(state, tasks, parent, unblocks)
  local wanted = {}
  for i, task in ipairs(tasks) do
    state.in_round[task.id] = true
    wanted[i] = { text = parent and not unblocks and ("%s: %s"):format(task.id, task.description) or task.description, assigned_to = task.specialist,
      active_form = task.active_form or texts.truncate("Working on: " .. task.description, 200),
      parent = parent and not unblocks and parent.board_id or not parent and state.options.parent or nil, unblocks = unblocks and parent.board_id or nil }
  end
  local ids, err = state.board:create(parent and not unblocks and parent.specialist or "coordinator", wanted)
  if not ids then return nil, err end
  for i, task in ipairs(tasks) do
    local entry = state.channel:add(task)
    entry.board_id = ids[i]
    if unblocks then entry.unblocks, entry.waits = parent.id, (parent.waits or 0) + 1 elseif parent then entry.parent, entry.depth = parent.id, (parent.depth or 0) + 1 end
  end
  return true
end

local function submit(state, tasks, sequential)
  local specs = {}
  local before = sequential and one_by_one(state, tasks) or {}
  for i, task in ipairs(tasks) do
    local spec, err = job_of(state, task, i, sequential)
    if not spec then return nil, err end
    spec.after = before[task.id]
    specs[i] = spec
  end
  local ids, refused = state.jobs:submit_all(specs)
  for i, id in ipairs(ids or {}) do state.index_of[id], state.task_of[id] = i, tasks[i].id end
  return ids, refused
end

-- What became of a task whose job has ended without its specialist saying so.
local function settle(state, task, id)
  local entry, record = state.channel.by_id[task.id], state.jobs:poll(id)
  local value, err = state.jobs:result(id)
  if value or record.status == "completed" then return end
  entry.status, entry.error = record.status, err.message
  if record.status == "skipped" then
    entry.cause = state.task_of[err.cause]
    entry.error = ("'%s' did not complete"):format(entry.cause or "a task before it")
    state.board:skip("coordinator", entry.board_id, entry.error)
  elseif record.status == "cancelled" then
    state.board:cancel("coordinator", entry.board_id, state.stop_reason or "cancelled")
    entry.error = state.stop_reason or "cancelled"
  end
end

-- Dependents go first: they are stopped with the plan, not skipped for what they depend on.
local function stop_rest(state, tasks, ids, reason)
  local stopped = {}
  local function stop(i)
    if stopped[i] then return end
    stopped[i] = true
    for j, other in ipairs(tasks) do
      for _, needed in ipairs(other.depends_on or {}) do
        if needed == tasks[i].id then stop(j) end
      end
    end
    state.jobs:cancel(ids[i])
  end
  state.stop_reason = state.stop_reason or reason
  for i in ipairs(tasks) do stop(i) end
end

-- Follows the jobs to their ends; a failure may stop the others.
local function follow(state, tasks, ids)
  local open = table.move(ids, 1, #ids, 1, {})
  while #open > 0 do
    state.jobs:wait_for(open, "any")
    local left, failed = {}, nil
    for _, id in ipairs(open) do
      if state.jobs:poll(id).final then
        local task = tasks[state.index_of[id]]
        settle(state, task, id)
        if state.channel.by_id[task.id].status == "failed" then failed = failed or task end
      else
        left[#left + 1] = id
      end
    end
    if failed and state.on_failure == "abort" then
      stop_rest(state, tasks, ids, ("the plan was stopped: '%s' failed"):format(failed.id))
    elseif state.stalled then
      stop_rest(state, tasks, ids, ANEW)
    end
    open = left
  end
end

local function close_round(state, tasks, ids)
  for i, id in ipairs(ids) do
    state.jobs:cancel(id)
    local entry = state.channel.by_id[tasks[i].id]
    if entry.status == "pending" or entry.status == "running" then
      entry.status = "cancelled"
      state.board:cancel("coordinator", entry.board_id, "cancelled")
    end
  end
end

local function list_of(state, tasks)
  local list = json.array {}
  for i, task in ipairs(tasks) do list[i] = state.channel.by_id[task.id] end
  return list
end

-- Where tasks of the plan are on the board, in their order.
local function board_ids(state, tasks)
  local ids = json.array {}
  for i, task in ipairs(tasks) do ids[i] = state.channel.by_id[task.id].board_id end
  return ids
end

local function ids_of(list)
  local ids = json.array {}
  for i, one in ipairs(list) do ids[i] = one.id end
  return ids
end

-- Tasks that a task waits for, as jobs of its job.
local function carry(state, parent, list, unblocks)
  local ok, err = enter(state, list, parent, unblocks)
  if not ok then return nil, err end
  if not unblocks then parts.announce(parent, list, { board = state.board:number(), task_id = parent.board_id, task_ids = board_ids(state, list) }) end
  local ids, refused = submit(state, list, state.sequential)
  if not ids then return nil, refused end
  local closing <close> = setmetatable({}, { __close = function() close_round(state, list, ids) end })
  follow(state, list, ids)
  return parts.result(list_of(state, list), coordinator.summarize)
end

-- The parts of a task that its specialist has split.
local function carry_parts(state, task, list)
  local parent = state.channel.by_id[task.id]
  state.reserved[task.id], parent.parts = nil, ids_of(list)
  return carry(state, parent, list, false)
end

-- A task whose specialist has reported a blocker waits for what is planned about that. Where that is refused, or done, it goes on.
local function unblock(state, task, said)
  local entry, blocked = state.channel.by_id[task.id], said.blocked
  local mark = { what = blocked.what, needs = blocked.needs, done = said.step:done() }
  entry.blockers = entry.blockers or json.array {}
  table.insert(entry.blockers, mark)
  state.run:emit("task_blocked", { id = task.id, board = state.board:number(), task_id = entry.board_id, what = blocked.what, needs = blocked.needs }, task.specialist)
  local list, refused = blockers.plan(state, task, blocked)
  mark.refused, mark.tasks = refused, list and ids_of(list)
  local ok, err = true, nil
  if list then ok, err = carry(state, entry, list, true) end
  state.run:emit("task_unblocked", { id = task.id, board = state.board:number(), task_id = entry.board_id, refused = refused, tasks = mark.tasks, error = err and err.message }, task.specialist)
  if ok then return true end
  return nil, { code = "state", no_retry = true, message = ("what blocks '%s' was not removed: %s"):format(task.id, err.message) }
end

-- The folder of the agents that do a plan's steps, where it is one: what a file of this plan names as its team.
local function folder_of(state, tasks)
  local folder
  for _, task in ipairs(tasks) do
    local def = state.team[task.specialist]
    local dir = def.file and rawget(agents.built_in(), def.name) ~= def and (def.file:match "^(.*)/[^/]*$" or ".")
    if not dir or folder and folder ~= dir then return nil end
    folder = dir
  end
  return folder
end

local function announce(state, value, sequential)
  state.run:emit("plan_started", { parent = state.options.parent, approve_plan = state.options.approve_parts and true or nil, tasks = json.array(value.tasks), board = state.board:number(),
    task_ids = board_ids(state, value.tasks), execution_mode = sequential and "sequential" or "parallel", replan = state.replans,
    team = folder_of(state, value.tasks), on_failure = state.on_failure ~= "skip" and state.on_failure or nil })
end

local function run_round(state, value)
  local sequential = (state.options.execution_mode or value.execution_mode) == "sequential"
  state.stop_reason, state.stalled, state.silent, state.in_round, state.sequential, state.reserved = nil, false, {}, {}, sequential, {}
  state.on_failure = state.options.on_failure or value.on_failure or "skip"
  local ok, err = enter(state, value.tasks)
  if not ok then return nil, err end
  announce(state, value, sequential)
  state.jobs:limit("group", state.group, sequential and 1 or state.options.limit or LIMIT)
  local ended <close> = setmetatable({}, { __close = function() state.jobs:limit("group", state.group, nil) end })
  local ids, refused = submit(state, value.tasks, sequential)
  if not ids then return nil, refused end
  local closing <close> = setmetatable({}, { __close = function() close_round(state, value.tasks, ids) end }) -- also on a cancel
  follow(state, value.tasks, ids)
  return true
end

-- ---- The end ----------------------------------------------------------------------------------------

local function section(entry)
  if entry.status == "completed" then return entry.result end
  local why = ("%s: %s"):format(entry.status:sub(1, 1):upper() .. entry.status:sub(2), entry.error or "no reason is known")
  return entry.partial and ("%s\n\nWhat there is of it:\n\n%s"):format(why, entry.partial) or why
end

--- Puts the outcomes of tasks into one text: a section for each task, and a last line that counts the ones that did not complete.
---@param outcomes hocket.Outcome[]
---@return string
function coordinator.summarize(outcomes)
  orchestrate.argument("patterns.coordinator.summarize", 1, "table", outcomes)
  if #outcomes == 1 and outcomes[1].status == "completed" then return outcomes[1].result end
  local parts, missing = {}, {}
  for _, entry in ipairs(outcomes) do
    parts[#parts + 1] = ("## %s (%s)\n\n%s"):format(entry.description:match "^[^\n]*", entry.specialist, section(entry))
    if entry.status ~= "completed" then missing[#missing + 1] = entry.id end
  end
  if #missing > 0 then
    parts[#parts + 1] = ("%d of %d tasks did not complete: %s."):format(#missing, #outcomes, table.concat(missing, ", "))
  end
  return table.concat(parts, "\n\n")
end

-- Whether the task that it is a part of is in the result, with what its parts came to. A new plan may have taken that one's place.
local function is_told(state, entry)
  local parent = entry.parent and state.channel.by_id[entry.parent]
  for _, id in ipairs(parent and parent.parts or {}) do
    if id == entry.id then return true end
  end
  return false
end

-- For who looks on, and for who saves the plan.
local function tell_end(state, outcomes, finish)
  local tasks = json.array {}
  for i, entry in ipairs(outcomes) do
    tasks[i] = { id = entry.id, specialist = entry.specialist, status = entry.status, attempts = entry.attempts, answered_by = entry.answered_by, tried = entry.tried,
      parent = entry.parent, unblocks = entry.unblocks }
  end
  state.run:emit("plan_finished", { parent = state.options.parent, finish = finish, tasks = tasks, replans = state.replans })
end

local function aggregate(state)
  local outcomes, planned, done, first = state.channel:list(), {}, 0, nil
  for _, entry in ipairs(outcomes) do
    if entry.status == "completed" then done = done + 1 else first = first or entry end
    if entry.status ~= "completed" and not entry.parts then state.run:missed(entry) end
    if not is_told(state, entry) then planned[#planned + 1] = entry end
  end
  tell_end(state, outcomes, first and (done > 0 and "partial" or "failed") or "stop")
  local text = coordinator.summarize(planned)
  if done == 0 then return nil, { code = "state", message = text, tasks = outcomes } end
  return { text = text, finish = first and "partial" or "stop", tasks = outcomes, replans = state.replans }
end

local function names_of(team)
  local names = {}
  for name in pairs(team) do names[#names + 1] = name end
  table.sort(names)
  return names
end

local form

-- An empty table of a script is a list where a list is expected.
local function mark_lists(value)
  for _, task in ipairs(type(value.tasks) == "table" and value.tasks or {}) do
    for _, name in ipairs { "depends_on", "files", "findings" } do
      local list = type(task) == "table" and task[name]
      if type(list) == "table" and next(list) == nil then json.array(list) end
    end
  end
end

-- What is wrong with a plan that is to be carried out, whoever made it.
local function wrong_with(state, value)
  form = form or plan.compile()
  mark_lists(value)
  local ok, wrong = form:check(value, "the plan does not fit")
  if not ok then return wrong end
  if value.type ~= "task" or #(value.tasks or {}) == 0 then return "- it has no tasks" end
  return plan.check(value, state.specialists, state.channel:completed(), state.team)
end

-- A new plan for what is left, or nil. What is done already is not done again, whoever planned it.
local function new_plan(state)
  local unfinished = false
  for _, entry in ipairs(state.channel:list()) do unfinished = unfinished or entry.status ~= "completed" end
  local wanted = state.stalled or state.on_failure == "replan" and unfinished
  if not wanted or not state.replan or state.replans >= state.max_replans then return nil end
  state.replans = state.replans + 1
  state.run:emit("replanned", { count = state.replans, reason = state.stop_reason or "tasks failed" })
  local value, err = state.replan { tasks = state.channel:list(), reason = state.stop_reason or "tasks failed" }
  if not value then
    state.run:emit("warning", { message = "no new plan: " .. (err and err.message or "none was made") })
    return nil
  end
  value = plan.leave_out_done(value, state.channel.by_id)
  if #(value.tasks or {}) == 0 then return nil end
  for _, entry in ipairs(state.channel:list()) do -- the new plan takes the place of what did not complete
    if entry.status ~= "completed" then state.channel.by_id[entry.id].replaced = true end
  end
  return value
end

local function check_options(options)
  for name in pairs(options) do
    if not known_options[name] then error(("unknown option '%s' for 'coordinator.run'"):format(tostring(name)), 3) end
  end
  for name, least in pairs { limit = 1, task_limit = 1, split_depth = 0 } do
    local limit = options[name]
    if limit ~= nil and not (math.type(limit) == "integer" and limit >= least) then
      error(("bad option '%s' (a whole number of at least %d expected, got %s)"):format(name, least, tostring(limit)), 3)
    end
  end
  if (options.task_limit or 0) > BOARD then error(("bad option 'task_limit' (%d at most, got %d)"):format(BOARD, options.task_limit), 3) end
end

-- Of a plan that was saved: which calls were made.
local function saved_findings(value)
  for _, task in ipairs(value.tasks or {}) do
    if task.findings then return orchestrate.findings() end
  end
end

local plans = 0

local function new_state(value, options)
  local run = orchestrate.current_run() or error("a plan can only be carried out inside a run", 3)
  plans = plans + 1
  if options.board then run:adopt { board = options.board } end
  local room = math.max(#(value.tasks or {}), options.task_limit or plan.TASK_LIMIT) * (1 + (options.max_replans or MAX_REPLANS))
  return {
    run = run, options = options, team = options.team, jobs = broker.shared(), channel = assignments.new(),
    group = ("plan %d"):format(plans), board = options.board or board { limit = math.min(room, BOARD) }, task_of = {}, index_of = {},
    replans = 0, max_replans = options.max_replans or MAX_REPLANS, max_stalls = options.max_stalls or MAX_STALLS,
    replan = options.replan, anew = ANEW, carry_parts = carry_parts, unblock = unblock, count_tasks = parts.count, specialists = options.specialists or names_of(options.team), reserved = {}, findings = options.findings or saved_findings(value),
  }
end

---@class hocket.CoordinatorOptions
---@field team table<string, hocket.Agent> The specialists, by name.
---@field specialists? string[] Those of the team that may get tasks; without it all.
---@field limit? integer Specialists that work at once (3).
---@field execution_mode? "parallel"|"sequential" In place of the plan's own.
---@field retries? integer Further attempts after a failed one (2).
---@field backoff? number Seconds before the second attempt (0.5); each further wait is longer.
---@field timeouts? table<string, number> Seconds of one attempt, by specialist; `default` is for the others. They go before the agents' own.
---@field on_failure? "skip"|"continue"|"abort"|"replan" In place of the plan's own.
---@field replan? fun(state: {tasks: hocket.Outcome[], reason: string}): hocket.Plan?, hocket.Error? Makes a new plan after failed or stalled tasks; nil: there is none.
---@field max_replans? integer How often (2).
---@field max_stalls? integer Tasks that stand still before the plan is made anew (2).
---@field stall? number Seconds without progress after which a task stands still.
---@field board? hocket.Board The task board that shows the plan; without it a new one.
---@field model? string For specialists whose files name none.
---@field allowed? table<string, boolean> Names of tools that specialists may use; without it all that they have.
---@field tools? table<string, hocket.Tool[]> More tools, by specialist.
---@field task_limit? integer Tasks that a new plan may have, and that there may be with parts (20). The plan that is given may have up to 1,000.
---@field findings? hocket.Findings What was read while the plan was made (orchestrate.findings).
---@field split_depth? integer How deep specialists with the tool `split_task` may split tasks (2).
---@field on_blocker? fun(about: table): hocket.PlanTask[]?, hocket.Error|string? Makes tasks of what blocks one (`about`: task, what, needs, tasks, and wrong(list)), or refuses: nil and why.
---@field document? hocket.Document With it specialists work on the board and the document with the tools of `tools: [specialist]`.
---@field parent? integer The task of the board whose parts these tasks are.
---@field approve_parts? fun(tasks: hocket.PlanTask[]): boolean?, hocket.Error? Allows a split: true, or nil and an error.

--- Carries out a plan, and waits until every task has ended. A plan that is not valid is an error, and nothing of it is done. A
--- task that fails is part of the reply; if no task completed, there is no reply.
---@async
---@param value hocket.Plan
---@param options hocket.CoordinatorOptions
---@return {text: string, finish: "stop"|"partial", tasks: hocket.Outcome[], replans: integer}? reply nil when no task completed
---@return hocket.Error? err With `tasks` as well.
function coordinator.run(value, options)
  orchestrate.argument("patterns.coordinator.run", 1, "table", value, "table", options)
  check_options(options)
  local state = new_state(value, options)
  while value do
    local wrong = wrong_with(state, value)
    if wrong then return nil, { code = "invalid", message = "the plan cannot be carried out:\n" .. wrong } end
    state.channel:drop_replaced()
    local ok, err = run_round(state, value)
    if not ok then return nil, err end
    value = new_plan(state)
  end
  return aggregate(state)
end

return coordinator
