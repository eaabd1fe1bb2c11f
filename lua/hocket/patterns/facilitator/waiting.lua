--- Tasks of a facilitator's board that wait, since their specialist has reported a blocker. The facilitator plans what they need with its own tools,
--- or refuses by sending the specialist again.
local blockers = require "hocket.patterns.blockers"
local events = require "hocket.events"

local waiting = {}

-- By board: by task, how often it was reported, whether it is blocked, for which tasks it waits, and which specialist continues it.
local boards = setmetatable({}, { __mode = "k" })

local function of(board)
  boards[board] = boards[board] or {}
  return boards[board]
end

local function awaited_in(known)
  return function(id) return known[id] and known[id].for_tasks or {} end
end

local function accept(board, ids, args)
  local known, own = of(board), false
  for _, id in ipairs(ids) do own = own or id == args.id end
  if not own then return nil, { code = "invalid", message = ("task %d is not yours"):format(args.id) } end
  if board:tasks({ args.id })[1].status == "done" then return nil, { code = "state", message = ("task %d is done, and nothing blocks it"):format(args.id) } end
  if known[args.id] and known[args.id].times >= blockers.MOST then
    return nil, { code = "limit", message = ("task %d was blocked %d times, which is the limit: do it without, or say that it failed"):format(args.id, blockers.MOST) }
  end
  for _, id in ipairs(args.needs_tasks or {}) do
    if not board:tasks { id } then return nil, { code = "not_found", message = ("there is no task %d"):format(id) } end
    local path = blockers.way(id, args.id, awaited_in(known))
    if path then return nil, { code = "invalid", message = ("the tasks would wait for each other in a circle: %d -> %s"):format(args.id, table.concat(path, " -> ")) } end
  end
  return true
end

--- Tasks as the board takes them. Where one task of it is blocked they are what it needs.
---@param board hocket.Board
---@param tasks {text: string, assigned_to: string, active_form?: string}[]
---@return table[]
function waiting.linked(board, tasks)
  local blocked, list = nil, {}
  for id, one in pairs(boards[board] or {}) do
    if one.is_blocked then blocked = blocked == nil and id or 0 end
  end
  for i, task in ipairs(tasks) do
    list[i] = { text = task.text, assigned_to = task.assigned_to, active_form = task.active_form, unblocks = blocked ~= 0 and blocked or nil }
  end
  return list
end

--- What the tool of a specialist goes by that is sent to tasks.
---@param board hocket.Board
---@param ids integer[]
---@return table
function waiting.block(board, ids)
  return { id = { type = "integer", description = "Your task" }, board = true, accept = function(args) return accept(board, ids, args) end }
end

--- Those of some tasks that do not wait for this specialist to go on: they have to be started.
---@param board hocket.Board
---@param ids integer[]
---@param name string
---@return integer[]
function waiting.to_start(board, ids, name)
  local known, list = of(board), {}
  for _, id in ipairs(ids) do
    local one = known[id]
    if not one or one.waits_for ~= name then list[#list + 1] = id end
  end
  return list
end

--- Those of some tasks that waited go on.
---@param board hocket.Board
---@param ids integer[]
---@param name string
function waiting.go_on(board, ids, name)
  local known = of(board)
  for _, id in ipairs(ids) do
    local one = known[id]
    if one and one.waits_for == name then
      one.waits_for = nil
      if one.is_blocked then events.emit("task_unblocked", { id = id, board = board:number(), task_id = id }, name) end
      one.is_blocked = false
    end
  end
end

-- Whoever was sent to several tasks leaves the others as they are.
local function leave(board, ids, name)
  local known = of(board)
  for _, task in ipairs(board:tasks(ids)) do
    known[task.id] = known[task.id] or { times = 0, for_tasks = {} }
    if task.status ~= "done" then known[task.id].waits_for = name end
  end
end

--- A task waits from now on, and with it the others that its specialist was sent to. Returns what the facilitator reads.
---@param board hocket.Board
---@param ids integer[]
---@param name string
---@param blocked {id: integer, what: string, needs: string, needs_tasks?: integer[]}
---@return string
function waiting.note(board, ids, name, blocked)
  leave(board, ids, name)
  local id = blocked.id
  local one = of(board)[id]
  one.times, one.is_blocked, one.for_tasks = one.times + 1, true, blocked.needs_tasks or {}
  events.emit("task_blocked", { id = id, board = board:number(), task_id = id, what = blocked.what, needs = blocked.needs }, name)
  return ("%s reports a blocker of task %d, which waits and has not failed:\n%s\nPlan what it needs with create_tasks, have it done, and send %s to task %d again. Where you refuse, send it again and say so."):format(
    name, id, blockers.framed(name, blocked), name, id)
end

return waiting
