--- The end of a run that an agent with `pool:` worked in, as its caller takes it: a reply or an error, usage, labels, the conversation, as within a process.
local base64 = require "hocket.internal.base.base64"
local core = require "hocket.internal.core.llm"
local effects = require "hocket.internal.base.effects"
local json = require "hocket.json"
local labels = require "hocket.internal.base.labels"
local patient = require "hocket.internal.pool.retry"
local result_of = require "hocket.internal.run.result_of"
local scope = require "hocket.internal.session.scope"
local shortfall = require "hocket.internal.run.shortfall"
local failed = require("hocket.internal.core.system").error

local pool_end = {}

--- Bytes of a result.
local MAX_RESULT = 16 << 20

local function read_result(child)
  local text, err = patient(result_of, child)
  if err then return nil, err end
  if text and #text > MAX_RESULT then
    return nil, failed { code = "limit", message = ("the result of run %s is larger than %d MiB"):format(child, MAX_RESULT >> 20) }
  end
  return text or "{}"
end

local simple = { string = true, number = true, boolean = true }

-- What the result of a call has to be. It was written by another process, of another version perhaps, or by whoever may write into the store.
local forms = { ok = "boolean", text = "string", finish = "string", agent = "string", counted = "string", model = "string", refusal = "any", value = "any", error = "table",
  cut = "table", stage_cut = "table", usage = "table", labels = "table", history = "table", answered = "table", sources = "table", reasoning = "any" }

local function is_cut(cut)
  return type(cut.code) == "string" and type(cut.message) == "string" and type(cut.reason) == "string"
end

local function wrong_form(call)
  for name, form in pairs(forms) do
    local value = call[name]
    if value == json.null then call[name], value = nil, nil end
    if value ~= nil and form ~= "any" and type(value) ~= form then return name end
  end
  local history, cut, stage = call.history, call.cut, call.stage_cut
  if history and (type(history.lines) ~= "string" or math.type(history.labels) ~= "integer") then return "history" end
  if stage and not (is_cut(stage) and type(stage.agent) == "string") then return "stage_cut" end
  return cut and not is_cut(cut) and "cut"
end

-- Errors as they are within a process.
local function error_of(step, child, state, result)
  local err = type(result.call) == "table" and result.call.error or result.error
  if state == "cancelled" then
    err = { code = "cancelled", message = ("%s was cancelled, in its run %s"):format(step.def.name, child) }
  elseif type(err) ~= "table" or type(err.code) ~= "string" or type(err.message) ~= "string" then
    err = { code = "agent", message = ("the run %s of %s has ended without a result"):format(child, step.def.name) }
  end
  local copy = {}
  for name, value in pairs(err) do copy[name] = simple[type(value)] and value or nil end
  return failed(copy)
end

local amounts = { "input", "output", "cached", "cache_write", "reasoning", "calls", "seconds", "cost" }

local function is_usage(usage)
  if not usage then return false end
  for _, name in ipairs(amounts) do
    local value = usage[name]
    if value ~= nil and value ~= json.null and (type(value) ~= "number" or value ~= value or value < 0 or value > 1e15) then return false end
  end
  return true
end

local function count(step, run, id, call)
  local used, usage = call.counted and base64.decode(call.counted), call.usage
  if used and not pcall(run.accounts.count, run.accounts, id, used) and is_usage(usage) then -- of a worker of another version
    run.accounts:add(id, usage, usage.cost ~= json.null and usage.cost or nil, usage.seconds, usage.calls)
  end
  for model, simulated in pairs(call.answered or {}) do
    if type(model) == "string" then run.answered[model] = simulated == true or run.answered[model] or false end
  end
  for _, name in ipairs(call.labels or {}) do
    if labels.is_known(name) then scope.labels(step):add(labels.bit(name)) end
  end
end

-- What was said there is said here.
local function take_history(step, told)
  if not told then return true end
  local history, opts = core.history(), step.opts
  for line in told.lines:gmatch "[^\n]+" do
    local ok, err = history:add(line)
    if not ok then return nil, err end
  end
  history:labels(told.labels & (labels.STRANGE | labels.PRIVATE))
  local own = opts.history or opts.memory and opts.memory[step.def]
  if own then own:become(history) elseif opts.memory then opts.memory[step.def] = history end
  step.history = own or history
  return true
end

local function reply_of(step, call)
  local reply = { calls = {}, usage = {}, text = call.text or "", finish = call.finish or "stop", agent = call.agent or step.def.name }
  for _, name in ipairs { "cut", "stage_cut", "sources", "value", "reasoning", "refusal", "model" } do
    if call[name] ~= json.null then reply[name] = call[name] end
  end
  local on_delta = step:is_last() and step.opts.on_delta
  if on_delta and reply.text ~= "" then effects.aside(on_delta, "text", reply.text) end
  return reply
end

local function unreadable(child, why)
  return nil, failed { code = "parse", message = ("the result of run %s cannot be read: %s"):format(child, why) }
end

-- The run's result, and what it says of the call; its caller gets neither of what is not as it has to be.
local function parse(child, text)
  local result, wrong = json.decode(text)
  if type(result) ~= "table" then return unreadable(child, wrong or "it is no object") end
  local call = type(result.call) == "table" and result.call or {}
  wrong = wrong_form(call)
  if wrong then return unreadable(child, ("'%s' is not what it has to be"):format(wrong)) end
  return result, call
end

--- Takes it.
---@async
---@param step hocket.Step
---@param child string The run's id.
---@param state string
---@param id integer The account that it counts for.
---@return hocket.Reply?
---@return hocket.Error?
---@return table? usage
function pool_end.settle(step, child, state, id)
  local text, err = effects.run("result", { run = child }, function() return read_result(child) end, { reads = true })
  if not text then return nil, err end
  local result, call = parse(child, text)
  if not result then return nil, call end
  count(step, step.run, id, call)
  local ok, wrong = take_history(step, call.history)
  if not ok then return unreadable(child, tostring(wrong.message or wrong)) end
  shortfall.of_child(step.run, result.partial)
  local usage = is_usage(call.usage) and call.usage or nil
  if call.ok then return reply_of(step, call), nil, usage end
  return nil, error_of(step, child, state, result), usage
end

return pool_end
