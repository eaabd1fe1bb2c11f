--- What a run's boards and documents hold, in its checkpoints: a life that leaps to one tells the same at its end as one that has
--- gone through all of it.
---
---     made before the first checkpoint   is made again by the replay, and brought to what it was: by the records that it lacks
---     made after it                      nobody can reach it any more: what the result tells of it stands in for it; of the
---                                        newest ones, or each checkpoint of a loop of months would be larger than the last
local json = require "hocket.json"
local partial_result = require "hocket.internal.run.partial_result"

local board_checkpoint = {}

--- Boards, and documents, that were made after the first checkpoint and are reported.
local TOLD = 20

-- ---- What stands in for one gone --------------------------------------------------------

local Board = {}
Board.__index = Board

function Board:tasks(_, as_json) return as_json and self.told or json.decode(self.told) end
function Board:number() return self.own end

local Document = {}
Document.__index = Document

function Document:history(_, _, as_json) return as_json and self.told or json.decode(self.told) end
function Document:number() return self.own end
function Document:version() return self.last end
function Document:render() return self.text or "" end
function Document:slots() return json.decode(self.filled or "[]") end

local function board_told(board)
  return { own = board:number(), told = board:tasks(nil, true) }
end

-- Of the first one the result has the text as well.
local function document_told(document, is_first)
  return { own = document:number(), told = document:history(nil, nil, true), last = document:version(),
    text = is_first and document:render() or nil, filled = is_first and json.encode(document:slots()) or nil }
end

--- What the result tells of one that was made by code of a tool or a step, as data.
---@param run hocket.Run
---@param kind "boards"|"documents"
---@param thing any
---@return table
function board_checkpoint.told(run, kind, thing)
  if kind == "boards" then return board_told(thing) end
  return document_told(thing, #run.documents == 0 or run.documents[1]:number() > thing:number())
end

--- What was reported stands in for it, at its place.
---@param run hocket.Run
---@param kind "boards"|"documents"
---@param told table
---@return table
function board_checkpoint.stand_in(run, kind, told)
  local list, at = run[kind], 1
  while list[at] and list[at]:number() < told.own do at = at + 1 end
  local one = setmetatable(told, kind == "boards" and Board or Document)
  table.insert(list, at, one)
  if told.planned then partial_result.expect(run, one) end
  return one
end

-- ---- What brings one made again to what it was ------------------------------------------

local function created(board, tasks)
  return json.encode { type = "tasks_created", board = board:number(), tasks = json.array(tasks) }
end

local function updated(board, task, status)
  return json.encode { type = "task_updated", board = board:number(), id = task.id, status = status or task.status,
    completed_by = task.completed_by, error = task.error, result = task.result }
end

local function is_same(a, b)
  return a.status == b.status and a.completed_by == b.completed_by and a.error == b.error and a.result == b.result
end

-- What failed or was skipped is tried again before it is anything else.
local closed = { failed = true, skipped = true }

local function follow_tasks(board, tasks)
  local now, new = board:tasks(), {}
  for i = #now + 1, #tasks do new[#new + 1] = tasks[i] end
  if new[1] then assert(board:replay(created(board, new))) end
  for i, task in ipairs(tasks) do
    local was = now[i] or { status = "pending" }
    if not is_same(was, task) then
      if closed[was.status] and task.status ~= "running" then assert(board:replay(updated(board, task, "running"))) end
      assert(board:replay(updated(board, task)))
    end
  end
end

local function records_from(document, version)
  local list = {}
  for v = version + 1, document:version() do list[#list + 1] = document:record(v) end
  return list
end

-- ---- Let go of -----------------------------------------------------------------------------------

-- The ones that stay; fn(one) is called for each that does not.
local function newest(list, before, fn)
  local stays, own = {}, 0
  for i = #list, 1, -1 do
    local one = list[i]
    if before[one:number()] ~= one then own = own + 1 end
    if before[one:number()] == one or own <= TOLD then table.insert(stays, 1, one) elseif fn then fn(one) end
  end
  return stays
end

local function set(list, stays)
  for i = math.max(#list, #stays), 1, -1 do list[i] = stays[i] end
end

local function has(list, thing)
  for _, one in ipairs(list) do
    if one == thing then return true end
  end
  return false
end

--- A checkpoint is made: the run tells of the newest ones alone from here on, in every life. Of the others what was not done
--- (`partial`), and the events all of it. The first document stays the run's.
---@param run hocket.Run
---@param before table
function board_checkpoint.settle(run, before)
  local first = run.documents[1]
  set(run.boards, newest(run.boards, before.boards, function(board) partial_result.settle(run, board) end))
  local documents = newest(run.documents, before.documents)
  if first and documents[1] ~= first then table.insert(documents, 1, first) end
  set(run.documents, documents)
  local rested = {}
  for _, one in ipairs(run.rested or {}) do
    if has(run.boards, one.board) then rested[#rested + 1] = one end
  end
  run.rested = run.rested and rested
end

-- ---- In a checkpoint ------------------------------------------------------------------------------

--- What exists at the first checkpoint, which every life makes again.
---@param run hocket.Run
---@return table before
function board_checkpoint.before(run)
  local before = { boards = {}, documents = {}, versions = {} }
  for _, board in ipairs(run.boards) do before.boards[board:number()] = board end
  for _, document in ipairs(run.documents) do
    local number = document:number()
    before.documents[number], before.versions[number] = document, document:version()
  end
  return before
end

local function numbers_of(things)
  local list = {}
  for i, one in ipairs(things or {}) do list[i] = one:number() end
  return list
end

local function rested_of(run)
  local list = {}
  for i, one in ipairs(run.rested or {}) do
    list[i] = { board = one.board:number(), document = one.document and one.document:number() }
  end
  return list
end

--- All of them as data.
---@param run hocket.Run
---@param before table
---@return table
function board_checkpoint.all(run, before)
  local now = { boards = {}, documents = {}, plans = numbers_of(run.plans), rested = rested_of(run) }
  for i, board in ipairs(run.boards) do now.boards[i] = board_told(board) end
  for i, document in ipairs(run.documents) do
    local number = document:number()
    local again = before.documents[number] == document
    now.documents[i] = again and { own = number, records = records_from(document, before.versions[number]) }
      or document_told(document, i == 1)
  end
  return now
end

-- ---- Behind a leap ----------------------------------------------------------------------------------

-- Fills `list` with what was; returns all by their numbers.
local function refill(list, was, one_of)
  local by_number, all = {}, {}
  for i, told in ipairs(was) do
    all[i] = one_of(told)
    by_number[told.own] = all[i]
  end
  set(list, all)
  return by_number
end

local function board_of(before)
  return function(told)
    local board = before.boards[told.own]
    if not board then return setmetatable(told, Board) end
    follow_tasks(board, json.decode(told.told))
    return board
  end
end

local function document_of(before)
  return function(told)
    local document = before.documents[told.own]
    if not told.records then return setmetatable(told, Document) end
    for _, record in ipairs(told.records) do assert(document:replay(record)) end
    return document
  end
end

--- The run has them again as they were.
---@param run hocket.Run
---@param before table
---@param was? table nil: of a log that has none.
function board_checkpoint.go_on(run, before, was)
  if not was then return end
  local boards = refill(run.boards, was.boards, board_of(before))
  local documents = refill(run.documents, was.documents, document_of(before))
  run.plans = nil
  for _, number in ipairs(was.plans) do partial_result.expect(run, boards[number]) end
  run.rested = {}
  for i, one in ipairs(was.rested) do run.rested[i] = { board = boards[one.board], document = documents[one.document] } end
end

return board_checkpoint
