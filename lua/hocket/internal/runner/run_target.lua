--- `hocket run TARGET [INPUT]`: a script, an agent file, or a directory with agents.
local agents = require "hocket.agent"
local bounds = require "hocket.internal.base.lazy" "hocket.internal.agents.bounds"
local workflow_bound = require "hocket.internal.base.lazy" "hocket.internal.agents.workflow_bound"
local broker = require "hocket.broker"
local bundle_files = require "hocket.internal.base.sources.bundle"
local cassette = require "hocket.cassette"
local caught = require "hocket.internal.base.caught"
local consent = require "hocket.internal.run.consent"
local edition = require "hocket.internal.base.edition"
local effects = require "hocket.internal.base.effects"
local formats = require "hocket.internal.base.lazy" "hocket.internal.agents.formats"
local endings = require "hocket.internal.base.lazy" "hocket.internal.base.ending"
local fiber = require "hocket.internal.core.fiber"
local flow = require "hocket.internal.base.lazy" "hocket.flow"
local json = require "hocket.json"
local kept = require "hocket.internal.core.kept"
local labels = require "hocket.internal.base.labels"
local suggest = require "hocket.internal.base.lazy" "hocket.internal.base.suggest"
local model = require "hocket.model"
local orchestrate = require "hocket.orchestrate"
local plain_name = require "hocket.internal.base.lazy" "hocket.internal.base.plain_name"
local plan_target = require "hocket.internal.base.lazy" "hocket.internal.runner.plan_target"
local kept_scripts = require "hocket.internal.base.lazy" "hocket.internal.runner.kept_scripts"
local mod = require "hocket.internal.base.lazy" "hocket.internal.runner.mod"
local prompt = require "hocket.internal.agents.prompt"
local component = require "hocket.internal.base.component"
local policy = require "hocket.internal.base.lazy" "hocket.internal.run.policy"
local worker = require "hocket.internal.base.lazy" "hocket.internal.pool.worker"
local workflow = require "hocket.internal.base.lazy" "hocket.workflow"
local provider_place = require "hocket.internal.runner.provider_place"
local provider_file = require "hocket.internal.base.lazy" "hocket.internal.runner.provider_file"
local hooks_place = require "hocket.internal.runner.hooks.place"
local project_hooks = require "hocket.internal.base.lazy" "hocket.internal.runner.hooks.load"
local recorded = require "hocket.internal.base.lazy" "hocket.internal.runner.recorded"
local rule_check = require "hocket.internal.base.lazy" "hocket.internal.session.rule_check"
local runner = require "hocket.internal.runner.run_agent"
local runs = require "hocket.internal.run.run"
local script = require "hocket.internal.base.script"
local script_reply = require "hocket.internal.base.lazy" "hocket.internal.runner.script_reply"
local sources = require "hocket.internal.base.sources"
local stored_code = require "hocket.internal.base.lazy" "hocket.internal.runner.stored_code"
local system = require "hocket.internal.core.system"
local targets = require "hocket.internal.runner.target"
local egress = require "hocket.internal.base.lazy" "hocket.internal.run.egress"
local sorted_keys = require "hocket.internal.base.sorted_keys"
local script_env = require "hocket.internal.base.lazy" "hocket.internal.base.script.env"
local unlimited = require "hocket.internal.base.lazy" "hocket.internal.agents.unlimited"
local trust = require "hocket.internal.base.lazy" "hocket.internal.runner.trust"
local failure = system.failure

-- In the host's own Lua state a script's print goes where the answer goes, through the events, so
-- that a live view is not garbled.
local function printing(run)
  return function(...)
    run.printed = true
    local parts = table.pack(...)
    for i = 1, parts.n do parts[i] = tostring(parts[i]) end
    local text = table.concat(parts, "\t", 1, parts.n)
    run.printed_cut = run.printed_cut or run:cut_in(text)
    run:output { text = text }
  end
end

-- The end of the program in the middle of a run would lose its last events and what was printed.
local script_os = os and setmetatable({ exit = function()
  error("os.exit is not for scripts: return the answer, or nil and an error", 2)
end }, { __index = os })

