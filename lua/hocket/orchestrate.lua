--- Agents at work, and what is around them: how one agent lets another work, and what a pattern is made of.
---
---     local hocket = require "hocket"
---     local function agent(name) return hocket.agent { name = name, prompt = "You are the " .. name .. "." } end
---     local writer, critic = agent "writer", agent "critic"
---     local draft = assert(hocket.orchestrate.call(writer, "A line about rain"))
---     local framed = hocket.fence.wrap("result", writer.name, draft.text)
---     print(hocket.orchestrate.call(critic, "Judge this.\n" .. framed .. "\n" .. hocket.fence.note).text)
---
--- An agent's answer is a job of the broker; in it
---
---     advisors ──> session, or team ──> router's target ──> handoff ──> … ──> answer
---        └────── each is again an agent at work: a call, a job, with the same around it ──────┘
---
--- An agent knows its own next step only. Whose answer it is in the end shows as it goes: the
--- terminal agent's. A session knows nothing of all this.
local account = require "hocket.internal.models.account"
local agents = require "hocket.agent"
local broker = require "hocket.broker"
local edition = require "hocket.internal.base.edition"
local permission = require "hocket.permission"
local fiber = require "hocket.internal.core.fiber"
local flow = require "hocket.flow"
local lazy = require "hocket.internal.base.lazy"
local fence = lazy "hocket.fence"
local scope = require "hocket.internal.session.scope"
local Step = require "hocket.internal.work.step"
local system = require "hocket.internal.core.system"
local failed = system.error

local keys = lazy "hocket.internal.agents.keys"
local media = lazy "hocket.internal.base.media"
local pool, pool_caller = lazy "hocket.internal.pool.pool", lazy "hocket.internal.pool.caller"
local contract, partial_result = lazy "hocket.internal.session.contract", lazy "hocket.internal.run.partial_result"

local orchestrate = {}

--- Agents may call each other this deep.
local MAX_DEPTH = 16
orchestrate.MAX_DEPTH = MAX_DEPTH

-- ---- One agent with what is around it -------------------------------------------------------

local patterns = setmetatable({}, { __index = function(_, name)
  error(("the pattern '%s' is not known here: require \"hocket\" first"):format(name), 0)
end })

--- Makes a pattern known that stands around agents: `advisors`, `team`, `router` or `handoff`. Its `of(def)` reads what
--- an agent's file says under that key; what the others do is shown by those in hocket.patterns.
---@param name "advisors"|"team"|"router"|"handoff"
---@param pattern table With `of`, and `gather`, `discuss`, `route` or `go_on`.
function orchestrate.set_pattern(name, pattern)
  patterns[name] = pattern
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
  else
    reply, err = step:alone(input)
  end
  if reply and around.handoff then return patterns.handoff.go_on(step, around.handoff, reply) end
  return reply, err
end

-- What is around an agent: as the caller says, else as its file does. `handoff = false`: the caller
-- leads the chain that it is part of. nil and no error: nothing.
local function surroundings(def, opts)
  if not (def.advisors or def.router or def.team or def.handoff or opts.advisors or opts.router or opts.team or opts.handoff) then
    return nil
  end
  local around, err = { advisors = opts.advisors, router = opts.router, team = opts.team }, nil
  if not around.advisors and def.advisors then around.advisors, err = patterns.advisors.of(def) end
  if not err and not around.router and def.router then around.router, err = patterns.router.of(def) end
  if not err and not around.team and def.team then around.team, err = patterns.team.of(def) end
  if not err and opts.handoff ~= false and (opts.handoff or def.handoff) then around.handoff, err = patterns.handoff.of(def, opts.handoff) end
  if err then return nil, err end
  return next(around) and around
end

-- ---- Its job -----------------------------------------------------------------------------------

-- Errors that another attempt would only meet again.
local final = { agent = true, auth = true, budget = true, denied = true, invalid = true, unsupported = true, not_found = true }

local function with_timeout(seconds, fn, step, more)
  local function timed() return fn(step, more) end
  local reply, err = flow.timeout(seconds, timed)
  if not reply and err and err.expired == timed then -- not a time that ran out inside of it
    err = failed { code = "timeout", message = ("%s was not done within %g seconds"):format(step.def.name, seconds) }
  end
  return reply, err
end

-- What is around it, and what binds it and all that it calls, also those that are asked before its own session begins.
local function settle(step)
  local around, err = surroundings(step.def, step.opts)
  if err then return nil, err end
  local rules, wrong = scope.rules(step)
  if not rules then return nil, wrong end
  step.around, step.rules = around, rules
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
  if step.opts.compact then return step:compact() end
  local around, seconds = step.around, step.opts.timeout or step.def.timeout
  local fn, more = around and answer or step.alone, around or step.input
  if step.def.pool and pool.takes(step) then fn = elsewhere end
  if seconds then return with_timeout(seconds, fn, step, more) end
  return fn(step, more)
end

