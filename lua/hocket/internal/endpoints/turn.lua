--- One answer to a caller: a turn of a conversation with what is offered, told in pieces that every protocol has a word for.
---
---     begin {target, input, caller} ──> piece ──> piece … ──> "finished", "calls" or "failed"
---                                          text, reasoning, progress
---
--- "calls": the agent calls tools of the caller. The run waits, with everything that its team is at; `go_on` hands over what came of them, in
--- this process or, where runs are kept, in another one. A turn whose client has gone is cancelled.
local asked = require "hocket.internal.endpoints.asked"
local ending = require "hocket.internal.base.ending"
local fiber = require "hocket.internal.core.fiber"
local json = require "hocket.json"
local store = require "hocket.internal.core.store"
local trim = require "hocket.internal.base.trim"
local truncate = require "hocket.internal.base.truncate"

local turn = {}

--- Seconds in which further calls of the same turn are gathered, unless it is known that there are none. Seconds that a run waits here for a caller's tools.
--- Bytes of a line of progress.
local GATHER, PATIENCE, MAX_LINE = 2, 600, 200
--- Runs that wait here for their callers.
local WAITING = 1000

---@class hocket.Turn
---@field run hocket.DeskRun
---@field usage table What it has used.
---@field tap? fun(event: table, leads: boolean) Learns of each event of the run first.
---@field text string Everything that was streamed, with a blank line between two messages, as chat completions and Anthropic's messages have it.
---@field message string The part of it that is the last message: the answer, unless a call follows.
---@field package aside? boolean A call has followed it: what comes next is another message.
---@field asks? boolean Questions and approvals are pieces, "questions", and wait as calls do; so does an answer that is a question (`waits`: its turn).
---@field package is_left? boolean Nothing was said to such an answer: the run ends.
local Turn = {}
Turn.__index = Turn

local function new(desk, run, after, keeps)
  return setmetatable({ desk = desk, run = run, reader = run:subscribe { after = after, deltas = true }, ops = {}, calls = {}, base = {}, keeps = keeps, text = "", message = "", expected = 1, accounted = 0 }, Turn)
end

--- Begins a conversation.
---@async
---@param desk hocket.Desk
---@param spec {target: string, input: string, caller: table, user?: string, keeps?: boolean, options?: table} user: as for desk:start; keeps: it can be gone on with when it is over.
---@return hocket.Turn?
---@return hocket.Error?
function turn.begin(desk, spec)
  local options = { conversation = true, interactive = spec.keeps or false, deltas = true, caller = spec.caller }
  for name, value in pairs(spec.options or {}) do options[name] = value end
  local run, err = desk:start { target = spec.target, input = spec.input, options = options, user = spec.user }
  if not run then return nil, err end
  return new(desk, run, 0, spec.keeps)
end

-- ---- Going on --------------------------------------------------------------------------------

-- Only what was begun for a caller is gone on with for one: of a person's conversation the words are a person's.
local function is_callers(id)
  local row = store.find(id)
  local options = row and row.id == id and row.options and json.decode(row.options)
  return type(options) == "table" and options.caller ~= nil
end

-- The run that an id stands for, here or in the store. The beginning of one stands for none.
local function find(desk, id)
  if not store.is_id(id) then return nil end
  local run = desk:find(id, "may_continue")
  if run and run.parked_at then run:wait() end -- it is being put away: it is taken up again from there
  if run and not run.outcome then
    local ok, err = desk:take_turn()
    if not ok then return nil, err end
    return run:begun() and run.options.caller and run or nil
  end
  local err
  if not is_callers(id) then return nil end
  run, err = desk:resume(id)
  if not run and err.code ~= "limit" and err.code ~= "budget" then err = nil end -- that it is another's says nothing to whoever guesses
  return run and run:live() and run or nil, err
end

local counted = { "input", "output", "cached", "reasoning", "calls", "cost" }

