--- One agent by itself: its session is put together here, tools, model, limits, events, and answers.
--- The only caller of sessions; what is around an agent, its advisors and who comes after it, is
--- orchestrate's.
local agents = require "hocket.agent"
local broker = require "hocket.broker"
local door = require "hocket.door"
local fiber = require "hocket.core.fiber"
local labels = require "hocket.labels"
local later = require "hocket.later"
local llm = require "hocket.llm"
local model = require "hocket.model"
local needs = require "hocket.agent.needs"
local prompt = require "hocket.prompt"
local session = require "hocket.session"
local system = require "hocket.core.system"
local tool = require "hocket.tool"

local approve, ask = later "hocket.approve", later "hocket.ask"
local contract, workdir = later "hocket.contract", later "hocket.workdir"

local solo = {}

local settings = { "temperature", "top_p", "top_k", "max_tokens", "seed", "stop", "reasoning", "max_turns", "max_tool_calls", "retries" }

--- Bytes of a call's arguments that its progress shows.
local PREVIEW = 120

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

-- Who has agents to call, and is neither a facilitator nor a router, can delegate.
local function delegates(def)
  if #def.agents == 0 or def.router or is_lead(def) or not tool.is_known "delegate" then return false end
  for _, name in ipairs(def.tools) do
    if name == "delegate_to_agent" then return false end
  end
  return true
end

