--- Agents at work: an agent's answer is a job of the broker, with its events, its place among those
--- who called it, its time limit.
local broker = require "hocket.broker"
local door = require "hocket.door"
local fiber = require "hocket.core.fiber"
local flow = require "hocket.flow"
local runs = require "hocket.run"
local solo = require "hocket.solo"

local orchestrate = {}

--- Agents may call each other this deep.
local MAX_DEPTH = 16

-- ---- Running it ------------------------------------------------------------------------------

-- Errors that another attempt would only meet again.
local final = { agent = true, auth = true, budget = true, denied = true, invalid = true, unsupported = true, not_found = true }

local function with_timeout(seconds, def, fn)
  if not seconds then return fn() end
  local reply, err = flow.timeout(seconds, fn)
  if not reply and err and err.expired == fn then -- not a time that ran out inside of it
    err = { code = "timeout", message = ("%s was not done within %g seconds"):format(def.name, seconds) }
  end
  return reply, err
end

-- The operation that is under way is part of the fiber's context, so that what it calls knows
-- who called, and how deep it is.
local function enter(op, opts)
  local context = fiber.context()
  fiber.set_context(setmetatable({ op = op, depth = (context.depth or 0) + 1, allowed = opts.allowed, rules = opts.rules, labels = opts.labels }, { __index = context }))
end

-- What a job of the broker does for an agent: announces it, runs its session, says how it ended.
local function perform(run, def, op, input, opts)
  local announced = opts.trigger ~= nil
  enter(op, opts)
  if announced then
    run:emit("agent_started", { display_name = def.display_name, task_ids = opts.task_ids, message = input, trigger = opts.trigger }, def.name, op)
  end
  local ended <close> = setmetatable({}, { __close = function() -- also when this fiber is cancelled
    if announced then run:emit("agent_finished", { display_name = def.display_name }, def.name, op) end
  end })
  local reply, err = with_timeout(opts.timeout or def.timeout, def, function() return solo.answer(run, def, op, input, opts) end)
  if reply then
    local job = broker.job()
    reply.usage_total = job and job.usage
  elseif final[err.code] then
    err.no_retry = true
  end
  if reply and announced then
    run:emit("agent_message", { display_name = def.display_name, content = reply.text }, def.name, op)
  elseif not reply then
    run:emit("warning", { message = ("%s failed: %s"):format(def.name, err.message), code = err.code }, def.name, op)
  end
  return reply, err
end

local function summarize(reply)
  return { text = reply.text, finish = reply.finish }
end

--- The broker's job for an agent's answer: to be submitted by whoever does not want to wait.
---@param def hocket.Agent
---@param input string|fun(job: hocket.Job): string What it is told; a function makes it anew for each attempt.
---@param opts? table As for orchestrate.call.
---@return table? spec
---@return hocket.Error?
function orchestrate.job(def, input, opts)
  opts = setmetatable({}, { __index = opts or {} })
  local context, run = fiber.context(), runs.current()
  if not run then error("an agent can only be called inside a run (hocket.run makes one)", 2) end
  if (context.depth or 0) >= MAX_DEPTH then
    return nil, { code = "limit", message = ("agents call each other more than %d deep"):format(MAX_DEPTH) }
  end
  local op = run:operation()
  run:adopt(opts)
  opts.allowed = door.narrow(context.allowed, opts.allowed)
  opts.rules, opts.labels = context.rules, context.labels
  local fixed = type(input) == "string"
  return {
    agent = def.name, op = op, summarize = summarize,
    data = { input = fixed and input or nil, task_ids = opts.task_ids, trigger = opts.trigger, op = op },
    run = function(job) return perform(run, def, op, fixed and input or input(job), opts) end,
  }
end

--- Lets an agent answer an input, as a job of the broker: the only caller of sessions.
---@async
---@param def hocket.Agent
---@param input string
---@param opts? {board?: hocket.Board, document?: hocket.Document, task_ids?: integer[], trigger?: string, tools?: hocket.Tool[], extra_tools?: string[], model?: string, override_model?: string, variables?: table, on_delta?: function, history?: hocket.History, timeout?: number, allowed?: table<string, boolean>, schema?: string, schema_name?: string}
---@return hocket.Reply?
---@return hocket.Error?
function orchestrate.call(def, input, opts)
  local spec, err = orchestrate.job(def, input, opts)
  if not spec then return nil, err end
  return broker.shared():call(spec)
end

return orchestrate
