--- The tool calls of one turn: each passes the permission check, runs, is reported and has its result, whatever
--- happens. Side by side, where there are several.
local caught = require "hocket.internal.base.caught"
local effects = require "hocket.internal.base.effects"
local fence = require "hocket.fence"
local fiber = require "hocket.internal.core.fiber"
local flow = require "hocket.flow"
local json = require "hocket.json"
local labels = require "hocket.internal.base.labels"
local lazy = require "hocket.internal.base.lazy"
local system = require "hocket.internal.core.system"
local truncate = require "hocket.internal.base.truncate"

local permission, loop_detector = require "hocket.permission", lazy "hocket.internal.session.loop_detector"
local tool_effect, tool_hooks = lazy "hocket.internal.session.tool_effect", lazy "hocket.internal.session.tool_hooks"
local handles = lazy "hocket.internal.session.handles"
local attachments, media = lazy "hocket.internal.session.attachments", lazy "hocket.internal.base.media"
local long_results, call_order = lazy "hocket.internal.session.long_results", lazy "hocket.internal.session.call_order"

local tool_calls = {}

--- Calls of one turn that run at once where an agent's key `parallel` says nothing; the others wait.
local PARALLEL = 16

--- What all calls of a session have in common. Only a session whose model calls tools has it.
---@class hocket.Calls
---@field loop_detector hocket.LoopDetector
---@field marks table<hocket.Tool, function>
---@field context table A metatable: what tools receive beside their own.

--- A call that somebody looks on at: the run's `watch_calls(tool, args, agent, op)` makes one when it has checked arguments. In a run that is
--- kept `begins` is part of the call's effect, and does not come in a replay; the others do, and wait for nothing.
---@class hocket.WatchedCall
---@field begins fun(self, args: table) The tool is about to be run; may wait.
---@field ended fun(self, text: string, is_error: boolean?) Its result, also where it was not allowed; not where it was cancelled.

---@param self hocket.Session
---@return hocket.Calls
function tool_calls.new(self)
  self.permissions = self.permissions or permission.new("this agent", {})
  local shared = self.context or {}
  local function index(context, key)
    if key == "effect_id" and rawget(context, "unlogged") then -- few tools ask for it
      context.effect_id = system.token(32)
      return context.effect_id
    end
    return shared[key]
  end
  return { loop_detector = loop_detector.new(self.emit), marks = {}, context = { __index = index } }
end

-- ---- What is called ---------------------------------------------------------------------------

local function message_of(err)
  return caught.error(err).message
end

local wrong_arguments = {
  json = "the arguments are not valid JSON: %s. Call again with one JSON object.",
  object = "the arguments have to be one JSON object, as in {\"name\": \"value\"}. Call again.",
  fit = "%s\nCall again with arguments that fit.",
}

-- The arguments as one of the tool's own functions puts them right; nil and what to tell the model.
local function put_right(self, one, fn, args)
  local prepared, value = pcall(fn, args, self.context)
  if not prepared then
    local why = message_of(value)
    if type(value) == "table" and value.code == "denied" then self.emit("tool_denied", { tool = one.name, reason = why }) end
    return nil, ("the arguments cannot be used: %s"):format(why)
  end
  local ok, why = one.check(value)
  if not ok then return nil, wrong_arguments.fit:format(why) end
  return value
end

--- The tool and its checked arguments, or nil and what to tell the model.
---@param self hocket.Session
---@param call hocket.Call
---@param i integer
---@return hocket.Tool?
---@return table|string
function tool_calls.prepare(self, call, i)
  local name = call:name(i)
  local one, denied = self.permissions:tool(name)
  if not one then
    self.emit("tool_denied", { tool = truncate(name, 100), reason = denied })
    return nil, denied
  end
  local fn = one.prepare
  local args, wrong, details = call:arguments(i, not fn and one.schema or nil)
  if wrong == "fit" and one.repair then fn, args = one.repair, call:arguments(i) end
  if not args then return nil, wrong_arguments[wrong]:format(details) end
  if fn then
    args, wrong = put_right(self, one, fn, args)
    if not args then return nil, wrong end
  end
  return one, args
end

--- What a tool returned, as a model reads it.
---@param value any
---@return string
function tool_calls.text_of(value)
  if type(value) == "string" then return value end
  if type(value) == "table" then return json.encode(value) end
  return tostring(value)
