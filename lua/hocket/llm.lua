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
  return context and context.run, context and context.step and context.step.op
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

---@class hocket.Asker Who asks: what its calls have in common, and how the last one went.
---@field request hocket.Request What it asks with; may be another for each call.
---@field emit fun(type: string, payload: table)
---@field run hocket.Run|false
---@field account integer
---@field hold integer|false What the budgets have granted for the next call.
---@field goes_on boolean Whether further calls follow when the reply has tool calls.
---@field deadline number|false
---@field attempts integer With the model that answered.
---@field answered_by hocket.Model|false
---@field fallbacks table[]|nil

local Asker = { hold = false, deadline = false }
Asker.__index = Asker

--- What is still held has not been used, and is given back.
function Asker:release()
  local hold = self.hold
  self.hold = false
  if hold then account.settle(self.run, hold) end
end

Asker.__close = Asker.release -- also when the fiber is cancelled in a call

--- Makes an asker, which calls again and again.
---@param emit? fun(type: string, payload: table) Told of model_retry and model_fallback; default: the run's events.
---@param request? hocket.Request
---@return hocket.Asker
function llm.asker(emit, request)
  local asker = setmetatable({
    request = request or false, emit = emit or emitter(), run = false, account = 0, goes_on = false, attempts = 0, answered_by = false,
  }, Asker)
  asker:here()
  return asker
end

--- Asks in the name of the running fiber from now on.
function Asker:here()
  local run, id = account.here()
  self.run, self.account = run or false, id or 0
end

local function left(asker)
  return asker.deadline and math.max(asker.deadline - fiber.now(), 0) or nil
end

local function is_over(asker)
  return asker.deadline and fiber.now() >= asker.deadline
end

-- ---- One model ------------------------------------------------------------------------------

-- Returns the call, which has its reply; or nil, the error and the call, where there was one.
local function attempt(asker, one, history, again)
  local request, run = asker.request, asker.run
  local timeout = asker.deadline and math.max(left(asker), 0.001)
  local call, err = core.start(one.handle, history, request.handle, one.name, request.run, timeout or nil, again,
    run and run.accounts or nil, asker.account, one.id and prices.priced(one.id))
  if not call then return nil, err end
  if request.on_delta then
    for kind, text in call.next, call do request.on_delta(kind, text) end
  end
  local came, failed = call:wait()
  if came then return call end
  return nil, failed, call
end

-- What the call was given by the budgets ends; it was counted when its reply came.
local function settle(asker, call)
  local hold = asker.hold
  if not hold then return end
  asker.hold = false
  account.settle(asker.run, hold, asker.account, asker.goes_on and call:count() > 0)
end

-- Returns the call; or nil, the error and whether something was handed out.
local function insist(one, history, asker)
  local made = 0
  local call, err, failed = attempt(asker, one, history, false)
  while not call do
    if not failed then return nil, err, false end
    local delay, reason = failed:retry(made, asker.request.retries, left(asker))
    made = made + 1
    err.attempts = made
    if not delay then
      err.gave_up = reason
      return nil, err, reason == "output"
    end
    asker.emit("model_retry", { model = one.id, attempt = made, delay = delay, reason = reason, error = err.message })
    fiber.sleep(delay)
    call, err, failed = attempt(asker, one, history, true)
  end
  settle(asker, call)
  asker.attempts, asker.answered_by = made + 1, one
  if asker.fallbacks then asker.fallbacks = nil end
  return call
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

