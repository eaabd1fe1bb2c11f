--- A session of an editor (Agent Client Protocol): a run that is a conversation.
---
---     session/prompt ──> an answer to what the run waits for ──> updates … ──> turn_finished ──> stopReason
---                                  │ question_asked      ──> a form, where the editor has such; else in words: the next prompt answers
---                                  └ approval_requested  ──> session/request_permission
---
--- What the run tells is taken in the order in which it happens: whoever hands over a piece of a stream or a call takes the journal up to
--- there first. That may be the run's own fiber, so nothing there waits or begins anything: what has to is put into `todo`.
local acp_commands = require "hocket.internal.serve.acp_commands"
local acp_content = require "hocket.internal.serve.acp_content"
local acp_options = require "hocket.internal.serve.acp_options"
local acp_questions = require "hocket.internal.serve.acp_questions"
local acp_updates = require "hocket.internal.serve.acp_updates"
local ending = require "hocket.internal.base.ending"
local fiber = require "hocket.internal.core.fiber"
local json = require "hocket.json"
local message = require "hocket.internal.mcp.message"
local sanitize = require "hocket.internal.base.sanitize"
local system = require "hocket.internal.core.system"

local acp_session = {}

---@class hocket.AcpSession
---@field id string
---@field cwd string
---@field rpc hocket.Rpc
---@field talk hocket.Talk The conversation.
---@field run hocket.Run
---@field mode string
---@field acts? string The mode that follows plan mode.
---@field input_id? string What the run waits for, between two turns.
---@field question? table What it asked in words.
---@field turn? table The prompt that is being answered.
---@field agents? table[] Who takes part.
---@field over? table Why it has ended.
---@field loaded? boolean The first turn may begin: a script has been loaded.
---@field live? boolean What it does is new: a conversation that is continued first tells everything that was said.
local Session = {}
Session.__index = Session

-- ---- What is sent ----------------------------------------------------------------------------

local Chunk = {}
Chunk.__index = Chunk

function Chunk:text()
  self.update.content.text = table.concat(self.parts)
  return message.request(nil, "session/update", { sessionId = self.session.id, update = self.update })
end