end

--- Bytes of a result that is shown whole, however small the window is.
local SURELY_SHOWN = 512

-- Long results are kept, and from the first one on the model has tools to read them with.
local function shown(self, text)
  if #text <= SURELY_SHOWN then return text end
  local room = self:result_room()
  if #text <= room then return text end
  local part = long_results.show(handles.of(self.history), text, room, self.permissions.labels.bits)
  self:give_handles()
  return part
end

-- A tool's outcome as text: its value, or nil and an error; and what it has to show beside that.
local function outcome(value, err)
  if type(value) == "table" and media.is_in(value) then
    local text, list = media.split(value)
    if not text then error(list, 0) end
    return text, false, list
  end
  if value ~= nil then return tool_calls.text_of(value), false end
  if err == nil then return "done", false end
  return "error: " .. message_of(err), true
end

-- Says for a tool where the text of its results comes from.
local function mark_of(self, one)
  local marks = self.calls.marks
  local mark = marks[one]
  if not mark then
    mark = function(label) self.permissions:label(label, one.name, self.emit) end
    marks[one] = mark
  end
  return mark
end

-- Says for a tool whether a call may go on somewhere else, and knows what the conversation has read.
local function go_on_of(self, one)
  return function(args, same) return self.permissions:may_go_on(one, args, same) end
end

-- Where a run is kept, the call of a tool is an effect, but for the ones that only ask others, or the run itself. Where its text
-- comes from is said when the text is there.
local function invoke(self, one, args, context)
  if not one.steps then
    if effects.logged() then return tool_effect.run(self, one, args, context) end
    context.unlogged = true
  end
  if context.onlooker then context.onlooker:begins(args) end
  return one.run(args, context)
end

-- What a call gives to ctx.keep is for a run that is kept (tool_effect.lua).
local function ignore() end

-- Runs a tool's function. What it raises goes to the model, and is a warning; a cancel goes on.
local function run_unwatched(self, one, args, id, watched, more)
  local context = setmetatable({ call_id = id, session = self, onlooker = watched or false, mark = mark_of(self, one), keep = ignore,
    may_go_on = one.sends_to and go_on_of(self, one) }, self.calls.context)
  if more then more(context) end
  local ok, value, err, list
  if one.timeout then
    ok, value, err = pcall(flow.timeout, one.timeout, function() return invoke(self, one, args, context) end)
  else
    ok, value, err = pcall(invoke, self, one, args, context)
  end
  if ok and type(value) ~= "string" then ok, value, err, list = pcall(outcome, value, err) else err = false end
  if fiber.cancelled() then error(ok and { code = "cancelled", message = "cancelled" } or value, 0) end
  if ok then return value, err, list end
  self.emit("warning", { message = ("tool '%s' raised: %s"):format(one.name, message_of(value)) })
  return ("error: the tool failed: %s"):format(message_of(value)), true
end

-- Notes in `marks` which labels a call's result has, too.
local function note_labels(context, marks)
  local mark = context.mark
  context.mark = function(label)
    marks.bits = marks.bits | (math.type(label) == "integer" and label or labels.bit(label))
    mark(label)
  end
end

-- The same where a plan's findings are made, or used: notes which labels this result has, and how much of it the tool itself has read.
local function run_noted(self, one, args, id, watched)
  return function(marks)
    local made
    local text, is_error, list = run_unwatched(self, one, args, id, watched, marks and function(context)
      note_labels(context, marks)
      made = context
    end)
    if made then marks.bare = made.bare end
    return text, is_error, list
  end
end

local function run_tool(self, one, args, id)
  local watched, found = self.watched and self.watched[id], one.source and self.findings
  local text, is_error, list, note
  if found then
    text, is_error, list, note = found:call(self, one, args, run_noted(self, one, args, id, watched))
  else
    text, is_error, list = run_unwatched(self, one, args, id, watched)
  end
  if watched then
    self.watched[id] = nil
    watched:ended(text, is_error)
  end
  return text, is_error, list, note
end

--- Makes a call that reads, for hocket: its tool takes no note of it, and no event tells of it.
---@async
---@param self hocket.Session
---@param one hocket.Tool
---@param args table
---@param marks {bits: integer} Takes the labels of its result.
---@return string text
---@return boolean? is_error
function tool_calls.look(self, one, args, marks)
  self.calls = self.calls or tool_calls.new(self)
  return run_unwatched(self, one, args, "look", false, function(context)
    context.looks = true
    note_labels(context, marks)
  end)
