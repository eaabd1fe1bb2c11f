--- `hocket.run`: an agent's answer, inside the run that is going on, or in a run of its own.
local account = require "hocket.internal.models.account"
local agents = require "hocket.agent"
local broker = require "hocket.broker"
local cassette = require "hocket.cassette"
local caught = require "hocket.internal.base.caught"
local ending = require "hocket.internal.base.lazy" "hocket.internal.base.ending"
local effects = require "hocket.internal.base.effects"
local explain = require "hocket.internal.base.lazy" "hocket.internal.models.explain"
local fiber = require "hocket.internal.core.fiber"
local flow = require "hocket.internal.base.lazy" "hocket.flow"
local json = require "hocket.json"
local misuse = require "hocket.internal.base.lazy" "hocket.internal.base.misuse"
local media = require "hocket.internal.base.lazy" "hocket.internal.base.media"
local origins = require "hocket.internal.base.lazy" "hocket.internal.run.origins"
local orchestrate = require "hocket.orchestrate"
local memory = require "hocket.internal.base.lazy" "hocket.internal.base.memory"
local required = require "hocket.internal.base.lazy" "hocket.internal.runner.required"
local run_hooks = require "hocket.internal.base.lazy" "hocket.internal.runner.hooks.around"
local runs = require "hocket.internal.run.run"
local steering = require "hocket.internal.base.lazy" "hocket.internal.run.steering"
local system = require "hocket.internal.core.system"
local targets = require "hocket.internal.runner.target"

local runner = {}

-- The options and what they are: a type's name, or anything that whoever reads it checks.
local options_known = {
  board = "hocket.board", document = "hocket.document", tools = "table", model = "string", variables = "table",
  on_delta = "function", on_event = "function", timeout = "number", history = "any", extra_tools = "table",
  override_model = "string", on_question = "any", approve = "any", workdir = "string", budget = "any", sandbox = "any",
  network = "any", context = "table", record = "string", replay = "string", mode = "string",
}

-- What hocket.start takes beside them, as for a target: options of the run that it makes.
local options_of_start = {
  deltas = "boolean", events = "boolean", interactive = "boolean", max_turns = "number", models = "table",
  priority = "number", simulate = "boolean",
}

-- What holds for a run and cannot be said of one call in it.
local for_whole_run = { "on_question", "approve", "workdir", "sandbox", "network", "mode" }

-- A type's name; of what is made in C its own, "hocket.board".
local function kind_of(value)
  local kind = type(value)
  return kind == "userdata" and tostring(value):match "^(hocket%.%w+): " or kind
end

local function check(agent, input, options, name)
  if type(agent) ~= "table" or not agents.team_of(agent) then
    error(("bad argument #1 to '%s' (an agent expected, got %s: use hocket.agents or hocket.agent)"):format(name, type(agent)), 3)
  elseif type(input) ~= "string" and type(input) ~= "table" then
    error(("bad argument #2 to '%s' (string expected, got %s)"):format(name, type(input)), 3)
  elseif type(input) == "table" then
    local text, wrong = media.split(input)
    if not text then error(("bad argument #2 to '%s' (%s)"):format(name, wrong), 3) end
  end
  if type(options) ~= "table" then
    error(("bad argument #3 to '%s' (table expected, got %s)"):format(name, type(options)), 3)
  end
  for key, value in pairs(options) do
    local wanted = options_known[key] or name == "start" and options_of_start[key]
    if not wanted then error(("unknown option '%s' for '%s'"):format(tostring(key), name), 3) end
    if wanted ~= "any" and kind_of(value) ~= wanted then
      error(("bad option '%s' for '%s' (%s expected, got %s)"):format(key, name, wanted, kind_of(value)), 3)
    end
  end
  if options.timeout and not (options.timeout >= 0) then
    error(("bad option 'timeout' for '%s' (seconds must not be negative)"):format(name), 3)
  end
end

-- A script that stumbles over an answer that nobody was there to give: that is what is wrong.
local function cause(run, err)
  local none = err.code == "script" and run.no_model
  return none and not next(run.answered) and none or err
end

