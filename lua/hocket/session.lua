--- One agent's conversation: model, then tools side by side, then the model again, until it
--- answers without a call. Knows nothing of patterns, boards or other agents.
local account = require "hocket.account"
local door = require "hocket.door"
local ending = require "hocket.ending"
local fiber = require "hocket.core.fiber"
local flow = require "hocket.flow"
local json = require "hocket.json"
local later = require "hocket.later"
local llm = require "hocket.llm"
local shorten = require "hocket.cut"
local tool = require "hocket.tool"

local output, turn, watch = later "hocket.tools.output", later "hocket.turn", later "hocket.watch"

local session = {}

--- Calls of one turn that run at once; the others wait.
local PARALLEL_CALLS = 16

---@class hocket.Session
---@field history hocket.History
---@field turns integer
---@field tool_calls integer
local Session = {}

local request_fields = {
  "temperature", "top_p", "top_k", "max_tokens", "seed", "reasoning", "schema", "schema_name",
  "tool_choice", "connect_timeout", "first_timeout", "idle_timeout", "timeout", "retries", "max_wait",
}

local function build_request(spec, tools)
  local request = { system = spec.system or "", stream = spec.stream ~= false }
  for _, field in ipairs(request_fields) do request[field] = spec[field] end
  if request.reasoning ~= nil then request.reasoning = tostring(request.reasoning) end
  if #tools > 0 then request.tools = tool.declare(tools) end
  if spec.stop and #spec.stop > 0 then request.stop = json.encode(json.array(spec.stop)) end
  return request
end

-- What is told in every turn comes as names and values, sorted, so that nobody has to make a table of it
-- who only writes it down.
local function teller(emit)
  return function(type, ...)
    local payload, list = {}, table.pack(...)
    for i = 1, list.n, 2 do payload[list[i]] = list[i + 1] end
    emit(type, payload)
  end
end

local function nobody() end

--- Makes a session. `spec` is its own from now on: parts of it are read when the session first speaks.
--- `emit(type, payload)` is told of every model request and reply, tool call and text; it may be absent. With
--- `tell(type, name, value, …)` requests, replies and calls go there, their members sorted by name. `door` decides
--- on every tool call; without one the tools are what may be called. Hooks, all optional: `before_turn()` may return news, which are put before the
--- next prompt, or between two turns, as the user's words; `before_answer(reply)` may return what
--- is still to be heard before the answer stands; `on_call(call)` is told of a call that begins; `stop_when()`
--- is asked after the calls of each turn, and true ends the session there: the reply with the calls
--- is its answer; with it the last turn has its tools as the others do. `request`: what llm.prepare made of
--- these very fields before.
---@param spec {model: hocket.Model, system?: string, tools?: hocket.Tool[], max_turns?: integer, max_tool_calls?: integer, emit?: function, tell?: fun(type: string, ...), on_delta?: function, context?: table, history?: hocket.History, stream?: boolean, door?: hocket.Door, before_turn?: fun(): string?, before_answer?: fun(reply: hocket.Reply): string?, on_call?: fun(call: table), stop_when?: fun(): boolean}
---@return hocket.Session
function session.new(spec)
  return setmetatable({
    model = spec.model, history = spec.history or llm.history(), turns = 0, tool_calls = 0, spec = spec,
  }, Session)
end

-- What only a session that speaks needs is made when it first does: a session that waits, as most characters
-- of a game do, is its conversation and little more.
local when_needed = {
  door = function(_, spec) return spec.door or door.new("this agent", spec.tools or {}) end,
  tools = function(self) return self.door.tools end,
  request = function(self, spec) return spec.request or llm.prepare(build_request(spec, self.tools), spec.on_delta) end,
  emit = function(_, spec) return spec.emit or nobody end,
  tell = function(_, spec) return spec.tell or spec.emit and teller(spec.emit) or nobody end,
  context_meta = function(_, spec) return { __index = spec.context or {} } end,
  max_turns = function(_, spec) return spec.max_turns or 40 end,
  max_tool_calls = function(_, spec) return spec.max_tool_calls or 400 end,
  watch = function(_, spec) return watch.new(spec.emit) end,
  outputs = function() return output.new() end,
}