local function tool_names(def, opts)
  local names = table.move(def.tools, 1, #def.tools, 1, {})
  for _, name in ipairs(opts.extra_tools or {}) do names[#names + 1] = name end
  for _, one in ipairs(opts.tools or {}) do names[#names + 1] = one end
  for _, list in ipairs { opts.closing or {}, opts.pattern_tools or {} } do table.move(list, 1, #list, #names + 1, names) end
  if delegates(def) then names[#names + 1] = "delegate" end
  return names
end

local function system_prompt(run, def, tools, opts)
  if not def.prompt:find("{{", 1, true) then return def.prompt end
  local values = {
    tool_descriptions = tool.describe(tools), agents = agents.describe_callees(def),
    name = def.name, display_name = def.display_name,
  }
  for name, value in pairs(def.variables) do values[name] = value end
  for name, value in pairs(run.options.variables or {}) do values[name] = value end
  for name, value in pairs(opts.variables or {}) do values[name] = value end
  return prompt.fill(def.prompt, values, needs.origin(def))
end

-- What an agent says beside its calls is the log of its job, each call progress: whoever gave it
-- the work can look on.
local function emitter(run, def, op, job)
  local leads = is_lead(def)
  return function(type, payload)
    if job then job:touch() end
    if type == "message" then
      type = leads and "facilitator_message" or "agent_message"
      payload.display_name = def.display_name
      if job then job:log(payload.content) end
    end
    run:emit(type, payload, def.name, op)
  end
end

local function teller(run, def, op)
  local journal, name = run.journal, def.name
  return function(type, ...) journal:write(type, name, op, ...) end
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

-- What the operator and the run say, which is nothing mostly.
local function rules_of_run(options)
  if options.approve == nil and not system.getenv "HOCKET_APPROVE" then return {} end
  return approve.of_run(options)
end

--- What the door goes by for an agent at work: rules of the run, of every agent on the way here and of
--- this one. They and the labels go on to all agents that this one calls, also to those that are asked
--- before its own session begins.
---@param run hocket.Run
---@param def hocket.Agent
---@param opts table
---@return table? policy
---@return hocket.Error?
function solo.policy(run, def, opts)
  local context, err = fiber.context(), nil
  local layers = context.rules
  if not layers then
    layers, err = rules_of_run(run.options)
    if not layers then return nil, err end
  end
  local own = def.approve and approve.of_agent(def)
  if own then
    layers = table.move(layers, 1, #layers, 1, {})
    layers[#layers + 1] = own
  end
  run.labels = run.labels or labels.new()
  local here = labels.new(context.labels or run.labels, opts.history or opts.memory and opts.memory[def])
  context.rules, context.labels = layers, here
  return {
    layers = layers, labels = here, ask = function(about) return ask.approval(about) end,
    protect = function() return workdir.protected(run, agents.team_of(def)) end,
  }
end

-- A pattern's tools move its own picture along and reach nothing else: no caller withholds them.
local function granted(opts)
  if not opts.allowed or not opts.closing and not opts.pattern_tools then return opts.allowed end
  local allowed = setmetatable({}, { __index = opts.allowed })
  for _, list in ipairs { opts.closing or {}, opts.pattern_tools or {} } do
    for _, one in ipairs(list) do allowed[one.name] = true end
  end
  return allowed
end

-- The conversation that it goes on with: the caller's, or its own one in the caller's memory.
local function history_for(def, opts)
  if opts.history or not opts.memory then return opts.history end
  opts.memory[def] = opts.memory[def] or llm.history()
  return opts.memory[def]
end

local function any(hooks)
  return function()
    for _, hook in ipairs(hooks) do
      if hook() then return true end
    end
    return false
  end
end

-- Tools and patterns look on by hooks; what a pattern brings comes after what the tools have added.
local function add_hooks(spec, env, opts)
  for name, hook in pairs(opts.hooks or {}) do table.insert(env[name], hook) end
  spec.before_turn = #env.before_turn > 0 and joined(env.before_turn) or nil
  spec.before_answer = #env.before_answer > 0 and joined(env.before_answer) or nil
  spec.stop_when = #env.stop_when > 0 and any(env.stop_when) or nil
end

-- What the head promises of its answers is watched over last: whoever else has something to say
-- before an answer stands is heard first.
local function promise(spec, def, emit)
  local kept = contract.output(def, emit)
  local others = spec.before_answer
  spec.schema, spec.schema_name = contract.request_schema(def), def.name
  spec.system = spec.system .. contract.instructions(def)
  spec.before_answer = function(reply) return others and others(reply) or kept.before_answer(reply) end
  return kept
end

local function prepare(run, def, op, opts, policy)
  local team = agents.team_of(def)
  local env = {
    agent = def, team = team, run = run, board = opts.board, document = opts.document,
    task_ids = opts.task_ids, model = opts.model, allowed = opts.allowed, home = opts.home,
    before_turn = {}, before_answer = {}, stop_when = {},
  }
  local tools, err = tool.resolve(tool_names(def, opts), env)
  if not tools then return nil, err end
  local entry = door.new(def.name, tools, granted(opts), policy)
  local system, missing = system_prompt(run, def, entry.tools, opts)
  if not system then return nil, missing end
  local chosen, no_model = choose_model(run, def, op, opts)
  if not chosen then return nil, no_model end
  local job = opts.trigger and broker.job()
  local spec = {
    model = chosen, system = system, door = entry, emit = emitter(run, def, op, job), tell = teller(run, def, op),
    context = env, on_delta = opts.on_delta or run:delta_sink(def.name, op), history = history_for(def, opts),
    schema = opts.schema or nil, schema_name = opts.schema_name or nil,
    on_call = job and function(call) job:progress(preview(call)) end,
  }
  add_hooks(spec, env, opts)
  for _, name in ipairs(settings) do spec[name] = def[name] end
  spec.max_turns = opts.turns or run.options.max_turns or spec.max_turns
  spec.retries = run.options.retries or spec.retries
  local kept = def.output and not opts.schema and promise(spec, def, spec.emit)
  local made = session.new(spec)
  policy.labels:keep(made.history)
  return made, kept
end

--- Lets an agent's own session answer.
---@async
---@param run hocket.Run
---@param def hocket.Agent
---@param op string The operation that its events name.
---@param input string
---@param opts table As for orchestrate.call.
---@param policy table As solo.policy gives it.
---@return hocket.Reply?
---@return hocket.Error?
function solo.answer(run, def, op, input, opts, policy)
  local one, kept = prepare(run, def, op, opts, policy)
  if not one then return nil, kept end
  local reply, err = one:send(input)
  if err and err.model then err.agent = err.agent or def.name end
  if kept then return kept.settle(reply, err) end
  return reply, err
end

return solo
