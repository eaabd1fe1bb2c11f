--- What happened in a run, as its records tell it: the agents that worked, who called whom and what it cost, boards,
--- documents, what is open, and what each agent said and did. A fold: at any record it stands as it stood then.
---
--- Records may be anything: of another version, half of a line, somebody's forgery. What does not fit is passed over.
local isotime = require "hocket.internal.base.isotime"
local json = require "hocket.json"
local truncate = require "hocket.internal.base.truncate"

--- Events of transcripts that are kept, in all, their bytes, and bytes of each text: what a person would read.
local MAX_EVENTS, MAX_BYTES, MAX_TEXT = 20000, 64 * 1024 * 1024, 64 * 1024

---@class hocket.Story
local Story = {}
Story.__index = Story

local function text(v) return type(v) == "string" and v or nil end
local function number(v) return type(v) == "number" and v == v and v or 0 end
local function count(v) return math.tointeger(number(v)) or 0 end
local function list(v) return type(v) == "table" and v or {} end
local function id(v) return (type(v) == "string" or math.type(v) == "integer") and v or nil end

local function new_usage()
  return { calls = 0, tool_calls = 0, input = 0, output = 0, cached = 0, cost = 0, unpriced = 0 }
end

---@param only? string The agent, or the operation, whose transcript is wanted alone.
---@return hocket.Story
local function new(only)
  return setmetatable({
    only = only, agents = {}, by_op = {}, boards = {}, documents = {}, open = {}, events = json.array {}, usage = new_usage(),
    last = 0, broken = 0, kept = 0, bytes = 0, left_out = 0,
  }, Story)
end

-- ---- Agents ----------------------------------------------------------------------------------------