-- Pieces of one message that nobody has taken yet become one.
local function send_chunk(self, update)
  local newest, text = self.rpc:newest(), update.content.text
  if getmetatable(newest) == Chunk and newest.session == self and newest.update.sessionUpdate == update.sessionUpdate and newest.update.messageId == update.messageId then
    newest.parts[#newest.parts + 1] = text
    newest.size = newest.size + #text
    return self.rpc:grew(#text)
  end
  self.rpc:put(setmetatable({ session = self, update = update, parts = { text }, size = #text + 200 }, Chunk))
end

--- Sends an update; none before the session is known to the editor.
---@param update table
function Session:update(update)
  if self.quiet then return end
  if update.content and update.content.text and update.messageId then return send_chunk(self, update) end
  self.rpc:tell("session/update", { sessionId = self.id, update = update })
end

-- ---- What the run tells --------------------------------------------------------------------------

local function end_turn(self, reason, err)
  local turn = self.turn
  if not turn or turn.done then return end
  turn.done, turn.reason, turn.err = true, reason, err
  turn.fiber:wake()
end

local function turn_finished(self, event)
  self.updates:turn_ends(event)
  if not event.ok and self.replays and not self.live then self.updates:say(("[no answer: %s]"):format(event.error.message)) end
  if not self.turn or not self.turn.begun then return end -- one that was cancelled before this prompt came
  local err, row = event.error, self.turn.cancelled and not event.ok and ending.of { finish = "cancelled" } or ending.of(event)
  if row.acp then return end_turn(self, row.acp) end
  end_turn(self, nil, { code = -32603, message = err.message, data = { code = err.code, retry_after = err.retry_after } })
end

local on = {}

function on.conversation_started(self, event) self.agents = event.agents end

function on.input_requested(self, event)
  self.input_id, self.loaded = event.id, true
  if self.waiter then self.waiter:wake() end
end

function on.input_received(self, event)
  self.input_id = nil
  if self.replays and not self.live then
    self.updates:person(event.text or "")
    self.updates:turn_begins()
  end
  if self.turn and self.turn.cancelled then self.todo[#self.todo + 1] = function() self.run:interrupt() end end
end

on.turn_finished = turn_finished

-- What a script prints in a turn the editor is shown. While it is loaded no turn is there that it could be of: it goes where the
-- script's io.write goes, which is stderr, since the stream owns standard output. A session that is continued has printed it before.
function on.output(self, event)
  if self.loaded then return self.updates:event(event) end
  if not self.live or type(event.text) ~= "string" then return end
  io.write(event.text, "\n")
  io.flush()
end

-- What was asked in an earlier life was answered there, or ends with the turn that was cut off.
local function put_later(self, fn)
  if self.live then self.todo[#self.todo + 1] = fn end
end

function on.approval_requested(self, event)
  local call = self.updates:asked_about(event, sanitize.encode)
  put_later(self, function() acp_questions.approval(self, event, call) end)
end

function on.question_asked(self, event)
  put_later(self, function() acp_questions.question(self, event) end)
end

function on.question_withdrawn(self, event)
  self.todo[#self.todo + 1] = function() acp_questions.withdrawn(self, event.id) end
end

-- A person has agreed to a plan: plan mode has ended.
function on.run_changed(self, event)
  if event.mode ~= "act" or self.mode ~= "plan" or not self.live then return end
  self.mode = self.acts or "ask"
  self:update { sessionUpdate = "current_mode_update", currentModeId = self.mode }
  put_later(self, function() acp_options.tell(self) end)
end

on.question_answered, on.approval_answered = on.question_withdrawn, on.question_withdrawn

local function take(self, line)
  local kind = line:match '"type":"([%w_]+)"'
  local event = json.decode(line)
  if type(event) ~= "table" or event.type ~= kind then return end
  if on[kind] then on[kind](self, event) else self.updates:event(event) end
end

-- Everything that has been told up to now. Nothing in here waits.
local function drain(self)
  while true do
    local line, seq = self.talk.journal:next(self.cursor)
    if not line then return end
    self.cursor = seq
    take(self, line)
  end
end

local function do_rest(self)
  local todo = self.todo
  self.todo = {}
  for _, fn in ipairs(todo) do fiber.spawn_under(self.owner, fn) end
end

local function ended(self)
  local err = self.talk.err
  self.over = { code = -32603, message = err and err.message or "the conversation has ended", data = err and { code = err.code } or nil }
  end_turn(self, nil, self.over)
  if self.waiter then self.waiter:wake() end
end

local function listen(self)
  local journal = self.talk.journal
  while true do
    drain(self)
    do_rest(self)
    if journal:finished() then break end
    journal:wait(self.cursor)
  end
  self.talk:join()
  ended(self)
end

-- ---- Beginning -------------------------------------------------------------------------------

-- The run is there, and has done nothing yet.
local function attach(self, run)
  self.run = run
  run.watch_calls = function(one, args, agent, op)
    drain(self)
    return self.updates:call(one, args, agent, op)
  end
  run.editor = self.editor
end

local function delta(self)
  return function(kind, text, _, op)
    drain(self)
    self.updates:delta(kind, text, op)
  end
end

--- Seconds until the end of a run that is over is reported here.
local ENDING = 0.01

-- Until something can be said to it. What a turn was at that was cut off is not gone on with.
local function outlast_replay(self)
  while not self.live and not self.over do
    local journal = self.run.journal
    if self.run:change {} then self.live = true
    elseif journal:finished() then fiber.sleep(ENDING)
    else journal:wait(journal:last()) end
  end
  drain(self)
  if self.run.options.mode == "plan" then self.mode, self.acts = "plan", self.mode end
  if not self.input_id and not self.over then self.run:interrupt() end
end

--- Waits until the run waits for an input.
---@async
---@return boolean? ready
---@return table? err As the protocol has errors.
function Session:ready()
  if not self.live then outlast_replay(self) end
  self.waiter = fiber.self()
  while not self.input_id and not self.over do fiber.park() end
  self.waiter = nil
  if self.over then return nil, self.over end
  return true
end

--- Begins one. `begin(hooks)` gives the conversation: it calls `hooks.attach(run)` before that does anything.
---@async
---@param spec {rpc: hocket.Rpc, cwd: string, mode: string, client: table, editor?: table, id?: string, replays?: boolean} id: of one gone on with; replays: what was said so far is reported again.
---@param begin fun(hooks: {attach: fun(run: hocket.Run), delta: function}): hocket.Talk?, hocket.Error?
---@return hocket.AcpSession?
---@return table? err As the protocol has errors.
function acp_session.new(spec, begin)
  local self = setmetatable({ rpc = spec.rpc, id = spec.id, cwd = spec.cwd, mode = spec.mode, client = spec.client, editor = spec.editor, replays = spec.replays, quiet = not spec.replays, live = not spec.id, todo = {}, asked = {}, cursor = 0 }, Session)
  self.updates = acp_updates.new(function(update) self:update(update) end)
  self.updates.dir, self.updates.usage = spec.cwd, function() return self.run:usage() end
  self.owner = fiber.spawn_under(spec.rpc.owner, function() while true do fiber.park() end end)
  self.owner:serve()
  local talk, err = begin { attach = function(run) attach(self, run) end, delta = delta(self) }
  if not talk then return nil, { code = -32603, message = err.message, data = { code = err.code } } end
  self.talk, self.id = talk, talk.id
  fiber.spawn_under(self.owner, listen, self)
  local ok
  ok, err = self:ready()
  if not ok then
    self:close()
    return nil, err
  end
  return self
end

-- ---- Prompts ---------------------------------------------------------------------------------

-- What goes along with the words.
local function attach_files(self, files)
  for _, one in ipairs(files) do
    local ok, err = self.run:change { attach = { name = one.name, data = system.base64(one.data) } }
    if not ok then return nil, { code = -32602, message = err.message } end
  end
  return true
end

-- Hands the words to whoever waits for them.
local function hand_over(self, words, files)
  local question = self.question
  if question and #files == 0 then
    self.question, self.turn.begun = nil, true
    return self.run:answer(question.id, words)
  end
  local ok, err = self:ready()
  if not ok then return nil, err end
  if self.turn.cancelled then return end_turn(self, "cancelled") end
  ok, err = attach_files(self, files)
  if not ok then return nil, err end
  self.updates:turn_begins()
  local id = self.input_id
  self.input_id, self.turn.begun = nil, true
  return self.run:answer(id, words)
end

local function wait_for_end(self, turn)
  while not turn.done do fiber.park_for_program() end
  drain(self)
  if turn.err then return nil, turn.err end
  return { stopReason = turn.reason }
end

--- Answers a prompt.
---@async
---@param blocks any
---@return table? result
---@return table? err
function Session:prompt(blocks)
  if self.turn then return nil, { code = -32600, message = "a prompt of this session is being answered: cancel it, or wait for its answer" } end
  if self.over then return nil, self.over end
  local words, files = acp_content.read(blocks)
  if not words:find "%S" then words = #files > 0 and "Look at what is attached." or "" end
  if words == "" then return nil, { code = -32602, message = "the prompt is empty" } end
  local turn = { fiber = fiber.self() }
  self.turn = turn
  local closing <close> = setmetatable({}, { __close = function() self.turn = nil end })
  local said = #files == 0 and acp_commands.run(self, words)
  if said then
    self.updates:say(said)
    return { stopReason = "end_turn" }
  end
  local ok, err = hand_over(self, words, files)
  if not ok and err then return nil, math.type(err.code) == "integer" and err or { code = -32602, message = err.message } end
  return wait_for_end(self, turn)
end

--- Ends the turn that goes on; its prompt is answered with "cancelled".
function Session:cancel()
  if self.turn then self.turn.cancelled = true end
  if self.question then
    self.question = nil
    end_turn(self, "cancelled")
  end
  acp_questions.withdraw_all(self)
  self.run:interrupt() -- no turn: it has ended, or has not begun, which is checked when it does
end

--- The question that is put in words ends the prompt: the next one answers it.
---@param event table
---@param words string
function Session:ask_in_words(event, words)
  self.question = event
  self.updates:say(words)
  end_turn(self, "end_turn")
end

--- What may be sent once the editor knows the session.
function Session:open()
  self.quiet = false
  self:update { sessionUpdate = "available_commands_update", availableCommands = acp_commands.available() }
end

--- Ends it.
---@async
function Session:close()
  if self.closed then return end
  self.closed = true
  end_turn(self, "cancelled")
  if self.talk then self.talk:leave() end
  acp_questions.withdraw_all(self)
  self.owner:cancel()
end

return acp_session
