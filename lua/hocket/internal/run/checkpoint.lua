--- Checkpoints: what bounds how much of a run is replayed. See hocket.checkpoint.
---
---     live     script ── checkpoint() ── round ── checkpoint(s1) ── round ── checkpoint(s2) ── round …
---     replay   script ── checkpoint() ─────────────────────────────────────> s2 ───────────── round …
---
--- A replay goes through everything that stands before the first one, leaps to the newest, and continues with its numbers: of events, of
--- what was used, of chance (bind/fiber/kept_checkpoint.c has those of the fibers).
local account = require "hocket.internal.models.account"
local accounts = require "hocket.internal.core.account"
local broker = require "hocket.broker"
local consent = require "hocket.internal.base.lazy" "hocket.internal.run.consent"
local effects = require "hocket.internal.base.effects"
local fiber = require "hocket.internal.core.fiber"
local file_labels = require "hocket.internal.run.file_labels"
local board_checkpoint = require "hocket.internal.run.board_checkpoint"
local kept = require "hocket.internal.core.kept"
local labels = require "hocket.internal.base.labels"
local memory = require "hocket.internal.base.memory"
local messages = require "hocket.internal.run.messages"
local pack = require "hocket.internal.base.pack"
local runs = require "hocket.internal.run.run"
local steering = require "hocket.internal.run.steering"
local workdir = require "hocket.internal.run.workdir"

local function name_of(context)
  local step = context.step
  return step and step.def and step.def.name or "a function"
end

-- Everything that goes on beside the caller would have to go on in a replay as well.
local function check_alone()
  local others = kept.others()
  if not others[1] then return end
  local names, seen = {}, {}
  for _, context in ipairs(others) do
    local name = name_of(context)
    if not seen[name] then names[#names + 1] = name end
    seen[name] = true
  end
  error(("a checkpoint is made while nothing else of the run goes on, and %d of it do: %s. Wait for what was started (hocket.flow.spawn, jobs, tasks in the background) before it")
    :format(#others, table.concat(names, ", ")), 4)
end

-- The others have their turn, so that the broker waits.
local function settle()
  broker.shared()
  fiber.spawn(function() end):wait()
end

local stays = { broker = true, sources = true, checkpoint = true, memory = true, policy = true, chance = true }

-- What modules have learned and keep: the next life begins without it.
local function forget(run, own)
  for key in pairs(own) do
    if not stays[key] then own[key] = nil end
  end
  run.models, run.alike, run.handed_out = {}, setmetatable({}, { __mode = "k" }), nil
end

-- Fields of a run that are numbers, texts and tables of them.
local plain_fields = {
  "operations", "asked", "shown", "inputs", "turns", "printed", "printed_cut", "always", "answered", "declined", "failures", "blames", "said_answer", "changed", "stopped", "named_hosts", "unmetered",
  "default_model", "limits_told",
}

local function snapshot(run, own, state)
  local said = messages.of(run)
  local now = {
    state = state, policy = own.policy, chance = own.chance, guarded = run.guarded, seq = run.journal:last(), used = run.accounts:counted(account.ROOT),
    messages = { waiting = said.waiting, n = said.n, n_ends = said.n_ends, asked = said.asked, settled = said.settled }, jobs = { broker.shared():numbers() },
    saved = run.saved and run.saved:counted(account.ROOT), boards = run.numbers[run.boards], documents = run.numbers[run.documents],
    labels = run.labels and run.labels.bits, files = run.root and file_labels.all(run.root), remembered = memory.given(),
    steering = steering.waiting(run), wrote = run.wrote, holdings = board_checkpoint.all(run, own.checkpoint.before),
  }
  for _, name in ipairs(plain_fields) do now[name] = run[name] end
  return now
end

-- What was read, by whom it was written: who is asked from here on is asked by that. And what it has written itself.
local function mark(run, was)
  for path in pairs(was.wrote or {}) do
    run.wrote = run.wrote or {}
    run.wrote[path] = true
  end
  if was.labels then
    run.labels = run.labels or labels.new()
    run.labels:add(was.labels)
  end
  if was.files then file_labels.add(assert(workdir.root(run)), was.files) end
end

-- What binds it: what its operators have said in all lives, where its chance stands, and what nobody may write to.
local function bind(run, own, was)
  own.policy = was.policy or own.policy
  own.chance = was.chance or own.chance
  for dir in pairs(was.guarded or {}) do run.guarded[dir] = true end
end

-- What this life has used and told so far is part of what the newest one had.
local function go_on(run, own, was)
  bind(run, own, was)
  for _, name in ipairs(plain_fields) do run[name] = was[name] end
  for name, value in pairs(was.changed or {}) do run.options[name] = value end
  if was.stopped then account.stop(run) end
  mark(run, was)
  consent.again(run)
  memory.give(was.remembered)
  if was.jobs then broker.shared():numbers(table.unpack(was.jobs)) end
  run.numbers[run.boards], run.numbers[run.documents] = was.boards, was.documents
  board_checkpoint.go_on(run, own.checkpoint.before, was.holdings)
  local said = messages.of(run)
  for _, name in ipairs { "waiting", "n", "n_ends", "asked", "settled" } do said[name] = was.messages[name] or said[name] end
  if was.steering then steering.go_on(run, was.steering) end
  run.accounts:raise(account.ROOT, was.used)
  if was.saved then
    run.saved = run.saved or accounts.new()
    run.saved:raise(account.ROOT, was.saved)
  end
  run.journal:skip(was.seq)
end

-- Where nothing is kept, the newest one is as good as a variable.
local function plain(own, given, state)
  if given then own.checkpoint = { state = state } end
  return own.checkpoint and own.checkpoint.state
end

local function first(run, own)
  settle()
  forget(run, own)
  own.checkpoint = { before = board_checkpoint.before(run) }
  local text = kept.checkpoint ""
  if not text then return nil end
  local was = pack.decode(text)
  go_on(run, own, was)
  own.checkpoint.state = was.state
  return was.state
end

local function make(run, own, state)
  settle()
  forget(run, own)
  board_checkpoint.settle(run, own.checkpoint.before)
  local ok, text = pcall(pack.encode, snapshot(run, own, state))
  if not ok then error("bad argument #1 to 'checkpoint' (" .. text .. ")", 3) end
  kept.checkpoint(text)
  own.checkpoint.state = state
  return state
end

--- See hocket.checkpoint.
---@async
return function(...)
  local given, state = select("#", ...) > 0, (...)
  local run = runs.current() or error("there is no run here: checkpoints are a run's", 3)
  local own = effects.here()
  if not own then return plain(run, given, state) end
  if given and not own.checkpoint then
    error("the first call of hocket.checkpoint has no argument, and returns what to go on with", 3)
  end
  if own.checkpoint and not given then return own.checkpoint.state end
  check_alone()
  if not given then return first(run, own) end
  return make(run, own, state)
end
