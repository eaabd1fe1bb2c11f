--- A run: one journal, and what belongs to it: boards, documents, usage, operations.
local arguments = require("hocket.internal.base.arguments").check
local account = require "hocket.internal.models.account"
local budget_wait = require "hocket.internal.base.lazy" "hocket.internal.run.budget_wait"
local caught = require "hocket.internal.base.caught"
local changes = require "hocket.internal.run.changes"
local edition = require "hocket.internal.base.edition"
local effects = require "hocket.internal.base.effects"
local accounts = require "hocket.internal.core.account"
local ending = require "hocket.internal.base.lazy" "hocket.internal.base.ending"
local fiber = require "hocket.internal.core.fiber"
local hooks = require "hocket.internal.base.lazy" "hocket.internal.run.hooks"
local board_checkpoint = require "hocket.internal.base.lazy" "hocket.internal.run.board_checkpoint"
local journal = require "hocket.internal.core.journal"
local json = require "hocket.json"
local kept = require "hocket.internal.core.kept"
local machine_policy = require "hocket.internal.models.machine_policy"
local media = require "hocket.internal.base.lazy" "hocket.internal.base.media"
local messages = require "hocket.internal.base.lazy" "hocket.internal.run.messages"
local partial_result = require "hocket.internal.base.lazy" "hocket.internal.run.partial_result"
local sorted_keys = require "hocket.internal.base.sorted_keys"
local steering = require "hocket.internal.base.lazy" "hocket.internal.run.steering"
local system = require "hocket.internal.core.system"
local trim = require "hocket.internal.base.trim"
local numbered, failed = system.numbered, system.error

local run = {}
local by_journal = setmetatable({}, { __mode = "kv" })
local stopped = setmetatable({}, { __mode = "k" }) -- journals of runs that were stopped before they began
local told = {} -- by key: who wants to hear of runs that begin
local last_number = 1 -- 1 is for jobs that belong to no run

local function is_priority(v)
  return math.type(v) == "integer" and v >= -100 and v <= 100
end

-- `plan`: agents only read until a person agrees to a plan (session/plan_mode.lua).
local function is_mode(v)
  return v == "plan" or v == "act"
end

---@class hocket.Run
---@field journal userdata
---@field options table What the caller asked for: model, models, max_turns, timeout, variables …
---@field files hocket.Media[] What was given with the request: for scripts, which hand it on.
---@field durable boolean It has a log.
---@field package here table|false What modules keep for it (hocket.internal.base.effects), where it has a log.
---@field package limits_told? boolean It has warned that no limit holds, in this life or an earlier one.
---@field package unlimited? fun() Called when a model is asked and no limit holds: see account.is_limited.
---@field looks integer How often it was informed that its project's budget may be another one: see Run:look. No part of its log.
---@field beyond? hocket.Beyond[] Bounds that a person has approved, and that more may be allowed of.
---@field package sessions? table<string, hocket.Session> By operation, where somebody wants to see what is said to models.
---@field held? hocket.HeldBack What its agents write, until its hooks have decided about its answer.
---@field noted_script? string The scripted model that is one of its files already (hocket.sim).
---@field package unasked boolean|"called" It begins a conversation, and nobody has said anything: no agent is called; "called": one was to be.
---@field gated? boolean Whether an agent has guards of its input: tool calls wait for them.
---@field hooks hocket.Hooks|false Who is asked before and after what it does (run/hooks.lua); nearly always nobody.
---@field package observer hocket.Observer|false Who notes what its trace needs (internal/telemetry); nearly always nobody.
local Run = {}
Run.__index = Run
Run.files, Run.observer, Run.looks, Run.hooks, Run.unasked = {}, false, 0, false, false

--- Boards, and documents, of agents that have ended, which a result tells of.
local RESTED = 200

--- Whether runs are reported as traces: whoever starts one for somebody else hands on the trace that this one is in, as the option `trace`.
---@type boolean?
run.traces = nil

-- Options of which another type would be noticed late, in the middle of something.
local option_kinds = { models = "table", variables = "table", prices = "table", labels = "table", rules = "table", files = "table", call = "table", jobs = "number", max_turns = "number",
  edition = "number", workdir = "string", record = "string", replay = "string", cwd = "string" }

