--- One agent by itself: its session is put together here, tools, model, limits, events, and answers.
--- The only caller of sessions; what is around an agent, its advisors and who comes after it, is
--- orchestrate's.
local core = require "hocket.internal.core.llm"
local agents = require "hocket.agent"
local labels = require "hocket.internal.base.labels"
local scope = require "hocket.internal.session.scope"
local edition = require "hocket.internal.base.edition"
local known_server = require "hocket.internal.base.lazy" "hocket.internal.models.known_server"
local toolset = require "hocket.internal.session.toolset"
local lazy = require "hocket.internal.base.lazy"
local model = require "hocket.model"
local needs = require "hocket.internal.agents.needs"
local kept = require "hocket.internal.core.kept"
local bundle_files = require "hocket.internal.base.sources.bundle"
local pack = lazy "hocket.internal.base.pack"
local prompt = require "hocket.internal.agents.prompt"
local session = require "hocket.session"
local system = require "hocket.internal.core.system"
local tool = require "hocket.tool"
local truncate = lazy "hocket.internal.base.truncate"

local checks = lazy "hocket.internal.work.check"
local children, fork = lazy "hocket.internal.work.children", lazy "hocket.internal.work.fork"
local plan_mode = lazy "hocket.internal.session.plan_mode"
local tool_calls = lazy "hocket.internal.session.tool_calls"
local contract, fence = lazy "hocket.internal.session.contract", lazy "hocket.fence"

local agent_session = {}

local nothing = {}
local NO_DEFAULT = "the run names no model, and the worker has none: no key and no HOCKET_MODEL is set"

local function default_model(run)
  local found, err = run.default_model, nil
  local with = not found and bundle_files.here()
  if with and not with.variables.HOCKET_MODEL and not model.has_default() then kept.lack(NO_DEFAULT) end
  if not found then found, err = model.default(run.options.simulate == true) end
  if not found then
    run.no_model = err
    return nil, err
  end
  run.default_model = found
  return found
end

