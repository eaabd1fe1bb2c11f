--- Calls of agents: how one agent calls another, and the building blocks of patterns.
---
---     local hocket = require "hocket"
---     local function agent(name) return hocket.agent { name = name, prompt = "You are the " .. name .. "." } end
---     local writer, critic = agent "writer", agent "critic"
---     local draft = assert(hocket.orchestrate.call(writer, "A line about rain"))
---     local framed = hocket.fence.wrap("result", writer.name, draft.text)
---     print(hocket.orchestrate.call(critic, "Judge this.\n" .. framed .. "\n" .. hocket.fence.note).text)
---
--- Each call of an agent is a job of the broker. The job goes through these stages:
---
---     advisors ──> session, or team ──> router's target ──> handoff ──> … ──> answer
---        └────── each of these calls agents in the same way: a call, a job, these stages ──────┘
---
--- An agent knows only its own next step. The agent that answers at the end of this chain is known only when it has been
--- reached. A session knows nothing of the stages.
local account = require "hocket.internal.models.account"
local agents = require "hocket.agent"
local all_arguments = require "hocket.internal.base.arguments"
local sorted_keys = require "hocket.internal.base.sorted_keys"
local arguments = all_arguments.check
local broker = require "hocket.broker"
local facts_of = require "hocket.internal.agents.facts"
local permission = require "hocket.permission"
local fiber = require "hocket.internal.core.fiber"
local flow = require "hocket.internal.base.lazy" "hocket.flow"
local lazy = require "hocket.internal.base.lazy"
local misuse = lazy "hocket.internal.base.misuse"
local fence, suggest = lazy "hocket.fence", lazy "hocket.internal.base.suggest"
local registered = require "hocket.internal.base.script.names"
local scope = require "hocket.internal.session.scope"
local Step = require "hocket.internal.work.step"
local sources = require "hocket.internal.base.lazy" "hocket.internal.base.sources"
local effects, file_labels = lazy "hocket.internal.base.effects", lazy "hocket.internal.run.file_labels"
local workdir = lazy "hocket.internal.run.workdir"
local system = require "hocket.internal.core.system"
local failed = system.error

local keys = lazy "hocket.internal.agents.keys"
local media = lazy "hocket.internal.base.media"
local pool, pool_caller = lazy "hocket.internal.pool.pool", lazy "hocket.internal.pool.caller"
local children, fork = lazy "hocket.internal.work.children", lazy "hocket.internal.work.fork"
local agent_hooks = lazy "hocket.internal.work.agent_hooks"
local findings = lazy "hocket.internal.session.findings"
local checks, plan_mode = lazy "hocket.internal.work.check", lazy "hocket.internal.session.plan_mode"
local contract, partial_result = lazy "hocket.internal.session.contract", lazy "hocket.internal.run.partial_result"

local of_job = all_arguments.of("orchestrate.job", "agent", "string|table|function", "table?")
local of_again = all_arguments.of("orchestrate.again", "table", "step", "string")
local of_call = all_arguments.of("orchestrate.call", "agent", "string|table", "table?", "function?")
local of_argument = all_arguments.of("orchestrate.argument", "string", "integer", "string")
local of_framed = all_arguments.of("orchestrate.framed", "string", "table")

local orchestrate = {}

--- Agents may call each other this deep.
local MAX_DEPTH = 16
orchestrate.MAX_DEPTH = MAX_DEPTH

-- ---- One agent with what is around it -------------------------------------------------------

local known_patterns = registered.new()

local patterns = setmetatable({}, { __index = function(_, name)
  return known_patterns:get(name) or error(("the pattern '%s' is not known here: require \"hocket\" first"):format(name), 0)
end })

--- Registers a pattern around agents: `advisors`, `team`, `router`, `handoff` or `alternates`. Its `of(def)` reads the value of
--- this key in an agent's file. For its other functions see the patterns in hocket.patterns. If a run's script registers a
--- pattern, it replaces hocket's pattern in that run only.
---@param name "advisors"|"team"|"router"|"handoff"|"alternates"
---@param pattern table `of`, with `gather`, `discuss`, `route` or `go_on`; or with `may_help` and `take`.
function orchestrate.set_pattern(name, pattern)
  orchestrate.argument("orchestrate.set_pattern", 1, "string", name, "table", pattern)
  known_patterns:set(name, pattern)
end

local call_named