-- Runs a script anew. Returns what it returns.
local function load_script(target, run, input)
  if run.mod then return mod.script(target, run.mod, printing(run), input) end
  local made = target.generation
  local text, err = sources.read(target.path)
  if not text then return nil, err end
  local env = setmetatable({ print = printing(run), os = script_os, arg = { [0] = target.path, input } },
    { __index = target.env or made and made.env or (effects.here() or run.bound_code) and kept_scripts.env(run, target.dir) or _G })
  local chunk, wrong = script.compile(text, target.path, env)
  if not chunk then return failure("agent", wrong) end
  return chunk(input)
end

-- A script that is made for conversations answers a single input as well.
local function run_script(target, input, run)
  local value, err = load_script(target, run, input)
  local made = type(value) == "table" and workflow.of_file(value, target.path)
  if made then value, err = made:run(input or "") end
  if type(value) == "function" then value = { chat = value } end
  if type(value) == "table" and type(value.chat) == "function" then value, err = value.chat(input or "") end
  return script_reply.once(run, target.path, value, err)
end

-- A model for an agent that nobody knows is a slip of the pen, and must not pass in silence.
local function check_models(run, target)
  if target.kind ~= "agent" or target.call then return true end -- of a call they were checked by its caller
  local team = agents.team_of(target.agent)
  local names = sorted_keys(team)
  for _, name in ipairs(sorted_keys(run.options.models or {})) do
    if not rawget(team, name) then
      local near = suggest(name, names)
      return failure("invalid", ("--model %s=…: there is no agent '%s'%s"):format(name, name,
        near and (": did you mean '%s'?"):format(near) or (" (there are: %s)"):format(table.concat(names, ", "))))
    end
  end
  return true
end

-- A value that no prompt has a place for does nothing, and is likely to be meant for another name.
local function check_variables(run, target)
  if target.kind ~= "agent" or target.call or not run.options.variables then return end
  local asked = {}
  for _, def in pairs(agents.team_of(target.agent)) do
    for _, name in ipairs(prompt.names(def.prompt)) do asked[name] = true end
  end
  local names = sorted_keys(asked)
  for _, name in ipairs(sorted_keys(run.options.variables)) do
    local near = not asked[name] and suggest(name, names)
    if not asked[name] then
      run:emit("warning", { message = ("the variable '%s' is given, but no prompt has a place for it%s"):format(name,
        near and (": did you mean '%s'?"):format(near) or "") })
    end
  end
end

-- Whether an agent at work has a time limit, by itself or by whoever called it.
local function has_timeout(step)
  while step do
    if step.opts.timeout or step.def.timeout then return true end
    step = step.above
  end
  return false
end

-- What a script calls is known when it calls it: its first model call that nothing limits makes the warning.
local function watch_limits(run, path)
  run.unlimited = function()
    if run.limits_told or has_timeout(fiber.context().step) then return end
    run.limits_told, run.unlimited = true, nil
    unlimited.warn(run, unlimited.of_script(path, true))
  end
end

-- Of a run that nobody watches, where neither its options nor its agent's file limit what it may use.
local function check_limits(run, target)
  if not run.options.unattended or consent.limits(run.options) then return end
  if target.kind == "script" then return watch_limits(run, target.path) end
  if target.kind ~= "agent" then return end
  local message = bounds.warning(target.agent, workflow_bound.of_team(agents.team_of(target.agent))[target.agent.name])
  if message then unlimited.warn(run, unlimited.advise(message)) end
end

-- What another program's file says and hocket leaves out is listed by a check; a run says that there is some.
local function tell_left_out(run, target)
  local theirs = target.agent and target.agent.theirs
  if not theirs or theirs.left_out == 0 then return end
  run:emit("warning", { message = ("%s is an agent of %s, and something that its file says is left out: 'hocket check %s' lists it"):format(
    target.agent.name, formats.get(theirs.format).title, target.agent.file) })
end

