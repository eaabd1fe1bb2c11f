--- How a model call goes: it waits for the provider's rate limit, tries again what is worth it, and goes on to the
--- model's fallbacks.
---
---     call ──> lane (rate limit) ──> attempt ──> reply
---                ^                      │ failed
---                └── delay <── retry? ──┤
---                                       └─ no ──> next model of the chain, or the error
local askers = require "hocket.internal.models.asker"
local account = require "hocket.internal.models.account"
local core = require "hocket.internal.core.llm"
local explain = require "hocket.internal.base.lazy" "hocket.internal.models.explain"
local effects = require "hocket.internal.base.effects"
local fiber = require "hocket.internal.core.fiber"
local kept_call = require "hocket.internal.base.lazy" "hocket.internal.models.kept_call"
local machine_policy = require "hocket.internal.models.machine_policy"
local model_hooks = require "hocket.internal.base.lazy" "hocket.internal.models.model_hooks"
local prices = require "hocket.internal.base.lazy" "hocket.prices"
local refusal = require "hocket.internal.base.lazy" "hocket.internal.models.refusal"
local server_tools = require "hocket.internal.base.lazy" "hocket.internal.models.server_tools"
local system = require "hocket.internal.core.system"
local warm = require "hocket.internal.base.lazy" "hocket.internal.models.warm"

local calls = {}

local function left(asker)
  return asker.deadline and math.max(asker.deadline - fiber.now(), 0) or nil
end

local function is_over(asker)
  return asker.deadline and fiber.now() >= asker.deadline
end

-- ---- One model ------------------------------------------------------------------------------

-- By provider's handle, what its models were found not to take.
local refused = setmetatable({}, { __mode = "k" })

-- A run that is kept knows what it has found out itself, and would not ask the same again otherwise.
local function refused_here(here)
  if not here then return refused end
  here.refused = here.refused or {}
  return here.refused
end

-- Where a format of the answer keeps a model from ever calling a tool, it is asked for when no tool can be called.
local function in_time(request)
  local spec = request.spec
  if not spec.schema or not spec.tools or spec.tool_choice == "none" then return request end
  if not request.unformatted then
    local plain = {}
    for name, value in pairs(spec) do plain[name] = value end
    plain.schema, plain.schema_name = nil, nil
    request.unformatted = askers.prepare(plain, request.on_delta or nil)
  end
  return request.unformatted
end

-- A sibling may have to go first.
local function enter(asker, one, request)
  local first, waited = warm.enter(one, request, left(asker))
  if waited then warm.tell(asker, one, waited) end
  return first
end

-- Sends a request, and waits for its reply. Returns as attempt does.
local function send(asker, one, history, request, again, guess, first)
  local run = asker.run
  local timeout = asker.deadline and math.max(left(asker), 0.001) or nil
  local call, err = core.start(one.handle, history, request.handle, one.name, request.run, timeout, again,
    run and run.accounts or nil, asker.account, one.id and prices.priced(one.id), asker.observed and asker.observed:lines() or nil, guess)
  if not call then return nil, err end
  if first then first:over(call:first()) end
  local hear = asker:listener(request, one)
  if hear then
    for kind, text in call.next, call do hear(kind, text) end
  end
  local came, failed = call:wait()
  if came then return call end
  return nil, failed, call
end

local function send_in_order(asker, one, history, request, again, guess)
  local first <close> = enter(asker, one, request)
  return send(asker, one, history, request, again, guess, first)
end