--- Hands in who calls the functions and workflows that agents' files name.
---@param module {find: function, call: fun(run: hocket.Run, def: hocket.Agent, name: string|function, about: table): any?, hocket.Error?, workflow: fun(step: hocket.Step, input: string): hocket.Reply?, hocket.Error?}
---@internal
function orchestrate.set_named(module)
  call_named = module
end

--- Calls a project's function that an agent's file names as "module.function". The module is a trusted file beside the agent's file.
---@async
---@param def hocket.Agent The agent whose file names it.
---@param name string|function In Lua it can be the function itself.
---@param about table The function's argument.
---@return any? value
---@return hocket.Error? err
function orchestrate.call_named(def, name, about)
  orchestrate.argument("orchestrate.call_named", 1, "agent", def, "string|function", name, "table", about)
  local context = fiber.context()
  if not context then misuse.raise "a project's function can only be called inside a run (hocket.run makes one)" end
  return call_named.call(context.run, def, name, about)
end

-- Its own session, or its workflow.
local function alone(step, input)
  if step.plain or not step.def.workflow then return step:alone(input) end
  local forbidden = step.only_reads and "an agent that plans only reads" or step.run.options.mode and plan_mode.forbids_code(step.run)
  if forbidden then return nil, failed { code = "denied", message = ("the workflow '%s' was not run: %s"):format(step.def.name, forbidden) } end
  return call_named.workflow(step, input)
end

--- A function that the agent's file, or what it is asked to do, names.
---@async
---@param name string|function
---@param about table
---@return any? value
---@return hocket.Error? err
function Step:call_named(name, about)
  return call_named.call(self.run, self.def, name, about)
end

--- Such a function, to be called later.
---@async
---@param name string|function
---@return function? fn
---@return hocket.Error? err
function Step:named(name)
  return call_named.find(self.run, self.def, name)
end

--- Reads what has to hold before an agent's work counts as done, for the option `check`: a command line, or one of
--- `{command =, exit_code =, timeout =}`, `{file =}`, `{schema =}`, `{["function"] = "module.function"}`.
---@param value any
---@return hocket.Check? check
---@return string? wrong
function orchestrate.read_check(value)
  return checks.read(value)
end

--- The same for the goal of a loop: also `{judge = "critic"}`, and no function.
---@param value any
---@return hocket.Check? check
---@return string? wrong
---@internal
function orchestrate.read_goal(value)
  if type(value) == "table" and value.judge ~= nil then
    local name = next(value)
    if name ~= "judge" or next(value, name) ~= nil or type(value.judge) ~= "string" then return nil, "judge: the name of an agent is expected, and nothing else" end
    return value
  end
  if type(value) == "table" and value["function"] ~= nil then return nil, "for a function give 'done'" end
  return checks.read(value)
end

