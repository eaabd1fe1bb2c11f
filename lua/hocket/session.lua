--- One agent's conversation, without orchestration: model, then tools side by side, then the model again, until it
--- answers without a call.
---
---     local hocket = require "hocket"
---     local session = hocket.session.new {
---       model = assert(hocket.model.resolve "sim/default"), system = "You are short.", max_turns = 4,
---     }
---     print(session:send("How old are the trees?").text)
---     print(session:send("And the houses?").text, session.turns)
---
--- It does not know patterns, boards or other agents.
local arguments = require("hocket.internal.base.arguments").check
local core = require "hocket.internal.core.llm"
local account = require "hocket.internal.models.account"
local tool_calls = require "hocket.internal.base.lazy" "hocket.internal.session.tool_calls" -- most answers call no tool
local permission = require "hocket.permission"
local lazy = require "hocket.internal.base.lazy"
local context, handles = lazy "hocket.internal.session.context", lazy "hocket.internal.session.handles"
local attachments, media = lazy "hocket.internal.session.attachments", lazy "hocket.internal.base.media"
local final_answer = require "hocket.internal.session.final_answer"
local found = require "hocket.internal.base.lazy" "hocket.internal.session.found"
local text_calls = require "hocket.internal.base.lazy" "hocket.internal.session.text_calls"
local json = require "hocket.json"
local askers = require "hocket.internal.models.asker"
local model_calls = require "hocket.internal.models.calls"
local tool = require "hocket.tool"
local failed = require("hocket.internal.core.system").error

local session = {}

--- What a conversation may take when nobody says otherwise.
local MAX_TURNS, MAX_TOOL_CALLS = 40, 400
--- Answers in a row that a server could not read, and of which the model learns, before another model is asked.
local CORRECTIONS = 2
--- Bytes of a conversation with everything that goes with it that no window is too small for, unless somebody has said how large it is.
local SMALL = 4096

---@class hocket.Session
---@field history hocket.History
---@field package counted boolean Whether its job says what its answers have used.
---@field turns integer
---@field tool_calls integer
---@field package asker? hocket.Asker Once it speaks.
---@field package calls? hocket.Calls Once its model calls tools.
---@field package pending? table What was asked for by upgrade.
---@field package granted? hocket.Request What the budgets allow this turn, where that is less than `request`.
---@field package watch? fun(one: hocket.Tool, args: table, id: string): hocket.WatchedCall Told of each call before it is decided about.
---@field package said? string The last text beside tool calls.
---@field package was_empty? boolean Whether its model has answered with nothing.
---@field package misfit? string Why the calls that the last reply had written as text could not be made.
---@field package was_misfit? boolean Whether its model knows this, and has called nothing since.
---@field package unread? integer Answers in a row that the server could not read.
---@field package roomy number Bytes of its conversation up to which nobody looks whether it fits into the window.
---@field package only_reads? boolean Whether it has no tools but those for what is kept of its conversation.
---@field package shown? integer Bytes of a tool's result that are shown whole.
---@field package shown_next? table[] What tools have returned that is no text, until their turn is over.
---@field package made? table[] What the model has made, for the answer under way.
---@field package heard? boolean Whether something was said to it when it had its answer.
---@field package sources? table[] Where what the provider's own tools found is, for the answer under way.
---@field package choice? string What its model has to call, until it has called something.
---@field package listener? {hear: fun(self: table): string?} Has what is said to it meanwhile.
---@field package declared? hocket.Tool[]|false Tools that its requests name beside its own, as they were another session's.
---@field package closing? boolean Whether it has done with its tools, and the format of the answer is asked for.
local Session = {}
Session.__index = Session

local nothing = {}

local request_fields = {
  "temperature", "top_p", "top_k", "max_tokens", "seed", "reasoning", "schema", "schema_name",
  "tool_choice", "body", "server_tools", "warm_cache", "connect_timeout", "first_timeout", "idle_timeout", "timeout", "retries", "max_wait",
}

