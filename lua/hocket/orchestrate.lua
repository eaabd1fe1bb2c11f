--- Agents at work: the one place that makes and runs sessions. A session knows its own
--- conversation only; what is around it, events, tools, models, limits, is put together here.
local agents = require "hocket.agent"
local broker = require "hocket.broker"
local fiber = require "hocket.core.fiber"
local flow = require "hocket.flow"
local model = require "hocket.model"
local prompt = require "hocket.prompt"
local runs = require "hocket.run"
local session = require "hocket.session"
local tool = require "hocket.tool"

local orchestrate = {}

--- Agents may call each other this deep.
local MAX_DEPTH = 16

local settings = { "temperature", "top_p", "top_k", "max_tokens", "seed", "stop", "reasoning", "max_turns", "max_tool_calls" }

-- ---- Putting a session together ---------------------------------------------------------

-- A model named for this agent on the command line, then one for all, then the file's own, then the
-- caller's, then the default.
local function choose_model(run, def, opts)
  local chosen = run.options.models and run.options.models[def.name]
    or run.options.model or opts.override_model or def.model or opts.model
  if chosen then return model.resolve(chosen) end
  run.default_model = run.default_model or model.default()
  return model.resolve(run.default_model)
end

local function tool_names(def, opts)
  local names = table.move(def.tools, 1, #def.tools, 1, {})
  for _, name in ipairs(opts.extra_tools or {}) do names[#names + 1] = name end
  for _, one in ipairs(opts.tools or {}) do names[#names + 1] = one end
  return names
end

local function system_prompt(run, def, team, tools, opts)
  local described = {}
  for _, name in ipairs(def.agents) do
    described[#described + 1] = ("- %s: %s"):format(name, team[name].description)
  end
  local values = {
    tool_descriptions = tool.describe(tools), agents = table.concat(described, "\n"),
    name = def.name, display_name = def.display_name,
  }
  for name, value in pairs(def.variables) do values[name] = value end
  for name, value in pairs(run.options.variables or {}) do values[name] = value end
  for name, value in pairs(opts.variables or {}) do values[name] = value end
  return prompt.fill(def.prompt, values, { file = def.file, line = def.prompt_line })
end

local function emitter(run, def, op, leads)
  return function(type, payload)
    if type == "message" then
      type = leads and "facilitator_message" or "agent_message"
      payload.display_name = def.display_name
    elseif type == "model_reply" then
      run:count(payload.usage)
    end
    run:emit(type, payload, def.name, op)
  end
end

local function is_lead(def)
  for _, name in ipairs(def.tools) do
    if name == "facilitator" then return true end
  end
  return false
end

local function prepare(run, def, op, opts)
  local team = agents.team_of(def)
  local env = {
    agent = def, team = team, run = run, board = opts.board, document = opts.document,
    task_ids = opts.task_ids, model = opts.model,
  }
  local tools, err = tool.resolve(tool_names(def, opts), env)
  if not tools then return nil, err end
  local system, missing = system_prompt(run, def, team, tools, opts)
  if not system then return nil, missing end
  local chosen, no_model = choose_model(run, def, opts)
  if not chosen then return nil, no_model end
  local spec = {
    model = chosen, system = system, tools = tools, emit = emitter(run, def, op, is_lead(def)),
    context = env, on_delta = opts.on_delta, history = opts.history,
  }
  for _, name in ipairs(settings) do spec[name] = def[name] end
  spec.max_turns = run.options.max_turns or spec.max_turns
  return session.new(spec)
end

-- ---- Running it ------------------------------------------------------------------------------

local function work(run, def, op, input, opts)
  local one, err = prepare(run, def, op, opts)
  if not one then return nil, err end
  local reply
  reply, err = one:send(input)
  return reply, err
end

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
local function enter(op)
  local context = fiber.context()
  fiber.set_context(setmetatable({ op = op, depth = (context.depth or 0) + 1 }, { __index = context }))
end

-- What a job of the broker does for an agent: announces it, runs its session, says how it ended.
local function perform(run, def, op, input, opts)
  local announced = opts.trigger ~= nil
  enter(op)
  if announced then
    run:emit("agent_started", { display_name = def.display_name, task_ids = opts.task_ids, message = input, trigger = opts.trigger }, def.name, op)
  end
  local ended <close> = setmetatable({}, { __close = function() -- also when this fiber is cancelled
    if announced then run:emit("agent_finished", { display_name = def.display_name }, def.name, op) end
  end })
  local reply, err = with_timeout(opts.timeout or def.timeout, def, function() return work(run, def, op, input, opts) end)
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
---@param input string
---@param opts? table As for orchestrate.call.
---@return table? spec
---@return hocket.Error?
function orchestrate.job(def, input, opts)
  opts = opts or {}
  local context, run = fiber.context(), runs.current()
  if not run then error("an agent can only be called inside a run (hocket.run makes one)", 2) end
  if (context.depth or 0) >= MAX_DEPTH then
    return nil, { code = "limit", message = ("agents call each other more than %d deep"):format(MAX_DEPTH) }
  end
  local op = run:operation()
  run:adopt(opts)
  return {
    agent = def.name, data = { input = input, task_ids = opts.task_ids, trigger = opts.trigger, op = op },
    summarize = summarize, run = function() return perform(run, def, op, input, opts) end,
  }
end

--- Lets an agent answer an input, as a job of the broker: the only caller of sessions.
---@async
---@param def hocket.Agent
---@param input string
---@param opts? {board?: hocket.Board, document?: hocket.Document, task_ids?: integer[], trigger?: string, tools?: hocket.Tool[], extra_tools?: string[], model?: string, override_model?: string, variables?: table, on_delta?: function, history?: hocket.History, timeout?: number}
---@return hocket.Reply?
---@return hocket.Error?
function orchestrate.call(def, input, opts)
  local spec, err = orchestrate.job(def, input, opts)
  if not spec then return nil, err end
  return broker.shared():call(spec)
end

return orchestrate