--- The Markdown and YAML files of a folder, in order; none where there is no such folder. A run that continues has the ones that it began with.
---@async
---@param folder string
---@return {path: string, text: string}[]
function orchestrate.project_texts(folder)
  arguments("orchestrate.project_texts", 1, "string", folder)
  local list = {}
  for _, name in ipairs(sources.list(folder) or {}) do
    local path = folder .. "/" .. name
    local text = (name:find "%.md$" or name:find "%.ya?ml$") and sources.read(path, 1 << 16)
    if text then list[#list + 1] = { path = path, text = text } end
  end
  return list
end

-- What a conversation with untrusted text has written tells nobody what to do.
local function is_labelled(run, real)
  local root = workdir.root(run)
  local path = root and root:path(real)
  return path ~= nil and file_labels.of(root, path) ~= 0
end

--- Makes a place for what the agent that plans reads, for the agents that carry the plan out. It is the option `findings` of orchestrate.call: with
--- `only_reads` for the planning one, with `material` (findings that a task names) for the others. See hocket.patterns.planner.
---@param calls? hocket.Finding[] Of a plan that goes on in another run: what `findings:calls()` gave there.
---@return hocket.Findings
function orchestrate.findings(calls)
  arguments("orchestrate.findings", 1, "table?", calls)
  return findings.new(calls)
end

--- Findings of a plan's task in words: which calls they were.
---@param list? hocket.Finding[]
---@return string words Empty where there are none.
function orchestrate.finding_words(list)
  arguments("orchestrate.finding_words", 1, "table?", list)
  local words = {}
  for i, one in ipairs(list or {}) do words[i] = findings.words(one) end
  return table.concat(words, ", ")
end

--- What is wrong with the findings that a plan's task has, if anything.
---@param value any
---@return string? wrong
function orchestrate.wrong_findings(value)
  return findings.wrong(value)
end

local admission = function() return true end

--- Hands in who says whether a text of the project may tell agents what to do.
---@param fn fun(run: hocket.Run, project: string, paths: string[]): boolean?, hocket.Error?
---@internal
function orchestrate.set_admission(fn)
  admission = fn
end

--- Says whether a file of the project may tell agents what to do: a person trusts it as it trusts AGENTS.md, and no agent wrote it that had read
--- untrusted text. May wait for a person.
---@async
---@param path string
---@return true? admitted
---@return hocket.Error?
---@internal
function orchestrate.admit_text(path)
  arguments("orchestrate.admit_text", 1, "string", path)
  local context = fiber.context()
  if not context then misuse.raise "a text of the project can only be admitted inside a run (hocket.run makes one)" end
  local run, real = context.run, sources.real(path) or path
  if effects.value("labelled", { path = path }, is_labelled, run, real) then
    return nil, failed { code = "denied", message = ("%s may be the work of an agent that had read untrusted text"):format(path) }
  end
  return admission(run, real:match "^(.+)/[^/]*$" or "/", { real })
end

--- A check in words.
---@param check hocket.Check
---@return string
function orchestrate.check_words(check)
  arguments("orchestrate.check_words", 1, "table", check)
  return checks.words(check)
end

-- In this order, and a handoff is never skipped.
local function answer(step, around)
  local input = step.input
  local reply, err
  if around.advisors then
    input, err = patterns.advisors.gather(step, around.advisors)
    if not input then return nil, err end
  end
  if around.team then
    reply, err = patterns.team.discuss(step, around.team, input)
  elseif around.router then
    reply, err = patterns.router.route(step, around.router, input)
  elseif around.choice then
    reply, err = patterns.handoff.choose(step, around.choice, input)
  else
    reply, err = alone(step, input)
  end
  if reply and around.handoff then return patterns.handoff.go_on(step, around.handoff, reply) end
  return reply, err
end

-- What is around an agent: as the caller says, else as its file does. `handoff = false`: the caller
-- leads the chain that it is part of. nil and no error: nothing.
local function surroundings(def, opts, request)
  local around, err = { advisors = opts.advisors, router = opts.router, team = opts.team, choice = opts.choice }, nil
  if not around.advisors and def.advisors then around.advisors, err = patterns.advisors.of(def) end
  if not err and not around.router and def.router then around.router, err = patterns.router.of(def) end
  if not err and not around.team and def.team then around.team, err = patterns.team.of(def) end
  if not err and opts.handoff ~= false and (opts.handoff or def.handoff) then around.handoff, err = patterns.handoff.of(def, opts.handoff, request) end
  if around.handoff then around.choice = around.handoff.choice end
  if err then return nil, err end
  return next(around) and around
end

-- ---- From one agent to another ------------------------------------------------------------------

--- Finds an agent that another agent's file names.
---@param def hocket.Agent
---@param name string
---@param role string The key with this name, such as "handoff".
---@return hocket.Agent?
---@return hocket.Error?
function orchestrate.find(def, name, role)
  orchestrate.argument("orchestrate.find", 1, "agent", def, "string", name, "string", role)
  local team = agents.team_of(def) or {}
  local found = rawget(team, name)
  if found then return found end
  local near = suggest(name, sorted_keys(team))
  return nil, { code = "agent", message = ("%s: %s: there is no agent '%s'%s"):format(def.file or def.name, role, name,
    near and (": did you mean '%s'?"):format(near) or "") }
end

--- Finds several such agents.
---@param def hocket.Agent
---@param names string[]
---@param role string
---@return hocket.Agent[]?
---@return hocket.Error?
function orchestrate.find_all(def, names, role)
  orchestrate.argument("orchestrate.find_all", 1, "agent", def, "table", names, "string", role)
  local list = {}
  for i, name in ipairs(names) do
    local found, err = orchestrate.find(def, name, role)
    if not found then return nil, err end
    list[i] = found
  end
  return list
end

--- For a pattern's public functions: raises, with the line of the script that calls, unless an argument is of a kind.
---
---     local orchestrate = require "hocket.orchestrate"
---     print(pcall(orchestrate.argument, "my_pattern.run", 1, "agent", 42)) -- … bad argument #1 to 'my_pattern.run' (an agent expected, got number)
---@param name string The function, as scripts know it.
---@param n integer
---@param wanted string A type's name, "integer", "agent", "step", "state" or "callable"; several with `|` between; `?` behind: or nil.
---@param value any
---@param ... any The same two of the arguments behind it, in turn.
function orchestrate.argument(name, n, wanted, value, ...)
  of_argument(name, n, wanted)
  arguments(name, n, wanted, value)
  if ... then orchestrate.argument(name, n + 1, ...) end
end

--- Adds to the error of a called agent the stages that it has passed, as in
--- "a -> b (handoff): b -> c (advisor): HTTP status 500".
---@param step hocket.Step
---@param err hocket.Error
---@param from string[]
---@param how string
---@param to string
---@return hocket.Error
function orchestrate.crossed(step, err, from, how, to)
  orchestrate.argument("orchestrate.crossed", 1, "step", step, "table", err, "table", from, "string", how, "string", to)
  local copy, way = {}, table.concat(from, " -> ")
  for name, value in pairs(step:blamed(err, from, to)) do copy[name] = value end
  copy.message = ("%s -> %s (%s): %s"):format(way, to, how, err.message)
  copy.stages = table.move(err.stages or {}, 1, #(err.stages or {}), 2, { { from = way, by = how, to = to } })
  return setmetatable(copy, getmetatable(err))
end

-- ---- Its job -----------------------------------------------------------------------------------

-- Errors that another attempt would only meet again.
local final = { agent = true, auth = true, budget = true, declined = true, denied = true, invalid = true, unsupported = true, not_found = true }

local function with_timeout(seconds, fn, step, more)
  local function timed() return fn(step, more) end
  local reply, err = flow.timeout(seconds, timed)
  if not reply and err and err.expired == timed then -- not a time that ran out inside of it
    err = failed { code = "timeout", message = ("%s was not done within %g seconds"):format(step.def.name, seconds) }
  end
  return reply, err
end

-- What is around it, and what binds it and everything that it calls, also the ones that are asked before its own session begins.
local function settle(step)
  local around, err
  if step.wraps then
    around, err = surroundings(step.def, step.opts, step:request())
    if err then return nil, err end
  end
  local rules, wrong = scope.rules(step)
  if not rules then return nil, wrong end
  step.around, step.rules = around, rules
  if step.facts.asks_again then children.keep(step) end
  return true
end

-- In a run of its own, which a worker takes.
local function elsewhere(step)
  local wrong = pool.wrong(step.run, step.def)
  if wrong then return nil, wrong end
  return pool_caller.call(step)
end

local function work(step)
  if not step.rules then -- else it is asked again
    local ok, err = settle(step)
    if not ok then return nil, err end
  end
  scope.inherit(step)
  local opts, plain = step.opts, step.plain
  if not plain and opts.compact then return step:compact() end
  if not plain and opts.verify then return step:verify() end
  local around, seconds = step.around, opts.timeout or step.def.timeout
  local fn, more = around and answer or alone, around or step.input
  if not plain and step.def.pool and pool.takes(step) then fn = elsewhere end
  if seconds then return with_timeout(seconds, fn, step, more) end
  return fn(step, more)
end

-- Who was called to do something, and was cut short, has not done it, whatever came of it after that: whoever called hears
-- so, and gets what exists beside it. Who was given the work answers in the caller's place.
local function cut_short(step, reply)
  local cut = reply.cut or reply.stage_cut
  if not step.opts.trigger or step.opts.given then return reply end
  return nil, failed { code = cut.code, own = cut.own, reason = cut.reason, partial = reply.text, usage = step.job:usage(), no_retry = true, agent = cut.agent, path = cut.path,
    message = ("%s was cut short: %s"):format(cut.path and table.concat(cut.path, " -> ") or cut.agent or step.def.name, cut.message) }
end

-- An agent whose plan a person has refused has done nothing, whatever it says of that: whoever called learns it as a failure.
local function declined(step, reply)
  if step.run.declined ~= step.op or not step.opts.trigger or step.opts.given then return reply end
  return nil, failed { code = "declined", partial = reply.text, usage = step.job:usage(), message = ("%s: its plan was refused, and nothing was done"):format(step.def.name) }
end

-- Whether its answer goes to a script, and not to another agent: a planner gives work that no agent asked for.
local function answers_script(step)
  return not step.opts.trigger or step.opts.given and not step.above
end

-- What the run's own result has to say of it: whoever was called and failed, a stage that was cut, and what a script was
-- given that is no whole answer.
local function note(step, reply, err)
  local run = step.run
  if not reply then
    partial_result.failed(step, err)
  elseif reply.stage_cut then
    if answers_script(step) and not run.call then partial_result.cut(step, reply.stage_cut) end -- else its caller notes it
  elseif run.failures then
    partial_result.succeeded(step)
  end
  if reply and reply.cut and answers_script(step) then run:hand_out(reply) end
end

-- What a script gets has no frames of other agents' words.
local function clean(step, reply)
  if step.def.output or step.opts.schema or not reply.text:find("<", 1, true) then return end
  reply.text = fence.without(reply.text)
end

--- Tells whether a server refused a request because of its content (400, 404, 422 …), so that a retry would be refused too.
---@param err hocket.Error
---@return boolean
---@internal
function orchestrate.is_refusal(err)
  local status = err.http_status
  return status ~= nil and status >= 400 and status < 500 and not err.retryable
end

local function is_last_attempt(step, err)
  return step.job.attempt >= (step.opts.attempts or 1) or final[err.code] or err.no_retry or orchestrate.is_refusal(err)
end

-- After its last attempt its alternates try, where it has some. `judge` of its caller says what counts as a failure.
local function or_alternate(step, reply, err)
  local list = step.opts.alternates or step.def.alternates
  if not list or not list[1] then return reply, err end
  local function judge(got, wrong)
    if got and (got.cut or got.stage_cut) then got, wrong = cut_short(step, got) end
    if step.opts.judge then return step.opts.judge(got, wrong) end
    return got, wrong
  end
  local good, why = judge(reply, err)
  if good then return reply end
  local done, tried = step:done(), step.tried or {}
  step.tried = table.move(done, 1, #done, #tried + 1, tried)
  if not is_last_attempt(step, why) or not patterns.alternates.may_help(why) then return reply, err end
  return patterns.alternates.take(step, list, why, { done = step.tried, judge = judge })
end

-- Its work; or that of whoever stands in for it.
local function work_or_alternate(step)
  if step.plain then return work(step) end
  local reply, err = work(step)
  if step.opts.alternates or step.def.alternates then return or_alternate(step, reply, err) end
  return reply, err
end

-- What events show of a question about an answer that is held.
local HELD = "(about an answer that is held)"

-- Its work, between its hooks and under its guards. An agent of a pool has its guards and its project's hooks where it works: the caller's
-- process asks those of the program alone.
local function work_watched(step)
  local hooks, guards = step.run.hooks, not step.plain and step.def.guards or nil
  if step.opts.compact or not (hooks or guards) then return work_or_alternate(step) end
  local is_elsewhere = not step.plain and pool.takes(step)
  if is_elsewhere then hooks, guards = hooks and hooks:of_program(), nil end
  return agent_hooks.around(step, hooks, work_or_alternate, guards)
end

-- What a job of the broker does for an agent: announces it, lets it answer, says how it ended.
local function perform(step, job)
  local def, opts = step.def, step.opts
  local run, trigger = step.run, opts.trigger
  local writer = run.journal:writer(def.name, step.op, trigger and job, step.writer)
  step.job, step.writer = job, writer
  if step.finished then step.finished = false end -- an attempt before may have been
  fiber.context().step = step -- so that whom it calls knows who called, and how deep it is
  if trigger then
    writer:write("agent_started", "board", opts.task_ids and opts.board and opts.board:number(), "caller", step.above and step.above.op,
      "display_name", def.display_name, "message", opts.about_held and HELD or step.input, "task_ids", opts.task_ids, "trigger", trigger)
  end
  local observer = run.observer
  local observed <close> = observer and observer:agent(step)
  local ended <close> = step
  run.at_work[step.op], step.over = step, nil
  local reply, err = work_watched(step)
  if reply and not opts.inner then
    reply.usage = job:usage() or reply.usage
    reply.usage_total = reply.usage
  end
  local is_cut = reply and (reply.cut or reply.stage_cut)
  if is_cut then reply, err = cut_short(step, reply) end
  if reply and run.declined then reply, err = declined(step, reply) end
  if reply and answers_script(step) then clean(step, reply) end
  if is_cut or not reply or run.failures then note(step, reply, err) end
  if not reply then
    if final[err.code] then err.no_retry = true end
    step:emit("warning", { message = ("%s failed: %s"):format(def.name, err.message), code = err.code })
  elseif trigger and reply.agent == def.name and not reply.tried and reply.text ~= "" then
    step:say(reply.text)
  end
  if observed then observed:answered(reply, err) end
  return reply, err
end

-- Of a reply.
local kept, kept_of_held = { "finish", "text" }, { "finish" }

local nothing = {}

-- Before a token is spent: whether all prompts that can be reached have their values, and whether the
-- agent takes what it is asked.
local function ready(context, def, text, opts, plain)
  if not context.step then
    local options = context.run.options
    local missing = agents.missing(def, { options.variables or nothing, opts.variables or nothing }, options, opts.override_model)
    missing = missing or pool.wrong(context.run, def)
    if missing then return nil, missing end
  end
  if plain or not text or not def.input then return true end
  return contract.check_input(def, text)
end

--- The current run, for patterns: `run.options`, `run:emit(type, payload)`, `run:usage()`.
---@return hocket.Run?
function orchestrate.current_run()
  local context = fiber.context()
  return context and context.run
end

--- The depth of the running code below the first agent's caller.
---@param context? table The fiber's context.
---@return integer
---@internal
function orchestrate.depth(context)
  return context and (context.step and context.step.depth or context.depth) or 0
end

-- How deep it is, and how deep it may go from there, where a caller can only narrow; or nil and what is wrong.
local function depth_of(context, above, def, opts, plain)
  local depth, deepest = (above and above.depth or orchestrate.depth(context)) + 1, above and above.deepest or MAX_DEPTH
  if depth > deepest then
    return nil, failed { code = "limit", message = ("agents call each other more than %d deep: %s > %s"):format(deepest, above and above:path " > " or "", def.name) }
  end
  return depth, not plain and opts.max_depth and math.min(deepest, depth + opts.max_depth) or deepest
end

local function budget_of(def, opts)
  if not def.budget and opts.budget == nil then return nil end
  local budget, wrong = account.of(def.budget, opts.budget)
  if wrong then misuse.raise(("bad option 'budget' (%s)"):format(wrong)) end
  return budget
end

-- What the caller says of the window, checked.
local function checked_context(opts)
  local settings, wrong = keys.context(opts.context)
  if not settings then misuse.raise(("bad option 'context' (%s)"):format(wrong)) end
  return setmetatable({ context = settings }, { __index = opts })
end

-- What is no text goes along with it, to all who are given the request.
local function split(input, opts)
  local text, list = media.split(input)
  if not text then misuse.raise(("bad input (%s)"):format(list)) end
  return text, setmetatable({ files = list }, { __index = opts })
end

-- Options of most calls, and those of what is around an agent: for what others ask nobody looks at each call.
local common, RARE = { trigger = 0, subject = 0, inner = 0, model = 0, override_model = 0, variables = 0, allowed = 0, timeout = 0, request = 0, files = 0, framed = 0, memory = 0, closing = 0,
  member = 0, given = 0, guards = 0, about_held = 0, advisors = 1, router = 1, team = 1, handoff = 1, choice = 1 }, 2

-- As orchestrate.job, of arguments that were looked at.
local function job_of(def, input, opts)
  opts = opts or nothing
  local context = fiber.context()
  local run = context and context.run
  if not run then misuse.raise "an agent can only be called inside a run (hocket.run makes one)" end
  if run.unasked then
    run.unasked = "called"
    return nil, failed { code = "unsupported", message = "no agent is called before the first message" }
  end
  local above, facts, rare = context.step, facts_of(def), opts == nothing and 0 or all_arguments.bits(opts, common, RARE)
  local plain = facts.is_plain and rare < RARE
  local depth, deepest = depth_of(context, above, def, opts, plain)
  if not depth then return nil, deepest end
  if type(input) == "table" then input, opts = split(input, opts) end
  local make = type(input) ~= "string" and input
  local ok, err = ready(context, def, opts.subject or not make and input, opts, plain)
  if not ok then return nil, err end
  if not plain then
    if opts.board or opts.document then run:adopt(opts) end
    if opts.context then opts = checked_context(opts) end
  end
  local allowed = above and above.allowed
  if opts.allowed ~= nil then allowed = permission.narrow(allowed, opts.allowed) end
  local step = setmetatable({
    run = run, def = def, facts = facts, wraps = (rare ~= 0 or facts.has_around) or nil, plain = plain, op = run:operation(), opts = opts, input = input, above = above, depth = depth, deepest = deepest, within = context.within,
    allowed = allowed, only_reads = not plain and opts.only_reads or above and above.only_reads or nil, via = run.observer and run.observer:here() or nil,
  }, Step) -- at most 16, with what comes later: one more would cost each step twice as much
  if not plain and opts.fork then
    local taken, why = fork.take(step)
    if not taken then return nil, why end
  end
  if run.origins then run.origins:called(step.op, above and above.op) end
  local budget = not plain and budget_of(def, opts) or nil
  if budget and def.pool and pool.takes(step) then budget.reserve = true end -- nobody here sees what it uses meanwhile
  local spec = {
    agent = def.name, op = step.op, trigger = opts.trigger, budget = budget, keeps = opts.given and step:holder() and kept_of_held or kept,
    priority = run.options.priority,
    run = function(job)
      if make then step.input = make(job) end
      return perform(step, job)
    end,
  }
  if not plain and opts.child_id or (above or run).children then children.watch(above or run, spec, step) end
  return spec, step
end

--- Creates the broker's job for an agent's answer. A caller that does not want to wait submits it itself.
---@param def hocket.Agent
---@param input hocket.Input|fun(job: hocket.Job): string The input. A function creates the input of each attempt.
---@param opts? table As for orchestrate.call; and subject: what the agent is asked, where the input has more around it.
---@return table? spec
---@return hocket.Step|hocket.Error step The step whose answer it is, or an error.
function orchestrate.job(def, input, opts)
  of_job(def, input, opts)
  return job_of(def, input, opts)
end

--- Creates the job for the agent's next answer after a job has ended. An agent with `memory` continues its conversation, with
--- everything that was created for it.
---@param spec table The previous job's specification.
---@param step hocket.Step The step from orchestrate.job.
---@param input string
---@return table spec
function orchestrate.again(spec, step, input)
  of_again(spec, step, input)
  step.input, step.op = input, step.run:operation()
  if step.run.origins then step.run.origins:called(step.op, step.above and step.above.op) end
  spec.op = step.op
  return spec
end

--- Asks a finished agent again: it continues its conversation, with everything that bound it. Only its caller may ask: with the option
--- `child_id` of the call, or as an agent with the tool `ask_again`.
---@async
---@param id integer|string The `child_id`, or `child` of the reply; or the agent's name, for the last one of this name.
---@param text string
---@return hocket.Reply?
---@return hocket.Error?
function orchestrate.ask_again(id, text)
  orchestrate.argument("orchestrate.ask_again", 1, "integer|string", id, "string", text)
  local context = fiber.context()
  if not context then misuse.raise "an agent can only be asked again inside a run (hocket.run makes one)" end
  local holder = context.step or context.run
  local spec, closing = children.again(holder, id, text, perform)
  if not spec then return nil, failed(closing) end
  local _ <close> = closing
  return broker.shared():call(spec)
end

--- A reply as another agent reads it: in a frame, with the id by which ask_again knows it, where the reader can ask again.
---@param name string
---@param reply hocket.Reply
---@return string
function orchestrate.framed(name, reply)
  of_framed(name, reply)
  local text, context = fence.wrap("result", name, reply.text), reply.child and fiber.context()
  local all = context and (context.step or context.run).children
  return all and all.by_model and ("[id=%d]\n%s"):format(reply.child, text) or text
end

local function call_of(def, input, opts, begins)
  local spec, step = job_of(def, input, opts)
  if not spec then return nil, system.error(step) end
  if begins then begins(step) end
  return broker.shared():call(spec)
end

--- Calls an agent, as a job of the broker, and waits for its answer. `advisors`, `router`, `team` and `handoff` replace the
--- keys of the agent's file (see hocket.patterns). `max_depth` limits the depth of calls below it; 0 allows none. A job has
--- `attempts`; when these have failed, the agents in `alternates` take over. `judge(reply, err)` decides about success: it
--- returns the reply, or nil and an error. `check` has to hold before an answer counts (see orchestrate.read_check). `fork`: it
--- begins with the conversation of the agent that calls. `child_id`: its conversation is kept, for orchestrate.ask_again.
---@async
---@param def hocket.Agent
---@param input hocket.Input
---@param opts? {board?: hocket.Board, document?: hocket.Document, task_ids?: integer[], trigger?: string, tools?: hocket.Tool[], extra_tools?: string[], model?: string, override_model?: string, variables?: table, on_delta?: function, history?: hocket.History, timeout?: number, max_depth?: integer, allowed?: table<string, boolean>, schema?: string, schema_name?: string, budget?: hocket.Budget, fork?: boolean, child_id?: string, context?: table, advisors?: table, router?: table, team?: table, handoff?: hocket.Agent[]|false, findings?: hocket.Findings, only_reads?: boolean, material?: hocket.Finding[]}
---@param begins? fun(step: hocket.Step) Called before the step begins.
---@return hocket.Reply?
---@return hocket.Error?
function orchestrate.call(def, input, opts, begins)
  of_call(def, input, opts, begins)
  return call_of(def, input, opts, begins)
end

--- Makes a check of a text, as `until` of an agent does, with the tools and rules of an agent. Its own model is not asked.
---@async
---@param def hocket.Agent
---@param check hocket.Check
---@param text string
---@param request string What was to be done, for a judge.
---@return boolean? holds nil: the check could not be made.
---@return string|hocket.Error|nil why
---@internal
function orchestrate.check(def, check, text, request)
  local spec, step = job_of(def, request, { check = check, verify = text, trigger = "until" })
  if not spec then return nil, failed(step) end
  local reply, err = broker.shared():call(spec)
  if not reply then return nil, err end
  local why, final = step.checking:why()
  if final then return nil, failed { code = "denied", message = ("the check could not be made (%s): %s"):format(checks.words(check), why) } end
  return why == nil, why
end

-- ---- What an agent at work can ask of others ------------------------------------------------------

--- Creates the options of orchestrate.job for agents that are consulted: advisors, members. Several agents can share them.
---@param trigger string
---@param extra {timeout?: number, guards?: boolean, memory?: table, closing?: hocket.Tool[], member?: hocket.Member} closing: tools for the agent that answers last.
---@return table opts
function Step:asking(trigger, extra)
  local own = self.opts
  return {
    model = own.model, variables = own.variables, allowed = own.allowed, trigger = trigger, subject = own.subject or self.input, inner = true, files = own.files,
    timeout = extra.timeout, memory = extra.memory, closing = extra.closing, member = extra.member, framed = extra.framed or own.framed, guards = extra.guards, about_held = extra.about_held,
  }
end

--- Creates the job for one agent that is consulted.
---@param def hocket.Agent
---@param input string
---@param trigger string
---@param extra table As for Step:asking.
---@return table? spec
---@return hocket.Step|hocket.Error step As from orchestrate.job.
function Step:ask(def, input, trigger, extra)
  return job_of(def, input, self:asking(trigger, extra))
end

-- What goes with the work; and what belongs to whoever answers in the end, and not to those before.
local handed_on = { "model", "variables", "allowed", "board", "document", "task_ids", "extra_tools", "memory", "held", "files", "findings", "material" }
local handed_to_the_last = { "on_delta", "schema", "schema_name", "closing", "outcome", "judge", "check", "member", "instructions", "settings" }

local function hand_on(names, from, to)
  for _, name in ipairs(names) do to[name] = from[name] end
end

--- Passes the work to another agent, and waits for its answer.
---@async
---@param def hocket.Agent
---@param input string
---@param trigger string
---@param extra {last: boolean, handoff?: false, choice?: table, request?: string, subject?: string} subject: the text for the agent's `input:`; default: the subject of this step. choice: the agents that it can hand off to, see hocket.patterns.handoff.
---@param begins? fun(step: hocket.Step) As for orchestrate.call.
---@return hocket.Reply?
---@return hocket.Error?
function Step:give(def, input, trigger, extra, begins)
  self:finish()
  self.over = true
  local opts = {
    trigger = trigger, given = true, inner = true, request = extra.request, handoff = extra.handoff, choice = extra.choice, alternates = extra.alternates, subject = extra.subject or self:subject(), framed = extra.framed,
  }
  hand_on(handed_on, self.opts, opts)
  opts.tasks_of = self.opts.tasks_of or opts.task_ids and self.def.name -- the board knows them as the first one's
  if extra.last then hand_on(handed_to_the_last, self.opts, opts) end
  return call_of(def, input, opts, begins)
end

return orchestrate