end

-- Whoever looks on learns of a call before it is decided about.
local function watch(self, one, args, id)
  self.watched = self.watched or {}
  self.watched[id] = self.watch(one, args, id)
  return self.watched[id]
end

-- Guards of the agent's input may stop it: nothing is done before they have decided.
local function await_guards(self)
  local context, step = fiber.context(), self.listener
  if step and step.await_guards and not context.in_guard then step:await_guards() end
end

-- Its result, with who changed its arguments.
local function noted(call, text, changed, said)
  if changed then return ("The user changed the arguments: %s\n%s"):format(json.encode(changed), text) end
  return call.whole and text or tool_hooks.note(said, text)
end

-- A hook's answer stands for the result, and nothing is run.
local function answered(self, call, i, said)
  local text, watched = said.answer, self.watched and self.watched[call:id(i)]
  if watched then
    self.watched[call:id(i)] = nil
    watched:ended(text)
  end
  return text
end

---@class hocket.TurnCall A call that is decided about. `args` are what it is going to be made with: whatever is asked about it and told of it
---goes by them, and whoever changes them does so by `settle`.
---@field one? hocket.Tool
---@field args table|string Without a tool: what is wrong with the call.
---@field said? hocket.HookDecision
---@field refused? string By a hook.
---@field changed? table A person's arguments.
---@field watched? hocket.WatchedCall
---@field hooks? table The run's, when it was admitted.
---@field wrong? string What was wrong with it, where it could not be made.

local function settle(call, i, it, args)
  it.args = args
  call:change(i, next(args) == nil and "{}" or json.encode(args))
end

-- The run, where anybody has a say in a call before its turn comes.
local function gate_of(self)
  local run = self.asker and self.asker.run
  return run and (run.gated or run.hooks) and run
end

-- Guards of the agent's input, then hooks: from here on nobody but a person changes its arguments.
local function admit(self, call, i, it, run)
  if not it.one then return end
  if run.gated then await_guards(self) end
  local hooks = run.hooks
  if not hooks then return end
  it.hooks = hooks
  it.said, it.refused = tool_hooks.before(self, hooks, it.one, it.args)
  if it.said and it.said.arguments then settle(call, i, it, it.said.arguments) end
end

-- Whether rules and people let it pass; else the refusal, in words for the model.
local function decide(self, call, i, it, order)
  if it.refused then return false, it.refused end
  if it.said and it.said.answer ~= nil then return true end
  local allowed, denied, changed = self.permissions:check(it.one, it.args, self.emit, call:as_text())
  if not allowed or not changed then return allowed, denied end
  settle(call, i, it, changed)
  it.changed = changed
  if order then order:renew(i) end
  local refused = it.hooks and tool_hooks.again(self, it.hooks, it.one, it.args)
  return not refused, refused
end

local function refuse(self, call, i, it, why)
  if it.watched then it.watched:ended(why, true) end
  call:tell(i, self.tell, "error: " .. why, true)
  call:result(i, "error: " .. why, true)
end

-- What the model, or the script, gets of a result.
local function give_result(self, call, i, text, is_error, note, context)
  if not call.whole then text = shown(self, text) end
  if note then text = text .. note end
  if context and not call.whole then text = text .. "\n" .. context end
  call:result(i, text, is_error)
end

-- Makes a call that is allowed.
local function make(self, call, i, it)
  local one, said, hooks = it.one, it.said, it.hooks
  if self.on_call then self.on_call(call, i) end
  if not one.quiet then call:begins(i, self.tell) end
  local text, is_error, list, note, context
  if said and said.answer ~= nil then
    text = answered(self, call, i, said)
  else
    text, is_error, list, note = run_tool(self, one, it.args, call:id(i))
  end
  if hooks then text, is_error, context = tool_hooks.after(self, hooks, one, it.args, text, is_error, said) end
  if one.fence and not call.whole then text = fence.result(one.fence, text, is_error) end
  if list and #list > 0 then text = attachments.take(self, one.name, text, list) end
  if it.changed or said then text = noted(call, text, it.changed, said) end
  self.permissions:took_result(one, self.emit)
  if not one.quiet then call:tell(i, self.tell, text, is_error) end
  give_result(self, call, i, text, is_error, note, context)
