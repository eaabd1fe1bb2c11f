--- An agent with `pool:` at work: its call is a run of its own, which any worker of that pool takes, here or on another
--- machine. This is the caller's side; the other one is internal/runner/pool_call.lua.
---
---     call ─> what it is made of, as data ─> a run, queued ─> waits ─────> its result ─> reply, usage, labels
---                                                             ^  │ what it asks: the caller's tools, people
---                                                             └──┘ an answer
---
--- The child's id is a value of the caller's log, putting it an effect, and what it says a message that the log has, too: a caller
--- that goes on in another process finds the same child, and puts none twice.
local account = require "hocket.internal.models.account"
local agents = require "hocket.agent"
local ask = require "hocket.ask"
local effects = require "hocket.internal.base.effects"
local flow = require "hocket.flow"
local json = require "hocket.json"
local labels = require "hocket.internal.base.labels"
local lent = require "hocket.internal.work.lent"
local mail = require "hocket.internal.run.mail"
local pool_end = require "hocket.internal.work.pool_end"
local pool_share = require "hocket.internal.work.pool_share"
local pool_spec = require "hocket.internal.work.pool_spec"
local scope = require "hocket.internal.work.scope"
local store = require "hocket.internal.core.store"
local system = require "hocket.internal.core.system"
local travel = require "hocket.internal.work.travel"

local cancel = require "hocket.internal.base.lazy" "hocket.internal.run.cancel"

local pool_caller = {}

-- ---- What it asks ---------------------------------------------------------------------------------

local answers = {}

function answers.tool(step, tools, asked)
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

local function answer(step, tools, child, asked, lending)
  local made = answers[asked.kind]
  take_labels(step, asked.labels)
  local value = made and made(step, tools, asked, lending) or { error = "nobody here understands that" }
  return mail.send(child, "reply " .. asked.n, "reply " .. asked.n, value)
end

-- ---- The call ---------------------------------------------------------------------------------------------

-- What its program is made of, as it is now; of a caller that came from elsewhere that is along anyhow.
local function files_of(step)
  local run, source = step.run, agents.source_of(step.def)
  if run.carried then return {} end
  local path = source.dir or source.file
  run.travels = run.travels or {}
  local found, err = run.travels[path], nil
  if not found then found, err = travel.of(run.target and run.target.path or "", run.admitted or {}, nil, path) end
  run.travels[path] = found
  return found, err
end

-- Its own, and those of what came with the caller. Not the caller's own files: among them is what its process has said, such
-- as what the operator there allows, and the one who does the call has a word of its own.
local function generations_of(run, child)
  local row, err = store.find(run.id)
  if not row then error(err, 0) end
  local names = { child }
  for name in (row.generation or ""):gmatch "[^,]+" do
    if name:find "^travel%-" then names[#names + 1] = name end
  end
  return table.concat(names, ",")
end

local function put(step, child, options)
  local run = step.run
  local target = run.target and run.target.path or ""
  local files, wrong = files_of(step)
  if not files then return nil, wrong end
  options.cwd = files.cwd
  local ok, err = store.submit { id = child, target = target, input = step.input, options = json.encode(options), pool = step.def.pool, caller = run.id,
    project = options.project, generation = generations_of(run, child), files = files.files, files_of = files.generation }
  if not ok and err.code == "exists" then return child end -- by an earlier life
  return ok, err
end

local ended = { done = true, failed = true, cancelled = true }

local function states_of(child, id)
  local row, err = store.find(child)
  if not row then return err.code == "not_found" and "cancelled" or nil end
  local own = store.find(id)
  return row.state, row.caller, own and own.pool
end

--- Seconds after which a person is told that nobody has taken it.
local LATE = 4

-- Nobody has taken it for a while: a person is to know why nothing happens. A fork of its caller hears nothing of its end,
-- and looks again.
local function look(step, child, times)
  local state, caller, own_pool = effects.run("look", { run = child }, function() return states_of(child, step.run.id) end)
  if ended[state] then return { ended = state } end
  local is_fork = caller ~= step.run.id
  if own_pool and not is_fork then return nil end -- it gives way to others
  local again = (is_fork or times == 1) and LATE or nil
  if state ~= "queued" or times ~= 2 then return nil, again end
  step:emit("warning", { code = "queued", message = ("%s waits for a worker of the pool '%s', and none has taken its run %s yet: start one with `hocket work --pool %s`, or let it work here (--pool-local)"):format(
    step.def.name, step.def.pool, child, step.def.pool) })
  return nil, again
end

local function wait(step, tools, child, helpers, lending)
  local times = 0
  local function late()
    times = times + 1
    return look(step, child, times)
  end
  while true do
    local said = mail.take(step.run, "run " .. child, late)
    if type(said) ~= "table" then said = {} end
    if said.ended then return said.ended end
    if answers[said.kind] and math.type(said.n) == "integer" then
      helpers[#helpers + 1] = flow.spawn(answer, step, tools, child, said, lending)
    end
  end
end

-- Nobody waits for it any more. A run that is put away, or goes on elsewhere, waits on.
local function leave(step, child)
  if step.run.parked or not effects.here() then return end
  flow.shield(function()
    effects.run("cancel", { run = child }, function()
      local state, err = cancel(child)
      return state, err
    end)
  end)
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
  local run, id = account.here()
  local lending <close>, share = pool_share.begin(run, id, account.of(step.def.budget, step.opts.budget))
  local options = pool_spec.options(step, tools, share)
  local child = effects.value("child", { agent = step.def.name, pool = step.def.pool }, system.run_id)
  local state
  local left <close> = setmetatable({}, { __close = function()
    if not state then
      lending.unknown = true
      leave(step, child)
    end
  end })
  local ok, failure = effects.run("submit", { run = child, agent = step.def.name, input = step.input }, function() return put(step, child, options) end,
    { again = function() return store.find(child) and child or put(step, child, options) end })
  if not ok then
    state = "failed"
    return nil, failure
  end
  local shown <close>, untold = mail.show(run, "run", { child = child, pool = step.def.pool }, step.def.name, step.op)
  if untold then return nil, untold end
  local helpers = {}
  state = wait(step, tools, child, helpers, lending)
  for _, one in ipairs(helpers) do one:cancel() end
  local reply, err, used = pool_end.settle(step, child, state, id)
  shown.more = { ended = state, usage = used }
  return reply, err
end

return pool_caller
