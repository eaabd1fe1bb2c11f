--- A run that is one agent's call: somebody's agent has `pool:`, and a worker of that pool has taken it. What the call is made of stands in the
--- run's option `call`; who made it, and how it gets the result, is in internal/pool/caller.lua.
---
--- What is the caller's is asked of the caller, and people are asked in its run: a message there, and one back.
local account = require "hocket.internal.models.account"
local agents = require "hocket.agent"
local core = require "hocket.internal.core.llm"
local caught = require "hocket.internal.base.caught"
local fiber = require "hocket.internal.core.fiber"
local labels = require "hocket.internal.base.labels"
local wire = require "hocket.internal.pool.wire"
local permission = require "hocket.permission"
local tool = require "hocket.tool"
local system = require "hocket.internal.core.system"
local failed = system.error

local worker = {}

-- ---- What is asked of the caller ---------------------------------------------------------------------

-- A fork of a call, or a copy of it, nobody has called.
local function uncalled()
  return nil, failed { code = "state", message = "this run is a fork of an agent's call: nobody has called it, and what its caller had is not here" }, true
end

local function is_called(run)
  if not run.is_called then
    local own, err = wire.is_call_of(run.id, run.call.caller)
    if own == false then return uncalled() end
    if not own then return nil, err end
    run.is_called = true
  end
  return true
end

-- nil, an error, and whether nobody was asked.
local function ask(run, what, agent, op)
  local call = run.call
  call.asked = (call.asked or 0) + 1
  what.n = call.asked
  what.labels = run.labels and labels.names(run.labels.bits) or nil -- what it asks may be made of everything that it has read
  local about = { name = "run " .. run.id, id = ("ask %s %d"):format(run.id, what.n), as = "ask " .. what.n }
  local ok, err, nobody = wire.send(run, call.caller, about, what, function() return is_called(run) end)
  if not ok then return nil, err, nobody end
  local shown <close>, untold = run:show_wait("caller", { caller = call.caller }, agent, op)
  if untold then return nil, untold end
  local name = "reply " .. what.n
  local watched <close> = not run.is_called and wire.watch_caller(run, run.id, call.caller, name, { uncalled = true }) or nil
  local answer = wire.take(run, name)
  if type(answer) == "table" and answer.uncalled then return uncalled() end
  if type(answer) == "table" then return answer end
  return nil, failed { code = "parse", message = ("the run %s has answered what cannot be read"):format(call.caller) }
end

local function error_of(answer)
  return failed { code = type(answer.code) == "string" and answer.code or "tool", message = tostring(answer.error) }
end

-- A tool of the caller's: its call is made there.
local function borrow(run, data)
  local spec = {}
  for name, value in pairs(data) do spec[name] = value end
  spec.set, spec.repaired, spec.steps = nil, nil, true
  local fence = data.fence
  spec.fence = fence and { fence.kind, fence.whose, empty = fence.empty }
  spec.run = function(args, ctx)
    local answer, err = ask(run, { kind = "tool", tool = data.name, arguments = args, id = ctx.call_id }, ctx.agent.name)
    if not answer then return nil, err end
    if math.type(answer.labels) == "integer" and answer.labels ~= 0 then ctx.mark(answer.labels) end
    if type(answer.text) ~= "string" then return nil, error_of(answer) end
    return answer.text
  end
  if data.repaired then spec.repair = function(args) return args end end -- the caller puts right what does not fit, and says what cannot be
  local one = tool.new(spec)
  one.set = data.set
  if data.repaired then one.check = function() return true end end
  return one
end

-- What a person is shown; what is no data stays here.
local shown = { "kind", "questions", "tool", "agent", "arguments", "schema", "reason", "change", "always" }

local function relay(run)
  return function(question)
    local data = {}
    for _, name in ipairs(shown) do data[name] = question[name] end
    local answer, err, nobody = ask(run, { kind = "question", question = data }, question.agent, question.op)
    if not answer then return nil, err, nobody end
    if type(answer.text) ~= "string" then return nil, error_of(answer) end
    return answer.text
  end
