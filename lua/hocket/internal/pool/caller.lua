--- An agent with `pool:` at work: its call is a run of its own, which any worker of that pool takes, here or on another
--- machine. This is the caller's side; the other one is internal/pool/worker.lua.
---
---     call ─> what it is made of, as data ─> a run, queued ─> waits ─────> its result ─> reply, usage, labels
---                                                             ^  │ what it asks: the caller's tools, people
---                                                             └──┘ an answer
---
--- The caller's log has the child's id as a value, its submission as an effect, and its answer as a message. So a caller that
--- continues in another process finds the same child, and submits none twice. A fork of the caller has the log, but not the child:
--- it makes the call once more.
local account = require "hocket.internal.models.account"
local agents = require "hocket.agent"
local ask = require "hocket.ask"
local bundle = require "hocket.internal.pool.bundle"
local cancel = require "hocket.internal.base.lazy" "hocket.internal.run.cancel"
local consent = require "hocket.internal.run.consent"
local core = require "hocket.internal.core.llm"
local effects = require "hocket.internal.base.effects"
local ended = require "hocket.internal.run.ended"
local failed = require("hocket.internal.core.system").error
local fiber = require "hocket.internal.core.fiber"
local flow = require "hocket.flow"
local json = require "hocket.json"
local labels = require "hocket.internal.base.labels"
local policy = require "hocket.internal.run.policy"
local pool = require "hocket.internal.pool.pool"
local remote_tools = require "hocket.internal.pool.remote_tools"
local retry = require "hocket.internal.pool.retry"
local scope = require "hocket.internal.session.scope"
local share = require "hocket.internal.pool.share"
local partial_result = require "hocket.internal.run.partial_result"
local sorted_keys = require "hocket.internal.base.sorted_keys"
local store = require "hocket.internal.core.store"
local system = require "hocket.internal.core.system"
local wire = require "hocket.internal.pool.wire"

local caller = {}

-- ---- Data for the run --------------------------------------------------------------------------------------

-- Of the run's options the ones that hold for the child as well.
local of_run = {
  "model", "models", "variables", "max_turns", "retries", "seed", "seed_models", "context", "approve", "workdir", "sandbox", "network", "prices", "project", "mod",
  "trust", "typed", "consent", "simulate", "priority", "tree", "mcp", "edition", "memory_of", "mode",
}

-- Of the call's.
local of_call = { "model", "override_model", "variables", "schema", "schema_name", "instructions", "settings", "context", "request", "subject", "framed", "check" }

-- What belongs to whoever answers here.
local elsewhere = {
  advisors = "its caller gives it advisors",
  router = "its caller makes it a router", team = "its caller gives it a team",
}

--- Why a call cannot be a run of its own; nil: it can.
---@param step hocket.Step
---@return hocket.Error?
local function refusal(step)
  local def, opts = step.def, step.opts
  if not agents.source_of(def) then return pool.refuse(def, "it was made by a script: workers get agents as files") end
  for name, why in pairs(elsewhere) do
    if opts[name] then return pool.refuse(def, why .. ": remove 'pool', or let it work here (--pool-local)") end
  end
  if opts.handoff then return pool.refuse(def, "its caller says who comes after it: remove 'pool', or say so in its file (handoff)") end
  if #def.agents > 0 and not def.router and opts.board and not opts.task_ids then
    return pool.refuse(def, "whoever leads others plans on a board of its own there: call it without one, or remove 'pool'")
  end
end

local function pick(names, from)
  local data = {}
  for _, name in ipairs(names) do data[name] = from[name] end
  return data
end

-- A list of names, as a set that a caller grants.
local function names_of(set)
  return set and json.array(sorted_keys(set)) or nil
end

local function attached_to(step)
  local list = {}
  for i, one in ipairs(step.opts.files or {}) do
    list[i] = one.url or { name = one.name or one.kind, data = system.base64(one.data) }
  end
  return #list > 0 and list or nil
end

