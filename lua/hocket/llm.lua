--- Model calls: `llm.call` sends a conversation to a model and waits for the reply. It waits for
--- the provider's rate limit, tries again what is worth it, and goes on to the model's fallbacks.
---
---     call ──> lane (rate limit) ──> attempt ──> reply
---                ^                      │ failed
---                └── delay <── retry? ──┤
---                                       └─ no ──> next model of the chain, or the error
local account = require "hocket.account"
local core = require "hocket.core.llm"
local explain = require "hocket.later" "hocket.explain"
local fiber = require "hocket.core.fiber"
local flow = require "hocket.flow"
local prices = require "hocket.later" "hocket.prices"

local llm = {}

---@class hocket.Usage Counts as core/usage.h has them: input includes what was cached, output the reasoning.
---@field input? integer
---@field output? integer
---@field cached? integer
---@field cache_write? integer
---@field reasoning? integer
---@field cost? number USD; nil when the price or a count is not known.

---@class hocket.Reply
---@field text string
---@field reasoning? string
---@field refusal? string
---@field calls {id: string, name: string, arguments: string}[] Tool calls to run; arguments as the model wrote them.
---@field finish "stop"|"length"|"tool_calls"|"content_filter"|"error"
---@field usage hocket.Usage
---@field cost? number As usage.cost.
---@field model string As the provider names it.
---@field id string
---@field seconds number Of the attempt that succeeded.
---@field first_seconds? number To the first event.
---@field waited number Seconds that this attempt was held back by the rate limit.
---@field attempts integer With the model that answered.
---@field fallbacks? {from: string, to: string, reason: string, message: string}[] Models that were given up.
---@field answered_by hocket.Model

--- A new, empty conversation.
---@return hocket.History
function llm.history()
  return core.history()
end

-- ---- What every attempt shares ------------------------------------------------------------

--- A request that was read and checked: what all turns of a session send alike.
---@class hocket.Request
local Request = {}

local function current_run()
  local context = fiber.context()
  return context and context.run, context and context.op
end

local function emitter()
  local run, op = current_run()
  if not run then return function() end end
  return function(type, payload) run:emit(type, payload, nil, op) end
end

--- Reads a request once for many calls.
---@param request table See llm.call.
---@param on_delta? fun(kind: "text"|"reasoning", text: string)
---@return hocket.Request
function llm.prepare(request, on_delta)
  local handle, timeout, retries = core.request(request, on_delta ~= nil)
  local run = current_run()
  return setmetatable({
    handle = handle, timeout = timeout, retries = retries, on_delta = on_delta or false, run = run and run.number or 0,
    spec = request,
  }, Request)
end

--- The same request with other fields.
---@param request hocket.Request
---@param changes table
---@return hocket.Request
function llm.vary(request, changes)
  for name, value in pairs(request.spec) do
    if changes[name] == nil then changes[name] = value end
  end
  return llm.prepare(changes, request.on_delta or nil)
end

-- Whatever is still held when a call ends has not been used; of an attempt that is given up in the
-- middle nobody says what it has.
local leaving = { __close = function(state)
  if not state.run then return end
  account.lose(state.run, state)
  if state.hold then account.settle(state.run, state.hold) end
end }

-- One call of it. `hold` comes from whoever has asked the budgets already.
local function open(request, on_delta, emit, hold, goes_on)
  local prepared = getmetatable(request) == Request and request or llm.prepare(request, on_delta)
  local run, id = account.here()
  return setmetatable({
    request = prepared, on_delta = prepared.on_delta, emit = emit or emitter(), again = false,
    deadline = prepared.timeout and fiber.now() + prepared.timeout,
    run = run or false, account = id or 0, hold = hold or false, goes_on = goes_on or false,
  }, leaving)
end

local function left(state)
  return state.deadline and math.max(state.deadline - fiber.now(), 0)
end

local function is_over(state)
  return state.deadline ~= nil and fiber.now() >= state.deadline