local function build_request(spec, tools)
  local request = { system = spec.system or "", stream = spec.stream ~= false }
  for _, field in ipairs(request_fields) do request[field] = spec[field] end
  request.server_tools = request.server_tools or nil
  if request.reasoning ~= nil then request.reasoning = tostring(request.reasoning) end
  if #tools > 0 then request.tools = tool.declare(tools) end
  if spec.stop and #spec.stop > 0 then request.stop = json.encode(json.array(spec.stop)) end
  return request
end

--- What all turns of a session send alike, when it has these tools: for `request` of sessions that are alike.
---@param spec table As for session.new.
---@param tools hocket.Tool[]
---@return hocket.Request
---@internal
function session.request(spec, tools)
  local request = askers.prepare(build_request(spec, tools), spec.on_delta)
  local sent = request.spec
  request.roomy = spec.context and spec.context.window and 0 or SMALL - #(sent.system or "") - #(sent.tools or "")
  return request
end

local function nobody() end

---@class hocket.SessionSpec
---@field model hocket.Model
---@field system? string
---@field tools? hocket.Tool[]
---@field permissions? hocket.Permissions Decides about every tool call; without it the model may call all tools.
---@field max_turns? integer
---@field max_tool_calls? integer
---@field parallel? integer The most tool calls at once.
---@field history? hocket.History The conversation to continue.
---@field stream? boolean
---@field on_delta? function As for llm.call.
---@field context? table Passed to tools as `ctx`.
---@field emit? fun(type: string, payload: table) Receives every model request and reply, tool call, text and reasoning.
---@field package tell? userdata A journal's writer, which requests, replies and calls go to.
---@field package request? table What session.request made of these very fields before.
---@field before_turn? fun(session: hocket.Session): string? Returns news to insert before the next prompt, or between two turns, as the user's words.
---@field before_answer? fun(reply: hocket.Reply): string? Returns what the model should read before its answer counts.
---@field package read_reasoning? fun(reply: hocket.Reply): boolean Makes the reasoning of a reply without text its text, where that is the value that was asked for.
---@field package formatted? boolean Whether the text of an answer has to fit a schema, also where the request has none.
---@field on_call? fun(call: userdata, i: integer) Called when the i-th call of a reply begins.
---@field choose? fun(): string? Forces the next call: a tool's name, or "required"; nil: no force.
---@field stop_when? fun(): boolean Called after the calls of each turn: true ends the session there, and the reply with the calls is its answer. The last turn then has its tools.

--- Makes a session. It keeps `spec`, and reads parts of it at its first turn.
---@param spec hocket.SessionSpec
---@return hocket.Session
function session.new(spec)
  arguments("session.new", 1, "table", spec)
  return session.of {
    model = spec.model, history = spec.history or core.history(), spec = spec, emit = spec.emit or nobody, tell = spec.tell or spec.emit or false,
    permissions = spec.permissions, tools = spec.tools or nothing, request = spec.request, context = spec.context, on_call = spec.on_call, turns = 0, tool_calls = 0,
  }
end

--- The same of what a session has of its own, and a spec that others have as well: it is not changed. The table becomes
--- the session.
---@param own {model: hocket.Model, history: hocket.History, spec: table, emit: function, tell: userdata|function|false, listener?: table, permissions?: hocket.Permissions, tools: hocket.Tool[], request?: hocket.Request, context?: table, on_call?: function, max_turns?: integer}
---@return hocket.Session
---@internal
function session.of(own)
  return setmetatable(own, Session)
end

-- Whether any conversation here has handles: most programs have none.
local any_handles = false

-- A session that waits, as most characters of a game do, is its conversation and little more: the rest is made when
-- it first speaks.
local function wake_up(self)
  if not self.permissions and #self.tools > 0 then self.permissions = permission.new("this agent", self.tools) end
  if self.permissions then self.tools = self.permissions.tools end
  self.request = self.request or session.request(self.spec, self.tools)
  self.asker = askers.new(self.emit)
  self.roomy = self.request.roomy
  if any_handles and handles.known(self.history) then self:give_handles() end
end

-- ---- The model ------------------------------------------------------------------------