-- Returns the call, which has its reply; or nil, the error and the call, where there was one. `made`: how many were
-- made before.
local function attempt(asker, one, history, again, made)
  local request, run, here = asker.request, asker.run, effects.here()
  local warms = request.spec.warm_cache
  if one.format_last then request = in_time(request) end
  if one.no_tools and request.spec.tools and request.spec.tools ~= "[]" then return nil, one.no_tools end
  local known = (here and refused_here(here) or refused)[one.handle]
  asker.sent = known and refusal.without(known, one, request) or false
  request = asker.sent or request
  if request.unfitted then
    local fitted, wrong = server_tools.fit(one, request)
    if not fitted then return nil, wrong end
    request = fitted
  end
  if warms then request = warm.fit(one, request) end
  if here or run and run.here then
    local how = { request = request, again = again, made = made or 0, left = left(asker) }
    return (here and kept_call.attempt or kept_call.within)(asker, one, history, how)
  end
  local guess = asker.hold and account.tokens_of(history, request.spec) or nil
  local may, why_not = machine_policy.model(one.id, run)
  if not may then return nil, why_not end
  if one.lacks then return nil, one.lacks end
  if one.keys then
    local ready, wrong = one.keys:ready(one.handle)
    if not ready then return nil, wrong end
  end
  return (warms and send_in_order or send)(asker, one, history, request, again, guess)
end

-- What the call was given by the budgets ends; it was counted when its reply came.
local function settle(asker, call)
  local hold = asker.hold
  asker.hold = false
  account.settle(asker.run, hold, asker.account, asker.goes_on == "always" or asker.goes_on and call:count() > 0)
end

-- Another key may be taken: this one was over before its time, or taken back.
local function is_key_refused(one, err)
  return one.keys and (err.http_status == 401 or err.http_status == 403 and err.message:lower():find "expire")
end

local function note_answer(run, one)
  local simulated = one.simulated or false
  if run and run.answered[one.id] ~= simulated then run:log("answered", one.id, simulated) end
end

-- Returns the call; or nil, the error and whether something was handed out.
local function call_with_retries(one, history, asker)
  local made, renewed = 0, false
  local call, err, failed = attempt(asker, one, history, false)
  while not call do
    if not failed then return nil, err, false end
    local delay, reason = failed:retry(made, asker:retries(err, asker.request), left(asker))
    made = made + 1
    err.attempts = made
    if delay then
      if asker.observed then asker.observed:again(err, made, delay) end
      asker.emit("model_retry", { model = one.id, attempt = made, delay = delay, reason = reason, error = err.message })
      fiber.sleep(delay)
    elseif not renewed and is_key_refused(one, err) then
      renewed = true
      one.keys:drop()
    elseif not refusal.learn(refused_here(effects.here()), one, asker, err) then
      failed:settle(false)
      err.gave_up = reason
      return nil, err, reason == "output"
    end
    failed:settle(true)
    call, err, failed = attempt(asker, one, history, true, made)
  end
  if asker.hold then
    if not call:metered() then account.unmetered(asker.run, one, asker.emit) end
    settle(asker, call)
  end
  asker.attempts, asker.answered_by = made + 1, one
  note_answer(asker.run, one)
  asker.fallbacks = false
  return call
end