end

-- Decides about a call that was admitted, and makes it, so that it has its result. `wrong`: it could not be made.
local function execute(self, call, i, it, order)
  if not it.one then
    call:tell(i, self.tell, it.args, true)
    call:result(i, "error: " .. it.args, true)
    it.wrong = it.args
    return
  end
  if self.watch then it.watched = watch(self, it.one, it.args, call:id(i)) end
  local allowed, denied = decide(self, call, i, it, order)
  if not allowed then return refuse(self, call, i, it, denied) end
  if order then order:begin(i) end
  return make(self, call, i, it)
end

-- A call by itself. Returns what was wrong with it.
local function execute_one(self, call)
  local one, args = tool_calls.prepare(self, call, 1)
  local it, gate = { one = one, args = args }, gate_of(self)
  if gate then admit(self, call, 1, it, gate) end
  execute(self, call, 1, it)
  return it.wrong
end

-- ---- A call of a script's ---------------------------------------------------------------------------

-- As a call of the model's turn, for everything that looks at one; its result is the script's, whole.
local ScriptCall = { whole = true }
ScriptCall.__index = ScriptCall

function ScriptCall:name() return self.tool end
function ScriptCall:id() return self.number end
function ScriptCall:as_text() return false end
function ScriptCall:preview() return self.tool end
function ScriptCall:result(_, text, is_error) self.text, self.is_error = text, is_error end

function ScriptCall:change(_, text) self.args = json.decode(text) end

function ScriptCall:arguments(_, schema)
  local ok, why = true, nil
  if schema then ok, why = schema:check(self.args) end
  if not ok then return nil, "fit", why end
  return self.args
end

function ScriptCall:begins()
  self.emit("tool_started", { tool = self.tool, arguments = truncate(json.encode(self.args), 500), by = "lua" })
end

function ScriptCall:tell(_, _, text, is_error)
  self.emit("tool_call", { tool = self.tool, arguments = truncate(json.encode(self.args), 500), result = truncate(text, 500), error = is_error or nil, phase = "complete", by = "lua" })
end

--- Makes a call that is none of the model's turn, by the same checks: what it comes to, for a script.
---@async
---@param self hocket.Session
---@param name string
---@param args table
---@param number string An id.
---@return string text
---@return boolean is_error
function tool_calls.of_script(self, name, args, number)
  local why = self:use_up(1)
  if why then return "error: not run: " .. why.message, true end
  self.calls = self.calls or tool_calls.new(self) -- its model may have called nothing
  local call = setmetatable({ tool = name, args = args, number = number, emit = self.emit }, ScriptCall)
  execute_one(self, call)
  return call.text, call.is_error
end

-- ---- The calls of one turn --------------------------------------------------------------------

-- Side by side, but for the ones that touch the same thing. What hooks make of them is known by then.
local function run_together(self, call, calls)
  local prepared, wrong, limit = {}, nil, { limit = self.spec.parallel or PARALLEL }
  for i = 1, calls do
    local one, args = tool_calls.prepare(self, call, i)
    prepared[i] = { one = one, args = args }
  end
  local gate = gate_of(self)
  if gate then flow.map(prepared, function(it, i) admit(self, call, i, it, gate) end, limit) end
  local order = call_order.new(prepared)
  flow.map(prepared, function(it, i)
    local ended <close> = order and setmetatable({}, { __close = function() order:finish(i) end })
    if order then order:wait(i) end
    execute(self, call, i, it, order)
  end, limit)
  for _, it in ipairs(prepared) do wrong = it.wrong or wrong end
  return wrong
end

--- Makes the calls of one turn. Returns true; or false and why the next turn has to be the last; or nil and an error.
---@param self hocket.Session
---@param call hocket.Call
---@param calls integer How many there are.
---@return boolean? went
---@return hocket.Cut|hocket.Error|nil
function tool_calls.run(self, call, calls)
  local results <close> = call -- every call gets its result, also when this fiber is cancelled in between
  local wrong
  if calls == 1 then
    wrong = execute_one(self, call)
  else
    wrong = run_together(self, call, calls)
  end
  local seen = self.calls.loop_detector
  local mistaken = seen:mistakes(wrong)
  if mistaken then return nil, mistaken end
  local looping = seen:loops(call, calls)
  return not looping, looping
end

return tool_calls