-- Looking for what is not there takes a call: a session that speaks has these, as false.
local function wake_up(self)
  local spec = self.spec
  self.pending = rawget(self, "pending") or false
  self.before_turn, self.before_answer = spec.before_turn or false, spec.before_answer or false
  self.on_call, self.stop_when = spec.on_call or false, spec.stop_when or false
  self.hold, self.granted, self.said, self.was_empty = false, false, false, false
end

function Session.__index(self, key)
  local make = when_needed[key]
  if not make then return Session[key] end
  local value = make(self, self.spec)
  self[key] = value
  return value
end

-- ---- The model ------------------------------------------------------------------------

local function ask(self, request, goes_on)
  self.turns = self.turns + 1
  self.tell("model_request", "messages", #self.history, "model", self.model.id, "simulated", self.model.simulated or nil, "turn", self.turns)
  local reply, err = llm.call(self.model, self.history, request, nil, self.emit, self.hold, goes_on)
  if not reply then return nil, err end
  self.model = reply.answered_by -- whoever has stepped in stays: the provider's cache begins there
  self.tell("model_reply", "attempts", reply.attempts, "calls", #reply.calls, "finish", reply.finish,
    "first_seconds", reply.first_seconds, "model", self.model.id, "seconds", reply.seconds, "usage", reply.usage)
  return reply
end

-- ---- One tool call ------------------------------------------------------------------------

local function parse_arguments(text)
  if text:find "^%s*$" or text == "null" then return {} end
  local args, err = json.decode(text)
  if args == nil then
    return nil, ("the arguments are not valid JSON: %s. Call again with one JSON object."):format(err.message)
  elseif type(args) ~= "table" or json.is_array(args) then
    return nil, "the arguments have to be one JSON object, as in {\"name\": \"value\"}. Call again."
  end
  return args
end

local function message_of(err)
  return type(err) == "table" and (err.message or err.code) or tostring(err)
end

-- The tool and its checked arguments, or what to tell the model.
local function prepare(self, call)
  local one, denied = self.door:decide(call.name)
  if not one then
    self.emit("tool_denied", { tool = shorten(call.name, 100), reason = denied })
    return nil, denied
  end
  local args, wrong = parse_arguments(call.arguments)
  if not args then return nil, wrong end
  local text = call.arguments
  if one.prepare then
    local prepared, value = pcall(one.prepare, args)
    if not prepared then
      local why = message_of(value)
      if type(value) == "table" and value.code == "denied" then self.emit("tool_denied", { tool = one.name, reason = why }) end
      return nil, ("the arguments cannot be used: %s"):format(why)
    end
    args, text = value, nil
  end
  if type(args) == "table" and next(args) == nil then text = nil end -- blank text stands for no arguments
  local ok, why = one.check(args, text)
  if not ok then return nil, why .. "\nCall again with arguments that fit." end
  return one, args
end

local function call_event(self, call, text, is_error)
  self.tell("tool_call", "arguments", shorten(call.arguments, 500), "error", is_error or nil, "phase", "complete",
    "result", shorten(text, 500), "tool", call.name)
end

local function to_text(value)
  if type(value) == "string" then return value end
  if type(value) == "table" then return json.encode(value) end
  return tostring(value)
end

-- Long results are kept; from the first one on the model has a tool to read them with.
local function shorten(self, text)
  local shown, kept = self.outputs:show(text)
  if kept and not self.can_read then
    self.can_read = true
    self.door:add(output.tool(self.outputs))
    self.request = llm.prepare(build_request(self.spec, self.door.tools), self.spec.on_delta)
  end
  return shown
end

-- A tool's outcome as text: its value, or nil and an error.
local function outcome(value, err)
  if value ~= nil then return to_text(value), false end
  if err == nil then return "done", false end
  return "error: " .. message_of(err), true
end

-- Runs a tool's function. What it raises is told to the model and reported; a cancel goes on.
local function call_tool(one, args, context)
  if one.timeout then
    return outcome(flow.timeout(one.timeout, function() return one.run(args, context) end))
  end
  return outcome(one.run(args, context))
end

local function run_tool(self, one, args, call)
  local function mark(label) self.door:mark(label, one.name, self.emit) end
  local context = setmetatable({ call_id = call.id, session = self, mark = mark }, self.context_meta)
  local ok, text, is_error = pcall(call_tool, one, args, context)
  if fiber.self():cancelled() then error(ok and { code = "cancelled", message = "cancelled" } or text, 0) end
  if ok then return text, is_error end
  self.emit("warning", { message = ("tool '%s' raised: %s"):format(one.name, message_of(text)) })
  return ("error: the tool failed: %s"):format(message_of(text)), true
end

local function refuse_wrong(self, call, why)
  self.emit("tool_call", { tool = call.name, result = why:sub(1, 500), phase = "complete", error = true })
  return { text = "error: " .. why, is_error = true, wrong = why }
end

local function execute(self, call, one, args)
  if not one then return refuse_wrong(self, call, args) end
  local allowed, denied = self.door:enter(one, args, self.emit)
  if not allowed then
    call_event(self, call, "error: " .. denied, true)
    return { text = "error: " .. denied, is_error = true }
  end
  if self.on_call then self.on_call(call) end
  local text, is_error = run_tool(self, one, args, call)
  self.door:leave(one, self.emit)
  if not one.quiet then call_event(self, call, text, is_error) end
  return { text = shorten(self, text), is_error = is_error }
end

-- ---- The calls of one turn --------------------------------------------------------------------

-- Every call gets its result, also when this fiber is cancelled in between: a conversation in
-- which calls have no results is refused by every provider.
local results_meta = {
  __close = function(results)
    for i, call in ipairs(results.calls) do
      local result = results[i] or { text = "error: cancelled", is_error = true }
      results.session.history:result(call, result.text, result.is_error)
    end
  end,
}

local function run_together(self, calls, results)
  local prepared = {}
  for i, call in ipairs(calls) do
    local one, args = prepare(self, call)
    prepared[i] = { one = one, args = args }
  end
  local order = turn.new(prepared)
  flow.map(calls, function(call, i)
    local ended <close> = setmetatable({}, { __close = function() order:finish(i) end })
    order:wait(i)
    results[i] = execute(self, call, prepared[i].one, prepared[i].args)
  end, { limit = PARALLEL_CALLS })
end

local function run_calls(self, calls)
  local results <close> = setmetatable({ false, session = self, calls = calls }, results_meta)
  if #calls == 1 then
    results[1] = execute(self, calls[1], prepare(self, calls[1]))
  else
    run_together(self, calls, results)
  end
  local mistaken = self.watch:mistakes(calls, results)
  if mistaken then return nil, mistaken end
  local looping = self.watch:loops(calls, results)
  return not looping, looping
end

-- Why the calls of a turn are not to be made, if they are not.
local function tools_used_up(self, n)
  self.tool_calls = self.tool_calls + n
  if self.tool_calls > self.max_tool_calls then
    return { reason = "budget", code = "budget", message = ("stopped after %d tool calls (max_tool_calls)"):format(self.max_tool_calls) }
  end
  local allowed, why = account.tools(n)
  return allowed < n and why or nil
end

-- Returns true; or false and why the next turn has to be the last; or nil and an error.
local function take_calls(self, reply)
  if reply.finish == "length" then
    self.tool_calls = self.tool_calls + #reply.calls
    ending.refuse(self, reply.calls, "not run: the answer was cut by the token limit. Use fewer or shorter calls.")
    return true
  end
  local why = tools_used_up(self, #reply.calls)
  if why then
    ending.refuse(self, reply.calls, "not run: the limit of tool calls is reached")
    return false, why
  end
  return run_calls(self, reply.calls)
end

-- ---- The loop ---------------------------------------------------------------------------------

-- A reply without calls: an answer, or nothing.
local function take_answer(self, reply)
  if reply.finish == "content_filter" then
    return nil, { code = "provider", message = "the provider's content filter stopped the answer" }
  elseif reply.text == "" and reply.refusal then
    self.emit("warning", { message = "the model refused to answer" })
    reply.text = reply.refusal
  elseif reply.text:find "^%s*$" then
    if self.was_empty then
      return nil, { code = "protocol", message = "the model answered with nothing, twice" }
    end
    self.was_empty = true
    self.history:user "Your answer was empty. Answer, or call a tool."
    return "again"
  elseif reply.finish == "length" then
    self.emit("warning", { message = "the answer was cut by the token limit (max_tokens)" })
  end
  return "done"
end

-- Between two turns every call has its result, so that a message of the user may stand here.
local function hear(self, news)
  if not news then return true end
  return self.history:user(news)
end

-- After an answer: whether it stands, or what makes the model go on.
local function goes_on(self, reply)
  local more = self.before_answer and self.before_answer(reply)
  if not more then return false end
  self.emit("message", { content = reply.text })
  return hear(self, more)
end

local function open_turn(self, text)
  local news = self.before_turn and self.before_turn()
  return self.history:user(news and ("%s\n\n%s"):format(news, text) or text)
end

-- What was asked for by upgrade: every call has its result here, and no answer is under way.
local function change_over(self)
  local spec = setmetatable(self.pending, { __index = self.spec })
  local entry = spec.door or door.new("this agent", spec.tools or {})
  self.pending, self.spec = false, spec
  self.model, self.tools, self.door = spec.model, entry.tools, entry
  self.request = llm.prepare(build_request(spec, entry.tools), spec.on_delta)
  self.granted = false
end

-- One turn. Returns the answer; or false when it goes on; or nil and an error.
local function turn(self, left)
  if self.pending then change_over(self) end
  if left == 1 and self.max_turns > 1 and #self.tools > 0 and not self.stop_when then
    return ending.last_turn(self, ask, { reason = "budget", code = "budget", message = ("no answer after %d turns (max_turns)"):format(self.max_turns) })
  end
  local why, refused = ending.grant(self, false)
  if why then return ending.finish(self, ask, why) elseif why == nil then return ending.cut_off(self, refused) end
  local reply, failed = ask(self, self.granted or self.request, true)
  if not reply then return nil, failed end
  if #reply.calls == 0 then
    local state, wrong = take_answer(self, reply)
    if not state then return nil, wrong elseif state ~= "done" then return false end
    local more, err = goes_on(self, reply)
    if more == nil then return nil, err end
    return not more and reply
  end
  if not reply.text:find "^%s*$" then
    self.said = reply.text
    self.emit("message", { content = reply.text })
  end
  local went, stopped = take_calls(self, reply)
  if went == nil then return nil, stopped end
  if self.stop_when and self.stop_when() then return reply end
  if not went then return ending.last_turn(self, ask, stopped) end
  local ok, err = hear(self, self.before_turn and self.before_turn())
  if not ok then return nil, err end
  return false
end

--- Sends a message and goes on until the model answers. When a budget, a limit or a loop ends it before
--- that, the model is asked for one last answer, without tools: reply.finish is then "budget", "loop" or
--- "stopped", and reply.cut says why.
---@async
---@param text string
---@return hocket.Reply?
---@return hocket.Error?
function Session:send(text)
  if rawget(self, "pending") == nil then wake_up(self) end
  local ok, err = open_turn(self, text)
  if not ok then return nil, err end
  self.was_empty, self.said = false, false
  for left = self.max_turns, 1, -1 do
    local reply, failed = turn(self, left)
    if reply ~= false then return reply, failed end
  end
  return nil, { code = "budget", message = ("no answer after %d turns (max_turns)"):format(self.max_turns) }
end

--- Changes what the session works with, from its next turn on: an answer or a tool call that is under
--- way ends with what it began with, and the conversation goes on. Fields that are left out stay; of two
--- calls before that turn both count.
---@param changes {model?: hocket.Model, system?: string, tools?: hocket.Tool[], door?: hocket.Door, temperature?: number, max_tokens?: integer}
function Session:upgrade(changes)
  if type(changes) ~= "table" then error(("bad argument #1 to 'upgrade' (table expected, got %s)"):format(type(changes)), 2) end
  self.pending = self.pending or {}
  for field, value in pairs(changes) do self.pending[field] = value end
  if changes.tools and not changes.door then self.pending.door = door.new("this agent", changes.tools) end
end

return session
