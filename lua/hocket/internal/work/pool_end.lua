--- The end of a run that an agent with `pool:` worked in, as its caller takes it: a reply or an error, usage, labels, the conversation, as within a process.
local base64 = require "hocket.internal.base.base64"
local core = require "hocket.internal.core.llm"
local effects = require "hocket.internal.base.effects"
local json = require "hocket.json"
local labels = require "hocket.internal.base.labels"
local scope = require "hocket.internal.work.scope"
local shortfall = require "hocket.internal.run.shortfall"
local store = require "hocket.internal.core.store"
local failed = require("hocket.internal.core.system").error

local pool_end = {}

local function read_result(child)
  local files, err = store.files(child)
  if not files then return nil, err end
  for _, file in ipairs(files) do
    if file.path == "=result" then return file.text end
  end
  return "{}"
end

local simple = { string = true, number = true, boolean = true }

-- Errors as they are within a process.
local function error_of(step, child, state, result)
  local err = type(result.call) == "table" and result.call.error or result.error
  if state == "cancelled" then
    err = { code = "cancelled", message = ("%s was cancelled, in its run %s"):format(step.def.name, child) }
  elseif type(err) ~= "table" or type(err.code) ~= "string" then
    err = { code = "agent", message = ("the run %s of %s has ended without a result"):format(child, step.def.name) }
  end
  local copy = {}
  for name, value in pairs(err) do copy[name] = simple[type(value)] and value or nil end
  return failed(copy)
end

local function count(step, run, id, call)
  local used = call.counted and base64.decode(call.counted)
  if used and not pcall(run.accounts.count, run.accounts, id, used) then -- of a worker of another version
    local usage = call.usage
    run.accounts:add(id, usage, usage.cost ~= json.null and usage.cost or nil, usage.seconds, usage.calls)
  end
  for model, simulated in pairs(call.answered or {}) do run.answered[model] = simulated or run.answered[model] or false end
  for _, name in ipairs(call.labels or {}) do scope.labels(step):add(labels.bit(name)) end
end

-- What was said there is said here.
local function take_history(step, told)
  if type(told) ~= "table" then return end
  local history, opts = core.history(), step.opts
  for line in told.lines:gmatch "[^\n]+" do assert(history:add(line)) end
  history:labels(told.labels)
  local own = opts.history or opts.memory and opts.memory[step.def]
  if own then own:become(history) elseif opts.memory then opts.memory[step.def] = history end
  step.history = own or history
end

local function reply_of(step, call)
  local reply = { calls = {}, usage = {}, text = call.text or "", finish = call.finish or "stop", agent = call.agent or step.def.name }
  for _, name in ipairs { "cut", "sources", "value", "reasoning", "refusal", "model" } do
    if call[name] ~= json.null then reply[name] = call[name] end
  end
  local on_delta = step:is_last() and step.opts.on_delta
  if on_delta and reply.text ~= "" then effects.aside(on_delta, "text", reply.text) end
  return reply
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
  local text, err = effects.run("result", { run = child }, function() return read_result(child) end)
  if not text then return nil, err end
  local result = json.decode(text)
  if type(result) ~= "table" then return nil, failed { code = "parse", message = ("the result of run %s cannot be read"):format(child) } end
  local call = type(result.call) == "table" and result.call or {}
  count(step, step.run, id, call)
  take_history(step, call.history)
  shortfall.of_child(step.run, result.partial)
  if call.ok then return reply_of(step, call), nil, call.usage end
  return nil, error_of(step, child, state, result), call.usage
end

return pool_end