local function usage_of(run)
  local all, copy = run.run:usage(), {}
  for _, name in ipairs(counted) do copy[name] = type(all[name]) == "number" and all[name] or nil end
  return copy
end

local function question(run, id)
  local one = run.run and run.run.questions[id]
  return one and one.answer == nil and not one.declined and one or nil
end

-- A turn of a run that goes on, from what it tells from now on.
local function continue(desk, run, keeps)
  local made = new(desk, run, run.journal:last(), keeps)
  made.base, made.left = usage_of(run), run.run:open_questions()
  if run.forget then run.forget:cancel() end
  return made
end

--- Continues with a run of the store whose turn was cut off, until that is over; nobody reads along.
---@async
---@param desk hocket.Desk
---@param id string
---@param after integer The record behind which that turn begins.
function turn.take_up(desk, id, after)
  local run = is_callers(id) and desk:resume(id)
  if not run or not run:begun() then return end
  local made = new(desk, run, after, true)
  fiber.detach(function()
    while made:next() do end
  end):serve()
end

local CALL = "^call_(%w+)_(c%d+)$"

-- The run that made the last call.
local function caller_of(results)
  for i = #results, 1, -1 do
    local name = results[i].id:match(CALL)
    if store.is_id(name) then return name end
  end
end

-- The results that the run waits for, by the call. Older ones it has, and those of other runs are a part of the conversation.
local function awaited(run, made)
  local given = {}
  for _, one in ipairs(made.results) do
    local of, id = one.id:match(CALL)
    if of == run.name and question(run, id) then given[id] = one
    elseif made.early[one.id] then asked.wrong(one.where, "'%s': there is no call in this conversation that waits for such a result", one.where) end
  end
  return given
end

-- A run goes on when it has all results of the calls that its caller was given.
local function check_missing(run, given, param)
  for _, id in ipairs(run.given_out or {}) do
    if not given[id] and question(run, id) then asked.wrong(param, "the call 'call_%s_%s' has no result: each call of the last answer has to have one", run.name, id) end
  end
end

--- Hands over the results of the caller's calls. They are every call that one run has made, and it waits for them. Raises what is missing.
---@async
---@param desk hocket.Desk
---@param made hocket.Asked
---@param only? string The run that may wait for them.
---@return hocket.Turn? turn nil: no such run waits (any more).
function turn.go_on(desk, made, only)
  local name = caller_of(made.results)
  local run = name and (not only or name == only) and find(desk, name)
  local given = run and awaited(run, made) or {}
  if not next(given) then return nil end
  check_missing(run, given, made.param)
  local going = continue(desk, run, not run.options.once and run.options.interactive)
  for _, one in ipairs(made.results) do
    local id = one.id:match "c%d+$"
    if given[id] == one and not run:answer(id, (one.error and "!" or "=") .. one.text) then return nil end -- somebody was faster
  end
  return going
end

-- Whether the run waits for all of them, each given once, and takes them. nil without an error: it waits for another one.
local function check_answers(run, answers)
  local given = {}
  for _, one in ipairs(answers) do
    if one.run ~= run.name or given[one.id] or not question(run, one.id) then return nil end
    given[one.id] = true
    local ok, err = run.run:may_answer(one.id, one.text)
    if not ok then return nil, err end
  end
  return true
end

--- Answers what the run has asked: {id, text}, an empty text for no answer. All or none.
---@async
---@param desk hocket.Desk
---@param answers {run: string, id: string, text: string}[] Of one run.
---@param keeps? boolean As for turn.begin.
---@return hocket.Turn? turn nil: no such run waits for these.
---@return hocket.Error?
function turn.answer(desk, answers, keeps)
  local run, refused = find(desk, answers[1].run)
  if not run then return nil, refused end
  local ok, wrong = check_answers(run, answers)
  if not ok then return nil, wrong end
  local made = continue(desk, run, keeps or false)
  for _, one in ipairs(answers) do
    local taken, err = run:answer(one.id, one.text)
    if not taken then return nil, err end
  end
  return made