-- Whether anybody says anything of tool calls.
local function has_rules(run, target)
  if run.options.approve ~= nil or system.getenv "HOCKET_APPROVE" then return true end
  for _, def in pairs(target.agent and agents.team_of(target.agent) or {}) do
    if def.approve then return true end
  end
  return false
end

local function run_agent(target, input, run)
  if target.kind == "plan" then
    if #run.files > 0 then return failure("unsupported", plan_target.NO_FILES) end
    return plan_target.run(target, input)
  end
  if #run.files == 0 and (not input or not input:find "%S") then
    return failure("invalid", "an agent needs an input: hocket run TARGET \"what to do\", or '-' to read it from stdin")
  end
  if target.kind == "planner" and #run.files > 0 then return failure("unsupported", "the planner goes by words alone: give files to an agent") end
  if target.kind == "planner" then return require("hocket.patterns.planner").run { request = input } end
  return orchestrate.call(target.agent, input or "", { extra_tools = run.options.tools, files = run.files })
end

-- A run whose plan a person has refused did nothing, whatever its agent says of that. A script may answer for itself; one that returns
-- the planner's own reply does not.
local function not_agreed(run, target, reply, err)
  local is_script = target.kind == "script"
  local refused = reply and (reply.finish == "declined" or run.declined and not is_script)
  if not refused or run.options.conversation then return reply, err end
  return nil, { code = "declined", message = "the plan was refused, and nothing was done", finish = "declined", text = reply.text }
end

local function work(run, target, input)
  local ok, err = check_models(run, target)
  if ok then ok, err = run:read_files(run.options.files) end
  if not ok then return nil, err end
  check_variables(run, target)
  check_limits(run, target)
  tell_left_out(run, target)
  local wrong = has_rules(run, target) and rule_check.of_target(run, target)
  if wrong then return nil, wrong end
  if run.options.conversation then
    return require("hocket.internal.runner.chat").run(run, target, input, function(newest, text) return load_script(newest, run, text) end)
  end
  if target.call then return worker.answer(run, input, orchestrate.call) end
  return not_agreed(run, target, (target.kind == "script" and run_script or run_agent)(target, input, run))
end

-- What the person who starts a run says of prices holds from then on.
local function set_prices(given)
  for id, amounts in pairs(given or {}) do
    if type(amounts) ~= "table" then error({ code = "invalid", message = ("bad price of '%s' (a list of two or three numbers expected)"):format(id) }, 0) end
    require("hocket.prices").set(id, { input = amounts[1], output = amounts[2], cached = amounts[3] })
  end
end

local function out_of_time(seconds)
  return { code = "timeout", message = ("the run was not done within %g seconds (--timeout)"):format(seconds) }
end

local function in_time(seconds, fn)
  if not seconds then return fn() end
  -- The host counts whole milliseconds, and may break into a run that has less than one left.
  local ended, due = false, fiber.now() + seconds - fiber.still() - 0.001
  fiber.limit_run(seconds)
  local called, reply, err = pcall(flow.timeout, seconds, function()
    local reply, err = fn()
    ended = true
    return reply, err
  end)
  fiber.limit_run(nil)
  if ended then return reply, err end
  -- Code that never waits does not see its time pass: the host has broken into it.
  local broken = not called and type(reply) == "table" and reply.code == "cancelled" and fiber.has_come(due + fiber.still())
  if not called and not broken then error(reply, 0) end
  return nil, out_of_time(seconds)
end

-- A run that goes on already may be limited by whoever continues it, from then on (run/consent.lua).
local function limit_later(run)
  local main = fiber.self()
  run.limit_time = function(seconds)
    if run.options.conversation then return end -- each turn reads its limit
    fiber.limit_run(seconds)
    fiber.spawn_under(main, function()
      if main:join(seconds) then return end
      run.out_of_time = out_of_time(seconds)
      main:cancel()
    end)
  end
end

-- Where there was no model to ask, nothing is no answer.
local function without_model(run, reply, err)
  local nothing = reply and not run.printed and not reply.text:find "%S"
  if nothing and run.no_model and not next(run.answered) and not run.options.conversation then return nil, run.no_model end
  return reply, err