-- Who was called to do something, and was cut short, has not done it, whatever came of it after that: whoever called hears
-- so, and gets what there is beside it. Who was given the work answers in the caller's place.
local function cut_short(step, reply)
  local cut = reply.cut or reply.stage_cut
  if not cut or not step.opts.trigger or step.opts.given then return reply end
  return nil, failed { code = cut.code, reason = cut.reason, partial = reply.text, usage = step.job:usage(), no_retry = true, agent = cut.agent, path = cut.path,
    message = ("%s was cut short: %s"):format(cut.path and table.concat(cut.path, " -> ") or cut.agent or step.def.name, cut.message) }
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

-- What a job of the broker does for an agent: announces it, lets it answer, says how it ended.
local function perform(step, job)
  local def, opts = step.def, step.opts
  local trigger = opts.trigger
  local writer = step.run.journal:writer(def.name, step.op, trigger and job, step.writer)
  step.job, step.writer = job, writer
  step.finished = false -- an attempt before may have been
  fiber.context().step = step -- so that whom it calls knows who called, and how deep it is
  if trigger then
    writer:write("agent_started", "board", opts.task_ids and opts.board and opts.board:number(), "caller", step.above and step.above.op,
      "display_name", def.display_name, "message", step.input, "task_ids", opts.task_ids, "trigger", trigger)
  end
  local observer = step.run.observer
  local observed <close> = observer and observer:agent(step)
  local ended <close> = step
  step.run.at_work[step.op], step.over = step, nil
  local reply, err = work(step)
  if reply and not opts.inner then
    reply.usage = job:usage() or reply.usage
    reply.usage_total = reply.usage
  end
  if reply then reply, err = cut_short(step, reply) end
  if reply and answers_script(step) and not (def.output or opts.schema) and edition.of(step.run) >= 2 and reply.text:find("<", 1, true) then reply.text = fence.without(reply.text) end
  note(step, reply, err)
  if not reply then
    if final[err.code] then err.no_retry = true end
    step:emit("warning", { message = ("%s failed: %s"):format(def.name, err.message), code = err.code })
  elseif trigger and reply.agent == def.name then
    writer:write("agent_message", "content", reply.text, "display_name", def.display_name)
  end
  if observed then observed:answered(reply, err) end
  return reply, err
end

-- Of a reply.
local kept = { "finish", "text" }

local nothing = {}

-- Before a token is spent: whether all prompts that can be reached have their values, and whether the
-- agent takes what it is asked.
local function ready(context, def, text, opts)
  if not context.step then
    local options = context.run.options
    local missing = agents.missing(def, { options.variables or nothing, opts.variables or nothing }, options, opts.override_model)
    missing = missing or pool.wrong(context.run, def)
    if missing then return nil, missing end
  end
  if not text or not def.input then return true end
  return contract.check_input(def, text)
end

--- The run that is going on, for patterns: `run.options`, `run:emit(type, payload)`, `run:usage()`.
---@return hocket.Run?
function orchestrate.current_run()
  local context = fiber.context()
  return context and context.run
end

--- How deep the running code is below the first agent's caller.
---@param context? table The fiber's.
---@return integer
---@internal
function orchestrate.depth(context)
  return context and (context.step and context.step.depth or context.depth) or 0
end

-- How deep it is, and how deep it may go from there, where a caller can only narrow; or nil and what is wrong.
local function depth_of(context, above, def, opts)
  local depth, deepest = orchestrate.depth(context) + 1, above and above.deepest or MAX_DEPTH
  if depth > deepest then
    return nil, failed { code = "limit", message = ("agents call each other more than %d deep: %s > %s"):format(deepest, above and above:path " > " or "", def.name) }
  end
  return depth, opts.max_depth and math.min(deepest, depth + opts.max_depth) or deepest
end

local function budget_of(def, opts)
  if not def.budget and opts.budget == nil then return nil end
  local budget, wrong = account.of(def.budget, opts.budget)
  if wrong then error(("bad option 'budget' (%s)"):format(wrong), 3) end
  return budget
end

-- What the caller says of the window, checked.
local function checked_context(opts)
  local settings, wrong = keys.context(opts.context)
  if not settings then error(("bad option 'context' (%s)"):format(wrong), 3) end
  return setmetatable({ context = settings }, { __index = opts })
end

-- What is no text goes along with it, to all who are given the request.
local function split(input, opts)
  local text, list = media.split(input)
  if not text then error(("bad input (%s)"):format(list), 3) end
  return text, setmetatable({ files = list }, { __index = opts })
end

