--- One attempt at a model call in a run that is kept: an effect. What it brings is in the log, so that a replay has the
--- same reply, the same error, and as much time as it took before the next attempt, without a provider.
---
--- It is counted by whoever waited for it, when that goes on: so that what others see of the accounts is the same
--- again.
local account = require "hocket.internal.models.account"
local accounts = require "hocket.internal.core.account"
local core = require "hocket.internal.core.llm"
local day_budget = require "hocket.internal.base.lazy" "hocket.internal.models.day_budget"
local effects = require "hocket.internal.base.effects"
local fiber = require "hocket.internal.core.fiber"
local kept = require "hocket.internal.core.kept"
local machine_policy = require "hocket.internal.models.machine_policy"
local pack = require "hocket.internal.base.pack"
local prices = require "hocket.internal.base.lazy" "hocket.prices"
local system = require "hocket.internal.core.system"
local warm = require "hocket.internal.base.lazy" "hocket.internal.models.warm"

local kept_call = {}

-- An attempt that has failed, as insist looks at it.
local Failed = {}
Failed.__index = Failed

function Failed:retry()
  return self.delay, self.reason
end

-- It has used nothing: whether it counts is known by now.
function Failed:settle(again)
  local asker = self.asker
  if self.open and not again and asker.run then asker.run.accounts:count(asker.account) end
end

-- How it is sent, and not what is asked.
local of_sending = { warm_cache = true, cache_mark = true }

-- Everything but what is asked of it: what a provider gets.
local function request_of(request)
  if not request.digest then
    local fields = {}
    for name, value in pairs(request.spec) do
      if type(value) ~= "table" and type(value) ~= "function" and not of_sending[name] then fields[name] = value end
    end
    request.digest = effects.digest(fields)
  end
  return request.digest
end

local function digest_of(one, history, request)
  return "model=" .. (one.id or one.name) .. "\nmessages=" .. history:digest() .. "\n" .. request_of(request)
end

local function hand_out(call, on_delta)
  for kind, text in call.next, call do on_delta(kind, text) end
end

local function wait(call, on_delta, first)
  if first then first:over(call:first()) end
  if on_delta then hand_out(call, on_delta) end
  return call:wait()
end

-- What became of a call that was started: as a table of data.
local function outcome(call, asker, how, request, hear, first)
  local began = fiber.now()
  local ok, came, err = pcall(wait, call, hear, first)
  if not ok then call:cancel() end -- by now, or since the listener of its text has raised
  local counted, open = call:counted()
  if not ok then return { counted = counted, raised = { pack.data(came) } } end
  if came then return { reply = call:pack(), counted = counted } end
  local left = how.left and math.max(how.left - (fiber.now() - began), 0)
  local delay, reason = call:retry(how.made, asker:retries(err, request), left)
  if delay then call:settle(true) end
  return { err = pack.data(err), counted = counted, open = open, delay = delay, reason = reason }
end

-- Of the day's budget of the run's project.
local function project_share(asker, one, history, request)
  local project = asker.run and asker.run.options.project
  if project and one.id then return day_budget.hold(project, one.id, history, request.spec) end
end

-- What is missing for a call that is not in the log: where nobody else can be asked, the run ends here and is not over.
local function lack(one, err)
  if not one.fallbacks or #one.fallbacks == 0 then kept.lack(err.message, true) end
  return { err = pack.data(err), begun = false }
end

-- A sibling may have to go first.
local function enter(one, request, left)
  if request.spec.warm_cache then return warm.enter(one, request, left) end
end

-- Outside of the run. Returns the outcome, and the call that has a reply.
local function make(one, history, asker, how)
  local request = how.request
  local may, refused = machine_policy.model(one.id, asker.run)
  if not may then return { err = pack.data(refused), begun = false } end
  if one.lacks then return lack(one, one.lacks) end
  if one.keys then
    local ready, wrong = one.keys:ready(one.handle)
    if not ready and wrong.code == "auth" then return lack(one, wrong) end
    if not ready then return { err = pack.data(wrong), begun = false } end
  end
  local hold <close>, short = project_share(asker, one, history, request)
  if short then return { err = pack.data(short), begun = false } end
  local first <close>, waited = enter(one, request, how.left)
  local timeout = how.left and math.max(how.left - (waited or 0), 0.001)
  local guess = (asker.hold or hold) and account.tokens_of(history, request.spec) or nil
  local call, err = core.start(one.handle, history, request.handle, one.name, request.run, timeout, how.again, true, 0,
    one.id and prices.priced(one.id), asker.observed and asker.observed:lines() or nil, guess)
  if not call then return { err = pack.data(err), begun = false } end
  local result = outcome(call, asker, how, request, asker:listener(request, one), first)
  result.waited = waited
  if hold then hold:settle(result.counted) end
  return result, result.reply and call or nil