-- After a call that failed: the same, where that was because the conversation was too long, and could be made shorter.
local function ask_shorter(self, err, goes_on)
  local attempt, call = 1, nil
  while not call and context.recover(self, err, attempt) do
    local why, refused = final_answer.grant(self, not goes_on)
    if why == nil then return nil, refused end
    call, err = model_calls.ask(self.asker, self.model, self.history)
    attempt = attempt + 1
  end
  return call, err
end

-- A reply whose text is nothing but calls has them as its calls, or makes them a misfit. What was held back of it is reported.
local function read_text(self, call)
  local n, has_name = call:read_text()
  local are_calls, misfit = false, nil
  if n then
    are_calls, misfit = text_calls.read(self, call, n)
  elseif has_name then
    misfit = text_calls.torn(self, call)
    are_calls = misfit ~= nil
  end
  if misfit or self.misfit then self.misfit = misfit end
  if self.asker.held then self.asker.held:settle(are_calls) end
end

-- One turn of the model (`goes_on`: whether others may follow; nil: it is the last answer): the call that has the reply, which is in the history and told of; how many tools it
-- calls, how it finished, and its text where there is one.
local function ask(self, request, goes_on)
  local asker, model = self.asker, self.model
  self.turns = self.turns + 1
  self.history:tell(self.tell, model.id, model.simulated, self.turns)
  asker.request, asker.goes_on, asker.malformed = request, goes_on, goes_on ~= nil and ((self.unread or 0) < CORRECTIONS and "correct" or "replace")
  asker.held = request.on_delta and self.tools[1] and text_calls.hold(request.on_delta)
  local call, err = model_calls.ask(asker, model, self.history)
  if not call then
    call, err = ask_shorter(self, err, goes_on)
    if not call and attachments.refused(self, err) then call, err = model_calls.ask(asker, model, self.history) end
    if not call then return nil, err end
  end
  if self.unread then self.unread = nil end
  if asker.answered_by.id ~= model.id then self.roomy = 0 end
  model = asker.answered_by
  self.model = model -- whoever has stepped in stays: the provider's cache begins there
  if self.tools[1] then read_text(self, call) elseif self.misfit then self.misfit = nil end
  local calls, finish, text, more, reasoning = call:accept(self.tell, model.id, asker.attempts)
  if not calls then return nil, finish end
  if reasoning then self.emit("reasoning", { content = reasoning }) end
  if more then found.take(self, call) end
  return call, calls, finish, text
end

-- ---- The calls of one turn --------------------------------------------------------------------

-- Why the calls of a turn are not to be made, if they are not.
local function tools_used_up(self, n)
  local max = self.spec.max_tool_calls or MAX_TOOL_CALLS
  self.tool_calls = self.tool_calls + n
  if self.tool_calls > max then
    return { reason = "budget", code = "budget", own = true, message = ("stopped after %d tool calls (max_tool_calls)"):format(max) }
  end
  local allowed, why = account.tools(self.asker.run, self.asker.account, n)
  return allowed < n and why or nil
end

--- Counts tool calls that a script makes; why they are not to be made, if they are not.
---@param n integer
---@return hocket.Cut?
---@internal
function Session:use_up(n)
  return tools_used_up(self, n)
end

-- The arguments of what was broken off may be cut where they still read well.
local broken_off = {
  length = "error: not run: the answer was cut by the token limit. Use fewer or shorter calls.",
  content_filter = "error: not run: the provider's content filter stopped the answer.",
}

local function take_calls(self, call, calls, finish)
  if broken_off[finish] then
    self.tool_calls = self.tool_calls + calls
    call:refuse(broken_off[finish])
    return true
  end
  local why = tools_used_up(self, calls)
  if why then
    call:refuse "error: not run: the limit of tool calls is reached"
    return false, why
  end
  self.calls = self.calls or tool_calls.new(self)
  return tool_calls.run(self, call, calls)
end

-- ---- The loop ---------------------------------------------------------------------------------

-- An answer that ended, and is not a whole one: it says so, as one does that a budget has cut.
local function mark(self, reply, reason, code, message)
  self.emit("warning", { message = message })
  reply.finish, reply.cut = reason, { reason = reason, code = code, message = message }
  return "done"
end