--- The broker's job for an agent's answer: to be submitted by whoever does not want to wait.
---@param def hocket.Agent
---@param input hocket.Input|fun(job: hocket.Job): string What it is told; a function makes it anew for each attempt.
---@param opts? table As for orchestrate.call; and subject: what the agent is asked, where the input has more around it.
---@return table? spec
---@return hocket.Step|hocket.Error step Whose answer it is; or why there is none.
function orchestrate.job(def, input, opts)
  opts = opts or nothing
  local context = fiber.context()
  local run = context and context.run
  if not run then error("an agent can only be called inside a run (hocket.run makes one)", 2) end
  local above = context.step
  local depth, deepest = depth_of(context, above, def, opts)
  if not depth then return nil, deepest end
  if type(input) == "table" then input, opts = split(input, opts) end
  local make = type(input) ~= "string" and input
  local ok, err = ready(context, def, opts.subject or not make and input, opts)
  if not ok then return nil, err end
  if opts.board or opts.document then run:adopt(opts) end
  if opts.context then opts = checked_context(opts) end
  local step = setmetatable({
    run = run, def = def, op = run:operation(), opts = opts, input = input, above = above, depth = depth, deepest = deepest, within = context.within,
    allowed = permission.narrow(above and above.allowed, opts.allowed), via = run.observer and run.observer:here(),
  }, Step)
  if run.origins then run.origins:called(step.op, above and above.op) end
  local budget = budget_of(def, opts)
  if budget and def.pool and pool.takes(step) then budget.reserve = true end -- nobody here sees what it uses meanwhile
  return {
    agent = def.name, op = step.op, trigger = opts.trigger, budget = budget, keeps = kept,
    priority = run.options.priority,
    run = function(job)
      if make then step.input = make(job) end
      return perform(step, job)
    end,
  }, step
end

--- The job for its next answer, when the one before has ended: who is asked again in one conversation (`memory`) goes on
--- with all that was made for it.
---@param spec table Of the job before.
---@param step hocket.Step As orchestrate.job gave them.
---@param input string
---@return table spec
function orchestrate.again(spec, step, input)
  step.input, step.op = input, step.run:operation()
  if step.run.origins then step.run.origins:called(step.op, step.above and step.above.op) end
  spec.op = step.op
  return spec
end

--- Lets an agent answer an input, with all that is around it, as a job of the broker. `advisors`, `router`,
--- `team` and `handoff` take the place of what its file says (see hocket.patterns). `max_depth`: how deep the
--- calls below it may go; 0: it calls nobody.
---@async
---@param def hocket.Agent
---@param input hocket.Input
---@param opts? {board?: hocket.Board, document?: hocket.Document, task_ids?: integer[], trigger?: string, tools?: hocket.Tool[], extra_tools?: string[], model?: string, override_model?: string, variables?: table, on_delta?: function, history?: hocket.History, timeout?: number, max_depth?: integer, allowed?: table<string, boolean>, schema?: string, schema_name?: string, budget?: hocket.Budget, context?: table, advisors?: table, router?: table, team?: table, handoff?: hocket.Agent[]|false}
---@param begins? fun(step: hocket.Step) Is told of it before it begins.
---@return hocket.Reply?
---@return hocket.Error?
function orchestrate.call(def, input, opts, begins)
  local spec, step = orchestrate.job(def, input, opts)
  if not spec then return nil, system.error(step) end
  if begins then begins(step) end
  return broker.shared():call(spec)
end

-- ---- What an agent at work can ask of others ------------------------------------------------------

--- The options of orchestrate.job for agents that are asked something: advisors, members. Several may have the same.
---@param trigger string
---@param extra {timeout?: number, memory?: table, closing?: hocket.Tool[], member?: hocket.Member} closing: tools for whoever answers last.
---@return table opts
function Step:asking(trigger, extra)
  local own = self.opts
  return {
    model = own.model, variables = own.variables, allowed = own.allowed, trigger = trigger, subject = own.subject or self.input, inner = true, files = own.files,
    timeout = extra.timeout, memory = extra.memory, closing = extra.closing, member = extra.member,
  }
end

--- The job for one agent that is asked something.
---@param def hocket.Agent
---@param input string
---@param trigger string
---@param extra table As of Step:asking.
---@return table? spec
---@return hocket.Step|hocket.Error step As of orchestrate.job.
function Step:ask(def, input, trigger, extra)
  return orchestrate.job(def, input, self:asking(trigger, extra))
end

-- What goes with the work; and what belongs to whoever answers in the end, and not to those before.
local handed_on = { "model", "variables", "allowed", "board", "document", "task_ids", "extra_tools", "memory", "files" }
local handed_to_the_last = { "on_delta", "schema", "schema_name", "closing", "outcome", "member", "instructions", "settings" }

local function hand_on(names, from, to)
  for _, name in ipairs(names) do to[name] = from[name] end
end

--- Gives the work to another agent, and waits for its answer.
---@async
---@param def hocket.Agent
---@param input string
---@param trigger string
---@param extra {last: boolean, handoff?: false, request?: string, subject?: string} subject: what the agent's `input:` is about; this one's own when it is left out.
---@return hocket.Reply?
---@return hocket.Error?
function Step:give(def, input, trigger, extra)
  self:finish()
  self.over = true
  local opts = {
    trigger = trigger, given = true, inner = true, request = extra.request, handoff = extra.handoff, subject = extra.subject or self:subject(),
  }
  hand_on(handed_on, self.opts, opts)
  opts.tasks_of = self.opts.tasks_of or opts.task_ids and self.def.name -- the board knows them as the first one's
  if extra.last then hand_on(handed_to_the_last, self.opts, opts) end
  return orchestrate.call(def, input, opts)
end

return orchestrate