local function agent_of(self, event)
  local op = text(event.op)
  if not op then return nil end
  local agent = self.by_op[op]
  if not agent then
    agent = { op = op, agent = text(event.agent) or op, began = event.time, state = "working", usage = new_usage(), events = json.array {} }
    self.by_op[op], self.agents[#self.agents + 1] = agent, agent
  end
  agent.last = event.time
  return agent
end

-- For the agent, and for the run.
local function add(self, agent, name, n)
  self.usage[name] = self.usage[name] + n
  if agent then agent.usage[name] = agent.usage[name] + n end
end

local function count_reply(self, agent, event)
  local usage = list(event.usage)
  add(self, agent, "calls", 1)
  for _, name in ipairs { "input", "output", "cached" } do add(self, agent, name, count(usage[name])) end
  if type(usage.cost) == "number" then add(self, agent, "cost", number(usage.cost)) else add(self, agent, "unpriced", 1) end
  if agent then agent.model = text(event.model) or agent.model end
end

local function start(_, agent, event)
  if not agent then return end
  agent.agent, agent.began, agent.caller = text(event.agent) or agent.agent, event.time, text(event.caller)
  agent.display_name, agent.trigger, agent.message = text(event.display_name), text(event.trigger), text(event.message)
  agent.board, agent.task_ids = id(event.board), json.array {}
  for _, one in ipairs(list(event.task_ids)) do agent.task_ids[#agent.task_ids + 1] = id(one) end
end

local function finish(state)
  return function(_, agent, event)
    if not agent then return end
    agent.ended = agent.ended or event.time
    if agent.state == "working" or state ~= "finished" then agent.state = state end
    agent.error, agent.answer = text(event.error) or agent.error, text(event.result) or agent.answer
  end
end

-- ---- Boards, documents --------------------------------------------------------------------------------

-- Of a list the ones that it has, by their key.
local known = setmetatable({}, { __mode = "k" })

-- The one of this key, made where there is none.
local function one_of(all, key, make)
  local by_key = known[all] or {}
  known[all] = by_key
  if not by_key[key] then
    by_key[key] = make()
    all[#all + 1] = by_key[key]
  end
  return by_key[key]
end

local function numbered(all, n, made)
  n = math.type(n) == "integer" and n or 1
  made.number = n
  return one_of(all, n, function() return made end)
end

local function task_of(self, event)
  local board = numbered(self.boards, event.board, { tasks = json.array {} })
  local task = numbered(board.tasks, event.id, { status = "pending" })
  task.id, task.text, task.agent = task.number, text(event.text) or task.text, text(event.assigned_to) or task.agent
  return task
end

-- Where a task belongs: to an earlier one of its board.
local function belongs_to(task, one)
  local n = math.type(one) == "integer" and one or nil
  return n and math.type(task.number) == "integer" and n < task.number and n or nil
end

local function create_tasks(self, _, event)
  for _, one in ipairs(list(event.tasks)) do
    one = list(one)
    local task = task_of(self, { board = event.board, id = one.id, text = one.text, assigned_to = one.assigned_to })
    task.parent, task.unblocks = belongs_to(task, one.parent), belongs_to(task, one.unblocks)
  end
end

--- Agents of the path of a task that are kept.
local MAX_PATH = 100

local function update_task(self, _, event)
  local task, to = task_of(self, event), text(event.reassigned_to)
  task.status = text(event.status) or task.status
  task.result, task.error, task.completed_by = text(event.result), text(event.error), text(event.completed_by)
  if task.status ~= "running" then task.blocked = nil end
  if not to then return end
  task.path = task.path or json.array { task.agent }
  if #task.path < MAX_PATH then task.path[#task.path + 1] = to end
end

-- A task waits for what is planned about its blocker.
local function block_task(self, _, event)
  if math.type(event.task_id) ~= "integer" then return end
  task_of(self, { board = event.board, id = event.task_id }).blocked = event.type == "task_blocked" and (text(event.what) or "") or nil
end

-- "Day 1 — Morning", as the change says it, or the slot's values.
local function heading(event, slot)
  local named = (text(event.change_description) or ""):match "^added to (.+)$" or (text(event.change_description) or ""):match " into (.+)$"
  if named then return named end
  local parts = {}
  for name, value in pairs(slot) do parts[#parts + 1] = ("%s %s"):format(name, id(value) or "?") end
  table.sort(parts)
  return table.concat(parts, ", ")
end

-- Where the slot stands among all; nil: the record is of an older run.
local function place_of(event)
  local place = list(event.place)
  for i = 1, #place do
    if math.type(place[i]) ~= "integer" then return nil end
  end
  return #place > 0 and place or nil
end

local function slot_of(document, event)
  local slot = list(event.slot)
  return one_of(document.slots, json.encode(slot), function()
    return { slot = slot, heading = heading(event, slot), entries = json.array {}, numbers = place_of(event) }
  end)
end

-- Whether a consolidation stands for an entry: it is listed, or its author had read all up to a version.
local function replaces(event, entry)
  if type(event.replaces) ~= "table" then return entry.version <= count(event.base_version) end
  for _, version in ipairs(event.replaces) do
    if version == entry.version then return true end
  end
  return false
end

-- What the author of a consolidation had not read stays.
local function update_document(self, _, event)
  local document = numbered(self.documents, event.document, { slots = json.array {}, version = 0 })
  local slot, version = slot_of(document, event), count(event.version)
  if event.change == "consolidate" then
    local later = json.array {}
    for _, entry in ipairs(slot.entries) do
      if not replaces(event, entry) then later[#later + 1] = entry end
    end
    slot.entries = later
    table.insert(slot.entries, 1, { version = version, author = text(event.author), content = text(event.content) or "" })
  else
    slot.entries[#slot.entries + 1] = { version = version, author = text(event.author), content = text(event.content) or "" }
  end
  document.version = math.max(document.version, version)
end

-- ---- Questions ------------------------------------------------------------------------------------------

local function ask(kind)
  return function(self, _, event)
    if not text(event.id) then return end
    self.open[#self.open + 1] = { id = event.id, kind = kind, agent = text(event.agent), questions = event.questions, tool = text(event.tool),
      arguments = text(event.arguments), reason = text(event.reason), always = text(event.always), name = text(event.name), change = type(event.change) == "table" and event.change or nil }
  end
end

local function answer(self, _, event)
  for i, one in ipairs(self.open) do
    if one.id == event.id then
      table.remove(self.open, i)
      break
    end
  end
end

-- ---- Runs that agents work in (`pool`) -------------------------------------------------------------------

local function await(_, agent, event)
  if agent then agent.run, agent.pool = text(event.child), text(event.pool) end
end

local counted = { "calls", "tool_calls", "input", "output", "cached", "unpriced" }

local function come_back(self, agent, event)
  local usage = list(event.usage)
  for _, name in ipairs(counted) do add(self, agent, name, count(usage[name])) end
  add(self, agent, "cost", number(usage.cost_known or usage.cost))
end

-- ---- Budgets ----------------------------------------------------------------------------------------------

local function await_budget(self, _, event)
  if not text(event.id) then return end
  self.open[#self.open + 1] = { id = event.id, kind = "budget", project = text(event.project), limit = text(event.limit), ["until"] = text(event["until"]) }
end

-- ---- All events -----------------------------------------------------------------------------------------

local takes = {
  workflow_started = function(self, _, event) self.began, self.message = event.time, text(event.message) end,
  workflow_finished = function(self, _, event) self.ended = event.time end,
  final_answer = function(self, _, event) self.answer = text(event.content) end,
  error = function(self, _, event) self.error = { code = text(event.code), message = text(event.message) or "" } end,
  agent_started = start,
  agent_finished = finish "finished",
  task_completed = finish "finished",
  task_failed = finish "failed",
  task_cancelled = finish "cancelled",
  model_request = function(self, agent, event)
    self.simulated = self.simulated or event.simulated == true
    if agent then agent.model = text(event.model) or agent.model end
  end,
  model_reply = count_reply,
  tool_call = function(self, agent) add(self, agent, "tool_calls", 1) end,
  tasks_created = create_tasks,
  task_updated = update_task,
  task_blocked = block_task,
  task_unblocked = block_task,
  document_updated = update_document,
  question_asked = ask "question",
  approval_requested = ask "approval",
  input_requested = ask "input",
  signal_requested = ask "signal",
  question_answered = answer,
  question_withdrawn = answer,
  approval_answered = answer,
  input_received = answer,
  signal_received = answer,
  run_awaited = await,
  run_returned = come_back,
  budget_awaited = await_budget,
  budget_returned = answer,
}

-- The ones that say nothing which a transcript has not, or which stands elsewhere.
local silent = {
  workflow_started = true, workflow_finished = true, task_pending = true, task_running = true, task_completed = true, final_answer = true,
  model_request = true, agent_finished = true, tasks_created = true, task_updated = true, document_updated = true, input_requested = true,
  tool_started = true, tool_progress = true, task_progress = true, user_message_delivered = true, run_awaited = true, run_returned = true,
  caller_awaited = true, caller_returned = true, budget_awaited = true, budget_returned = true,
}

local dropped = { run = true, op = true, agent = true, generation = true }

local function note(self, agent, event, size)
  local wanted = not self.only or agent and (agent.op == self.only or agent.agent == self.only)
  if silent[event.type] or not wanted then return end
  if self.kept == MAX_EVENTS or self.bytes + size > MAX_BYTES then
    self.left_out = self.left_out + 1
    return
  end
  local told = {}
  for name, value in pairs(event) do
    if not dropped[name] then told[name] = type(value) == "string" and truncate(value, MAX_TEXT, "…") or value end
  end
  self.kept, self.bytes = self.kept + 1, self.bytes + size
  local events = agent and agent.events or self.events
  events[#events + 1] = told
end

--- Takes a record.
---@param record {seq: integer, json: string}
function Story:take(record)
  self.last = record.seq
  local event = json.decode(record.json)
  if type(event) ~= "table" or type(event.type) ~= "string" then
    self.broken = self.broken + 1
    return
  end
  event.seq, event.time = record.seq, text(event.time)
  self.began = self.began or event.time
  self.time = event.time or self.time
  local agent = agent_of(self, event)
  local take = takes[event.type]
  if take then take(self, agent, event) end
  note(self, agent, event, #record.json)
end

--- Whether an agent, or an operation, of this name worked.
---@param name string
---@return boolean
function Story:has(name)
  for _, agent in ipairs(self.agents) do
    if agent.op == name or agent.agent == name then return true end
  end
  return false
end

-- ---- The end --------------------------------------------------------------------------------------------

local function seconds(from, to)
  local a, b = isotime.ms(from), isotime.ms(to)
  return a and b and b >= a and (b - a) / 1000 or json.null
end

-- Callers before the ones that they called, with how deep they stand; nobody is his own caller's caller.
local function in_order(self)
  local below, out, seen = {}, json.array {}, {}
  for _, agent in ipairs(self.agents) do
    local caller = agent.caller and self.by_op[agent.caller] or self
    below[caller] = below[caller] or {}
    table.insert(below[caller], agent)
  end
  local function walk(of, depth)
    for _, agent in ipairs(below[of] or {}) do
      if not seen[agent] then
        seen[agent], agent.depth, out[#out + 1] = true, depth, agent
        if depth < 100 then walk(agent, depth + 1) end
      end
    end
  end
  walk(self, 0)
  for _, agent in ipairs(self.agents) do
    if not seen[agent] then agent.depth, out[#out + 1] = 0, agent end
  end
  return out
end

-- Whether one number stands before another: 0, which is general, stands first.
local function is_before(x, y)
  if x == 0 or y == 0 then return x == 0 end
  return x < y
end

-- As the document has them; of an older run by the numbers in them, of Day 1 before Day 2, and else as they were begun.
local function by_numbers(a, b)
  for i = 1, math.max(#a.numbers, #b.numbers) do
    local x, y = a.numbers[i] or -math.huge, b.numbers[i] or -math.huge
    if x ~= y then return is_before(x, y) end
  end
  return a.place < b.place
end

local function numbers_in(slot)
  local names, numbers = {}, {}
  for name, value in pairs(slot) do
    if math.type(value) == "integer" then names[#names + 1] = tostring(name) end
  end
  table.sort(names)
  for i, name in ipairs(names) do numbers[i] = slot[name] end
  return numbers
end

local function sort_slots(document)
  for i, one in ipairs(document.slots) do one.place, one.numbers = i, one.numbers or numbers_in(one.slot) end
  table.sort(document.slots, by_numbers)
  for _, one in ipairs(document.slots) do one.place, one.numbers = nil, nil end
end

-- The tasks of a board as a tree: parts, and what a blocked task waits for, stand below it, each with how deep.
local function as_tree(board)
  local below, sorted = {}, json.array {}
  for _, task in ipairs(board.tasks) do
    local above = task.parent or task.unblocks or 0
    below[above] = below[above] or {}
    table.insert(below[above], task)
  end
  local function walk(above, depth)
    for _, task in ipairs(below[above] or {}) do
      task.depth, sorted[#sorted + 1] = depth, task
      if task.number ~= 0 and depth < 100 then walk(task.number, depth + 1) end
      below[task.number] = nil
    end
  end
  walk(0, 0)
  for _, task in ipairs(board.tasks) do
    if not task.depth then task.depth, sorted[#sorted + 1] = 0, task end
  end
  board.tasks = sorted
end

local function known_cost(usage)
  usage.cost_known, usage.cost = usage.cost, usage.unpriced == 0 and usage.cost or json.null
end

--- What came of all records that were taken.
---@return table
function Story:result()
  local agents = in_order(self)
  for _, agent in ipairs(agents) do
    agent.seconds = seconds(agent.began, agent.ended or agent.last)
    agent.last = nil
    known_cost(agent.usage)
  end
  known_cost(self.usage)
  for _, board in ipairs(self.boards) do as_tree(board) end
  for _, document in ipairs(self.documents) do sort_slots(document) end
  return {
    at = self.last, broken = self.broken, left_out = self.left_out, began = self.began, ended = self.ended, time = self.time,
    seconds = seconds(self.began, self.ended or self.time), message = self.message, answer = self.answer or json.null,
    error = self.error or json.null, usage = self.usage, simulated = self.simulated == true, agents = agents,
    boards = json.array(self.boards), documents = json.array(self.documents), open = json.array(self.open), events = self.events,
  }
end

return { new = new }