local function take_nothing(self, reply)
  if self.made then return "done" end -- a picture is an answer
  local read_reasoning = self.spec.read_reasoning
  if read_reasoning and read_reasoning(reply) then return "done" end
  if self.was_empty then
    local limit = reply.finish == "length" and " (the token limit, max_tokens, had cut it before it began)" or ""
    return nil, failed { code = "model", message = "the model answered with nothing, twice" .. limit }
  end
  self.was_empty = true
  self.history:user "Your answer was empty. Answer, or call a tool."
  return "again"
end

-- A reply without calls: an answer, or nothing.
local function take_answer(self, reply)
  if reply.paused then -- the conversation as it is lets it go on
    if reply.text ~= "" then self.emit("message", { content = reply.text }) end
    return "again"
  elseif reply.finish == "content_filter" then
    local partial = reply.text:find "%S" and reply.text or nil
    return nil, failed { code = "provider", finish = "content_filter", message = "the provider's content filter stopped the answer", partial = partial }
  elseif reply.refusal then
    if not reply.text:find "%S" then reply.text = reply.refusal end
    return mark(self, reply, "refusal", "provider", "the model refused to answer")
  elseif not reply.text:find "%S" then
    return take_nothing(self, reply)
  elseif reply.finish == "length" then
    return mark(self, reply, "length", "limit", "the answer was cut by the token limit (max_tokens)")
  end
  return "done"
end

-- Between two turns every call has its result, so that a message of the user may stand here.
local function add_user_message(self, news)
  if self.shown_next then return attachments.show(self, news) end
  if not news then return true end
  return self.history:user(news)
end

local function hear(self)
  local listener = self.listener
  return listener and listener:hear()
end

local function news_for(self)
  local hook = self.spec.before_turn
  local news, said = hook and hook(self), hear(self)
  return said and (news and ("%s\n\n%s"):format(news, said) or said) or news
end

-- After an answer: whether it stands, or what makes the model go on.
local function goes_on(self, reply)
  local hook, said = self.spec.before_answer, hear(self)
  local more = said or hook and hook(reply)
  if not more then return false end
  self.heard = said and true or nil
  self.emit("message", { content = reply.text })
  return add_user_message(self, more)
end

local function open_turn(self, text, list)
  local hook = self.spec.before_turn
  local news, said = hook and hook(self), hear(self)
  text = news and ("%s\n\n%s"):format(news, text) or text
  text = said and ("%s\n\n%s"):format(text, said) or text
  if list and #list > 0 then return attachments.say(self, text, list) end
  return self.history:user(text)
end

-- What was asked for by upgrade: every call has its result here, and no answer is under way.
local function change_over(self)
  local changes = self.pending
  local entry = changes.permissions or self.permissions or permission.new("this agent", self.tools)
  local spec = setmetatable(changes, { __index = self.spec })
  self.pending, self.spec = nil, spec
  self.model, self.tools, self.permissions = rawget(changes, "model") or self.model, entry.tools, entry
  self.request = session.request(spec, entry.tools)
  self.granted, self.roomy, self.shown = nil, 0, nil
end

-- Whether the format of the answer was not asked for so far, because the model has tools.
local function is_unformatted(self)
  return not self.closing and self.spec.schema and #self.tools > 0 and self.model.format_last
end

-- It has done with its tools: from here on the format is asked for, and no tool can be called. An answer that is of that
-- form already stands.
local function close(self, reply, more)
  if more or reply.cut or reply.value ~= nil or json.decode(reply.text) ~= nil then return more end
  self.emit("message", { content = reply.text })
  return add_user_message(self, "Now give your answer again in the form that is asked for: JSON, and nothing else.")
end

-- A reply without calls: it stands, or the model goes on.
local function answer(self, reply)
  local state, wrong = take_answer(self, reply)
  if not state then return nil, wrong elseif state ~= "done" then return false end
  local more, err = goes_on(self, reply)
  if more ~= nil and is_unformatted(self) then
    more, err = close(self, reply, more)
    self.closing = more and true or false
  end
  if more == nil then return nil, err end
  return not more and reply
end

local choices = { auto = true, none = true }

-- A caller may withhold the chosen tool, or all of them: servers refuse a choice that is not among the tools.
local function is_missing(self, choice, request)
  if choice == "required" then return not request.spec.tools end
  return not choices[choice] and not self:tool_named(choice)
