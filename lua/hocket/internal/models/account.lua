--- Who uses how much, and whether it may: the accounts of a run, and the budgets over them. Every model
--- call and every tool call comes through here, whoever makes it, so that no pattern has code for it.
---
---     ask ──> "go", a hold ──> the call ──> settle
---      ├────> "last": one more call, which has to be the answer
---      └────> nil and why not
---
--- What is counted and decided stands in C (core/account/account.h, core/account/budget.h); a call is counted there when
--- its reply comes, or when it is given up.
local core = require "hocket.internal.core.broker"
local fiber = require "hocket.internal.core.fiber"
local media = require "hocket.internal.base.lazy" "hocket.internal.base.media"
local prices = require "hocket.internal.base.lazy" "hocket.prices"
local wake_all = require "hocket.internal.base.wake_all"

local account = {}

--- The run's own account.
account.ROOT = 1

--- The run that the running fiber belongs to, and the account of the job that it works for.
---@return hocket.Run?
---@return integer? id
function account.here()
  return core.account_here()
end

-- ---- Limits as tables -----------------------------------------------------------------------

---@class hocket.Budget What an agent and everything that it calls may use. Zero means zero.
---@field turns? integer Model calls.
---@field tool_calls? integer
---@field tokens? integer In and out.
---@field cost? number USD.
---@field seconds? number Wall time, looked at before each call. (`timeout` cuts in the middle.)
---@field warn_at? number The part of a limit at which there is a warning: 0.8.
---@field reserve? boolean All of it is set aside by whoever calls, as far as that goes.

local whole = { turns = true, tool_calls = true, tokens = true }
local fields = { turns = true, tool_calls = true, tokens = true, cost = true, seconds = true, warn_at = true, reserve = true }

local function wrong_value(name, value)
  if name == "reserve" then return type(value) ~= "boolean" and "true or false expected" end
  if type(value) ~= "number" or value < 0 or value ~= value then return "a number of at least 0 expected" end
  if whole[name] and not math.tointeger(value) then return "a whole number expected" end
  return name == "warn_at" and value > 1 and "a number from 0 to 1 expected"
end

--- A budget as the core takes it, or nil and what is wrong with it.
---@param budget any
---@return hocket.Budget?
---@return string? wrong
function account.read(budget)
  if type(budget) ~= "table" then return nil, ("a table of limits expected, as in {turns = 20}, got %s"):format(type(budget)) end
  local copy = {}
  for name, value in pairs(budget) do
    if not fields[name] then
      return nil, ("unknown limit '%s' (there are: turns, tool_calls, tokens, cost, seconds, warn_at, reserve)"):format(tostring(name))
    end
    local wrong = wrong_value(name, value)
    if wrong then return nil, ("'%s': %s, got %s"):format(name, wrong, tostring(value)) end
    copy[name] = whole[name] and math.tointeger(value) or value
  end
  return copy
end

--- The limits of an agent's work: the smaller one each of what its file says and what its caller says.
---@param own hocket.Budget? As a file has it, checked.
---@param given any?
---@return hocket.Budget?
---@return string? wrong
function account.of(own, given)
  if own == nil and given == nil then return nil end
  local both, wrong = account.read(given or {})
  if not both then return nil, wrong end
  for name, value in pairs(own or {}) do
    local other = both[name]
    both[name] = other == nil and value or type(value) == "number" and math.min(value, other) or other
  end
  return both
end

-- ---- Why not ------------------------------------------------------------------------------------

---@class hocket.Cut Why an answer is not a whole one.
---@field reason "budget"|"turns"|"stopped"|"loop"|"length"|"refusal"
---@field code string The error's, when there is no answer.
---@field own? boolean Of a budget: a limit of this agent alone (`max_turns`, `max_tool_calls`), which another agent has for itself.
---@field message string

local names = { turns = "turn", tool_calls = "tool call", tokens = "token", seconds = "second" }

local function amount(kind, value)
  if kind == "cost" then return ("%.10g USD"):format(value) end
  return ("%.10g %s%s"):format(value, names[kind], value == 1 and "" or "s")
