--- An agent with `pool:` at work: its call is a run of its own, which any worker of that pool takes, here or on another
--- machine. This is the caller's side; the other one is internal/pool/worker.lua.
---
---     call ─> what it is made of, as data ─> a run, queued ─> waits ─────> its result ─> reply, usage, labels
---                                                             ^  │ what it asks: the caller's tools, people
---                                                             └──┘ an answer
---
--- The child's id is a value of the caller's log, putting it an effect, and what it says a message that the log has, too: a caller
--- that goes on in another process finds the same child, and puts none twice. A fork of the caller has the log, but the child is its
--- parent's: the fork leaves it alone, and makes the call once more.
local account = require "hocket.internal.models.account"
local agents = require "hocket.agent"
local ask = require "hocket.ask"
local consent = require "hocket.internal.run.consent"
local called = require "hocket.internal.pool.called"
local effects = require "hocket.internal.base.effects"
local flow = require "hocket.flow"
local labels = require "hocket.internal.base.labels"
local lent = require "hocket.internal.pool.remote_tools"
local mail = require "hocket.internal.pool.wire"
local patient = require "hocket.internal.pool.retry"
local policy = require "hocket.internal.run.policy"
local pool_end = require "hocket.internal.pool.settle"
local pool_share = require "hocket.internal.pool.share"
local pool_spec = require "hocket.internal.pool.spec"
local scope = require "hocket.internal.session.scope"
local store = require "hocket.internal.core.store"
local system = require "hocket.internal.core.system"
local travel = require "hocket.internal.pool.bundle"

local cancel = require "hocket.internal.base.lazy" "hocket.internal.run.cancel"

local pool_caller = {}

-- ---- What it asks ---------------------------------------------------------------------------------

local answers = {}

function answers.tool(step, tools, asked, lending)
  local at_work <close> = lending:tool()
  return lent.call(tools, step, asked)
end

-- People are asked in the caller's run: that is the one that they look at.
function answers.question(step, _, asked)
  local text, err = ask.relay(asked.question, step.op)
  if not text then return { error = err.message, code = err.code } end
  return { text = text }
end

-- What it asks is made of all that it has read by now.
local function take_labels(step, names)
  for _, name in ipairs(type(names) == "table" and names or {}) do
    if labels.is_known(name) then scope.labels(step):add(labels.bit(name)) end
  end
end

function answers.budget(_, _, asked, lending)
  return { amount = pool_share.kinds[asked.what] and lending:more(asked.what, asked.wanted) or 0 }
end

local function is_own(step, child)
  local own, err = called.by(child, step.run.id)
  if own == false then return false, { code = "state", message = ("run %s is the call of another run"):format(child) } end
  return own, err
end

local function answer(step, tools, child, asked, lending)
  local made = answers[asked.kind]
  take_labels(step, asked.labels)
  local value = made and made(step, tools, asked, lending) or { error = "nobody here understands that" }
  local name = "reply " .. asked.n
  return mail.send(child, { name = name, id = name }, value, function() return is_own(step, child) end)
end

-- ---- The call ---------------------------------------------------------------------------------------------

-- What its program is made of, as it is now; what came along with a caller from elsewhere is along anyhow, by its name, unless
-- the caller is a copy, which has it under its own.
local function files_of(step, travels)
  local run, source = step.run, agents.source_of(step.def)
  if run.carried and #travels > 0 then return {} end
  local path = source.dir or source.file
  run.travels = run.travels or {}
  local found, err = run.travels[path], nil
  if not found then found, err = travel.of(run.target and run.target.path or "", run.admitted or {}, nil, path) end
  run.travels[path] = found
  return found, err
end

-- The names of what came with the caller. Not the caller's own files: among them is what its process has said, such
-- as what the operator there allows, and the one who does the call has a word of its own.
local function travels_of(run)
  local row, err = patient(store.find, run.id)
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
  local ok, err = patient(store.submit, { id = child, target = target, input = step.input, options = consent.marked(child, target, step.input, options), pool = step.def.pool, caller = run.id,
    project = options.project, generation = table.concat({ child, table.unpack(travels) }, ","), files = files.files, files_of = files.generation })
  if not ok and err.code == "exists" then return child end -- by an earlier life, or it is that of the run that this one was forked from
  return ok, err, ok
end

local ended = { done = true, failed = true, cancelled = true }

local function states_of(child, id)
  local row = patient(store.find, child)
  local own = patient(store.find, id)
  return row and row.state, row and row.caller, own and own.pool
end

--- Seconds after which a person is told that nobody has taken it.
local LATE = 4

-- Nobody has taken it for a while: a person is to know why nothing happens.
local function look(step, child, times)
  local state, _, own_pool = effects.run("look", { run = child }, function() return states_of(child, step.run.id) end, { reads = true })
  if ended[state] then return { ended = state } end
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
      help(helpers, mail.stop, child, function() return is_own(step, child) end)
    end
    if answers[said.kind] and math.type(said.n) == "integer" then
      help(helpers, answer, step, tools, child, said, lending)
    end
    said = mail.take(step.run, "run " .. child, late)
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
      return patient(cancel.run, child)
    end)
  end)
end

-- What came of it; and whether it was another run's, and has to be made once more.
local function call(step, tools)
  local run, id = account.here()
  local lending <close>, share = pool_share.begin(step, id, account.of(step.def.budget, step.opts.budget))
  local options = pool_spec.options(step, tools, share)
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
    { again = function() return patient(store.find, child) and child or submit() end })
  if not ok then
    state = "failed"
    return nil, failure
  end
  local shown <close>, untold = run:show_wait("run", { child = child, pool = step.def.pool }, step.def.name, step.op)
  if untold then return nil, untold end
  local watched <close> = not made and called.watch(run, child, run.id, "run " .. child, { uncalled = true }) or nil
  local helpers = {}
  lending.child = child
  local ended = wait(step, tools, child, helpers, lending)
  state = ended or "forked"
  for _, one in ipairs(helpers) do one:cancel() end
  if not ended then
    shown.more = { ended = state }
    return nil, nil, true
  end
  local reply, err, used = pool_end.settle(step, child, state, id)
  shown.more = { ended = state, usage = used }
  return reply, err
end

--- Lets an agent answer in a run of its own, in its pool.
---@async
---@param step hocket.Step
---@return hocket.Reply?
---@return hocket.Error?
function pool_caller.call(step)
  local wrong = pool_spec.wrong(step)
  if wrong then return nil, wrong end
  local tools, refused = lent.of(step)
  if not tools then return nil, refused end
  local reply, err, again
  repeat reply, err, again = call(step, tools) until not again
  return reply, err
end

return pool_caller