end

--- Says something more in a conversation that is kept.
---@async
---@param desk hocket.Desk
---@param id string
---@param input string
---@param caller? table nil: as it was.
---@param newest? integer The turn that the caller knows as its last one.
---@return hocket.Turn?
---@return hocket.Error?
function turn.say(desk, id, input, caller, newest)
  local run, refused = find(desk, id)
  if not run then return nil, refused or { code = "not_found", message = "there is no such conversation" } end
  if newest and newest ~= run.run.turns then
    return nil, { code = "conflict", stale = newest < (run.run.turns or 0), message = ("the conversation has gone on since (turn %d of %d): go on with its newest answer"):format(newest, run.run.turns or 0) }
  end
  local waits
  for key, one in pairs(run.run.questions) do
    if one.kind == "input" and question(run, key) then waits = key end
  end
  if not waits then return nil, { code = "conflict", message = "this conversation is being answered" } end
  local made = continue(desk, run, not run.options.once)
  for _, one in ipairs(caller and caller.files or {}) do
    local ok, err = run:change { attach = one }
    if not ok then return nil, err end
  end
  local ok, err = true, nil
  if caller then ok, err = run:change { caller = caller } end
  if ok then ok, err = run:answer(waits, input) end
  made.is_left = input == ""
  if not ok then return nil, err end
  return made
end

--- The turn that a request asks for. Results at its end go to the run that waits for them. If no run waits, they are part of the
--- conversation, and a new run continues from there. Raises for a wrong request.
---@async
---@param desk hocket.Desk
---@param made {model: string, messages: hocket.Asked, more: table, user?: string}
---@param keeps? boolean
---@param options? table Of the run, beside those.
---@return hocket.Turn?
---@return hocket.Error?
function turn.of(desk, made, keeps, options)
  local messages = made.messages
  messages:check_results()
  local going = messages:brings_results() and turn.go_on(desk, messages)
  local err
  if not going then
    local input, caller = messages:finish()
    for name, value in pairs(made.more) do caller[name] = value end
    going, err = turn.begin(desk, { target = made.model, input = input, caller = caller, user = made.user, keeps = keeps, options = options })
  end
  if going then going.ignored = made.more.ignored end
  return going, err
end

-- ---- Pieces ----------------------------------------------------------------------------------

local function leads(self, op)
  return op == nil or self.ops[op] ~= false
end

-- Of other agents only what they are at is reported.
local function note_agent(self, event)
  local trigger = event.trigger
  if not (leads(self, event.caller) and (trigger == "handoff" or trigger == "route" or trigger == "direct" and not event.caller)) then self.ops[event.op] = false end
end

local function line(text)
  return truncate(text:gsub("%s+", " "), MAX_LINE, "…")
end

local progress = {
  agent_started = function(e) return ("%s: %s"):format(e.display_name or e.agent, e.message or "begins") end,
  agent_finished = function(e) return ("%s is done"):format(e.display_name or e.agent) end,
  tool_call = function(e) return ("%s called %s"):format(e.agent or "an agent", tostring(e.tool)) end,
  task_updated = function(e) return ("task %s: %s"):format(tostring(e.text or e.id), tostring(e.status)) end,
  document_updated = function(e) return ("%s wrote: %s"):format(tostring(e.author), tostring(e.change_description)) end,
  warning = function(e) return ("warning: %s"):format(tostring(e.message)) end,
}

local function used(self, event)
  local usage = event and type(event.usage) == "table" and event.usage or nil
  if usage and not self.base.calls then return usage end
  local now, made = usage_of(self.run), {}
  for name, value in pairs(now) do made[name] = value - (self.base[name] or 0) end
  return made
end

