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

local nothing = {}

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

local function has(list, name)
  for _, one in ipairs(list) do
    if one == name then return true end
  end
  return false
end

---@class hocket.Facts What follows from a definition alone: a definition never changes.
---@field leads boolean Whether it is a facilitator.
---@field may_delegate boolean Who has agents to call, and is neither a facilitator nor a router, can delegate.
---@field has_places boolean Whether its prompt is to be filled in.
---@field settings table<string, any> What it says of requests and sessions.

local known = setmetatable({}, { __mode = "k" }) -- by definition

---@return hocket.Facts
local function facts_of(def)
  local facts = known[def]
  if facts then return facts end
  local leads = has(def.tools, "facilitator")
  facts = {
    leads = leads, may_delegate = #def.agents > 0 and not def.router and not leads and not has(def.tools, "delegate_to_agent"),
    has_places = def.prompt:find("{{", 1, true) ~= nil, settings = {},
  }
  for _, name in ipairs(settings) do facts.settings[name] = def[name] end
  known[def] = facts
  return facts
end

local function tool_names(def, opts)
  local names = table.move(def.tools, 1, #def.tools, 1, {})
  for _, name in ipairs(opts.extra_tools or nothing) do names[#names + 1] = name end
  for _, one in ipairs(opts.tools or nothing) do names[#names + 1] = one end
  if opts.closing then table.move(opts.closing, 1, #opts.closing, #names + 1, names) end
  if opts.pattern_tools then table.move(opts.pattern_tools, 1, #opts.pattern_tools, #names + 1, names) end
  if facts_of(def).may_delegate and tool.is_known "delegate" then names[#names + 1] = "delegate" end
  return names
end

local function system_prompt(run, def, tools, opts)
  if not facts_of(def).has_places then return def.prompt end
  local values = {
    tool_descriptions = tool.describe(tools), agents = agents.describe_callees(def),
    name = def.name, display_name = def.display_name,
  }
  for name, value in pairs(def.variables) do values[name] = value end
  for name, value in pairs(run.options.variables or nothing) do values[name] = value end
  for name, value in pairs(opts.variables or nothing) do values[name] = value end
  return prompt.fill(def.prompt, values, needs.origin(def))
end

-- What an agent says beside its calls is the log of its job, each call progress: whoever gave it
-- the work can look on.
local function emitter(run, def, op, job)
  local leads = facts_of(def).leads
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

local function teller(run, def, op, job)
  local journal, name = run.journal, def.name
  return function(type, ...)
    if job then job:touch() end
    journal:write(type, name, op, ...)
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

-- What the operator and the run say, which is nothing mostly.
local function rules_of_run(options)
  if options.approve == nil and not system.getenv "HOCKET_APPROVE" then return {} end
  return approve.of_run(options)
end

local function ask_approval(about)
  return ask.approval(about)
end

--- What the door goes by for an agent at work: rules of the run, of every agent on the way here and of
--- this one. They and the labels go on to all agents that this one calls, also to those that are asked
--- before its own session begins.
---@param step hocket.Step
---@return table? policy
---@return hocket.Error?
function solo.policy(step)
  local run, def, opts = step.run, step.def, step.opts
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
    layers = layers, labels = here, ask = ask_approval,
    protect = function() return workdir.protected(run, agents.team_of(def)) end,
  }
end

-- A pattern's tools move its own picture along and reach nothing else: no caller withholds them.
local function granted(by_callers, opts)
  if not by_callers or not opts.closing and not opts.pattern_tools then return by_callers end
  local allowed = setmetatable({}, { __index = by_callers })
  for _, one in ipairs(opts.closing or nothing) do allowed[one.name] = true end
  for _, one in ipairs(opts.pattern_tools or nothing) do allowed[one.name] = true end
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

-- Lists of hooks are made when a tool or a pattern adds one.
local hook_names = { before_turn = joined, before_answer = joined, stop_when = any }
local env_meta = { __index = function(env, name)
  if not hook_names[name] then return nil end
  local list = {}
  rawset(env, name, list)
  return list
end }

-- Tools and patterns look on by hooks; what a pattern brings comes after what the tools have added.
local function add_hooks(spec, env, opts)
  if opts.hooks then
    for name, hook in pairs(opts.hooks) do table.insert(env[name], hook) end
  end
  for name, combine in pairs(hook_names) do
    local list = rawget(env, name)
    if list and #list > 0 then spec[name] = combine(list) end
  end
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

local function tools_for(step, opts, env)
  local names = tool_names(step.def, opts)
  if #names == 0 then return nothing end
  return tool.resolve(names, env)
end

-- What goes out alike whenever the agent is asked in this run is read once: where nothing but its tools can
-- be of the caller's or of a pattern.
local function is_alike(def, opts, spec)
  return not facts_of(def).has_places and not def.output and not opts.schema and not spec.on_delta
end

local function open_session(run, def, opts, entry, spec)
  if not is_alike(def, opts, spec) then return session.new(spec) end
  local tools, known = #entry.tools > 0 and tool.declare(entry.tools) or "", run.requests[def]
  if known and known.tools == tools then
    spec.request = known.request
    return session.new(spec)
  end
  local made = session.new(spec)
  run.requests[def] = { tools = tools, request = made.request }
  return made
end

local function prepare(step, opts)
  local run, def, op = step.run, step.def, step.op
  local env = setmetatable({
    agent = def, team = agents.team_of(def), run = run, board = opts.board, document = opts.document,
    task_ids = opts.task_ids, model = opts.model, allowed = step.allowed, home = opts.home,
  }, env_meta)
  local tools, err = tools_for(step, opts, env)
  if not tools then return nil, err end
  local entry = door.new(def.name, tools, granted(step.allowed, opts), step.policy)
  local system, missing = system_prompt(run, def, entry.tools, opts)
  if not system then return nil, missing end
  local chosen, no_model = choose_model(run, def, op, opts)
  if not chosen then return nil, no_model end
  local job = opts.trigger and broker.job()
  local spec = {
    model = chosen, system = system, door = entry, emit = emitter(run, def, op, job), tell = teller(run, def, op, job),
    context = env, on_delta = opts.on_delta or run:delta_sink(def.name, op), history = history_for(def, opts),
    schema = opts.schema or nil, schema_name = opts.schema_name or nil,
    on_call = job and function(call) job:progress(preview(call)) end,
  }
  if #tools > 0 or opts.hooks then add_hooks(spec, env, opts) end
  for name, value in pairs(facts_of(def).settings) do spec[name] = value end
  spec.max_turns = opts.turns or run.options.max_turns or spec.max_turns
  spec.retries = run.options.retries or spec.retries
  local kept = def.output and not opts.schema and promise(spec, def, spec.emit)
  local made = open_session(run, def, opts, entry, spec)
  step.policy.labels:keep(made.history)
  return made, kept
end

--- Lets an agent's own session answer.
---@async
---@param step hocket.Step
---@param input string
---@param opts table As for orchestrate.call, with what a pattern adds.
---@return hocket.Reply?
---@return hocket.Error?
function solo.answer(step, input, opts)
  local one, kept = prepare(step, opts)
  if not one then return nil, kept end
  local reply, err = one:send(input)
  if err and err.model then err.agent = err.agent or step.def.name end
  if kept then return kept.settle(reply, err) end
  return reply, err
end

return solo