end

local function whose(agent)
  return agent == "" and "the run" or agent
end

-- `asked`: what was to be set aside for the agent, of which `giver` had no more than the limit.
local function say(how, kind, used, limit, agent, asked, giver)
  local spent = kind == "seconds" and "" or (", %.10g used"):format(used)
  local short = asked and (" (it reserves %s, and %s had %.10g left to set aside for it: raise the budget of %s, or let %s reserve less)")
    :format(amount(kind, asked), whose(giver), limit, whose(giver), whose(agent)) or ""
  return ("the budget of %s %s: %s%s%s"):format(whose(agent), how, amount(kind, limit), spent, short)
end

---@return hocket.Cut
local function cut(kind, used, limit, agent, asked, giver)
  if kind == "stop" then return { reason = "stopped", code = "cancelled", message = "the run was stopped" } end
  return { reason = "budget", code = "budget", kind = kind, used = used, limit = limit,
    message = say("is as good as used up", kind, used, limit, agent, asked, giver) }
end

-- `tokens`: what was asked for. Nothing else can be in its way where the input alone is more than there is.
local function refused(tokens, kind, used, limit, agent, asked, giver)
  local how = (kind == "seconds" or used >= limit) and "is used up" or "is used up or spoken for"
  if kind == "tokens" and used < limit and used + tokens > limit then how = ("has no room for a call with some %d tokens of input"):format(tokens) end
  return { code = "budget", message = say(how, kind, used, limit, agent, asked, giver), kind = kind, used = used, limit = limit }
end

--- Why a call of an unknown price is not made.
---@param model string
---@return hocket.Error
function account.unpriced(model)
  return { code = "budget", message = ("there is a limit on the cost, and the price of %s is not known: give it with --price %s=IN,OUT (USD per million tokens) or hocket.prices.set, or take another model")
    :format(model, model) }
end

--- A limit binds, and the server tells no usage: said once in a run of each model.
---@param run hocket.Run
---@param one hocket.Model
---@param emit fun(type: string, payload: table)
function account.unmetered(run, one, emit)
  run.unmetered = run.unmetered or {}
  if run.unmetered[one.id] then return end
  run.unmetered[one.id] = true
  emit("warning", { code = "budget", message = ("%s tells no usage: limits count its tokens by estimate"):format(one.id) })
end

-- ---- Asking ---------------------------------------------------------------------------------------

