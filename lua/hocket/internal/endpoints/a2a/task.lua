--- Tasks of A2A: what one message to an agent has come to, for all who look at it. A context is a conversation (a run), a task one turn of it.
---
---     SUBMITTED ──> WORKING ──> COMPLETED | FAILED | REJECTED (refused) | CANCELED
---                      └──> INPUT_REQUIRED (a question, permission to call a tool) ──message with the task's id──> WORKING
---
--- A task goes on when its client goes away. Everybody who looks at it gets the same, in the same order.
local ending = require "hocket.internal.base.ending"
local fiber = require "hocket.internal.core.fiber"
local json = require "hocket.json"

local a2a_task = {}

--- Tasks that are known after they have ended; pieces that somebody who looks on may be behind.
local KEPT, BEHIND = 500, 10000

---@class hocket.A2aTask
---@field id string
---@field context string
---@field agent string
---@field state string
---@field finish? string Why its answer is not a whole one, or there is none.
---@field package aside? boolean Its text was said beside a call.
---@field ending? hocket.Ending How it ended then.
---@field asked? string The question that it waits for; or
---@field asked_in? integer the turn whose answer is one.
local Task = {}
Task.__index = Task

local terminal = { COMPLETED = true, FAILED = true, CANCELED = true, REJECTED = true }

--- Whether nothing more comes of it.
---@return boolean
function Task:is_over()
  return terminal[self.state] == true
end

local function timestamp(seconds)
  return os.date("!%Y-%m-%dT%H:%M:%S.000Z", seconds)
end

--- When its state changed last, in UTC.
---@return string
function Task:timestamp()
  return timestamp(self.changed)
end

local function status_of(self)
  return { state = "TASK_STATE_" .. self.state, message = self.message, timestamp = timestamp(self.changed) }
end

-- How it ended, for whoever has to know more than the state.
local function metadata_of(self)
  return self.ending and { hocket = { finish = self.finish, ending = self.ending.name } } or nil
end

-- The text of the answer; of an agent with `output` also its value.
local function parts_of(self, text, is_whole)
  local parts = json.array { { text = text } }
  local value = is_whole and self.typed and json.decode(self.text)
  if type(value) == "table" and value ~= json.null then parts[2] = { data = value } end
  return parts
end