end

-- An answer that asks back is none: nobody was there to answer it.
local unanswered = {
  questions = "the run asks back, and nobody is there to answer:\n%s\nRun it on a terminal, talk with it (hocket chat), or put the answer into the input.",
  approval = "this needs approval, and nobody is there to give it:\n%s\nRun it on a terminal, or with --approve allow.",
}

local function not_answered(reply, err)
  local words = reply and unanswered[reply.finish]
  if not words then return reply, err end
  return nil, { code = "unsupported", message = words:format(reply.text), finish = reply.finish, text = reply.text }
end

-- A cancel is how a run that is kept ends in this process: when it is parked, or its log cannot be written.
local function instead_of_cancelled(run)
  if run.parked then return { code = "parked", message = "the run waits until " .. run.parked } end
  if run.out_of_time then return run.out_of_time end
  local code, message = kept.failure()
  return code and { code = code, message = message }
end

-- Files that a model has made; what they hold stays there.
local function made_files(reply)
  local list = json.array {}
  for _, one in ipairs(reply.made or {}) do list[#list + 1] = one.path and { path = one.path, mime = one.mime } or nil end
  return #list > 0 and list or nil
end

-- An answer that was cut by a budget or a limit is reported, and is a failure all the same.
local function outcome(reply, err, conversation)
  local cut = reply and reply.cut
  if cut and not endings.is_answer(reply, conversation) then
    return { ok = false, text = reply.text, finish = reply.finish, error = { code = cut.code, path = cut.path, agent = cut.agent or reply.agent,
      message = cut.path and ("%s: %s"):format(table.concat(cut.path, " -> "), cut.message) or cut.message } }
  end
  if reply then return { ok = true, text = reply.text, finish = reply.finish or "stop", sources = reply.sources, made = made_files(reply) } end
  if type(err) ~= "table" then err = caught.error(err) end
  return { ok = false, error = err, text = err.text or err.partial, finish = err.finish or (err.code == "cancelled" or err.code == "parked") and err.code or "error" }
end

-- The scripted model of the run: asked for each time, since a conversation may change to it. By then nobody is asked.
local function scripted(run, target, admitted)
  local sim, late = admitted.sim, false
  return function()
    if sim or late or not trust.chose_sim(run.options) then return sim end
    late = true
    local now, refused = trust.admit(run, target, false)
    if not now then run:emit("warning", { message = refused.message }) end
    sim = now and now.sim
    return sim
  end
end

-- The hosts in a person's own words are named.
local function note_typed(run, input)
  local function note(text)
    if type(text) == "string" and text:find("://", 1, true) then egress.note(run, text) end
  end
  note(input)
  for _, value in pairs(run.options.variables or {}) do note(value) end
end

-- An input that is a stranger's labels everything that is made of it.
local function label(run, names)
  if not names then return end
  run.labels = labels.new()
  for _, name in ipairs(names) do run.labels:add(labels.bit(name)) end
  run:emit("labels_added", { labels = json.array(names), tool = "input" })
end

-- Whether the target's Lua may run; and lets it be found.
local function let_in(run, target)
  if run.options.mod then
    local limits, wrong = mod.read(run.options.mod)
    if not limits then return nil, wrong end
    run.mod, run.scripted = limits, function() return nil end -- no scripted model of a stranger's either
    return true
  end
  local admitted, refused = trust.admit(run, target, true, trust.stands_in(run, target))
  if not admitted then return nil, refused end
  run.admitted = admitted
  if admitted.codes and admitted.codes[1] then kept_scripts.bind(run, admitted.codes) end
  if admitted.runs then targets.use(target) end
  run.scripted = scripted(run, target, admitted)
  local path = target.dir and provider_place(target.dir)
  local ok, err = true, nil
  if path then ok, err = provider_file.load(run, target, path) end
  if ok and hooks_place(target.dir or ".") then ok, err = project_hooks.load(run, target.dir or ".") end
  return ok, err
end

-- The model that makes conversations shorter is resolved at once: else a wrong name shows when the window is full. A script may still declare
-- its provider.
local function check_context(run, target)
  local settings = run.options.context
  if not settings or not settings.model or target.kind == "script" then return true end
  local found, err = model.resolve(settings.model)
  if found then return true end
  err.message = "the option 'context': " .. err.message
  return nil, err
end

-- A run that is not kept would draw from nothing.
local function check_project(options)
  local name = options.project
  if name == nil or options.replay then return true end
  local wrong = plain_name.wrong(name, "project")
  if wrong then return failure("invalid", wrong) end
  if effects.here() then return true end
  return failure("unsupported", "what a project may use in a day stands in the store: a run of a project has to be kept (--store)")
end

local function find(path, options)
  if options.call then
    local why = component.missing "hocket.internal.pool.worker"
    if why then return failure("unsupported", "a run of an agent's pool: " .. why) end
    return worker.target(options.call)
  end
  if effects.here() then return targets.kept(path, options) end
  local target, err
  if targets.may_watch(options) then target, err = targets.newest(path) end
  if not target and not err then target, err = targets.find(path, nil, options) end
  return target, err, target and target.generation
end

-- What keeps a target from being looked for (no descriptor is left, a cancel) is reported with the run's events, as everything that is wrong.
local function find_or_say(path, options)
  local ok, target, err, state = pcall(find, path, options)
  if ok then return target, err, state end
  return nil, caught.error(target)
end

---@async
---@param args {target: string, input?: string, options?: table, priority?: integer, deltas?: boolean, tell_delta?: function} Of the options `labels` are those of its input, where that is not the user's own words.
---@param journal userdata
return function(args, journal, id)
  require "hocket.internal.runner.builtins"
  local options = args.options or {}
  for name, value in pairs(args.instead or {}) do options[name] = value end
  if args.priority ~= nil then options.priority = args.priority end
  if args.deltas ~= nil then options.deltas = args.deltas end
  journal:enter() -- where it is kept, all from here on is in its log
  local made = edition.begin(options, args.instead ~= nil)
  if effects.here() then
    kept.edition(made)
    script_env.prepare()
    policy.operator() -- what it is now, whenever that is asked for first
  end
  local target, err, state = find_or_say(args.target, options)
  local run = runs.new { journal = journal, id = id or system.run_id(), options = options, edition = made }
  if options.code then stored_code.note(run) end
  run.owns_scope, run.tell_delta, run.began_with = true, args.tell_delta or run.tell_delta, state
  if run.options.typed and not options.call then note_typed(run, args.input) end
  if options.call and target then worker.begin(run, options.call) end
  run.target, run.generation, run.carried = target, target and target.generation, bundle_files.here()
  run.buffers = targets.texts()
  limit_later(run)
  -- A cancel comes out of the workflow as an error, with its last events written.
  local went, reply, failed = pcall(runner.workflow, run, args.input, function()
    set_prices(run.options.prices)
    if run.options.jobs then broker.shared():limit("all", nil, run.options.jobs) end
    consent.begin(run)
    if not target then return nil, err end
    label(run, args.labels or run.options.labels)
    local counted, why = check_project(options)
    if not counted then return nil, why end
    local ok, refused = let_in(run, target)
    if ok then ok, refused = check_context(run, target) end
    if not ok then return nil, refused end
    local seconds = run.call and run.call.seconds or not run.options.conversation and run.options.timeout
    return not_answered(in_time(seconds, function()
      return cassette.within(run.options, function(tape)
        local function answer() return runner.hooked(run, args.input, function(input) return work(run, target, input) end) end
        if not tape or tape:replays() then return without_model(run, answer()) end
        local reply, wrong = without_model(run, answer())
        recorded.finish(tape, run, args, reply, wrong)
        return reply, wrong
      end)
    end))
  end)
  if not went then reply, failed = nil, instead_of_cancelled(run) or reply end
  local ending = outcome(reply, failed, run.options.conversation)
  local result = run:result(ending)
  if run.call then result.call = worker.outcome(run, reply, failed) end
  if not ending.ok then return nil, ending.error, result end
  return result
end
