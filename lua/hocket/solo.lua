--- One agent by itself: its session is put together here, tools, model, limits, events, and answers.
--- The only caller of sessions; what is around an agent, its advisors and who comes after it, is
--- orchestrate's.
local agents = require "hocket.agent"
local mandate = require "hocket.mandate"
local facts_of = require "hocket.agent.facts"
local kit = require "hocket.kit"
local later = require "hocket.later"
local llm = require "hocket.llm"
local model = require "hocket.model"
local needs = require "hocket.agent.needs"
local prompt = require "hocket.prompt"
local session = require "hocket.session"
local squeezer = require("hocket.core.text").squeezer
local tool = require "hocket.tool"

local contract = later "hocket.contract"

local solo = {}

--- Bytes of a call's arguments that its progress shows.
local PREVIEW = 120

local nothing = {}

-- A model named for this agent on the command line, then one for all, then the file's own, then the
-- caller's, then the default.
local function choose_model(step)
  local run, def, opts = step.run, step.def, step.opts
  local options = run.options
  local chosen = options.models and options.models[def.name] or options.model or opts.override_model or def.model or opts.model
  if not chosen then
    run.default_model = run.default_model or model.default()
    chosen = run.default_model
  end
  if type(chosen) == "string" then return model.recall(chosen, run.models) end
  return model.choose(chosen, function(from, to, err)
    step:emit("model_fallback", { from = from, to = to, reason = err.code, message = err.message })
  end)
end

local function append(list, more)
  if more and #more > 0 then table.move(more, 1, #more, #list + 1, list) end
end

-- The tools that patterns bring along: `closing` go down the way with the work.
local function patterns_tools(closing, added)
  if not closing or not added then return closing or added or nothing end
  local both = {}
  append(both, closing)
  append(both, added)
  return both
end