--- As the protocol has it.
---@param most? integer Messages of its history; nil: all.
---@param artifacts? boolean false: without what it has made.
---@return table
function Task:object(most, artifacts)
  local history = json.array {}
  for i = math.max(1, #self.history - (most or #self.history) + 1), #self.history do history[#history + 1] = self.history[i] end
  local made = self.text ~= "" and artifacts ~= false and json.array { { artifactId = "answer", name = "answer", parts = parts_of(self, self.text, self.state == "COMPLETED") } } or nil
  return {
    id = self.id, contextId = self.context, status = status_of(self), artifacts = made, history = #history > 0 and history or nil,
    metadata = metadata_of(self),
  }
end

-- ---- Who looks on ----------------------------------------------------------------------------------

local function tell(self, piece)
  for one in pairs(self.lookers) do
    one.list[#one.list + 1] = piece
    if #one.list - one.at > BEHIND then one.lost = true end
    one.fiber:wake()
  end
end

local function set_state(self, state, text)
  self.state, self.changed = state, os.time()
  self.message = text and { messageId = ("%s-%d"):format(self.id, #self.history), role = "ROLE_AGENT", taskId = self.id, contextId = self.context, parts = json.array { { text = text } } } or nil
  tell(self, { statusUpdate = { taskId = self.id, contextId = self.context, status = status_of(self), metadata = metadata_of(self) } })
  for waiting in pairs(self.waiting) do waiting:wake() end
end

--- What the task reports from now on, until it is over or waits for its person: `for piece in task:pieces() do`.
---@async
---@return fun(): table?
function Task:pieces()
  local looker = { list = {}, at = 0, fiber = fiber.self() }
  self.lookers[looker] = true
  return function()
    while not looker.lost do
      if looker.at < #looker.list then
        looker.at = looker.at + 1
        local piece = looker.list[looker.at]
        looker.list[looker.at] = false
        return piece
      end
      if self:is_over() or self.state == "INPUT_REQUIRED" then break end
      fiber.park()
    end
    self.lookers[looker] = nil
  end, nil, nil, setmetatable({}, { __close = function() self.lookers[looker] = nil end })
end

--- Waits until it is over, or waits for its person.
---@async
function Task:settle()
  local me = fiber.self()
  local left <close> = setmetatable({}, { __close = function() self.waiting[me] = nil end })
  self.waiting[me] = true
  while not self:is_over() and self.state ~= "INPUT_REQUIRED" do fiber.park() end
end

-- ---- At work ---------------------------------------------------------------------------------------

-- The artifact is the answer: what was said beside a call gives way to what comes next.
local function append(self, text, is_last, is_whole)
  if text == "" and not is_last then return end
  local first = self.text == "" or self.aside
  self.text = self.aside and text or self.text .. text
  self.aside = nil
  tell(self, { artifactUpdate = {
    taskId = self.id, contextId = self.context, append = not first, lastChunk = is_last or nil, artifact = { artifactId = "answer", name = "answer", parts = parts_of(self, text, is_whole) },
  } })
end

local function question_of(event)
  if event.type == "approval_requested" then
    return ("%s wants to call %s: %s\nAnswer allow or deny."):format(event.agent or "an agent", event.tool, event.arguments)
  end
  return table.concat(event.questions or {}, "\n")
end

-- The answer is a question: the next message is the next turn, and what was streamed gives way to what it comes to.
local function wait(self, piece)
  self.asked_in, self.aside = piece.waits, true
  set_state(self, piece.ending.a2a, piece.text)
end

local ends = {}

function ends.finished(self, piece)
  if piece.waits then return wait(self, piece) end
  local rest = self.turn:rest(piece.text)
  self.aside = self.aside or rest and rest.gap
  local state = piece.ending.a2a
  append(self, rest and rest.text or "", true, state == "COMPLETED")
  if state ~= "COMPLETED" then self.ending, self.finish = piece.ending, piece.finish end
  set_state(self, state, piece.cut and piece.cut.message)
end

function ends.failed(self, piece)
  self.ending = self.cancelled and ending.of { finish = "cancelled" } or piece.ending
  self.finish = piece.err.code
  set_state(self, self.ending.a2a, piece.err.message)
end

function ends.questions(self, piece)
  self.asked = piece.questions[1].id -- a message answers one: of the others the task asks then
  set_state(self, piece.ending.a2a, question_of(piece.questions[1]))
end

local function work(self)
  for piece in self.turn:pieces(false) do
    if piece.kind == "text" then append(self, piece.text)
    elseif piece.kind == "aside" then self.aside = true
    elseif ends[piece.kind] then ends[piece.kind](self, piece) end
  end
  if not self:is_over() and self.state ~= "INPUT_REQUIRED" then set_state(self, "FAILED", "the run has ended without an answer") end
end

--- Lets it work at a turn: its first, or one that goes on after an answer.
---@param turn hocket.Turn
function Task:begin(turn)
  self.turn, turn.asks, self.asked, self.asked_in = turn, true, nil, nil
  set_state(self, "WORKING")
  fiber.detach(work, self):serve()
end

--- Ends it.
---@return boolean
function Task:cancel()
  if self:is_over() then return false end
  self.cancelled = true
  if self.state == "INPUT_REQUIRED" then
    self.turn.run:cancel()
    set_state(self, "CANCELED")
  elseif not self.turn.run:interrupt() then
    self.turn.run:cancel()
  end
  return true
end

-- ---- All of them -----------------------------------------------------------------------------------

---@class hocket.A2aTasks
local Tasks = {}
Tasks.__index = Tasks

---@return hocket.A2aTasks
function a2a_task.new()
  return setmetatable({ by_id = {}, order = {}, count = 0 }, Tasks)
end

local function forget_oldest(self)
  for i, one in ipairs(self.order) do
    if #self.order <= KEPT then return end
    if one:is_over() then
      table.remove(self.order, i)
      self.by_id[one.id] = nil
      return
    end
  end
end

--- Adds one going to work at a turn of a context.
---@param agent string
---@param context string
---@param message table The client's.
---@param typed boolean Whether the answers of the agent have a schema.
---@return hocket.A2aTask
function Tasks:add(agent, context, message, typed)
  self.count = self.count + 1
  local made = setmetatable({
    id = ("%s-%d"):format(context, self.count), context = context, agent = agent, typed = typed, state = "SUBMITTED", changed = os.time(), text = "", history = json.array { message }, lookers = {}, waiting = {},
  }, Task)
  message.taskId, message.contextId = made.id, context
  self.by_id[made.id] = made
  table.insert(self.order, made)
  forget_oldest(self)
  return made
end

return a2a_task