end

-- What the next turn is asked with.
local function request_now(self)
  local request = self.granted or self.request
  local choice = self.closing and "none" or self.choice or self.spec.choose and self.spec.choose()
  if choice and is_missing(self, choice, request) then choice = nil end
  if choice and self.model.choice_of then choice = self.model.choice_of(choice) end
  return choice and askers.choosing(request, choice) or request
end

local function out_of_turns(max)
  return ("no answer after %d turn%s (max_turns)"):format(max, max == 1 and "" or "s")
end

-- The calls of a turn. Returns as take_turn does.
local function go_through(self, call, calls, finish, text)
  if text then
    self.said = text
    self.emit("message", { content = text })
  end
  if self.choice then self.choice = nil end
  if self.was_misfit then self.was_misfit = nil end
  local went, stopped = take_calls(self, call, calls, finish)
  if went == nil then return nil, stopped end
  local stop_when, ends_when = self.spec.stop_when, self.spec.ends_when
  if stop_when and stop_when() or ends_when and ends_when() then return model_calls.reply(self.asker, call) end
  call:release()
  if not went then return final_answer.last_turn(self, ask, stopped) end
  local ok, err = add_user_message(self, news_for(self))
  if not ok then return nil, err end
  return false
end

-- A turn without a reply: the model learns of an answer that the server could not read. Returns as take_turn does.
local function correct(self, err)
  if err.code ~= "model" or self.asker.malformed ~= "correct" or err.gave_up == "output" then return nil, err end
  self.unread = (self.unread or 0) + 1
  self.emit("warning", { message = "an answer could not be read, which its model is told: " .. err.message }, true)
  local told, wrong = self.history:user(("Your last answer could not be read: %s\nAnswer again%s."):format(err.message,
    #self.tools > 0 and ", in plain text, or by a call of one of your tools" or ""))
  return not told and nil, wrong
end

-- A turn that was nothing but calls as text, of which one cannot be made: it is no answer. Returns as take_turn does.
local function reject(self, call)
  local why = self.misfit
  call:release()
  if self.was_misfit then
    return nil, failed { code = "model", message = "the model wrote tool calls as text that cannot be made, also when it was told so: " .. why }
  end
  self.was_misfit = true
  self.emit("warning", { message = "a tool call was written as text and cannot be made, which the model is told: " .. why }, true)
  local told, wrong = self.history:user(text_calls.advice(self, why))
  return not told and nil, wrong
end

-- One turn. Returns the answer; or false when it goes on; or nil and an error.
local function take_turn(self, left, max)
  if self.pending then change_over(self) end
  local due = self.asker.fresh and context.is_due(self)
  self.asker.fresh = false
  if due or self.history:size() > self.roomy then
    local fits, too_long = context.fit(self)
    if not fits then return nil, too_long end
  end
  if left == 1 and max > 1 and #self.tools > 0 and not self.spec.stop_when and not self.closing then
    return final_answer.last_turn(self, ask, { reason = "turns", code = "budget", own = true, message = out_of_turns(max) })
  end
  local stops = self.spec.stop_when and true or false -- then any turn may be the last, and no answer follows to keep something back for
  local why, refused = final_answer.grant(self, stops)
  if why then return final_answer.finish(self, ask, why) elseif why == nil then return final_answer.cut_off(self, refused) end
  local call, calls, finish, text = ask(self, request_now(self), not stops)
  if not call then return correct(self, calls) end
  if self.misfit then return reject(self, call) end
  if calls == 0 then return answer(self, model_calls.reply(self.asker, call, self.counted)) end
  return go_through(self, call, calls, finish, text)
end

--- Sends a message and continues until the model answers. If a budget, a limit or a loop ends it earlier, the model gives one last
--- answer without tools; reply.finish is then "budget", "turns", "loop" or "stopped", and reply.cut has the reason. For an incomplete
--- answer of the model, reply.finish is "length" or "refusal".
---@async
---@param text hocket.Input
---@param list? hocket.Media[] Attachments.
---@return hocket.Reply?
---@return hocket.Error?
function Session:send(text, list)
  local again = self.asker
  if again then again:here() else wake_up(self) end
  if type(text) ~= "string" then
    text, list = media.split(text)
    if not text then error("bad argument #1 to 'send' (" .. list .. ")", 2) end
  end
  self.shown_next = nil
  local ok, err = open_turn(self, text, list)
  if not ok then return nil, err end
  if again then self.was_empty, self.was_misfit, self.said, self.closing, self.sources, self.made, self.choice = nil, nil, nil, nil, nil, nil, nil end
  local choice = self.spec.first_choice
  if choice then self.choice = choice end
  local max = self.max_turns or self.spec.max_turns or MAX_TURNS
  local left = max
  while left >= 1 do
    local reply, failed = take_turn(self, left, max)
    if reply then reply.sources, reply.made = self.sources, self.made end
    if reply ~= false then return reply, failed end
    if self.heard then self.heard = nil else left = left - 1 end -- it had answered, and then received more: that turn does not count
  end
  return final_answer.cut_off(self, { code = "budget", finish = "turns", own = true, message = out_of_turns(max) })
end

--- The next message is another job's, whose events `tell` writes: it counts its turns and its calls anew.
---@param tell userdata
---@internal
function Session:renew(tell)
  self.tell, self.turns, self.tool_calls, self.calls = tell, 0, 0, nil
  if self.permissions then self.permissions.calls = false end
end

--- The number of bytes of a tool's result that the model is shown completely.
---@return integer
function Session:result_room()
  self.shown = self.shown or context.result_bytes(self)
  return self.shown
end

--- Adds a tool, from the next turn on.
---@param one hocket.Tool
function Session:give(one)
  if not self.permissions then self.permissions = permission.new("this agent", self.tools) end
  self.permissions:add(one)
  self.tools = self.permissions.tools
  self.request = session.request(self.spec, self.tools)
end

--- The tool that it has by a name.
---@param name string
---@return hocket.Tool?
---@internal
function Session:tool_named(name)
  return self.permissions and self.permissions.by_name[name]
end

--- Puts tools into the place of others, from the next turn on.
---@param gone table<string, string> Names of tools that it has no more, and why.
---@param list hocket.Tool[] Those of a name that it has stand where that stood.
---@internal
function Session:exchange(gone, list)
  self.permissions:exchange(gone, list)
  self.tools = self.permissions.tools
  self.request, self.granted, self.roomy = session.request(self.spec, self.tools), nil, 0
end

--- Gives it the tools for texts that are kept for its conversation, and not shown whole.
---@internal
function Session:give_handles()
  local store = handles.known(self.history)
  if not store then return end
  any_handles = true
  self.only_reads = #self.tools == 0
  self.permissions = self.permissions or permission.new("this agent", self.tools)
  if self.permissions.by_name.read_result then return end
  for _, one in ipairs(require("hocket.internal.session.long_results").tools(store, context.result_bytes(self) * 3 // 4)) do self.permissions:add(one) end
  self.tools, self.granted = self.permissions.tools, nil
  self.request = session.request(self.spec, self.tools)
end

--- Makes what a first turn would make: for calls of tools that come before one.
---@internal
function Session:wake()
  if self.asker then self.asker:here() else wake_up(self) end
end

--- Shortens the conversation, as happens when the model's window is nearly full: a summary replaces old results and turns, which the
--- model can still read.
---@async
function Session:compact()
  self:wake()
  context.compact(self)
end

--- Changes the session from its next turn on; an answer or tool call in progress ends with the former settings, and the conversation
--- continues. Missing fields stay. Two calls before that turn both apply.
---@param changes {model?: hocket.Model, system?: string, tools?: hocket.Tool[], permissions?: hocket.Permissions, temperature?: number, max_tokens?: integer}
function Session:upgrade(changes)
  if type(changes) ~= "table" then error(("bad argument #1 to 'upgrade' (table expected, got %s)"):format(type(changes)), 2) end
  self.pending = self.pending or {}
  for field, value in pairs(changes) do self.pending[field] = value end
  if changes.tools and not changes.permissions then self.pending.permissions = permission.new("this agent", changes.tools) end
end

return session