--- Raises for an option of a wrong type.
---@param options table
function run.check_options(options)
  for name, value in pairs(options) do
    local kind = option_kinds[name]
    if kind and type(value) ~= kind then
      error({ code = "invalid", message = ("bad option '%s' (%s expected, got %s)"):format(name, kind, value == json.null and "null" or type(value)) }, 0)
    end
  end
end

--- Makes a run over a journal, or over one of its own.
---@param spec {journal?: userdata, id?: string, options?: table, edition?: integer} edition: of the built-in prompts (base/edition.lua).
---@return hocket.Run
function run.new(spec)
  last_number = last_number + 1
  fiber.begin_work()
  local made = setmetatable({
    number = last_number, -- the broker's name for it
    scope = fiber.self(), -- its jobs end before this fiber has ended
    journal = spec.journal or journal.new { run = spec.id }, id = spec.id, options = spec.options or {}, edition = spec.edition,
    boards = {}, documents = {}, numbers = {}, operations = 0,
    models = {}, -- by id: what was found for it
    guarded = {}, -- folders that agents are instructed to follow
    alike = setmetatable({}, { __mode = "k" }), -- by agent: what its sessions send alike, and with which toolset
    questions = {}, asked = 0, always = {},
    answered = {}, -- by id: whether the model that answered is a simulated one
    machine_policy = machine_policy.current(), here = kept.here() or false, durable = kept.here() ~= nil,
    inputs = 0,
    accounts = accounts.new(), waiting = {}, -- who waits for a model call to end
    at_work = {}, -- by operation: agents at work
  }, Run)
  made.adopted = setmetatable({}, { __mode = "k" })
  if made.durable then made.journal:accounts(made.accounts) end
  by_journal[made.journal] = made
  run.check_options(made.options)
  if made.options.priority ~= nil and not is_priority(made.options.priority) then
    error({ code = "invalid", message = ("bad option 'priority' (a whole number from -100 to 100 expected, got %s)"):format(tostring(made.options.priority)) }, 0)
  end
  if made.options.mode ~= nil and not is_mode(made.options.mode) then
    error({ code = "invalid", message = ("bad option 'mode' (plan or act expected, got %s)"):format(tostring(made.options.mode)) }, 0)
  end
  if made.options.budget then
    local budget, wrong = account.read(made.options.budget)
    if not budget then error({ code = "invalid", message = ("bad option 'budget' (%s)"):format(wrong) }, 0) end
    assert(made.accounts:limit(account.ROOT, budget))
  end
  if made.options.context then
    local settings, wrong = require("hocket.internal.agents.keys").context(made.options.context)
    if not settings then error({ code = "invalid", message = ("bad option 'context' (%s)"):format(wrong) }, 0) end
    made.options.context = settings
  end
  if stopped[made.journal] then made:stop() end
  if made.durable and kept.is_replay() and kept.comes("hook", "") then hooks.of(made) end -- whoever decided then may not be here
  for _, fn in pairs(told) do fn(made) end
  return made
end

--- Calls fn(run) for each run that begins from now on; nil as fn ends that.
---@param key any
---@param fn? fun(run: hocket.Run)
function run.on_begin(key, fn)
  told[key] = fn
end