-- A function of a script's own that raises is reported, and called no more: the run goes on without it.
local function guarded(run, fn)
  return function(event)
    if not fn then return end
    local ok, err = pcall(fn, event)
    if ok then return end
    fn = nil
    if fiber.cancelled() or caught.no_memory(err) then error(err, 0) end
    run.journal:append("warning", { message = ("on_event raised, and is not called any more: %s"):format(caught.error(err).message) })
  end
end

-- Calls fn(event) for each event of a run from now on, as it comes, of which `wanted(event)` holds. Returns the fiber that does so,
-- and what delivers the rest at once.
---@async
local function listen(run, fn, wanted)
  local cursor, tell = run.journal:last(), guarded(run, fn)
  local function deliver()
    while true do
      local line, seq = run.journal:next(cursor)
      if not line then return end
      cursor = seq
      local event = json.decode(line)
      if not wanted or wanted(event) then tell(event) end
    end
  end
  local listener = flow.spawn(function()
    while true do
      deliver()
      if run.journal:finished() then return end
      run.journal:wait(cursor)
    end
  end)
  return listener, deliver
end

-- A cancel ends the listener before the run's last events: they are delivered when the run is left. What the program's function
-- raises then is no outcome of the run.
local function rest(deliver)
  return setmetatable({}, { __close = function()
    if fiber.cancelled() then pcall(deliver) end
  end })
end

-- Of a run that was forked from another: what it did not have to do again, and what that would have used.
local function tell_reused(run)
  local replayed, anew = effects.reused()
  if not replayed then return end
  local saved = run.saved and run.saved:usage(account.ROOT)
  local first = anew > 0 and memory.first() or nil
  first = effects.value("reused", {}, function() return first end) -- a replay may remember less
  run:emit("run_reused", { replayed = replayed, run_anew = anew, saved = saved, first = first })
end

-- Files of ours that call a script, where it called in a return statement.
local callers = { "hocket/internal/runner/run_target.lua", "hocket/workflow.lua" }

--- Runs `work(run)` between workflow_started and workflow_finished, whatever happens in it.
---@async
---@param run hocket.Run
---@param input string?
---@param work fun(run: hocket.Run): hocket.Reply?, hocket.Error?
---@return hocket.Reply?
---@return hocket.Error?
function runner.workflow(run, input, work)
  local outer = fiber.context()
  fiber.set_context { run = run, depth = orchestrate.depth(outer), parent = outer, cassette = outer and outer.cassette }
  local made = run.generation or run.began_with or {}
  if made.number then run.journal:generation(made.number) end
  run:emit("workflow_started", { message = input or "", hash = made.hash })
  local finished <close> = setmetatable({}, { __close = function() -- also on a cancel
    run:finish()
    fiber.set_context(outer)
  end })
  local ok, reply, err = xpcall(work, function(raised)
    if type(raised) ~= "string" then return raised end
    local err = caught.error(raised)
    for _, caller in ipairs(callers) do err.message = misuse.of_script(caller, run.target and run.target.path, err.message) end
    err.message = misuse.uncaught(callers, err.message)
    if run.target and err.message:find("' not found:\n", 1, true) then err.message = required.told(err.message, run.target.dir or ".") end
    err.traceback = debug.traceback(nil, 2):gsub("\n[^\n]*hocket/internal/runner/.*", "")
    return err
  end, run)
  if not ok then reply, err = nil, reply end
  broker.shared():close_run(run) -- what still runs in the background ends with the run
  account.close(run)
  if run.steering and not run.parked then steering.finish(run) end
  tell_reused(run)
  if fiber.self():cancelled() then
    run.failure = run.parked and { code = "parked" } or run.out_of_time or { code = "cancelled" }
    run:emit("error", run.parked and { message = "the run waits until " .. run.parked, code = "parked" } or run.out_of_time or { message = "cancelled", code = "cancelled" })
    error({ code = "cancelled", message = "cancelled" }, 0)
  elseif not ok or err and not reply then
    err = explain.agent(cause(run, caught.error(err)))
    run.failure = err
    run:emit("error", { message = err.message, code = err.code, traceback = err.traceback })
  elseif reply and reply.cut and not ending.is_answer(reply, run.options.conversation) then
    run.failure = { code = reply.cut.code, finish = reply.cut.reason }
  end
  if ok and reply and reply.text and reply.text ~= "" and not err then
    run:tell_answer(reply.text)
  end
  return reply, err
