--- A task of a facilitator's board that its specialist splits: the parts are tasks of the same board, for the facilitator's other specialists.
---
---     task 1 ──split_task──> tasks 2 and 3, parts of it, side by side as far as they do not need each other
---        └── is done when they are, with what they came to; else it has failed
---
--- Parts stand two deep at most, count for the board's limit of tasks, and use the budget of the specialist that split the task.
local coordinator = require "hocket.patterns.coordinator"
local orchestrate = require "hocket.orchestrate"
local plan = require "hocket.patterns.plan"

local splitting = {}

local function refused(code, message, ...)
  return nil, { code = code, message = message:format(...) }
end

-- The depth of a task: 0 for a task that is not a part.
local function depth_of(board, id)
  local depth, all = 0, board:tasks()
  while all[id] and all[id].parent do
    depth, id = depth + 1, all[id].parent
  end
  return depth
end

-- What it was sent to and has not done is one task: its work ends with the split.
local function check_task(board, ids, id)
  local open, own = 0, false
  for _, task in ipairs(board:tasks(ids)) do
    if task.status ~= "done" then open, own = open + 1, own or task.id == id end
  end
  if not own then return refused("invalid", "task %d is not an open task of yours", id) end
  if open > 1 then return refused("state", "you were sent to several tasks: complete the others first, or do this one yourself") end
  if depth_of(board, id) >= coordinator.SPLIT_DEPTH then return refused("limit", "task %d is not split: tasks are split %d deep at most. Do it yourself, or say what of it cannot be done", id, coordinator.SPLIT_DEPTH) end
  return true
end

---@class hocket.Splitting What a facilitator's specialist may split.
---@field lead hocket.Agent
---@field team table<string, hocket.Agent>
---@field board hocket.Board
---@field document hocket.Document
---@field ids integer[] That it was sent to.
---@field room? integer Tasks that the board may have.
---@field model? string

local function accept(about, list, id)
  local ok, err = check_task(about.board, about.ids, id)
  if not ok then return nil, err end
  local count = #about.board + #list
  if about.room and count > about.room then
    return refused("limit", "task %d is not split: the board would have %d tasks, and %d is the limit. Make fewer parts, or do it yourself", id, count, about.room)
  end
  local wrong = plan.check({ type = "task", tasks = list }, about.lead.agents, nil, about.team)
  if wrong then return refused("limit", "%s", wrong) end
  if about.lead.approve_plan then ok, err = coordinator.ask_about_parts(list) end
  if not ok then return nil, err end
  return list
end

--- What the tool of a specialist goes by that is sent to tasks.
---@param about hocket.Splitting
---@return table
function splitting.split(about)
  return { id = { type = "integer", description = "Your task" }, specialists = about.lead.agents, accept = function(list, id) return accept(about, list, id) end }
end

--- Has the parts done.
---@async
---@param about hocket.Splitting
---@param name string Who split it.
---@param said table Its outcome: `parts` and `split_id`.
---@return hocket.Reply?
---@return hocket.Error?
function splitting.carry_out(about, name, said)
  local board, id = about.board, said.split_id
  local depth, left = depth_of(board, id), about.room and about.room - #board or plan.TASK_LIMIT
  coordinator.announce_parts({ id = id, specialist = name, depth = depth }, said.parts, { board = board:number(), task_id = id })
  local done, err = coordinator.run({ type = "task", tasks = said.parts }, {
    team = about.team, specialists = about.lead.agents, board = board, document = about.document, parent = id, model = about.model,
    task_limit = math.max(#said.parts, left), split_depth = coordinator.SPLIT_DEPTH - depth - 1, retries = 0, approve_parts = about.lead.approve_plan and coordinator.ask_about_parts or nil,
  })
  if not done and not err.tasks then return nil, err end
  local reply, failed = coordinator.result_of_parts((done or err).tasks, coordinator.summarize)
  if not reply then return nil, failed end
  board:complete(name, about.ids, id, reply.text:match "^[^\n]*")
  return reply
end

--- Carries the parts out as a part of the job of whoever split the task: its budget, its place.
---@param spec table The job.
---@param about hocket.Splitting
---@param name string
---@param said table
---@return table spec
function splitting.within(spec, about, name, said)
  orchestrate.argument("patterns.facilitator.splitting.within", 1, "table", spec)
  local inner = spec.run
  spec.run = function(job)
    local reply, err = inner(job)
    if not reply or not said.parts or said.blocked then return reply, err end
    return splitting.carry_out(about, name, said)
  end
  return spec
end

return splitting
