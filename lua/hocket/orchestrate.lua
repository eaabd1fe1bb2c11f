--- Agents at work: the one place that makes and runs sessions. A session knows its own
--- conversation only; what is around it, events, tools, models, limits, is put together here.
local agents = require "hocket.agent"
local broker = require "hocket.broker"
local door = require "hocket.door"
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

local settings = { "temperature", "top_p", "top_k", "max_tokens", "seed", "stop", "reasoning", "max_turns", "max_tool_calls", "retries" }

--- Bytes of a call's arguments that its progress shows.
local PREVIEW = 120

-- ---- Putting a session together ---------------------------------------------------------

-- A model named for this agent on the command line, then one for all, then the file's own, then the
-- caller's, then the default.
local function choose_model(run, def, op, opts)
  local function skipped(from, to, err)
    run:emit("model_fallback", { from = from, to = to, reason = err.code, message = err.message }, def.name, op)
  end
  local chosen = run.options.models and run.options.models[def.name]
    or run.options.model or opts.override_model or def.model or opts.model
  if chosen then return model.choose(chosen, skipped) end
  run.default_model = run.default_model or model.default()
  return model.resolve(run.default_model)
end

local function is_lead(def)
  for _, name in ipairs(def.tools) do
    if name == "facilitator" then return true end
  end
  return false
end

-- Who has agents to call, and is no facilitator, can delegate.
local function tool_names(def, opts)
  local names = table.move(def.tools, 1, #def.tools, 1, {})
  for _, name in ipairs(opts.extra_tools or {}) do names[#names + 1] = name end
  for _, one in ipairs(opts.tools or {}) do names[#names + 1] = one end
  if #def.agents > 0 and not is_lead(def) and tool.is_known "delegate" then names[#names + 1] = "delegate" end
  return names
end

local function system_prompt(run, def, team, tools, opts)
  if not def.prompt:find("{{", 1, true) then return def.prompt end
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

-- What an agent says beside its calls is the log of its job, each call progress: whoever gave it
-- the work can look on.
local function emitter(run, def, op, job)
  local leads = is_lead(def)
  return function(type, payload)
    if type == "message" then
      type = leads and "facilitator_message" or "agent_message"
      payload.display_name = def.display_name
      if job then job:log(payload.content) end
    elseif type == "model_reply" then
      run:count(payload.usage)
      local own = broker.job()
      if own then own:count(payload.usage) end
    end
    run:emit(type, payload, def.name, op)
  end
end

local function preview(call)
  local arguments = call.arguments:gsub("%s+", " ")
  if #arguments > PREVIEW then arguments = arguments:sub(1, utf8.offset(arguments, 0, PREVIEW) - 1) .. "…" end
  return ("%s %s"):format(call.name, arguments)
end

-- The first text that one of the hooks has; all of what they have, one below the other.
local function joined(hooks)
  return function(...)
    local texts = {}
    for _, hook in ipairs(hooks) do texts[#texts + 1] = hook(...) end
    return #texts > 0 and table.concat(texts, "\n\n") or nil
  end
end

local function prepare(run, def, op, opts)
  local team = agents.team_of(def)
  local env = {
    agent = def, team = team, run = run, board = opts.board, document = opts.document,
    task_ids = opts.task_ids, model = opts.model, allowed = opts.allowed, home = opts.home,
    before_turn = {}, before_answer = {},
  }
  local tools, err = tool.resolve(tool_names(def, opts), env)
  if not tools then return nil, err end
  local entry = door.new(def.name, tools, opts.allowed)
  local system, missing = system_prompt(run, def, team, entry.tools, opts)
  if not system then return nil, missing end
  local chosen, no_model = choose_model(run, def, op, opts)
  if not chosen then return nil, no_model end
  local job = opts.trigger and broker.job()
  local spec = {
    model = chosen, system = system, door = entry, emit = emitter(run, def, op, job),
    context = env, on_delta = opts.on_delta, history = opts.history, schema = opts.schema, schema_name = opts.schema_name,
    on_call = job and function(call) job:progress(preview(call)) end,
    before_turn = #env.before_turn > 0 and joined(env.before_turn) or nil,
    before_answer = #env.before_answer > 0 and joined(env.before_answer) or nil,
  }
  for _, name in ipairs(settings) do spec[name] = def[name] end
  spec.max_turns = run.options.max_turns or spec.max_turns
  spec.retries = run.options.retries or spec.retries
  return session.new(spec)
end

-- ---- Running it ------------------------------------------------------------------------------

-- Errors that another attempt would only meet again.
local final = { agent = true, auth = true, budget = true, denied = true, invalid = true, unsupported = true, not_found = true }

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
local function enter(op, opts)
  local context = fiber.context()
  fiber.set_context(setmetatable({ op = op, depth = (context.depth or 0) + 1, allowed = opts.allowed }, { __index = context }))
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
  local reply, err = with_timeout(opts.timeout or def.timeout, def, function() return work(run, def, op, input, opts) end)
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