-- Of the ones that wait here the oldest goes first.
local function make_room(desk, run)
  desk.left = desk.left or {}
  table.insert(desk.left, run)
  if #desk.left <= WAITING then return end
  local oldest = table.remove(desk.left, 1)
  if not oldest.outcome and oldest ~= run and not oldest:park() then oldest:cancel() end
end

-- Nothing is to come of this turn: the run waits for a while, then it is put away, or ended.
local function leave(self)
  local run = self.run
  self.over = true
  if run.outcome then return end
  make_room(self.desk, run)
  run.forget = fiber.detach(function()
    if self.final then fiber.rest() else fiber.sleep(PATIENCE) end
    if not run.outcome and not run:park() then
      if self.final then fiber.sleep(PATIENCE) end
      run:cancel()
    end
  end)
  run.forget:serve()
end

-- It waits for more, where somebody is there to ask: there is none.
local function end_conversation(self)
  local run = self.run
  self.over = true
  if not run.options.interactive or run.outcome then return end
  local reader = run:subscribe { after = self.reader.cursor }
  fiber.detach(function()
    for event in reader:events() do
      if event.type == "input_requested" then run:answer(event.id, "") end
    end
  end):serve()
end

-- A turn that failed has an answer where its provider stopped one: as much as there is, and be it nothing.
local function finished(self, event)
  local row, text = ending.of(event), type(event.content) == "string" and event.content or nil
  local is_some = row.chat and row.state ~= "parked" and (text or row.details == "content_filter")
  if not event.ok and not is_some then
    end_conversation(self)
    return { kind = "failed", ending = row, err = event.error }
  end
  local waits = self.asks and event.ok and row.state == "parked" or nil
  self.usage, self.final = used(self, event), true
  if event.ok and (self.keeps or waits) then leave(self) else end_conversation(self) end
  return { kind = "finished", ending = row, finish = event.finish or "stop", cut = event.cut or event.error, text = text or "", waits = waits and event.turn }
end