end

-- More of what its caller's limits are of; false: there is no more.
local function more(run)
  local ended = {}
  return function(kind, wanted)
    if ended[kind] then return false end
    local answer = ask(run, { kind = "budget", what = kind, wanted = wanted })
    local amount = answer and answer.amount
    if kind ~= "cost" then amount = math.tointeger(amount) end
    if type(amount) ~= "number" or not (amount > 0 and amount < 1e15) then
      ended[kind] = true
      return false
    end
    run.accounts:lend(account.ROOT, { [kind] = amount })
    return true
  end
end

-- The conversation that it continues with.
local function history_of(told)
  local history = core.history()
  if not told then return history end
  for line in told.lines:gmatch "[^\n]+" do assert(history:add(line)) end
  history:labels(told.labels)
  return history
end

-- ---- The call ---------------------------------------------------------------------------------------

--- A run begins that is one.
---@param run hocket.Run
---@param call table Its option.
function worker.begin(run, call)
  run.call = call
  if call.may_ask then run.relay = relay(run) end
  if run.options.budget then run.more = more(run) end
  run.named_hosts, run.always = permission.set(call.named_hosts), call.always or run.always
end

--- Its target: what the caller's was, as far as that says where things are found.
---@param call table
---@return table
function worker.target(call)
  local of = call.target or {}
  return { kind = "agent", path = of.path or "", dir = of.dir, call = true }
end

local function find(call)
  local ok, def = pcall(agents.load_again, call.source, call.agent)
  if not ok then return nil, caught.error(def) end
  if def then return agents.vary(def, call.changes or {}) end
  return nil, failed { code = "agent", message = ("there is no agent '%s' in %s"):format(call.agent, call.source.dir or call.source.file) }
end

--- Lets the agent answer, bound as by its caller.
---@async
---@param run hocket.Run
---@param input string
---@param work fun(def: hocket.Agent, input: string, opts: table): hocket.Reply?, hocket.Error? orchestrate.call: that stands above.
---@return hocket.Reply?
---@return hocket.Error?
function worker.answer(run, input, work)
  local call = run.call
  local def, err = find(call)
  if not def then return nil, err end
  local opts, tools = {}, {}
  for name, value in pairs(call.opts) do opts[name] = value end
  for i, data in ipairs(call.tools) do tools[i] = borrow(run, data) end
  opts.tools, opts.extra_tools, opts.files = tools, call.names, run.files
  opts.allowed, opts.max_depth = permission.set(call.allowed), call.deepest - call.depth
  if call.last then opts.handoff = false end
  opts.alternates = {} -- the caller has them
  if call.talks then opts.history = history_of(call.history) end
  run.talk = opts.history
  fiber.context().depth = call.depth - 1
  return work(def, input, opts)
end

local simple = { string = true, number = true, boolean = true }

local function data_of(err)
  local copy = {}
  for name, value in pairs(err) do copy[name] = simple[type(value)] and value or nil end
  copy.path = err.path
  return copy
end

--- What the caller gets of it, with the result.
---@param run hocket.Run
---@param reply? hocket.Reply
---@param err? hocket.Error
---@return table
function worker.outcome(run, reply, err)
  local told = { ok = reply ~= nil, error = not reply and data_of(caught.error(err)) or nil, answered = run.answered, usage = run:usage(),
    counted = system.base64(run.accounts:counted(account.ROOT) or ""), labels = run.labels and labels.names(run.labels.bits) or nil,
    history = run.talk and { lines = run.talk:lines(), labels = run.talk:labels() } or nil }
  for _, name in ipairs { "text", "finish", "agent", "cut", "stage_cut", "sources", "value", "reasoning", "refusal", "model" } do
    told[name] = reply and reply[name]
  end
  return told
end

return worker
