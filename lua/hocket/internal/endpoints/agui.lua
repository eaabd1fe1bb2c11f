--- AG-UI: POST /agui/NAME, for pages that show an agent at work. One request is one run, told as server-sent events.
---
---     RUN_STARTED ──> text, reasoning, calls of tools, steps (other agents), state (tasks, document) ──> RUN_FINISHED | RUN_ERROR
---                                                                                  │
---     outcome   success, also where calls of the page's own tools have no result yet; interrupt (questions, approvals)
---
--- Clients check events strictly: none has a member that the protocol does not have. They keep the messages by their ids, those of all requests
--- of a thread in one list, and put a call into the last message where `parentMessageId` names that.
---
--- A run that waits for the page's tools or its person continues with the request that brings their results or answers.
local asked = require "hocket.internal.endpoints.asked"
local json = require "hocket.json"
local turns = require "hocket.internal.endpoints.turn"
local wrong, optional, required = asked.wrong, asked.optional, asked.required

-- ---- Reading -----------------------------------------------------------------------------------

local function read_media(part, where, _, files)
  local source = type(part.source) == "table" and part.source or part
  local data = source.type == "data" and source.value or source.data
  if data == nil then wrong(where, "'%s.source' has to hold data: nothing is fetched for a caller", where) end
  files[#files + 1] = asked.file(asked.from_base64(data, where .. ".source.value"), where, type(part.filename) == "string" and part.filename or nil)
end

local part_readers = {
  text = function(part, where, texts) texts[#texts + 1] = required(part, "text", "string", where .. ".") end,
  image = read_media, audio = read_media, video = read_media, document = read_media, binary = read_media,
}

local roles = {}

function roles.system(self, message, where) self:instruct(required(message, "content", "string", where .. ".")) end
roles.developer = roles.system

function roles.user(self, message, where)
  local texts, files = asked.parts(message.content, where .. ".content", part_readers, "text, image, audio, video or document")
  self:user(texts, files)
end

function roles.assistant(self, message, where)
  local calls = {}
  for i, one in ipairs(optional(message, "toolCalls", "table", where .. ".") or {}) do
    local fn = type(one) == "table" and type(one["function"]) == "table" and one["function"]
    if not fn or type(one.id) ~= "string" or type(fn.name) ~= "string" or type(fn.arguments) ~= "string" then
      wrong(where, "'%s.toolCalls[%d]' needs 'id' and 'function' with 'name' and 'arguments'", where, i - 1)
    end
    calls[i] = { id = one.id, name = fn.name, arguments = fn.arguments }
  end
  self:assistant(optional(message, "content", "string", where .. ".") or "", calls)
end

function roles.tool(self, message, where)
  local failed = optional(message, "error", "string", where .. ".")
  self:result(required(message, "toolCallId", "string", where .. "."), failed or optional(message, "content", "string", where .. ".") or "", failed ~= nil, where)
end

function roles.reasoning() end
function roles.activity() end

local function read_context(self, list)
  for i, one in ipairs(list or {}) do
    if type(one) ~= "table" or type(one.value) ~= "string" then wrong("context", "'context[%d]' needs 'description' and 'value'", i - 1) end
    self:instruct(("%s:\n%s"):format(type(one.description) == "string" and one.description or "Context", one.value))
  end
end

-- Ours have shown their results already: what the page sends back of them is passed over.
local function without_own(list)
  local kept, own = {}, {}
  for _, message in ipairs(list) do
    if type(message) == "table" and message.role == "assistant" and type(message.toolCalls) == "table" then
      local calls = {}
      for _, one in ipairs(message.toolCalls) do
        if type(one) == "table" and type(one.id) == "string" and one.id:find "^own_" then own[one.id] = true else calls[#calls + 1] = one end
      end
      message.toolCalls = calls
    end
    if not (type(message) == "table" and message.role == "tool" and own[message.toolCallId]) then kept[#kept + 1] = message end
  end
  return kept
end

-- The ids that the client has given to messages and calls, or has from us.
local function ids_of(list)
  local known = {}
  for _, message in ipairs(list) do
    if type(message) == "table" then known[message.id or ""] = true end
    for _, one in ipairs(type(message) == "table" and type(message.toolCalls) == "table" and message.toolCalls or {}) do known[type(one) == "table" and one.id or ""] = true end
  end
  return known
end

local function read_resume(body)
  local answers = {}
  for i, one in ipairs(optional(body, "resume", "table") or {}) do
    local run, id
    if type(one) == "table" and type(one.interruptId) == "string" then run, id = one.interruptId:match "^(%w+)_([aqt]%d+)$" end
    if not run then wrong("resume", "'resume[%d].interruptId' is none that was given here", i - 1) end
    local payload = one.payload
    if type(payload) == "table" then payload = payload.answer or payload.decision end
    answers[i] = { run = run, id = id, text = one.status ~= "cancelled" and type(payload) == "string" and payload or "" }
  end
  return #answers > 0 and answers or nil
end

local function read(body, name)
  local self, tools = asked.new(), json.array {}
  local messages = required(body, "messages", "table")
  local made = { model = name, thread = required(body, "threadId", "string"), run = required(body, "runId", "string"), resume = read_resume(body), messages = self, known = ids_of(messages) }
  for i, message in ipairs(without_own(messages)) do
    local where = ("messages[%d]"):format(i - 1)
    local add = type(message) == "table" and roles[message.role]
    if not add then wrong(where, "'%s.role' has to be user, assistant, tool, system, developer, reasoning or activity", where) end
    if not made.resume or message.role ~= "tool" then add(self, message, where) end
  end
  read_context(self, optional(body, "context", "table"))
  for i, one in ipairs(optional(body, "tools", "table") or {}) do
    local where = ("tools[%d]"):format(i - 1)
    if type(one) ~= "table" then wrong(where, "'%s' has to be a tool", where) end
    asked.tool(tools, one.name, one.description, one.parameters, where)
  end
  local forwarded = type(body.forwardedProps) == "table" and body.forwardedProps or {}
  made.user = asked.user(forwarded) or "thread " .. made.thread
  made.more = { tools = #tools > 0 and tools or nil }
  return made
end

-- ---- Telling -----------------------------------------------------------------------------------

---@class hocket.AguiTeller
local Teller = {}
Teller.__index = Teller

function Teller:send(kind, fields)
  fields.type = kind
  self.gone = self.gone or not self.stream:event { data = fields }
end

local enders = { text = { "TEXT_MESSAGE_END" }, reasoning = { "REASONING_MESSAGE_END", "REASONING_END" } }

function Teller:stop()
  local open = self.open
  if not open then return end
  self.open = nil
  for _, kind in ipairs(enders[open.kind]) do self:send(kind, { messageId = open.id }) end
end

-- A run has several requests, and each counts anew.
local function next_id(self, prefix)
  local id
  repeat
    self.count = self.count + 1
    id = ("%s_%s_%d"):format(prefix, self.turn.run.name, self.count)
  until not self.known[id]
  return id
end

function Teller:say(kind, text)
  if text == "" then return end
  if not self.open or self.open.kind ~= kind then
    self:stop()
    self.open = { kind = kind, id = next_id(self, "msg") }
    self.parent = kind == "text" and self.open.id or nil
    if kind == "reasoning" then
      self:send("REASONING_START", { messageId = self.open.id })
      self:send("REASONING_MESSAGE_START", { messageId = self.open.id, role = "reasoning" })
    else
      self:send("TEXT_MESSAGE_START", { messageId = self.open.id, role = "assistant" })
    end
  end
  self:send(kind == "text" and "TEXT_MESSAGE_CONTENT" or "REASONING_MESSAGE_CONTENT", { messageId = self.open.id, delta = text })
end

-- Text beside a tool call is a message of its own, marked as commentary.
function Teller:set_aside()
  if not self.open or self.open.kind ~= "text" then return end
  local id = self.open.id
  self:stop()
  self:send("CUSTOM", { name = "hocket.commentary", value = { messageId = id } })
end

-- It belongs to the message before it, if that is text or has calls; else to a new one.
function Teller:call(id, name, arguments)
  self:stop()
  self.parent = self.parent or next_id(self, "msg")
  self:send("TOOL_CALL_START", { toolCallId = id, toolCallName = name, parentMessageId = self.parent })
  if arguments ~= "" then self:send("TOOL_CALL_ARGS", { toolCallId = id, delta = arguments }) end
  self:send("TOOL_CALL_END", { toolCallId = id })
end

-- ---- State: tasks and document ---------------------------------------------------------------------

local function task_of(event)
  return { board = event.board, id = event.id, text = event.text, assignedTo = event.assigned_to, status = event.status or "pending" }
end

local function patch(self, operation)
  self:send("STATE_DELTA", { delta = json.array { operation } })
end

local function put_task(self, task)
  local key = ("%s/%s"):format(task.board, task.id)
  local at = self.tasks[key]
  if not at then
    self.n_tasks = self.n_tasks + 1
    self.tasks[key] = self.n_tasks
  end
  patch(self, { op = at and "replace" or "add", path = at and ("/tasks/%d"):format(at - 1) or "/tasks/-", value = task })
end

local taps = {}

function taps.tasks_created(self, event)
  for _, task in ipairs(event.tasks or {}) do
    task.board = event.board
    put_task(self, task_of(task))
  end
end

function taps.task_updated(self, event) put_task(self, task_of(event)) end

function taps.document_updated(self, event)
  local run = self.turn.run.run
  local document = run and run.documents[event.document or 1]
  if document then patch(self, { op = "replace", path = "/document", value = { version = event.version, text = document:render() } }) end
end

function taps.agent_started(self, event, leads)
  if not leads or not event.caller or not event.op then return end
  local name = ("%s (%s)"):format(event.display_name or event.agent, event.op)
  self.steps[event.op] = name
  self:send("STEP_STARTED", { stepName = name })
end

function taps.agent_finished(self, event)
  local name = self.steps[event.op]
  if not name then return end
  self.steps[event.op] = nil
  self:send("STEP_FINISHED", { stepName = name })
end

-- The agent's own tools: told when they are over.
function taps.tool_call(self, event, leads)
  if not leads or self.pages[event.tool] then return end
  local id = next_id(self, "own")
  self:call(id, event.tool, type(event.arguments) == "string" and event.arguments or "{}")
  self:send("TOOL_CALL_RESULT", { messageId = next_id(self, "res"), toolCallId = id, content = tostring(event.result or "") })
  self.parent = nil
end

-- ---- Ends --------------------------------------------------------------------------------------

local function interrupt_of(self, event)
  local approval = event.type == "approval_requested"
  local choices = { "allow", "deny" }
  if event.always then choices[3] = "always" end
  return {
    id = ("%s_%s"):format(self.turn.run.name, event.id), reason = approval and "approval" or "question",
    message = approval and ("%s wants to call %s: %s%s"):format(event.agent or "an agent", event.tool, event.arguments, event.reason and " (" .. event.reason .. ")" or "")
      or table.concat(event.questions or {}, "\n"),
    responseSchema = approval and { type = "object", properties = { decision = { type = "string", enum = choices } }, required = { "decision" } }
      or { type = "object", properties = { answer = { type = "string" } }, required = { "answer" } },
  }
end

-- The same of an answer that is a question: the answer to it begins the next turn of the run.
local function interrupt_of_turn(self, piece)
  return { id = ("%s_t%d"):format(self.turn.run.name, piece.waits), reason = piece.finish == "approval" and "approval" or "question", message = piece.text,
    responseSchema = { type = "object", properties = { answer = { type = "string" } }, required = { "answer" } } }
end

local ends = {}

-- An answer that is not a whole one is reported, and is an error all the same.
function ends.finished(self, piece)
  if piece.waits then return { type = piece.ending.agui, interrupts = json.array { interrupt_of_turn(self, piece) } } end
  local rest = self.turn:rest(piece.text)
  if rest and rest.gap then self:set_aside() end
  if rest then self:say("text", rest.text) end
  return { type = piece.ending.agui }, piece.cut
end

function ends.calls(self, piece)
  for _, one in ipairs(piece.calls) do self:call(one.id, one.name, one.arguments) end
  return { type = piece.ending.agui }
end

function ends.questions(self, piece)
  local interrupts = json.array {}
  for i, event in ipairs(piece.questions) do interrupts[i] = interrupt_of(self, event) end
  return { type = piece.ending.agui, interrupts = interrupts }
end

local function finish(self, made, piece)
  local outcome, cut = ends[piece.kind](self, piece)
  self:stop()
  for op, name in pairs(self.steps) do
    self.steps[op] = nil
    self:send("STEP_FINISHED", { stepName = name })
  end
  if outcome.type == "error" then return self:send("RUN_ERROR", { message = cut.message, code = cut.code }) end
  self:send("RUN_FINISHED", { threadId = made.thread, runId = made.run, outcome = outcome })
end

local function names_of(tools)
  local names = {}
  for _, one in ipairs(tools or {}) do names[one.name] = true end
  return names
end

local function answer(turn, made, response)
  local stream = response:stream { headers = { ["x-hocket-run"] = turn.run.name } }
  if stream.closed then return end
  local self = setmetatable({ turn = turn, stream = stream, count = 0, known = made.known, steps = {}, tasks = {}, n_tasks = 0, pages = names_of(made.more.tools) }, Teller)
  turn.asks, turn.tap = true, function(event, leads)
    local tap = taps[event.type]
    if tap then tap(self, event, leads) end
  end
  self:send("RUN_STARTED", { threadId = made.thread, runId = made.run })
  self:send("STATE_SNAPSHOT", { snapshot = { tasks = json.array {}, document = json.null } })
  for piece in turn:pieces(false) do
    if piece.kind == "text" or piece.kind == "reasoning" then self:say(piece.kind, piece.text)
    elseif piece.kind == "aside" then self:set_aside()
    elseif piece.kind == "failed" then
      self:stop()
      self:send("RUN_ERROR", { message = piece.err.message, code = piece.err.code })
    else finish(self, made, piece) end
    if self.gone then return end
  end
  stream:close()
end

local stale = { not_found = true, conflict = true }

-- The answers to questions of a turn, or to the turn that was one.
local function go_on(desk, answers)
  local first = answers[1]
  local n = math.tointeger(first.id:match "^t(%d+)$")
  if not n then return turns.answer(desk, answers) end
  if answers[2] then return nil end
  return turns.say(desk, first.run, first.text, nil, n)
end

local function begin(desk, made)
  if not made.resume then return turns.of(desk, made, false, { interactive = true, once = true }) end
  local turn, err = go_on(desk, made.resume)
  if not turn and (not err or stale[err.code]) then wrong("resume", "nothing waits for these answers (any more)") end
  return turn, err
end

return function(server)
  server.router:form("/agui/", function(_, err) return { error = { code = err.code, message = err.message, param = err.param } } end)
  server.router:on("POST", "/agui/{name}", function(request, response)
    local body, err = request:json()
    if not body then return response:fail(err) end
    local made
    local ok, turn = pcall(function()
      made = read(body, request.params.name)
      local found, failed = begin(request.server.desk, made)
      err = failed
      return found
    end)
    if not ok then return type(turn) == "table" and turn.code == "invalid" and response:fail(turn) or error(turn, 0) end
    if not turn then return response:fail(err) end
    local bound <close> = turn:bound()
    return answer(turn, made, response)
  end)
end