end

--- Does the work of a run, between its hooks where it has some.
---@async
---@param run hocket.Run
---@param input string|table|nil
---@param work fun(input: string|table|nil): hocket.Reply?, hocket.Error?
---@return hocket.Reply?
---@return hocket.Error?
function runner.hooked(run, input, work)
  if run.hooks then return run_hooks.around(run, input, work, run.call and run.hooks:of_program() or run.hooks) end
  return work(input)
end

local function answer(agent, input, options, begins)
  return cassette.within(options, function() return orchestrate.call(agent, input, options, begins) end)
end

-- The same inside of a run, whose script learns of this call alone: several may go on side by side.
local function answer_told(run, agent, input, options)
  local op
  local noted = origins.listen(run)
  local left <close> = setmetatable({}, { __close = function() origins.leave(run) end }) -- also on a cancel
  local listener, deliver_rest = listen(run, options.on_event, function(event) return op and noted:is_of(event, op) end)
  local reply, err = answer(agent, input, options, function(step)
    op = step.op
    for kind, thing in pairs { boards = options.board, documents = options.document } do noted:made(kind, run.adopted[thing], op) end
  end)
  listener:cancel()
  deliver_rest()
  return reply, err
end

-- What goes out to a script prints as its message.
local function outward(reply, err)
  if type(err) == "table" then system.error(err) end
  return reply, err
end

local function in_own_run(agent, input, options, started)
  local of_run = {}
  for _, name in ipairs(for_whole_run) do of_run[name] = options[name] end
  of_run.context = options.context
  for name in pairs(started and options_of_start or {}) do of_run[name] = options[name] end
  local run = runs.new { id = system.run_id(), options = of_run }
  local listener, deliver
  if options.on_event then listener, deliver = listen(run, options.on_event) end
  if started then started:of(run, options.on_event, deliver) end
  local left <close> = deliver and rest(deliver)
  local reply, err = runner.workflow(run, type(input) == "string" and input or media.split(input), function()
    return runner.hooked(run, input, function(now) return answer(agent, now, options) end)
  end)
  if listener then listener:wait() end
  if reply then
    reply.run, reply.usage_total, reply.partial = run, run:usage(), run:missing()
    reply.models, reply.simulated = run:models_asked()
  end
  return outward(reply, err)
end

local function outside(ok, ...)
  if not ok then error((...), 0) end
  return ...
end

--- An agent's answer in a run of its own, in the running fiber; `started.journal` becomes its journal.
---@async
function runner.run_started(agent, input, options, started)
  return in_own_run(agent, input, options, started)
end

--- Raises, two levels up, what is wrong with the arguments of hocket.run and hocket.start.
runner.check = check

--- Calls fn(event) for each event of a run that is to come.
runner.listen = listen

--- To be closed when the run has ended: delivers its last events if it was cancelled.
runner.rest = rest

-- The agent that a path stands for: what is not one cannot answer inside of a run.
local function agent_at(path)
  require "hocket.internal.runner.builtins"
  local found, err = targets.find(path)
  if not found then return nil, system.error(err) end
  if found.kind == "agent" then return found.agent end
  return nil, system.error { code = "unsupported", message = ("%s: inside of a run only agents can be asked by their path: give other runs to hocket.submit"):format(path) }
end

--- See hocket.run.
function runner.run(agent, input, options)
  options = options or {}
  if type(agent) == "string" then
    local found, err = agent_at(agent)
    if not found then return nil, err end
    agent = found
  end
  check(agent, input, options, "run")
  if not fiber.self() then return outside(fiber.run(in_own_run, agent, input, options)) end
  local run = runs.current()
  if not run then return in_own_run(agent, input, options) end
  for _, name in ipairs(for_whole_run) do
    if options[name] ~= nil and name ~= "on_question" then
      error(("the option '%s' belongs to the whole run, which is going on already"):format(name), 2)
    end
  end
  if options.on_event then return outward(answer_told(run, agent, input, options)) end
  return outward(answer(agent, input, options))
end

return runner