local function requested(self, event)
  self.calls[#self.calls + 1] = { id = ("call_%s_%s"):format(self.run.name, event.id), name = event.tool, arguments = event.arguments }
end

local function hand_back(self)
  self.usage = used(self)
  leave(self)
  if self.questions then return { kind = "questions", ending = ending.of { finish = "questions" }, questions = self.questions } end
  self.run.given_out = {}
  for i, one in ipairs(self.calls) do self.run.given_out[i] = one.id:match "c%d+$" end
  return { kind = "calls", ending = ending.of { finish = "tool_calls" }, calls = self.calls }
end

-- Who ended without having said a word: why.
local function ended(self)
  self.over = true
  local _, err = self.run:wait()
  if self.is_left and (not err or err.code == "unsupported") then return { kind = "finished", ending = ending.of {}, finish = "stop", text = "" } end -- "unsupported": nobody answered, as its client wants
  err = err or { code = "internal", message = "the run has ended without an answer" }
  return { kind = "failed", ending = ending.of { error = err }, err = err }
end

local are_questions = { question_asked = true, approval_requested = true }
local accounts = { tool_call = true, tool_requested = true, question_asked = true, approval_requested = true }

-- Which of the calls of the last reply have ended, or wait for the caller: then nothing more is to be gathered.
local function account(self, event)
  if not leads(self, event.op) then return end
  if event.type == "model_reply" then self.expected, self.accounted = event.calls or 0, 0 end
  if accounts[event.type] then self.accounted = self.accounted + 1 end
end

local function gathering(self)
  if not self.questions and #self.calls == 0 then return nil end
  return self.accounted >= self.expected and 0 or GATHER
end

-- A question for whoever is there.
local function put(self, event)
  if not self.asks then return self.run:answer(event.id, "") end
  self.questions = self.questions or {}
  self.questions[#self.questions + 1] = event
end

-- What the run asked before this turn and still waits for: calls that were not given out, questions that were not answered.
local function pick_up(self)
  local left = self.left
  self.left, self.accounted = nil, self.expected
  for _, one in ipairs(left) do
    local is_open = one.answer == nil and not one.declined
    if is_open and one.kind == "call" then requested(self, one)
    elseif is_open and one.prefix then
      put(self, setmetatable({ type = one.prefix == "a" and "approval_requested" or "question_asked" }, { __index = one }))
    end
  end
end

-- A reply with calls, or that the model was asked again after: its text was no answer.
local ends_message = { model_reply = true, model_request = true }

local function set_aside(self)
  if self.aside or self.message == "" then return nil end
  self.aside = true
  return { kind = "aside" }
end

-- More of a message, or the first of another one: that stands behind a blank line where all have to stand in one text.
local function add_text(self, text)
  local gap = self.aside and self.text ~= "" and (self.text:find "\n\n$" and "" or "\n\n") or nil
  if self.aside then self.aside, self.message = nil, "" end
  self.text, self.message = self.text .. (gap or "") .. text, self.message .. text
  return { kind = "text", text = text, gap = gap }
end

-- What one event comes to; nil: nothing that is reported.
local function take(self, event)
  local kind = event.type
  if kind == "turn_finished" then return finished(self, event) end
  if kind == "tool_requested" then return requested(self, event) end
  if kind == "agent_started" then note_agent(self, event) end
  if ends_message[kind] and leads(self, event.op) and (kind == "model_request" or (event.calls or 0) > 0) then return set_aside(self) end
  if are_questions[kind] then put(self, event) end
  return progress[kind] and { kind = "progress", text = line(progress[kind](event)) } or nil
end

local function take_text(self, text)
  local event = json.decode(text)
  account(self, event)
  if self.tap then self.tap(event, leads(self, event.op)) end
  return take(self, event)
end

local function delta_piece(self, delta)
  if not leads(self, delta.op) then return nil end
  if delta.kind == "text" then return delta.text ~= "" and add_text(self, delta.text) or nil end
  return { kind = "reasoning", text = delta.text }
end

--- The next piece; nil when it is over.
---@async
---@return {kind: "text"|"aside"|"reasoning"|"progress"|"calls"|"questions"|"finished"|"failed", text?: string, gap?: string, calls?: table[], ending?: hocket.Ending, finish?: string, waits?: integer, cut?: {code: string, message: string}, err?: hocket.Error}?
function Turn:next()
  if self.left then pick_up(self) end
  while not self.over do
    local text, why, _, delta = self.reader:next(gathering(self))
    local piece
    if delta then piece = delta_piece(self, delta)
    elseif text then piece = take_text(self, text)
    elseif why == "timeout" then return hand_back(self)
    else return ended(self) end
    if piece then return piece end
  end
end

--- What is still to be sent of an answer: all of it, nothing, or what was not streamed: a script's, one that was put right. Counts it as sent.
---@param text string The answer.
---@return {kind: "text", text: string, gap?: string}? piece
function Turn:rest(text)
  if not self.aside and trim.right(text) == trim.right(self.message) then return nil end
  if not self.aside and self.message ~= "" and text:sub(1, #self.message) == self.message then return add_text(self, text:sub(#self.message + 1)) end
  self.aside = self.message ~= "" or nil
  if text == "" then return nil end
  return add_text(self, text)
end

--- Where the answer begins in everything that was streamed, in bytes.
---@return integer
function Turn:answer_from()
  return #self.text - (self.aside and 0 or #self.message)
end

--- All of them, in order; progress where it is asked for.
---@async
---@param with_progress boolean
---@return fun(): table?
function Turn:pieces(with_progress)
  return function()
    while true do
      local piece = self:next()
      if not piece or piece.kind ~= "progress" or with_progress then return piece end
    end
  end
end

--- Something to close when the client is served: a turn that has not come to its end is cancelled.
---@return table
function Turn:bound()
  return setmetatable({}, { __close = function()
    if not self.over then self.run:cancel() end
  end })
end

return turn