--- The runs that go on, oldest first.
---@return hocket.Run[]
function run.all()
  local list = {}
  for _, one in pairs(by_journal) do
    if not one.journal:finished() then list[#list + 1] = one end
  end
  table.sort(list, function(a, b) return a.number < b.number end)
  return list
end

--- The run that writes a journal.
---@param of userdata
---@return hocket.Run?
function run.by_journal(of)
  return by_journal[of]
end

--- Stops the run that writes a journal, or is going to.
---@param of userdata
function run.stop(of)
  stopped[of] = true
  if by_journal[of] then by_journal[of]:stop() end
end

--- The run that the running fiber belongs to.
---@return hocket.Run?
function run.current()
  local context = fiber.context()
  return context and context.run
end

--- The operation that the running fiber works at: its agent's.
---@return string?
function run.operation()
  local context = fiber.context()
  return context and context.step and context.step.op
end

--- Appends an event. After the end of the run nothing is appended any more.
---@param type string
---@param payload? table
---@param agent? string
---@param op? string
---@return integer? seq
---@return hocket.Error?
function Run:emit(type, payload, agent, op)
  arguments("run:emit", 1, "string", type)
  arguments("run:emit", 2, "table?", payload)
  arguments("run:emit", 3, "string?", agent)
  arguments("run:emit", 4, "string?", op)
  local seq, err = self.journal:append(type, payload, agent, op)
  if self.origins and seq and not op then self.origins:told(seq, run.operation()) end
  return seq, err
end

--- What a script prints: an event, and of a run that does so for the first time what the host shows at once.
---@param payload {text: string}
---@return integer? seq
---@return hocket.Error?
function Run:output(payload)
  local seq, err = self:emit("output", payload)
  if seq and not effects.is_replay() then system.output(payload.text .. "\n") end
  return seq, err
end

--- What a script has said to be the answer.
---@return string?
function Run:said()
  return self.said_answer and self.said_answer.content
end

--- The event of the answer, with what a script has said beside it.
---@param text string
function Run:tell_answer(text)
  local payload = {}
  for name, value in pairs(self.said_answer or {}) do payload[name] = value end
  payload.content = text
  self:emit("final_answer", payload)
end

--- Takes in a question that is open from here on, until it is no longer in `questions`.
---@internal
function Run:put_question(question)
  self.put = (self.put or 0) + 1
  question.nth = self.put
  self.questions[question.id] = question
end

--- The questions that are open, oldest first.
---@internal
function Run:open_questions()
  local list = {}
  for _, question in pairs(self.questions) do list[#list + 1] = question end
  table.sort(list, function(a, b) return a.nth < b.nth end)
  return list
end

-- The open question, and what a text says to it; nil and why it is no answer.
local function read_answer(self, id, text)
  local question = self.questions[id]
  if not question or question.answer ~= nil or question.declined then
    return nil, failed { code = "not_found", message = ("there is no open question '%s'"):format(tostring(id)) }
  end
  if text == "" then return question end
  local value, wrong = question.read(text)
  if value == nil then return nil, failed { code = "invalid", message = wrong } end
  return question, value
end

local function answer(self, id, text)
  local question, value = read_answer(self, id, text)
  if not question then return nil, value end
  if text == "" then question.declined = true else question.answer = value end
  question.fiber:wake()
  return true
end

--- Answers an open question (see hocket.ask). An empty text says that there is no answer. Of several answers the first counts.
---@param id string
---@param text string
---@return boolean? answered
---@return hocket.Error? `not_found`, or `invalid` when the text is no answer to it: it stays open.
function Run:answer(id, text)
  arguments("run:answer", 1, "string", id)
  arguments("run:answer", 2, "string", text)
  return self.journal:tell("answer", id, text, function() return answer(self, id, text) end, function() return read_answer(self, id, text) end)
end

--- Whether a text answers an open question. Nothing is answered.
---@param id string
---@param text string
---@return boolean? answers
---@return hocket.Error? As of Run:answer.
---@internal
function Run:may_answer(id, text)
  local question, wrong = read_answer(self, id, text)
  if not question then return nil, wrong end
  return true
end

--- Sends a message: what hocket.signal(name) waits for, or is going to wait for.
---@param name string
---@param value any Data.
---@return boolean? sent
---@return hocket.Error? `invalid`, or `limit` when too many wait to be taken.
function Run:signal(name, value)
  return messages.send(self, name, value)
end

--- Says something to an agent at work, which hears it before its next model call; one that was about to answer goes on.
--- A conversation that waits for its next input is given that.
---@param text string
---@param to? string The agent's name, the end of its path ("lead/writer"), or its operation's id; nil: who works at the run itself.
---@return string? id Of the message in its events; "" of an input.
---@return hocket.Error? `not_found`, `state` when it has ended, `invalid`, or `limit` when too many wait to be heard.
function Run:say(text, to)
  return steering.say(self, text, to)
end

--- The same of what was said to the run that this one is a fork of: a refusal is reported by an event.
---@internal
function Run:say_again(text, to)
  steering.deliver(self, text, to)
end

-- What can change while a run goes on, and how its value is checked.
local changeable = {
  model = function(v)
    if type(v) ~= "string" then return false end
    return require("hocket.model").is_known(v)
  end,
  models = function(v) return type(v) == "table" end,
  variables = function(v) return type(v) == "table" end,
  max_turns = function(v) return math.type(v) == "integer" and v >= 1 end,
  timeout = function(v) return type(v) == "number" and v > 0 end,
  priority = is_priority,
  mode = is_mode,
  caller = function(v) return type(v) == "table" end,
  approve = function(v)
    local ok, err = require("hocket.internal.run.policy").of_run { approve = v }
    return ok ~= nil, err
  end,
}

-- A path, or what stands in a file: {name, data (base64)}.
local function is_file(v)
  return type(v) == "string" or type(v) == "table" and type(v.data) == "string" and system.unbase64(v.data) ~= nil
end

-- What a conversation does between two of its turns.
local between_turns = { reload = true, compact = true, clear = true, attach = true }

local function change(self, changes)
  for _, name in ipairs(sorted_keys(changes)) do
    local check, value = changeable[name], changes[name]
    if not between_turns[name] and not check then
      return nil, failed { code = "invalid", message = ("'%s' cannot be changed in a run that goes on"):format(tostring(name)) }
    end
    local ok, wrong = name ~= "attach" or is_file(value), nil
    if check then ok, wrong = check(value) end
    if not ok then return nil, wrong or failed { code = "invalid", message = ("'%s' cannot be that"):format(name) } end
  end
  local told = {}
  for name, value in pairs(changes) do
    if not between_turns[name] then self.options[name], told[name] = value, value end
  end
  if told.approve ~= nil then require("hocket.internal.run.policy").renew(self.options) end
  if next(told) then
    self:emit("run_changed", told)
    self.changed = self.changed or {}
    for name, value in pairs(told) do self.changed[name] = value end
  end
  for name in pairs(between_turns) do
    if changes[name] and name ~= "attach" then self[name] = true end
  end
  if changes.attach then
    self.attach = self.attach or {}
    table.insert(self.attach, changes.attach)
  end
  for _, question in ipairs(self:open_questions()) do question.fiber:wake() end
  return true
end

--- Reads files that go with the request that comes next, and tells of them. All or none.
---@async
---@param paths? string[]
---@return boolean? read
---@return hocket.Error?
---@internal
function Run:read_files(paths)
  if #self.files == 0 and #(paths or {}) == 0 then return true end
  local list = table.move(self.files, 1, #self.files, 1, {})
  for _, path in ipairs(paths or {}) do
    local one, err = media.make(path)
    if not one then return nil, err end
    list[#list + 1] = one
  end
  local wrong = media.too_much(list)
  if wrong then return nil, wrong end
  for i = #self.files + 1, #list do
    self:emit("file_attached", { name = list[i].url or list[i].name, kind = list[i].kind, mime = list[i].mime, bytes = #list[i].data })
  end
  self.files = list
  return true
end

--- Changes options of a run that goes on: for the sessions and turns that begin from now on. All or
--- none of them. `reload = true`: the conversation reads its files again before its next turn. `compact = true` shortens the
--- conversation so far, `clear = true` starts it again. `attach` is the path of a file that goes with the next message, or {name =,
--- data =} with its content as base64.
---@param changes table
---@return boolean? changed
---@return hocket.Error?
function Run:change(changes)
  arguments("run:change", 1, "table", changes)
  return self.journal:tell("change", json.encode(changes), "", function() return change(self, changes) end)
end

local function interrupt(self)
  if not self.turn then return nil, failed { code = "state", message = "no turn is going on" } end
  self.turn:cancel()
  return true
end

--- Ends the turn of a conversation that goes on now; the conversation stays.
---@return boolean? interrupted
---@return hocket.Error?
function Run:interrupt()
  return self.journal:tell("interrupt", "", "", function() return interrupt(self) end)
end

--- Where the text of an agent's stream goes when the run's option `deltas` asks for it.
---@param agent string
---@param op string
---@param held boolean? Its answer has to fit a schema: only what does is sent, so its text is not streamed.
---@return (fun(kind: "text"|"reasoning", text: string))?
function Run:delta_sink(agent, op, held)
  if not self.options.deltas then return nil end
  local told = self.tell_delta -- a run that was started from Lua
  local delta = not told and require("hocket.internal.core.host").delta
  return function(kind, text)
    if held and kind == "text" then return end
    if told then told(kind, text, agent, op) else delta(self.journal, kind, text, agent, op) end
  end
end

local function take(self, kind, thing)
  if not thing or self.adopted[thing] then return end
  local number, list = self:log("thing", kind), self[kind]
  self.adopted[thing] = number
  if self.origins then self.origins:made(kind, number, run.operation()) end
  list[#list + 1] = thing
  thing:attach(self.journal, number, edition.of(self) >= 3) -- ids of tasks and versions are each one's own: events say whose
  local within = effects.within()
  if within then table.insert(within.things, { kind = kind, thing = thing }) end
end

-- Takes one out of the ones that the result tells of.
local function let_go(list, thing)
  for i, one in ipairs(list) do
    if one == thing then return table.remove(list, i) end
  end
end

--- Makes a board's or document's changes events of this run, and part of its result.
---@param things {board?: hocket.Board, document?: hocket.Document}
function Run:adopt(things)
  take(self, "boards", things.board)
  take(self, "documents", things.document)
end

-- What the result tells of one that code of a tool or a step has made: nobody changes it any more. A replay does not make it.
local function hand_over(self, things, thing)
  for i, one in ipairs(things) do
    if one.thing == thing then
      table.remove(things, i)
      let_go(self[one.kind], thing)
      local told = board_checkpoint.told(self, one.kind, thing)
      told.planned = let_go(self.plans or {}, thing) ~= nil or nil
      return told, one.kind
    end
  end
end

--- A tool's or a step's function has ended: what it has made ends with it.
---@param things {kind: "boards"|"documents", thing: any}[]
---@internal
function Run:leave(things)
  while things[1] do
    local told, kind = hand_over(self, things, things[1].thing)
    self:log("told", kind, told)
  end
end

--- A board and a document were made for the agent at work, and end with it.
---@param board hocket.Board
---@param document? hocket.Document
function Run:own(board, document)
  local context = fiber.context()
  local step = context and context.step
  if step and step.run == self then step.own = { board = board, document = document } end
end

--- An agent has ended that had a board and a document of its own. The result tells of the newest ones; of the others what was
--- not done (`partial`), and the events all of it. The first document is the run's.
---@param board hocket.Board
---@param document? hocket.Document
function Run:release(board, document)
  local within = effects.within()
  if not within then return self:rest(board, document) end
  local told_board, told_document = hand_over(self, within.things, board), document and hand_over(self, within.things, document)
  self:log("released", told_board, told_document or nil)
end

---@param board table
---@param document? table
---@internal
function Run:rest(board, document)
  local rested = self.rested or {}
  self.rested = rested
  rested[#rested + 1] = { board = board, document = document }
  if #rested <= RESTED then return end
  local oldest = table.remove(rested, 1)
  let_go(self.boards, oldest.board)
  partial_result.settle(self, oldest.board)
  if oldest.document ~= self.documents[1] then let_go(self.documents, oldest.document) end
end

--- What its answer was made without; nil when that is nothing, for which the module is not loaded.
---@return hocket.Shortfall[]?
---@internal
function Run:missing()
  if self.failures or self.plans then return partial_result.of(self) end
end

--- What the run has used so far: tokens, calls, cost (null when a part is not known).
---@return {input: integer, output: integer, cached: integer, cache_write: integer, reasoning: integer, calls: integer, tool_calls: integer, seconds: number, cost: number, cost_known?: number, unpriced?: integer}
function Run:usage()
  return self.accounts:usage(account.ROOT)
end

--- How long it has gone on, whoever asks: by the clock that its accounts have.
---@return number
function Run:seconds()
  return self.accounts:seconds()
end

--- Who has used what: an account for each agent at work, below the one that asked for it. `own` is
--- its own usage, `total` that of all below it as well; `merged` counts accounts that are in the
--- total only, where a run has very many.
---@return {op?: string, agent?: string, trigger?: string, seconds: number, own: table, total: table, merged?: integer, children: table[]}
function Run:tree()
  return self.accounts:tree()
end

--- Shows a wait of the run (`waiting_for`) until the handle is closed: events `KIND_awaited`, and `KIND_returned` with what the
--- handle has by then as `more`.
---@param kind "run"|"caller"|"budget"
---@param about table For the events: what it waits for.
---@param agent? string
---@param op? string
---@return table handle To be closed.
---@return hocket.Error? untold Nobody would ever wake it.
---@internal
function Run:show_wait(kind, about, agent, op)
  self.shown = (self.shown or 0) + 1
  local id = kind:sub(1, 1) .. self.shown
  local function event(type, more)
    local payload = { id = id }
    for name, value in pairs(about) do payload[name] = value end
    for name, value in pairs(more or {}) do payload[name] = value end
    return self:emit(kind .. type, payload, agent, op)
  end
  local _, untold = event "_awaited"
  local handle = setmetatable({}, { __close = function(handle)
    if not self.parked then event("_returned", handle.more) end
  end })
  return handle, untold and failed(untold)
end

--- See budget_wait.ask.
---@async
---@internal
function Run:await_budget(...)
  return budget_wait.ask(self, run.operation(), ...)
end

--- There may be more in the budget of its project than there was: whoever waits for it asks again. It is called from outside of the run.
---@return true
---@internal
function Run:look()
  self.looks = self.looks + 1
  for resting in pairs(self.budget_waits or {}) do resting:wake() end
  return true
end

--- Lets the run finish what it is at, and answer: every agent makes one more call at most, without
--- tools. The reply's finish is "stopped".
function Run:stop()
  if self.stopped then return end
  self.journal:tell("stop", "", "", function()
    self.stopped = true
    account.stop(self)
    self:emit("run_stopped", {})
    for _, call in ipairs(self.lendings or {}) do call:stop() end
  end)
end

--- Ends the run now, down to the sockets. A script that the run consists of ends with it.
function Run:cancel()
  require("hocket.broker").shared():cancel_all(self.number)
  if self.owns_scope then self.scope:cancel() end
end

--- The number of a new operation: one agent at work.
---@return string
function Run:operation()
  return numbered("o", self:log("number", "operations"))
end

--- Changes the run as hocket.internal.run.changes says. In a run that is kept its log has what code of a tool or a step changes, which a
--- replay does not run.
---@param what string
---@param ... any Data.
---@return any
---@internal
function Run:log(what, ...)
  return changes.make(self, what, ...)
end

-- Lists as JSON, made one.
local function joined(lists)
  if #lists == 1 then return lists[1] end
  local inner = {}
  for _, text in ipairs(lists) do
    if text ~= "[]" then inner[#inner + 1] = text:sub(2, -2) end
  end
  return "[" .. table.concat(inner, ",") .. "]"
end

local function tasks_json(self)
  local lists = {}
  for i, board in ipairs(self.boards) do lists[i] = board:tasks(nil, true) end
  return joined(lists)
end

local function versions_json(self)
  local lists = {}
  for i, document in ipairs(self.documents) do lists[i] = document:history(nil, nil, true) end
  return joined(lists)
end

--- Replies that were handed to a script although they are no whole answers; the last ones are known.
local HANDED_OUT = 64

--- A reply that was cut goes to a script: what that answers with it is no whole answer either.
---@param reply hocket.Reply
function Run:hand_out(reply)
  if reply.cut.reason == "stopped" or not reply.text:find "%S" then return end
  self:log("handed_out", reply.text, reply.cut)
end

---@param text string
---@param cut hocket.Cut
---@internal
function Run:keep_handed_out(text, cut)
  local list = self.handed_out or {}
  self.handed_out = list
  if #list >= HANDED_OUT then table.remove(list, 1) end
  list[#list + 1] = { text = text, cut = cut }
end

--- Bytes from which on a text that stands in another one is taken to be from there.
local TELLING = 20

--- Why a text is no whole answer: it has one in it that was cut.
---@param text string
---@return hocket.Cut?
function Run:cut_in(text)
  for _, one in ipairs(self.handed_out or {}) do
    local own = trim.both(one.text)
    if trim.both(text) == own or #own >= TELLING and text:find(own, 1, true) then return one.cut end
  end
end

--- From now on the tasks of a board are a plan: the ones that are not done in the end are reported with the result (`partial`).
---@param board hocket.Board
function Run:expect(board)
  partial_result.expect(self, board)
end

--- A task of a plan that has no board of its own did not complete: it is reported with the result (`partial`).
---@param outcome hocket.Outcome
function Run:missed(outcome)
  partial_result.task(self, outcome)
end

--- The models that answered, and whether one of them is a simulated one.
---@return string[] ids
---@return boolean simulated
function Run:models_asked()
  local ids, simulated = json.array {}, false
  for id, is_simulated in pairs(self.answered) do
    ids[#ids + 1], simulated = id, simulated or is_simulated
  end
  table.sort(ids)
  return ids, simulated
end

-- How the run ended, and in which state that leaves it: the table is read only where something went wrong. Runs of the first edition
-- did not say.
local function how_ended(self, missing)
  local err = self.failure
  if edition.of(self) < 2 then return "" end
  if not err then return missing and '"ending":"partial","state":"done",' or '"ending":"done","state":"done",' end
  return ('"ending":"%s","state":"%s",'):format(ending.of_error(err).name, ending.state(err.code))
end

local function tell_end(self)
  self.final_tasks = tasks_json(self)
  local missing = self:missing()
  return self.journal:append("workflow_finished", ('{"document_versions":%s,%s%s"tasks":%s,"usage":%s}'):format(versions_json(self), how_ended(self, missing),
    missing and ('"partial":%s,'):format(json.encode(missing)) or "", self.final_tasks, json.encode(self:usage())))
end

--- The last event: what the tasks and the documents have come to. They are reported as they are kept, without a table of each;
--- and where they cannot be told, memory being out or the event too large, that is left out of it.
function Run:finish()
  local told, seq = pcall(tell_end, self)
  if told and seq then return end
  self.journal:close(told and "ok" or caught.error(seq).code)
  if not told then error(seq, 0) end
end

--- All tasks of the run's boards.
---@return table[]
function Run:tasks()
  local tasks = json.array {}
  for _, board in ipairs(self.boards) do
    local own = board:tasks()
    table.move(own, 1, #own, #tasks + 1, tasks)
  end
  return tasks
end

--- The versions of the run's documents, without contents.
---@return table[]
function Run:document_versions()
  local versions = json.array {}
  for _, document in ipairs(self.documents) do
    local history = document:history()
    table.move(history, 1, #history, #versions + 1, versions)
  end
  return versions
end

local function slots_of(document)
  local slots = json.array {}
  for i, slot in ipairs(document:slots()) do
    local texts = {}
    for j, entry in ipairs(slot.entries) do texts[j] = entry.content end
    slots[i] = { slot = slot.slot, heading = slot.heading, content = table.concat(texts, "\n\n") }
  end
  return slots
end

-- Of a run with many calls the tree and the tasks are most of the result: they become tables only for who looks at them,
-- and are JSON already for who wants that. Whoever wants no tree gets none.
local function with_rest(result, tasks, accounts, wants_tree)
  local rest = { tasks = function() return json.decode(tasks) end, tree = function() return accounts:tree() end }
  return setmetatable(result, {
    __index = function(_, name) return rest[name] and rest[name]() end,
    to_json = function()
      local tree = wants_tree and ',"tree":' .. accounts:tree_json() or ""
      return ('%s,"tasks":%s%s}'):format(json.encode(result):sub(1, -2), tasks, tree)
    end,
  })
end

local function error_of(err)
  local told = ending.told(err)
  told.agent = err.agent
  return told
end

--- What `hocket run --json` prints.
---@param outcome {ok: boolean, text?: string, error?: table, finish?: string}
---@return table
function Run:result(outcome)
  local document = self.documents[1]
  local models, simulated = self:models_asked()
  return with_rest({
    models = models, simulated = simulated, partial = self:missing() or json.null,
    sources = outcome.sources, made = outcome.made,
    run = self.id, ok = outcome.ok, text = outcome.text or "", finish = outcome.finish,
    error = outcome.error and error_of(outcome.error) or json.null,
    usage = self:usage(), seconds = self:seconds(),
    document = document and { version = document:version(), text = document:render(), slots = slots_of(document) } or json.null,
  }, self.final_tasks or tasks_json(self), self.accounts, self.options.tree ~= false)
end

return run