-- The same, for whoever wants to know how it went.
local function call_model(one, history, asker)
  local observer = asker.run and asker.run.observer
  if not observer then return call_with_retries(one, history, asker) end
  local observed <close> = observer:call(one, history, asker)
  asker.observed = observed
  local call, err, acted = observed:replied(call_with_retries(one, history, asker))
  asker.observed = false
  return call, err, acted
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
      call, err, acted = call_model(one, history, asker)
      if call then
        asker.fallbacks, asker.answered_by = fallbacks or false, with_rest(one, chain, i)
        return call
      end
    end
    local stays = acted or err.code == "replay" or err.resumes_at or err.code == "model" and asker.malformed == "correct"
    if stays or is_over(asker) or not chain[i + 1] then
      return nil, one and explain.failure(one, err) or err
    end
    local change = { from = name_of(entry), to = name_of(chain[i + 1]), reason = err.code, message = err.message }
    asker.emit("model_fallback", change)
    fallbacks = fallbacks or {}
    fallbacks[#fallbacks + 1] = change
  end
  return nil, err or system.error { code = "invalid", message = "no model is named" }
end

-- What was given up before anybody was asked comes first.
local function add_given_up(asker, given_up)
  local list, after = { table.unpack(given_up) }, asker.fallbacks or {}
  asker.fallbacks = table.move(after, 1, #after, #list + 1, list)
end

local function ask_models(asker, model, history)
  local timeout = asker.request.timeout
  if timeout or asker.deadline then asker.deadline = timeout and fiber.now() + timeout or false end
  if not model.handle or model.fallbacks then
    local call, err = call_chain(chain_of(model), history, asker)
    if call and model.given_up then add_given_up(asker, model.given_up) end
    return call, err
  end
  local call, err = call_model(model, history, asker)
  if call then return call end
  return nil, explain.failure(model, err)
end

local function ask_hooked(asker, model, history)
  local hooks = asker.run and asker.run.hooks
  if hooks then return model_hooks.ask(asker, model, history, hooks, ask_models) end
  return ask_models(asker, model, history)
end

-- The asker gives back what the budgets have granted and the call did not use.
local function ask_held(asker, model, history)
  local held <close> = asker
  return ask_hooked(asker, model, history)
end

--- Sends a conversation, and waits until a reply has come: the call that has it. It is in the history
--- when it was accepted.
---@async
---@param asker hocket.Asker
---@param model hocket.Model|(hocket.Model|string)[]
---@param history hocket.History
---@return userdata? call
---@return hocket.Error?
function calls.ask(asker, model, history)
  if asker.hold then return ask_held(asker, model, history) end
  return ask_hooked(asker, model, history)
end

--- The reply of a call as a table; nothing more can be had from the call.
---@param asker hocket.Asker
---@param call userdata
---@param counted? boolean It needs no `usage`: whoever gets it counts more than this call.
---@return hocket.Reply
function calls.reply(asker, call, counted)
  local reply = call:reply(counted)
  call:release()
  reply.attempts, reply.answered_by, reply.fallbacks = asker.attempts, asker.answered_by, asker.fallbacks or nil
  return reply
end

--- The reply becomes part of the conversation.
---@param asker hocket.Asker
---@param call userdata
---@return hocket.Reply?
---@return hocket.Error?
function calls.accept(asker, call)
  local ok, err = call:keep()
  if not ok then return nil, err end
  return calls.reply(asker, call)
end

-- Asks the budgets; the error, when they refuse.
local function admit(asker, model, history)
  local run = asker.run
  local one = model.handle and model or chain_of(model)[1]
  if not run or not one or not account.is_limited(run, asker.account) then return nil end
  local verdict, hold, cap = account.ask(run, asker.account, name_of(one), history, asker.request.spec, true)
  if not verdict then return hold end
  asker.hold = hold
  if cap then asker.request = askers.vary(asker.request, { max_tokens = cap }) end
end

--- One call by itself, as calls.call, of which nothing is in the history before it was accepted.
---@async
---@return hocket.Asker? asker
---@return userdata|hocket.Error call
function calls.ask_once(model, history, request, on_delta, emit)
  local asker = askers.new(emit, askers.prepare(request, on_delta))
  local refused = admit(asker, model, history)
  if refused then return nil, refused end
  local call, err = calls.ask(asker, model, history)
  return call and asker, call or err
end

--- Sends the history and waits for the reply, which is added to the history.
---@async
---@param model hocket.Model|(hocket.Model|string)[] One, or several: each of the others is asked when the one before it failed.
---@param history hocket.History
---@param request table|hocket.Request As for hocket.llm.call: system, tools, temperature …; retries (2), timeout (seconds, over everything), connect_timeout (10), first_timeout (600: to the first event), idle_timeout (600: between two), max_wait (120: the longest wait that a provider may ask for).
---@param on_delta? fun(kind: "text"|"reasoning", text: string) From the first delta on nothing is tried again. A prepared request has its own.
---@param emit? fun(type: string, payload: table) Told of model_retry and model_fallback; default: the run's events.
---@return hocket.Reply?
---@return hocket.Error?
function calls.call(model, history, request, on_delta, emit)
  local asker, call = calls.ask_once(model, history, request, on_delta, emit)
  if not asker then return nil, call end
  return calls.accept(asker, call)
end

return calls