-- What an agent of another program would like, and after that what it gets without a wish.
local function wished(wishes, otherwise)
  local list = table.move(wishes, 1, #wishes, 1, {})
  if type(otherwise) == "string" then otherwise = { otherwise } end
  return table.move(otherwise or {}, 1, #(otherwise or {}), #list + 1, list)
end

-- A model named for this agent on the command line, then one for all, then the file's own, then the
-- caller's, then the default.
local function find_model(step)
  local run, def, opts = step.run, step.def, step.opts
  local options = run.options
  local chosen = options.models and options.models[def.name] or options.model or opts.override_model or def.model
  local wishes = not chosen and def.theirs and def.theirs.wished
  local err
  if not step.plain and opts.fork and not chosen then return fork.model(step) end
  chosen = chosen or opts.model
  if not chosen then
    chosen, err = default_model(run)
    if not chosen and not wishes then return nil, err end
  end
  if wishes then chosen = wished(wishes, chosen) end
  if type(chosen) == "string" then return model.recall(chosen, run.models) end
  return model.choose(chosen, function(from, to, err)
    step:emit("model_fallback", { from = from, to = to, reason = err.code, message = err.message })
  end)
end

-- That a run had no key stands in its log: it may have one when it is replayed.
local function had_none(err)
  return pack.decode(kept.value("lack", "", function() return pack.encode(err.code, err.message, err.lacks) end))
end

-- A run that workers do is not over because this one has no key: it is given back. Nor is one that was resumed without.
local function choose_model(step)
  local found, err = find_model(step)
  if found and not kept.here() then return found end
  local lacks = not found and (err.code == "auth" or err.lacks)
  if lacks then kept.lack(err.message) end
  if not kept.here() or not (kept.is_next "lack" or lacks and not kept.is_replay()) then return found, err end
  local code, message, what = had_none(err)
  return nil, system.error { code = code, message = message, lacks = what }
end

--- The kind of the known server that the agent's model is at (models/known_server.lua).
---@async
---@param step hocket.Step
---@return string?
function agent_session.server(step)
  local found = choose_model(step)
  return found and found.server
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
  for _, key in ipairs(facts.sets) do
    if tool.is_known(key) then names[#names + 1] = key end
  end
  return names
end

local function asks_to_delegate(step)
  for _, list in ipairs { step.def.tools, step.opts.extra_tools or nothing } do
    for _, name in ipairs(list) do
      if name == "delegate" then return true end
    end
  end
  return false
end

-- Tools that reach nothing but the run itself.
local harmless = { delegate = true, delegate_to_agent = true, facilitator = true, specialist = true, ask_again = true }

-- An agent of a mod has the tools that the program names.
local function check_mod(step, names)
  local limits = step.run.mod
  for _, name in ipairs(limits and names or {}) do
    if type(name) == "string" and not harmless[name] and not limits.tools[name] then
      return nil, { code = "denied", message = ("%s: agents of a mod may not have the tool '%s': the program names those that they may"):format(
        step.def.name, name) }
    end
  end
  return true
end

-- Its tools; where there are only those of one pattern these are they.
local function tools_of(facts, step, free, both, env)
  local opts = step.opts
  if not (facts.has_tools or opts.extra_tools or opts.tools or both) then return free end
  local names = tool_names(facts, step, free)
  local ok, err = check_mod(step, names)
  if not ok then return nil, err end
  return tool.resolve(names, env)
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

-- Bytes of reasoning that a job's log shows.
local SNIPPET = 500

-- What an agent says beside its calls, and what it thinks, is the log of its job, each call progress: whoever gave it
-- the work can look on.
local function telling(step, env)
  return function(type, payload)
    local job = step.opts.trigger and step.job
    if job then job:touch() end
    if type == "message" then
      type = env and env.leads and "facilitator_message" or "agent_message"
      payload.display_name = step.def.display_name
      if job then job:log(payload.content) end
    elseif type == "reasoning" then
      type, payload.display_name = "agent_reasoning", step.def.display_name
      if job then job:log(truncate(payload.content, SNIPPET)) end
    end
    step:emit(type, payload)
  end
end

local is_text = { message = true, reasoning = true }

-- `quotes`: it may have words of the answer, and is held as they are.
local function emitter(step, env)
  local tell = telling(step, env)
  return function(type, payload, quotes)
    local held = (quotes or is_text[type]) and step:holder()
    if held then held:add(tell, type, payload, true) else tell(type, payload) end
  end
end

-- The first text that one of the hooks has; all of what they have, one below the other.
local function joined(hooks)
  return function(...)
    local texts = {}
    for _, hook in ipairs(hooks) do texts[#texts + 1] = hook(...) end
    return #texts > 0 and table.concat(texts, "\n\n") or nil
  end
end

-- Who looks on at the calls of this agent, where the run has somebody who does.
local function watch_of(step)
  local watch, observer = step.run.watch_calls, step.run.observer
  if not watch and not observer then return nil end
  return function(one, args, id)
    local watched = watch and watch(one, args, step.def.name, step.op)
    return observer and observer:tool(one, args, id, step, watched) or watched
  end
end

-- The conversation that it continues with: the caller's, or its own one in the caller's memory.
local function history_for(def, opts, plain)
  local history, memory = not plain and opts.history or nil, opts.memory
  if history or not memory then return history or core.history() end
  memory[def] = memory[def] or core.history()
  return memory[def]
end

local function any(hooks)
  return function()
    for _, hook in ipairs(hooks) do
      if hook() then return true end
    end
    return false
  end
end

local function first(hooks)
  return function()
    for _, hook in ipairs(hooks) do
      local found = hook()
      if found then return found end
    end
  end
end

-- Lists of hooks are made when a tool or a pattern adds one.
local hook_names = { before_turn = joined, before_answer = joined, stop_when = any, ends_when = any, choose = first }
local env_meta = { __index = function(env, name)
  if not hook_names[name] then return nil end
  local list = {}
  rawset(env, name, list)
  rawset(env, "watched", true)
  return list
end }

-- Tools and patterns look on by hooks; what a pattern brings comes after what the tools have added.
local function add_hooks(spec, env, hooks)
  if not env or not hooks and not env.watched then return end
  if not env.watched then
    for name, hook in pairs(hooks) do spec[name] = hook end
    return
  end
  for name, hook in pairs(hooks or nothing) do table.insert(env[name], hook) end
  for name, combine in pairs(hook_names) do
    local list = rawget(env, name)
    if list and #list > 0 then spec[name] = combine(list) end
  end
end

-- What the front matter promises of its answers is watched over last: whoever else has something to say
-- before an answer stands is noticed first. What a pattern makes a plan of is never taken from reasoning.
local function promise(step, spec, emit)
  local def = step.def
  local kept = contract.output(def, emit, step:is_guarded())
  local others = spec.before_answer
  spec.schema, spec.schema_name, spec.formatted, spec.output = contract.request_schema(def), def.name, true, def.output
  spec.system = spec.system .. contract.instructions(def)
  spec.before_answer = function(reply) return others and others(reply) or kept.before_answer(reply) end
  spec.read_reasoning = not step.opts.schema and kept.read_reasoning
  return kept
end

-- Of an agent that plans.
local function readers(tools)
  local list = {}
  for _, one in ipairs(tools) do
    if plan_mode.reads(one) then list[#list + 1] = one end
  end
  return list
end

-- Gives a session its tools, with the permissions that their calls need and what they know of the agent; `free` are a
-- pattern's, which move its `picture` along, or those of two (`both`). Returns what tools know, and the permissions.
local function equip(step, facts, free, both, picture)
  local opts = step.opts
  local env = setmetatable({
    agent = step.def, team = agents.team_of(step.def), run = step.run, board = opts.board, document = opts.document, held = opts.held,
    delegates_unasked = facts.may_delegate and not asks_to_delegate(step), task_ids = opts.task_ids, tasks_of = opts.tasks_of, outcome = opts.outcome, picture = picture or false, model = opts.model, allowed = step.allowed, home = opts.home, member = opts.member,
  }, env_meta)
  local tools, err = tools_of(facts, step, free, both, env)
  if not tools then return nil, err end
  if env.asks_again then children.keep(step) end
  if step.only_reads then tools = readers(tools) end
  local known = step.run.alike[step.def]
  local permissions = scope.permissions(step, tools, free, known and known.toolset)
  local wrong = permissions:misfit()
  if wrong then return nil, { code = "invalid", message = wrong } end
  return env, permissions
end

-- What its caller says of its window, else the run, else its file.
local function context_of(step)
  local call, run, own = step.opts.context, step.run.options.context, step.def.context
  if not call and not run then return own end
  return setmetatable({}, { __index = function(_, name)
    for _, settings in ipairs { call or nothing, run or nothing, own or nothing } do
      if settings[name] ~= nil then return settings[name] end
    end
  end })
end

local function new_spec(step, mine, on_delta)
  local options = step.run.options
  return setmetatable({
    seed = options.seed_models and step.facts.spec.seed == nil and options.seed or nil,
    context = context_of(step), system = step.def.prompt, on_delta = on_delta, schema = mine.schema, schema_name = mine.schema_name, retries = options.retries,
    before_turn = false, before_answer = false, read_reasoning = false, stop_when = false, ends_when = false, choose = false, formatted = false, -- hooks, and what a promise adds
  }, step.facts.spec)
end

local no_tools = toolset.of {}

local function add_note(spec)
  spec.system = spec.system .. "\n\n" .. fence.note
end

-- Whether it is going to read what other agents have written, in frames.
local function is_framed(step, extra)
  return (step.opts.framed or extra and extra.framed) and edition.of(step.run) >= 3
end

-- By definition: what all its sessions in this run have in common.
local function alike_of(step)
  local all = step.run.alike
  if not is_framed(step) then return all end
  all.framed = all.framed or setmetatable({}, { __mode = "k" })
  return all.framed
end

-- What all its sessions in this run send alike, with these tools: it is made once.
local function alike(step, entry)
  local def, all = step.def, alike_of(step)
  local mine, known = entry and entry.toolset or no_tools, all[def]
  if known and (known.toolset == mine or toolset.declare(known.toolset) == toolset.declare(mine)) then return known end
  local spec = new_spec(step, nothing, nil)
  if is_framed(step) then add_note(spec) end
  known = { toolset = mine, spec = spec, request = session.request(spec, mine.tools) }
  all[def] = known
  return known
end

-- What a caller from elsewhere says of the request counts where the agent's file says nothing; of two limits the smaller.
local function settle_for(spec, settings)
  for name, value in pairs(settings) do
    local own = spec[name]
    if name == "max_tokens" and own then value = math.min(own, value) elseif name ~= "stop" and own ~= nil then value = own end
    spec[name] = value
  end
end

-- Its own prompt stays, and stands first.
local function instruct(spec, text)
  spec.system = ("%s\n\nWhat follows is from the program that calls you now. It may narrow what stands above, and changes nothing of it.\n%s"):format(
    spec.system, fence.wrap("caller", "the caller's instructions", text))
end

-- What a pattern forces is not forced on an agent that is to think: some servers refuse the two together, or leave the thinking out.
local function free_choice(step, spec)
  if edition.of(step.run) < 3 or spec.reasoning and spec.reasoning ~= "none" then spec.choose = false end
end

-- Its own spec, where the caller, a pattern or its prompt has a say in it. Returns also what is promised of its answers, if anything.
local function specify(step, mine, on_delta, env, entry, extra, emit)
  local def, spec = step.def, new_spec(step, mine, on_delta)
  add_hooks(spec, env, extra.hooks)
  if spec.choose then free_choice(step, spec) end
  if step.facts.has_places then
    local err
    spec.system, err = system_prompt(step, entry and entry.tools or nothing)
    if not spec.system then return nil, err end
  end
  if env and env.notes then spec.system = spec.system .. env.notes end
  if is_framed(step, extra) then add_note(spec) end
  if mine.words then spec.system = spec.system .. mine.words end
  if mine.instructions then instruct(spec, mine.instructions) end
  if mine.settings then settle_for(spec, mine.settings) end
  return spec, def.output and not mine.schema and promise(step, spec, emit) or false
end

-- Getting something from elsewhere.

-- The ones that get something and do nothing.
local gets = { web_search = true, web_fetch = true, file_search = true }

-- The provider's tools that rules and callers let it have. Their calls never come by here, so a tool is let in whole or not.
local function server_tools_of(step, permissions)
  local list = {}
  for _, one in ipairs(step.def.server_tools) do
    local ok, reason = not step.allowed or step.allowed[one.name] or false, "it was not granted by the caller"
    if ok and step.only_reads and not gets[one.name] then ok, reason = false, "an agent that plans only reads" end
    if ok then ok, reason = permissions:may_go_on({ name = one.name, effect_bits = labels.effects.fetch }, nothing, true) end
    if ok then list[#list + 1] = one else step:emit("tool_denied", { tool = one.name, reason = reason }) end
  end
  return #list > 0 and list or false
end

-- Tokens of an answer that its server holds to a schema, where the agent says nothing: a text in it need not end by itself.
local BOUND = 4096

local function bound_answer(spec, chosen)
  if not spec.max_tokens and known_server.binds(chosen.server) then spec.max_tokens = BOUND end
end

-- A caller that withholds the tool does not end the agent, which is then free in what it calls.
local function is_withheld(step, choice)
  return step.allowed and not step.allowed[choice]
end

-- What it is to call first has to be there.
local function misfit(step, tools)
  local def, choice = step.def, step.def.tool_choice
  if choice == "auto" or choice == "none" or choice == "required" and #tools > 0 or is_withheld(step, choice) then return nil end
  for _, one in ipairs(tools) do
    if one.name == choice then return nil end
  end
  return system.error { code = "agent", message = ("%s: tool_choice '%s': %s"):format(def.file or def.name, choice,
    #tools == 0 and "it has no tools" or "it has no such tool") }
end

local function prepare(step, extra)
  local run, def, opts, facts, plain = step.run, step.def, step.opts, step.facts, step.plain
  local mine = not plain and step:is_last() and opts or nothing
  local history, env = not plain and opts.fork and fork.history(step) or history_for(def, opts, plain), false
  local closing = step:closing()
  local free, entry = patterns_tools(closing, extra.pattern_tools), false
  local goal = not plain and (mine.check or def["until"])
  local plans = run.options.mode and plan_mode.is_on(run)
  if plans then free = plan_mode.with_tool(step, free) end
  if facts.has_tools or not plain and (opts.extra_tools or opts.tools) or #free > 0 or extra.hooks or goal then
    env, entry = equip(step, facts, free, closing and extra.pattern_tools, extra.picture)
    if not env then return nil, entry end
    if goal then
      step.checking = checks.new(step, goal)
      table.insert(env.before_answer, function(reply) return step.checking:before_answer(reply) end)
    end
    if plans then env.notes = (env.notes or "") .. plan_mode.note end
  end
  local emit = emitter(step, env)
  if extra.form then mine = setmetatable(extra.form, { __index = mine }) end
  local on_delta = mine.on_delta or run.options.deltas and not opts.about_held and run:delta_sink(def.name, step.op, (def.output or mine.schema) and true)
  local held = on_delta and step:holder()
  if held then on_delta = held:behind(on_delta) end
  local served = false
  if not plain and def.server_tools then
    entry = entry or scope.permissions(step, nothing, nothing)
    served = server_tools_of(step, entry)
  end
  local known = not (facts.has_places or on_delta or mine.schema or env and env.notes or not plain and (def.output or opts.context or def.server_tools)) and alike(step, entry)
  local is_alike = known and not extra.hooks and not extra.framed and not (env and env.watched) and (plain or not opts.fork)
  local spec, kept = known and known.spec, nil
  if not is_alike then
    spec, kept = specify(step, mine, on_delta, env, entry, extra, emit)
    if not spec then return nil, kept end
    if def.server_tools then spec.server_tools = served end
  end
  local wrong = not plain and def.tool_choice and misfit(step, entry and entry.tools or nothing)
  if wrong then return nil, wrong end
  local chosen, err = nothing, nil
  if plain or not opts.verify then chosen, err = choose_model(step) end -- a check alone asks no model
  if not chosen then return nil, err end
  if not plain and opts.fork then
    entry = entry or scope.permissions(step, nothing, nothing)
    if step.forked then step.forked = (facts.has_places and system_prompt(step, entry.tools) or def.prompt) .. (env and env.notes or "") end
    spec, known = fork.spec(step, spec)
  end
  if not is_alike and spec.schema then bound_answer(spec, chosen) end
  step.history = history
  step.used = entry or nil
  if step.labels then step.labels:keep(history) end
  local made = session.of {
    history = history, emit = emit, tell = step.writer, tools = nothing, model = chosen, spec = spec, request = known and known.request,
    permissions = entry or nil, context = env or nil, watch = watch_of(step), counted = true, listener = step, max_turns = extra.turns or run.options.max_turns, turns = 0, tool_calls = 0,
  } -- at most 16: one more would cost each session twice as much
  if env and opts.trigger then made.on_call = function(call, i) step.job:progress(call:preview(i)) end end
  if not plain and opts.fork then made.declared = step.fork.tools end
  if step.checking then step.checking.session = made end
  step.live = made
  if not plain and opts.findings and not run.hooks then made.findings = opts.only_reads and opts.findings:reader() or opts.findings:user() end
  return made, kept, is_alike
end

-- Its session. An agent that is asked again in one conversation (orchestrate.again) gets its former session, if
-- that is alike. It is alike if nothing in it was made for one answer, and its tools and settings are unchanged.
local function session_for(step, extra)
  local one = step.session
  if one and not extra and one.request == alike_of(step)[step.def].request then
    one:renew(step.writer)
    one.watch = watch_of(step)
    if step.run.sessions then step.run.sessions[step.op] = one end
    return one
  end
  local made, kept, is_alike = prepare(step, extra or nothing)
  local known_to = step.run.sessions -- somebody wants to see what is said to models
  if made and known_to then known_to[step.op] = made end
  step.session = made and is_alike and not extra and step.opts.memory and made or nil
  return made, kept
end

--- Lets an agent's own session answer.
---@async
---@param step hocket.Step
---@param input string
---@param extra? {pattern_tools?: hocket.Tool[], hooks?: table, turns?: integer, framed?: boolean, form?: {schema: string, schema_name: string, words: string}} What a
---pattern adds. framed: whether its input, or what its tools give, has other agents' words in frames. form: of the answer, with what the system prompt says of it.
---@return hocket.Reply?
---@return hocket.Error?
function agent_session.answer(step, input, extra)
  local one, kept = session_for(step, extra)
  if not one then return nil, kept end
  if step.forked then
    input = fork.input(step, input, step.forked, one)
    step.forked = nil
  end
  if not step.plain and step.opts.material and one.findings and step:is_last() then input = one.findings:put_before(one, step.opts.material, input, tool_calls.look) end
  local reply, err = one:send(input, step.opts.files)
  if err and err.model then err.agent = err.agent or step.def.name end
  if step.checking then reply, err = step.checking:settle(reply, err) end
  if kept then return kept.settle(reply, err) end
  return reply, err
end

--- Makes the check of a text (the option `verify`) with the tools and rules of an agent, whose model is not asked.
---@async
---@param step hocket.Step
---@return hocket.Reply?
---@return hocket.Error?
function agent_session.verify(step)
  local one, err = prepare(step, nothing)
  if not one then return nil, err end
  one:wake()
  step.checking:of { text = step.opts.verify }
  return { text = "", finish = "stop", calls = {}, usage = {} }
end

--- Makes an agent's conversation shorter.
---@async
---@param step hocket.Step
---@return hocket.Reply?
---@return hocket.Error?
function agent_session.compact(step)
  local one, err = session_for(step)
  if not one then return nil, err end
  one:compact()
  return { text = "", finish = "stop", calls = {}, usage = {} }
end

return agent_session