end

-- The reply is there again, and is reported in one piece.
local function recall(asker, one, history, request, result)
  local call, err = core.recall(one.handle, history, request.handle, one.name, nil, nil, nil, nil, nil, one.id and prices.priced(one.id), result.reply)
  if not call then error(err, 0) end
  local hear = asker:listener(request, one)
  if hear then
    local reply = call:reply(true)
    if reply.reasoning then effects.aside(hear, "reasoning", reply.reasoning) end
    if reply.text ~= "" then effects.aside(hear, "text", reply.text) end
  end
  return call
end

-- Nearly all outcomes are replies: those go without a table.
local function to_text(result)
  local waited = result.waited and "w" .. string.pack("<d", result.waited) or ""
  if result.reply then return waited .. "r" .. string.pack("<s4", result.counted) .. result.reply end
  return "e" .. pack.encode(result)
end

local from_text

function from_text(text)
  if text:sub(1, 1) == "w" then
    local waited, behind = string.unpack("<d", text, 2)
    local result = from_text(text:sub(behind))
    result.waited = waited
    return result
  end
  if text:sub(1, 1) ~= "r" then return pack.decode(text:sub(2)) end
  local counted, at = string.unpack("<s4", text, 2)
  return { counted = counted, reply = text:sub(at) }
end

-- What is remembered of another run was paid for by that.
local function count(asker, counted, remembered)
  local run = asker.run
  if not remembered then return run.accounts:count(asker.account, counted) end
  run.saved = run.saved or accounts.new()
  run.saved:count(account.ROOT, counted)
end

-- The error of an outcome without a reply.
local function failure(asker, result)
  if result.raised then error(result.raised[1], 0) end
  local err = system.error(result.err)
  if result.begun == false then return nil, err end
  return nil, err, setmetatable({ asker = asker, delay = result.delay, reason = result.reason, open = result.open }, Failed)
end

local function attempt(asker, one, history, how)
  local call, result
  local text, gone, remembered = effects.make("model", digest_of(one, history, how.request), function()
    result, call = make(one, history, asker, how)
    return to_text(result)
  end, true)
  if text ~= "" and not result then result = from_text(text) end
  result = text ~= "" and result or {}
  if result.counted and asker.run then count(asker, result.counted, remembered) end
  if asker.observed then asker.observed.reused = remembered or nil end
  if gone or text == "" then effects.cancel() end
  if result.waited then warm.tell(asker, one, result.waited) end
  if result.reply and not result.raised then return call or recall(asker, one, history, how.request, result) end
  return failure(asker, result)
end

--- An attempt of code of a tool or a step: the call is part of that effect, and only what it used is in the log by itself.
---@async
---@param asker hocket.Asker
---@param one hocket.Model
---@param history hocket.History
---@param how {request: hocket.Request, again: boolean, made: integer, left?: number}
function kept_call.within(asker, one, history, how)
  local result, call = make(one, history, asker, how)
  if result.counted then asker.run.accounts:count(asker.account, result.counted) end
  if result.waited then warm.tell(asker, one, result.waited) end
  if call then return call end
  return failure(asker, result)
end

-- A project that has used up its day.
local function refusal(call, err, failed)
  return not call and not failed and err and err.code == "budget" and err.resumes_at and err or nil
end

local function may_be_put_away(run)
  return run.options.park == true
end

--- Returns as calls.lua's own attempt does. Where nobody waits for the run, one refused for today goes on tomorrow, or when
--- there is more, also when somebody does by then.
---@async
---@param asker hocket.Asker
---@param one hocket.Model
---@param history hocket.History
---@param how {request: hocket.Request, again: boolean, made: integer, left?: number}
function kept_call.attempt(asker, one, history, how)
  local run, said = asker.run, nil
  local looks = run and run.looks
  local call, err, failed = attempt(asker, one, history, how)
  local refused = refusal(call, err, failed)
  if not refused or not run or not effects.value("park", {}, may_be_put_away, run) then return call, err, failed end
  local function tell(what)
    if what and what.message ~= said then asker.emit("warning", { code = "budget", message = what.message }) end
    said = what and what.message
    return what
  end
  return run:await_budget(tell(refused), looks, function() return attempt(asker, one, history, how) end,
    function(...) return tell(refusal(...)) end)
end

return kept_call