local function call_chain(chain, history, asker)
  local fallbacks, err
  for i, entry in ipairs(chain) do
    local one, call, acted
    one, err = resolve(entry)
    if one then
      call, err, acted = insist(one, history, asker)
      if call then
        asker.fallbacks, asker.answered_by = fallbacks, with_rest(one, chain, i)
        return call
      end
    end
    if acted or err.code == "replay" or is_over(asker) or not chain[i + 1] then
      return nil, one and explain.failure(one, err) or err
    end
    local change = { from = name_of(entry), to = name_of(chain[i + 1]), reason = err.code, message = err.message }
    asker.emit("model_fallback", change)
    fallbacks = fallbacks or {}
    fallbacks[#fallbacks + 1] = change
  end
  return nil, err or { code = "invalid", message = "no model is named" }
end

--- Sends a conversation, and waits until a reply has come: the call that has it. It is in the history
--- when it was accepted.
---@async
---@param asker hocket.Asker
---@param model hocket.Model|(hocket.Model|string)[]
---@param history hocket.History
---@return userdata? call
---@return hocket.Error?
function llm.ask(asker, model, history)
  local held <close> = asker.hold and asker or nil
  local timeout = asker.request.timeout
  if timeout or asker.deadline then asker.deadline = timeout and fiber.now() + timeout or false end
  if not model.handle or model.fallbacks then return call_chain(chain_of(model), history, asker) end
  local call, err = insist(model, history, asker)
  if not call then return nil, explain.failure(model, err) end
  return call
end

--- The reply of a call as a table; nothing more can be had from the call.
---@param asker hocket.Asker
---@param call userdata
---@return hocket.Reply
function llm.reply(asker, call)
  local reply = call:reply()
  call:release()
  reply.attempts, reply.answered_by, reply.fallbacks = asker.attempts, asker.answered_by, asker.fallbacks
  return reply
end

-- The reply becomes part of the conversation.
local function accept(asker, call)
  local ok, err = call:keep()
  if not ok then return nil, err end
  return llm.reply(asker, call)
end

-- Asks the budgets; the error, when they refuse.
local function admit(asker, model, history)
  local run = asker.run
  local one = model.handle and model or chain_of(model)[1]
  if not run or not one or not run.accounts:matters(asker.account) then return nil end
  local verdict, hold, cap = account.ask(run, asker.account, name_of(one), history, asker.request.spec, true)
  if not verdict then return hold end
  asker.hold = hold
  if cap then asker.request = llm.vary(asker.request, { max_tokens = cap }) end
end

-- One call by itself.
local function ask_once(model, history, request, on_delta, emit)
  local prepared = getmetatable(request) == Request and request or llm.prepare(request, on_delta)
  local asker = llm.asker(emit, prepared)
  local refused = admit(asker, model, history)
  if refused then return nil, refused end
  local call, err = llm.ask(asker, model, history)
  return call and asker, call or err
end

--- Sends the history and waits for the reply, which is added to the history.
---@async
---@param model hocket.Model|(hocket.Model|string)[] One, or several: each of the others is asked when the one before it failed.
---@param history hocket.History
---@param request table|hocket.Request As in core.llm.request: system, tools, temperature …; retries (2), timeout (seconds, over everything), connect_timeout (10), first_timeout (600: to the first event), idle_timeout (600: between two), max_wait (120: the longest wait that a provider may ask for).
---@param on_delta? fun(kind: "text"|"reasoning", text: string) From the first delta on nothing is tried again. A prepared request has its own.
---@param emit? fun(type: string, payload: table) Told of model_retry and model_fallback; default: the run's events.
---@return hocket.Reply?
---@return hocket.Error?
function llm.call(model, history, request, on_delta, emit)
  local asker, call = ask_once(model, history, request, on_delta, emit)
  if not asker then return nil, call end
  return accept(asker, call)
end

-- ---- Several at once --------------------------------------------------------------------------

-- A call among others.
local function ask_beside(one, history, request, emit)
  local asker, call = ask_once({ one }, history, request, nil, emit)
  if not asker then return nil, call end
  return { asker = asker, call = call }
end

-- The first good reply wins; the sockets of the others are closed.
local function first_of(tasks)
  local won, failure = flow.any(tasks)
  if not won then return nil, failure end
  return accept(won.asker, won.call)
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