end

-- ---- One model ------------------------------------------------------------------------------

local function attempt(one, history, state)
  local request, timeout = state.request, state.deadline and math.max(left(state), 0.001)
  local call, err = core.start(one.handle, history, request.handle, one.name, request.run, timeout, state.again)
  if not call then return nil, err end
  local run = state.run
  if run then run.calling[state] = one.id or one.name end -- and it stays there when this fiber is cancelled here
  if state.on_delta then
    for kind, text in call.next, call do state.on_delta(kind, text) end
  end
  local reply
  reply, err = call:wait()
  if run then
    if not reply and err.code == "truncated" then account.lose(run, state) end
    run.calling[state] = nil
  end
  return reply, err, call
end

-- A reply gets its price, and is counted at once: also one that comes too late to be used.
local function charge(state, reply)
  local id, usage = reply.answered_by.id, reply.usage
  local cost = id and prices.cost(id, usage)
  reply.cost, usage.cost = cost, cost
  if not state.run then return end
  account.charge(state.run, state.account, reply, state.hold, state.goes_on and #reply.calls > 0)
  state.hold = false
end

-- Returns the reply and its call, or nil, the error and whether something was handed out.
local function insist(one, history, state)
  local made = 0
  state.again = false
  while true do
    local reply, err, call = attempt(one, history, state)
    if reply then
      reply.attempts, reply.answered_by = made + 1, one
      charge(state, reply)
      return reply, call
    elseif not call then
      return nil, err, false
    end
    local delay, reason = call:retry(made, state.request.retries, left(state))
    err.attempts = made + 1
    if not delay then
      err.gave_up = reason
      return nil, err, reason == "output"
    end
    made = made + 1
    state.emit("model_retry", { model = one.id, attempt = made, delay = delay, reason = reason, error = err.message })
    fiber.sleep(delay)
    state.again = true
  end
end

-- The reply becomes part of the conversation.
local function accept(reply, call)
  local ok, err = call:keep()
  if not ok then return nil, err end
  return reply
end

-- ---- A chain of models ----------------------------------------------------------------------

local function chain_of(one)
  if not one.handle then return one end
  return { one, table.unpack(one.fallbacks or {}) }
end

local function resolve(one)
  if type(one) == "string" then return require("hocket.model").resolve(one) end
  return one
end

local function name_of(one)
  return type(one) == "string" and one or one.id
end

-- What still follows the model that answered, for the calls to come.
local function with_rest(one, chain, i)
  if i >= #chain or one.fallbacks then return one end
  local copy = setmetatable({ fallbacks = table.move(chain, i + 1, #chain, 1, {}) }, { __index = one })
  return copy
end

local function call_chain(chain, history, state)
  local fallbacks, err
  for i, entry in ipairs(chain) do
    local one, reply, call, acted
    one, err = resolve(entry)
    if one then
      reply, call, acted = insist(one, history, state)
      if reply then
        reply.fallbacks, reply.answered_by = fallbacks, with_rest(one, chain, i)
        return reply, call
      end
      err = call
    end
    if acted or err.code == "replay" or is_over(state) or not chain[i + 1] then
      return nil, one and explain.failure(one, err) or err
    end
    local change = { from = name_of(entry), to = name_of(chain[i + 1]), reason = err.code, message = err.message }
    state.emit("model_fallback", change)
    fallbacks = fallbacks or {}
    fallbacks[#fallbacks + 1] = change
  end
  return nil, err or { code = "invalid", message = "no model is named" }
end

-- Asks the budgets, where nobody has; the error, when they refuse.
local function admit(state, one, history)
  local run = state.run
  if not run or not one or state.hold or not run.accounts:matters(state.account) then return nil end
  local verdict, hold, cap = account.ask(run, state.account, name_of(one), history, state.request.spec, true)
  if not verdict then return hold end
  state.hold = hold
  if cap then state.request = llm.vary(state.request, { max_tokens = cap }) end
end

--- Sends the history and waits for the reply, which is added to the history.
---@async
---@param model hocket.Model|(hocket.Model|string)[] One, or several: each of the others is asked when the one before it failed.
---@param history hocket.History
---@param request table|hocket.Request As in core.llm.request: system, tools, temperature …; retries (2), timeout (seconds, over everything), max_wait (120: the longest wait that a provider may ask for).
---@param on_delta? fun(kind: "text"|"reasoning", text: string) From the first delta on nothing is tried again. A prepared request has its own.
---@param emit? fun(type: string, payload: table) Told of model_retry and model_fallback; default: the run's events.
---@param hold? integer What the budgets have granted for it; without it they are asked.
---@param goes_on? boolean Whether further calls follow when the reply has tool calls.
---@return hocket.Reply?
---@return hocket.Error?
function llm.call(model, history, request, on_delta, emit, hold, goes_on)
  local state <close> = open(request, on_delta, emit, hold, goes_on)
  local alone, reply, call = model.handle and not model.fallbacks, nil, nil
  local chain = not alone and chain_of(model)
  local refused = admit(state, alone and model or chain[1], history)
  if refused then return nil, refused end
  if alone then
    reply, call = insist(model, history, state)
    if not reply then return nil, explain.failure(model, call) end
  else
    reply, call = call_chain(chain, history, state)
  end
  if not reply then return nil, call end
  return accept(reply, call)
end

-- ---- Several at once --------------------------------------------------------------------------

-- A call among others.
local function ask_beside(one, history, request, emit)
  local state <close> = open(request, nil, emit)
  local refused = admit(state, one, history)
  if refused then return nil, refused end
  local reply, call = call_chain({ one }, history, state)
  if not reply then return nil, call end
  return { reply = reply, call = call }
end

-- The first good reply wins; the sockets of the others are closed.
local function first_of(tasks)
  local won, failure = flow.any(tasks)
  if not won then return nil, failure end
  return accept(won.reply, won.call)
end

--- Asks several models the same at once: `llm.race { "openai/gpt-5-mini", "groq/…", history = h }`.
--- The first good reply wins and is added to the history; the others are cancelled.
---@async
---@param spec table Models or their ids as a list; history, request?, emit?
---@return hocket.Reply?
---@return hocket.Error? The last one's, when all failed.
function llm.race(spec)
  if #spec == 0 then error("bad argument #1 to 'race' (at least one model expected)", 2) end
  local tasks = {}
  for i, one in ipairs(spec) do
    tasks[i] = function() return ask_beside(one, spec.history, spec.request or {}, spec.emit) end
  end
  return first_of(tasks)
end

--- Asks a model, and once more (or another one) when it has not answered after `after` seconds:
--- the first good reply wins. A failure starts the next one at once.
---@async
---@param model hocket.Model
---@param history hocket.History
---@param request table
---@param opts {after: number, max?: integer, models?: (hocket.Model|string)[], emit?: function} max: calls at most (2); models: for the further ones.
---@return hocket.Reply?
---@return hocket.Error?
function llm.hedge(model, history, request, opts)
  if type(opts.after) ~= "number" or opts.after < 0 then error("bad option 'after' (seconds expected)", 2) end
  local max = opts.max or 1 + math.max(1, #(opts.models or {}))
  local tasks, failed, waiting = {}, 0, {}
  for i = 1, max do
    tasks[i] = function()
      local due = fiber.now() + opts.after * (i - 1)
      waiting[i] = fiber.self()
      while failed < i - 1 and fiber.now() < due do fiber.park(due - fiber.now()) end
      waiting[i] = nil
      local one = i > 1 and opts.models and opts.models[i - 1] or model
      local won, err = ask_beside(one, history, request, opts.emit)
      if won then return won end
      failed = failed + 1
      for _, other in pairs(waiting) do other:wake() end
      return nil, err
    end
  end
  return first_of(tasks)
end

return llm