-- Names of toolsets, and tools that stand for themselves. `free`: those of patterns.
local function tool_names(facts, step, free)
  local names = {}
  append(names, step.def.tools)
  append(names, step.opts.extra_tools)
  append(names, step.opts.tools)
  append(names, free)
  if facts.may_delegate and tool.is_known "delegate" then names[#names + 1] = "delegate" end
  return names
end

local function system_prompt(step, tools)
  local def = step.def
  local values = {
    tool_descriptions = tool.describe(tools), agents = agents.describe_callees(def),
    name = def.name, display_name = def.display_name,
  }
  for name, value in pairs(def.variables) do values[name] = value end
  for name, value in pairs(step.run.options.variables or nothing) do values[name] = value end
  for name, value in pairs(step.opts.variables or nothing) do values[name] = value end
  return prompt.fill(def.prompt, values, needs.origin(def))
end

-- What an agent says beside its calls is the log of its job, each call progress: whoever gave it
-- the work can look on.
local function emitter(step, leads, job)
  return function(type, payload)
    if job then job:touch() end
    if type == "message" then
      type = leads and "facilitator_message" or "agent_message"
      payload.display_name = step.def.display_name
      if job then job:log(payload.content) end
    end
    step:emit(type, payload)
  end
end

local on_one_line = squeezer " \t\n\v\f\r"

local function preview(call)
  local arguments = on_one_line(call.arguments)
  if #arguments > PREVIEW then arguments = arguments:sub(1, utf8.offset(arguments, 0, PREVIEW) - 1) .. "…" end
  return call.name .. " " .. arguments
end

-- The first text that one of the hooks has; all of what they have, one below the other.
local function joined(hooks)
  return function(...)
    local texts = {}
    for _, hook in ipairs(hooks) do texts[#texts + 1] = hook(...) end
    return #texts > 0 and table.concat(texts, "\n\n") or nil
  end
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
  rawset(env, "watched", true)
  return list
end }

-- Tools and patterns look on by hooks; what a pattern brings comes after what the tools have added.
local function add_hooks(spec, env, hooks)
  if not hooks and not env.watched then return end
  for name, hook in pairs(hooks or nothing) do table.insert(env[name], hook) end
  for name, combine in pairs(hook_names) do
    local list = rawget(env, name)
    if list and #list > 0 then spec[name] = combine(list) end
  end
end

-- What the head promises of its answers is watched over last: whoever else has something to say
-- before an answer stands is heard first.
local function promise(spec, def)
  local kept = contract.output(def, spec.emit)
  local others = spec.before_answer
  spec.schema, spec.schema_name = contract.request_schema(def), def.name
  spec.system = spec.system .. contract.instructions(def)
  spec.before_answer = function(reply) return others and others(reply) or kept.before_answer(reply) end
  return kept
end

-- Its tools, with the door that their calls pass and what they know of the agent; `free` are a pattern's, which move
-- its picture along.
local function equip(spec, step, facts, free, hooks)
  local opts = step.opts
  local env = setmetatable({
    agent = step.def, team = agents.team_of(step.def), run = step.run, board = opts.board, document = opts.document,
    task_ids = opts.task_ids, model = opts.model, allowed = step.allowed, home = opts.home, member = opts.member,
  }, env_meta)
  local tools, err = tool.resolve(tool_names(facts, step, free), env)
  if not tools then return nil, err end
  local known = step.run.requests[step.def]
  spec.door, spec.context = mandate.door(step, tools, free, known and known.kit), env
  add_hooks(spec, env, hooks)
  return true
end

-- What goes out alike whenever the agent is asked in this run is read once: where nothing but its tools can
-- be of the caller's or of a pattern.
local function is_alike(facts, def, spec)
  return not facts.has_places and not def.output and not spec.schema and not spec.on_delta
end

local no_kit = kit.of {}

local function open_session(step, spec, alike)
  if not alike then return session.new(spec) end
  local requests, def, own = step.run.requests, step.def, spec.door and spec.door.kit or no_kit
  local known = requests[def]
  if not known or known.kit ~= own and kit.declare(known.kit) ~= kit.declare(own) then
    known = { kit = own, request = session.request(spec, own.tools) }
    requests[def] = known
  end
  spec.request = known.request
  return session.new(spec)
end

local function prepare(step, extra)
  local run, def, opts, facts = step.run, step.def, step.opts, facts_of(step.def)
  local mine = step.last and opts or nothing
  local job = opts.trigger and step.job
  local spec = setmetatable({
    system = def.prompt, emit = emitter(step, facts.leads, job), tell = step.teller, on_delta = mine.on_delta or run:delta_sink(def.name, step.op),
    history = history_for(def, opts), schema = mine.schema or nil, schema_name = mine.schema_name or nil,
    max_turns = extra.turns or run.options.max_turns, retries = run.options.retries,
    on_call = job and function(call) job:progress(preview(call)) end,
  }, facts.spec)
  local free, ok, err = patterns_tools(mine.closing, extra.pattern_tools), nil, nil
  if facts.has_tools or opts.extra_tools or opts.tools or #free > 0 or extra.hooks then
    ok, err = equip(spec, step, facts, free, extra.hooks)
    if not ok then return nil, err end
  end
  if facts.has_places then
    spec.system, err = system_prompt(step, spec.door and spec.door.tools or nothing)
    if not spec.system then return nil, err end
  end
  spec.model, err = choose_model(step)
  if not spec.model then return nil, err end
  local kept = def.output and not spec.schema and promise(spec, def)
  local made = open_session(step, spec, is_alike(facts, def, spec))
  step.labels:keep(made.history)
  return made, kept
end

--- Lets an agent's own session answer.
---@async
---@param step hocket.Step
---@param input string
---@param extra? {pattern_tools?: hocket.Tool[], hooks?: table, turns?: integer} What a pattern adds.
---@return hocket.Reply?
---@return hocket.Error?
function solo.answer(step, input, extra)
  local one, kept = prepare(step, extra or nothing)
  if not one then return nil, kept end
  local reply, err = one:send(input)
  if err and err.model then err.agent = err.agent or step.def.name end
  if kept then return kept.settle(reply, err) end
  return reply, err
end

return solo