-- Rules of the run and of all on the way here. The agent's own are in its file.
local function rules_of(step)
  local layers = step.rules
  local last = layers[#layers]
  local own = step.def.approve and last and last.kind == "agent" and #layers - 1 or #layers
  return json.array(assert(policy.going_along(step.run, table.move(layers, 1, own, 1, {}))))
end

--- Seconds after which a call ends by itself of which its caller has no more to hear: that one ends it in time, if it is there.
local GRACE = 5

-- How many seconds its run may work, the same in every replay. While it waits for people its own clock stands still, as the caller's
-- does.
local function seconds_of(step)
  local run, seconds = step.run, step.opts.timeout or step.def.timeout
  local whole = not run.options.conversation and run.options.timeout
  local left = whole and math.max(0, whole - (run:seconds() - fiber.still()))
  seconds = math.min(seconds or math.huge, left or math.huge)
  return seconds < math.huge and seconds + GRACE or nil
end

-- The conversation that it continues with, and whether it is to be had back.
local function history_of(step)
  local opts = step.opts
  local history = opts.history or opts.memory and opts.memory[step.def]
  if not history then return nil, opts.memory ~= nil end
  return { lines = history:lines(), labels = history:labels() }, true
end

--- The options of the run.
---@param step hocket.Step
---@param tools hocket.RemoteTools
---@param limits table?
---@return table
local function options_of(step, tools, limits)
  local run, def, opts = step.run, step.def, step.opts
  local options = pick(of_run, run.options)
  options.budget, options.files = limits, attached_to(step)
  options.labels = labels.names(scope.labels(step).bits)
  if #options.labels == 0 then options.labels = nil end
  local history, talks = history_of(step)
  options.call = {
    target = run.target and { path = run.target.path, dir = run.target.dir }, agent = def.name, source = agents.source_of(def), changes = agents.changes_of(def), caller = run.id, op = step.op, depth = step.depth, deepest = step.deepest, opts = pick(of_call, opts),
    last = opts.handoff == false, allowed = names_of(step.allowed), rules = rules_of(step), tools = remote_tools.describe(tools), names = json.array(tools.names),
    history = history, talks = talks, seconds = seconds_of(step), may_ask = ask.may_ask(run), named_hosts = names_of(run.named_hosts), always = #run.always > 0 and run.always or nil,
  }
  return options
end

-- ---- What it asks ---------------------------------------------------------------------------------

local answers = {}

function answers.tool(step, tools, asked, lending)
  local at_work <close> = lending:tool()
  return remote_tools.call(tools, step, asked)
end

-- People are asked in the caller's run: that is the one that they look at.
function answers.question(step, _, asked)
  local text, err = ask.relay(asked.question, step.op)
  if not text then return { error = err.message, code = err.code } end
  return { text = text }
end

-- A request may contain anything that the agent has read so far.
local function take_labels(step, names)
  for _, name in ipairs(type(names) == "table" and names or {}) do
    if labels.is_known(name) then scope.labels(step):add(labels.bit(name)) end
  end
end

function answers.budget(_, _, asked, lending)
  return { amount = share.kinds[asked.what] and lending:more(asked.what, asked.wanted) or 0 }
end

local function is_own(step, child)
  local own, err = wire.is_call_of(child, step.run.id)
  if own == false then return false, { code = "state", message = ("run %s is the call of another run"):format(child) } end
  return own, err
end

local function answer(step, tools, child, asked, lending)
  local made = answers[asked.kind]
  take_labels(step, asked.labels)
  local value = made and made(step, tools, asked, lending) or { error = "nobody here understands that" }
  local name = "reply " .. asked.n
  return wire.send(step.run, child, { name = name, id = name }, value, function() return is_own(step, child) end)
end

-- ---- Its end: a reply or an error, usage, labels, the conversation, as within a process -----------------------

--- Bytes of a result.
local MAX_RESULT = 16 << 20

local function read_result(child)
  local text, err = retry(ended.result, child)
  if err then return nil, err end
  if text and #text > MAX_RESULT then
    return nil, failed { code = "limit", message = ("the result of run %s is larger than %d MiB"):format(child, MAX_RESULT >> 20) }
  end
  return text or "{}"
end

local simple = { string = true, number = true, boolean = true }

-- The shape of a result. Another process wrote it, perhaps of another version, or anybody who can write to the store.
local forms = { ok = "boolean", text = "string", finish = "string", agent = "string", counted = "string", model = "string", refusal = "any", value = "any", error = "table",
  cut = "table", stage_cut = "table", usage = "table", labels = "table", history = "table", answered = "table", sources = "table", reasoning = "any" }

local PATH = 256 -- agents

-- Who was at work; nothing is the path of one that answers alone.
local function is_path(path)
  if path == nil or path == json.null then return true end
  if type(path) ~= "table" or #path == 0 or #path > PATH then return false end
  for _, name in ipairs(path) do
    if type(name) ~= "string" then return false end
  end
  return true
end

local function is_cut(cut)
  return type(cut.code) == "string" and type(cut.message) == "string" and type(cut.reason) == "string" and is_path(cut.path)
end

local function wrong_form(call)
  for name, form in pairs(forms) do
    local value = call[name]
    if value == json.null then call[name], value = nil, nil end
    if value ~= nil and form ~= "any" and type(value) ~= form then return name end
  end
  local history, cut, stage = call.history, call.cut, call.stage_cut
  if history and (type(history.lines) ~= "string" or math.type(history.labels) ~= "integer") then return "history" end
  if stage and not (is_cut(stage) and type(stage.agent) == "string") then return "stage_cut" end
  return cut and not is_cut(cut) and "cut"
end

-- Errors as they are within a process.
local function error_of(step, child, state, result)
  local err = type(result.call) == "table" and result.call.error or result.error
  if state == "cancelled" then
    err = { code = "cancelled", message = ("%s was cancelled, in its run %s"):format(step.def.name, child) }
  elseif type(err) ~= "table" or type(err.code) ~= "string" or type(err.message) ~= "string" then
    err = { code = "agent", message = ("the run %s of %s has ended without a result"):format(child, step.def.name) }
  end
  local copy = {}
  for name, value in pairs(err) do copy[name] = simple[type(value)] and value or nil end
  copy.path = err.path ~= json.null and is_path(err.path) and err.path or nil
  return failed(copy)
end

local amounts = { "input", "output", "cached", "cache_write", "reasoning", "calls", "seconds", "cost" }

local function is_usage(usage)
  if not usage then return false end
  for _, name in ipairs(amounts) do
    local value = usage[name]
    if value ~= nil and value ~= json.null and (type(value) ~= "number" or value ~= value or value < 0 or value > 1e15) then return false end
  end
  return true
end

local function count(step, run, id, call)
  local used, usage = call.counted and system.unbase64(call.counted), call.usage
  if used and not pcall(run.accounts.count, run.accounts, id, used) and is_usage(usage) then -- of a worker of another version
    run.accounts:add(id, usage, usage.cost ~= json.null and usage.cost or nil, usage.seconds, usage.calls)
  end
  for model, simulated in pairs(call.answered or {}) do
    if type(model) == "string" then run.answered[model] = simulated == true or run.answered[model] or false end
  end
  for _, name in ipairs(call.labels or {}) do
    if labels.is_known(name) then scope.labels(step):add(labels.bit(name)) end
  end
end

-- Appends the messages of the child's conversation to this one.
local function take_history(step, told)
  if not told then return true end
  local history, opts = core.history(), step.opts
  for line in told.lines:gmatch "[^\n]+" do
    local ok, err = history:add(line)
    if not ok then return nil, err end
  end
  history:labels(told.labels & (labels.STRANGE | labels.PRIVATE))
  local own = opts.history or opts.memory and opts.memory[step.def]
  if own then own:become(history) elseif opts.memory then opts.memory[step.def] = history end
  step.history = own or history
  return true
end

local function reply_of(step, call)
  local reply = { calls = {}, usage = {}, text = call.text or "", finish = call.finish or "stop", agent = call.agent or step.def.name }
  for _, name in ipairs { "cut", "stage_cut", "sources", "value", "reasoning", "refusal", "model" } do
    if call[name] ~= json.null then reply[name] = call[name] end
  end
  local on_delta = step:is_last() and step.opts.on_delta
  if on_delta and reply.text ~= "" then effects.aside(on_delta, "text", reply.text) end
  return reply
end

local function unreadable(child, why)
  return nil, failed { code = "parse", message = ("the result of run %s cannot be read: %s"):format(child, why) }
end

-- The run's result, and what it says of the call; its caller gets neither of what is not as it has to be.
local function parse(child, text)
  local result, wrong = json.decode(text)
  if type(result) ~= "table" then return unreadable(child, wrong or "it is no object") end
  local call = type(result.call) == "table" and result.call or {}
  wrong = wrong_form(call)
  if wrong then return unreadable(child, ("'%s' is not what it has to be"):format(wrong)) end
  return result, call
end

--- Takes it.
---@async
---@param step hocket.Step
---@param child string The run's id.
---@param state string
---@param id integer The account that it counts for.
---@return hocket.Reply?
---@return hocket.Error?
---@return table? usage
local function settle(step, child, state, id)
  local text, err = effects.run("result", { run = child }, function() return read_result(child) end, { reads = true })
  if not text then return nil, err end
  local result, call = parse(child, text)
  if not result then return nil, call end
  count(step, step.run, id, call)
  local ok, wrong = take_history(step, call.history)
  if not ok then return unreadable(child, tostring(wrong.message or wrong)) end
  partial_result.of_child(step.run, result.partial)
  local usage = is_usage(call.usage) and call.usage or nil
  if call.ok then return reply_of(step, call), nil, usage end
  return nil, error_of(step, child, state, result), usage
end

-- ---- The call ---------------------------------------------------------------------------------------------

-- The files of its program, as they are now. A caller that itself came from elsewhere has brought them already, under its
-- name; a copied caller has them under its own.
local function files_of(step, travels)
  local run, source = step.run, agents.source_of(step.def)
  if run.carried and #travels > 0 then return {} end
  local path = source.dir or source.file
  run.travels = run.travels or {}
  local found, err = run.travels[path], nil
  if not found then found, err = bundle.of(run.target and run.target.path or "", run.admitted or {}, nil, path) end
  run.travels[path] = found
  return found, err
end

-- The names of what came with the caller. Not the caller's own files: among them is what its process has said, such
-- as what the operator there allows, and the one who does the call has a word of its own.
local function travels_of(run)
  local row, err = retry(store.find, run.id)
  if not row then error(err, 0) end
  local names = {}
  for name in (row.generation or ""):gmatch "[^,]+" do
    if name:find "^travel%-" then names[#names + 1] = name end
  end
  return names
end

local function put(step, child, options)
  local run = step.run
  local target, travels = run.target and run.target.path or "", travels_of(run)
  local files, wrong = files_of(step, travels)
  if not files then return nil, wrong end
  options.cwd = files.cwd
  local ok, err = retry(store.submit, { id = child, target = target, input = step.input, options = consent.marked(child, target, step.input, options), pool = step.def.pool, caller = run.id,
    project = options.project, generation = table.concat({ child, table.unpack(travels) }, ","), files = files.files, files_of = files.generation })
  if not ok and err.code == "exists" then return child end -- by an earlier life, or it is that of the run that this one was forked from
  return ok, err, ok
end

local function states_of(child, id)
  local row = retry(store.find, child)
  local own = retry(store.find, id)
  return row and row.state, row and row.caller, own and own.pool
end

--- Seconds before a warning says that no worker has taken the run.
local LATE = 4

-- Nobody has taken it for a while: a person is to know why nothing happens.
local function look(step, child, times)
  local state, _, own_pool = effects.run("look", { run = child }, function() return states_of(child, step.run.id) end, { reads = true })
  if ended.states[state] then return { ended = state } end
  if own_pool then return nil end -- it gives way to others
  local again = times == 1 and LATE or nil
  if state ~= "queued" or times ~= 2 then return nil, again end
  step:emit("warning", { code = "queued", message = ("%s waits for a worker of the pool '%s', and none has taken its run %s yet: start one with `hocket work --pool %s`, or let it work here (--pool-local)"):format(
    step.def.name, step.def.pool, child, step.def.pool) })
  return nil, again
end

-- Calls fn(...) beside the call; it leaves the list when it has ended.
local function help(helpers, fn, ...)
  local args, self = table.pack(...), nil
  self = flow.spawn(function()
    local over <close> = setmetatable({}, { __close = function()
      for i, one in ipairs(helpers) do
        if one == self then return table.remove(helpers, i) end
      end
    end })
    return fn(table.unpack(args, 1, args.n))
  end)
  helpers[#helpers + 1] = self
end

-- Until it has ended; nil: it is not this run's.
local function wait(step, tools, child, helpers, lending)
  local times = 0
  local function late()
    times = times + 1
    return look(step, child, times)
  end
  local said, stopped = {}, false
  while true do
    if said.ended then return said.ended end
    if said.uncalled and effects.run("whose", { run = child }, function() return is_own(step, child) end, { reads = true }) == false then return nil end
    if step.run.stopped and not stopped then
      stopped = true
      help(helpers, wire.stop, step.run, child, function() return is_own(step, child) end)
    end
    if answers[said.kind] and math.type(said.n) == "integer" then
      help(helpers, answer, step, tools, child, said, lending)
    end
    said = wire.take(step.run, "run " .. child, late)
    if type(said) ~= "table" then said = {} end
  end
end

-- Nobody waits for it any more. A run that is put away, or goes on elsewhere, waits on.
local function leave(step, child)
  if step.run.parked or not effects.here() then return end
  flow.shield(function()
    effects.run("cancel", { run = child }, function()
      local own, err = is_own(step, child)
      if not own then return nil, err end
      return retry(cancel.run, child)
    end)
  end)
end

-- What came of it; and whether it was another run's, and has to be made once more.
local function call(step, tools)
  local run, id = account.here()
  local lending <close>, limits = share.begin(step, id, account.of(step.def.budget, step.opts.budget))
  local options = options_of(step, tools, limits)
  local child = effects.value("child", { agent = step.def.name, pool = step.def.pool }, system.run_id)
  local state, made
  local left <close> = setmetatable({}, { __close = function()
    if not state then
      lending.unknown = true
      leave(step, child)
    end
  end })
  local here = effects.here()
  local cuts = policy.cuts(here)
  local function submit()
    local ok, err
    if policy.cuts(here) ~= cuts then options.consent = false end -- what the run was allowed counts no more
    ok, err, made = put(step, child, options)
    return ok, err
  end
  local ok, failure = effects.run("submit", { run = child, agent = step.def.name, input = step.input }, submit,
    { again = function()
      if retry(store.find, child) then return child end
      return submit()
    end })
  if not ok then
    state = "failed"
    return nil, failure
  end
  local shown <close>, untold = run:show_wait("run", { child = child, pool = step.def.pool }, step.def.name, step.op)
  if untold then return nil, untold end
  local watched <close> = not made and wire.watch_caller(run, child, run.id, "run " .. child, { uncalled = true }) or nil
  local helpers = {}
  lending.child = child
  local ended = wait(step, tools, child, helpers, lending)
  state = ended or "forked"
  for _, one in ipairs(helpers) do one:cancel() end
  if not ended then
    shown.more = { ended = state }
    return nil, nil, true
  end
  local reply, err, used = settle(step, child, state, id)
  shown.more = { ended = state, usage = used }
  return reply, err
end

--- Lets an agent answer in a run of its own, in its pool.
---@async
---@param step hocket.Step
---@return hocket.Reply?
---@return hocket.Error?
function caller.call(step)
  local wrong = refusal(step)
  if wrong then return nil, wrong end
  local tools, refused = remote_tools.of(step)
  if not tools then return nil, refused end
  local reply, err, again
  repeat reply, err, again = call(step, tools) until not again
  return reply, err
end

return caller