--- Tokens of a request: four bytes for each. From the second call of a conversation on only its growth
--- is guessed so.
---@return integer
function account.tokens_of(history, request)
  local other = media.weight(history) -- a picture of a megabyte has some thousand tokens, as history:tokens() guesses it
  return (history:size() - other * 99 // 100 + #(request.system or "") + #(request.tools or "")) // 4 + 16
end

--- The dearest that a token may be: USD for a million, in and out; nil: nobody knows.
---@return number? input
---@return number output
function account.rates(model, tokens)
  local price = prices.get(model)
  if not price then return nil end
  if price.above and tokens > price.above.tokens then price = price.above end
  return math.max(price.input, price.cache_write or 0), price.output
end

--- Tokens of an answer of which nobody knows how long it will be.
local ANSWER = 2048

-- A run that is a call of another one has of its limits what that has given it, and asks for more before it runs out.
local function top_up(run, kind, wanted)
  local left = run.accounts:left(account.ROOT, kind)
  while left and left < wanted and run.more(kind, wanted - left) do left = run.accounts:left(account.ROOT, kind) end
end

local function top_up_all(run, tokens, max_output, price_in, price_out)
  local output = max_output or ANSWER
  top_up(run, "turns", 2)
  top_up(run, "tokens", tokens + output)
  if price_in then top_up(run, "cost", (tokens * price_in + output * price_out) / 1e6) end
end

--- Whether any limit holds for the calls of an account. A run that has to warn where none does, warns (see runner/run_target.lua).
---@param run hocket.Run
---@param id integer
---@return boolean
function account.is_limited(run, id)
  if run.accounts:matters(id) then return true end
  if run.unlimited then run.unlimited() end
  return false
end

-- A bound that a person has approved, and that more may be allowed of (tools/workflow/beyond.lua): whoever reaches it asks again.
local function goes_beyond(run, kind, used, limit, agent)
  for _, bound in ipairs(run.beyond) do
    if bound:is_of(kind, limit, agent) then return bound:ask(kind, used) end
  end
  return false
end

--- Asks for a model call, and waits while others' calls hold what it needs.
---@async
---@param run hocket.Run
---@param id integer The account.
---@param model string "provider/model"
---@param history hocket.History
---@param request table
---@param last boolean Whether it is the last one anyhow.
---@return "go"|"last"|nil verdict
---@return integer|hocket.Cut|hocket.Error hold to be given to the call; or why it is to be the last; or why not
---@return integer? max_output tokens that there are for the answer
function account.ask(run, id, model, history, request, last)
  local accounts, tokens = run.accounts, account.tokens_of(history, request)
  local price_in, price_out = account.rates(model, tokens)
  if run.more then top_up_all(run, tokens, request.max_tokens, price_in, price_out) end
  while true do
    local verdict, first, second, limit, agent, asked, giver =
      accounts:ask(id, tokens, request.max_tokens, price_in, price_out, last)
    if verdict == "go" then return verdict, first, second end
    if verdict == "unpriced" then return nil, account.unpriced(model) end
    if verdict == "wait" then
      account.wait(run)
    elseif not run.beyond or not goes_beyond(run, first, second, limit, agent) then
      if verdict == "last" then return verdict, cut(first, second, limit, agent, asked, giver) end
      return nil, refused(tokens, first, second, limit, agent, asked, giver)
    end
  end
end

--- Waits until a hold ends, or a limit was raised.
---@async
---@param run hocket.Run
---@internal
function account.wait(run)
  table.insert(run.waiting, fiber.self())
  fiber.park()
end

--- Whoever waits for a hold to end looks again.
---@param run hocket.Run
---@internal
function account.wake_waiting(run)
  wake_all(run.waiting)
end

local function wake(run)
  if run.waiting[1] then run:log "wake" end
end

account.wake = wake

local function warn(run, id)
  local kind, used, limit, agent = run.accounts:warning(id)
  while kind do
    run:emit("warning", { code = "budget", message = ("%s has used %s of %s"):format(whose(agent),
      kind == "cost" and ("%.10g"):format(used) or tostring(used), amount(kind, limit)) })
    kind, used, limit, agent = run.accounts:warning(id)
  end
end

--- Ends a hold. With a reply, which was counted before, the account is named.
---@param run hocket.Run
---@param hold integer
---@param id? integer
---@param goes_on? boolean Whether the agent is going to call again.
function account.settle(run, hold, id, goes_on)
  run.accounts:settle(hold, goes_on or false)
  wake(run)
  if id then warn(run, id) end
end

--- The running agent lets others work before its own first call: what that needs is kept back.
function account.keep()
  local run, id = account.here()
  run.accounts:keep(id)
end

--- The end of a run: what is still under way is given up.
---@param run hocket.Run
function account.close(run)
  run.accounts:close(account.ROOT)
end

-- ---- Tool calls --------------------------------------------------------------------------------------

--- Counts tool calls that are about to be made: how many of them may be, and why not more.
---@param run hocket.Run|false Nobody's calls are not counted.
---@param id integer
---@param n integer
---@return integer allowed
---@return hocket.Cut?
function account.tools(run, id, n)
  if not run then return n end
  if run.more then top_up(run, "tool_calls", n) end
  local allowed, limited, kind, used, limit, agent, asked, giver = run.accounts:tools(id, n)
  if limited then warn(run, id) end
  return allowed, kind and cut(kind, used, limit, agent, asked, giver)
end

--- From now on every agent of the run makes one more call at most.
---@param run hocket.Run
function account.stop(run)
  run.accounts:stop()
  wake(run)
end

return account
