--- What code of a tool or a step changes of its run: numbers that it takes, labels that it gives, who failed in it. In a run that is
--- kept a replay does not run that code, so the log of the run has each such change, at its place among all else that comes from
--- outside. Events and accounts go the same way by themselves (bind/journal, bind/account).
local account = require "hocket.internal.models.account"
local broker = require "hocket.internal.base.lazy" "hocket.broker"
local egress = require "hocket.internal.base.lazy" "hocket.internal.run.egress"
local file_labels = require "hocket.internal.base.lazy" "hocket.internal.run.file_labels"
local board_checkpoint = require "hocket.internal.base.lazy" "hocket.internal.run.board_checkpoint"
local kept = require "hocket.internal.core.kept"
local labels = require "hocket.internal.base.labels"
local pack = require "hocket.internal.base.lazy" "hocket.internal.base.pack"
local partial_result = require "hocket.internal.base.lazy" "hocket.internal.run.partial_result"

local changes = {}

local counters = { operations = true, asked = true, inputs = true }
local kinds = { boards = true, documents = true }

--- The next number of an operation, a question, an input.
function changes.number(run, of)
  assert(counters[of])
  run[of] = run[of] + 1
  return run[of]
end

--- The next number of a board or a document.
function changes.thing(run, kind)
  assert(kinds[kind])
  local list = run[kind]
  run.numbers[list] = (run.numbers[list] or 0) + 1
  return run.numbers[list]
end

--- Ids for so many jobs, of the run's own broker: the first one.
function changes.jobs(_, n)
  return broker.shared():take_ids(n)
end

function changes.answered(run, model, simulated)
  run.answered[model] = simulated
end

function changes.failure(run, entry)
  partial_result.add(run, entry)
end

function changes.made_good(run, agent, caller, op)
  partial_result.made_good(run, agent, caller, op)
end

function changes.handed_out(run, text, cut)
  run:keep_handed_out(text, cut)
end

function changes.always(run, covered)
  run.always[#run.always + 1] = covered
end

function changes.hosts(run, text)
  egress.note(run, text)
end

--- What somebody has read whom the agent at work at `op` has asked; nil: the run's script has.
function changes.labels(run, op, bits)
  local step = op and run.at_work[op]
  if step then return step:add_labels(bits) end
  run.labels = run.labels or labels.new()
  run.labels:add(bits)
end

function changes.files(_, what, ...)
  file_labels.change(what, ...)
end

function changes.guarded(run, dir)
  run.guarded[dir] = true
end

function changes.wrote(run, path)
  run.wrote = run.wrote or {}
  run.wrote[path] = true
end

function changes.ran(run)
  run.programs = true
end

--- Whoever waits for others' model calls looks again.
function changes.wake(run)
  account.wake_waiting(run)
end

--- A board or a document that was made there ends with that: what the result tells of it.
function changes.told(run, kind, told)
  assert(kinds[kind])
  board_checkpoint.stand_in(run, kind, told)
end

--- The same of those of an agent that has ended.
function changes.released(run, board, document)
  run:rest(board and board_checkpoint.stand_in(run, "boards", board), document and board_checkpoint.stand_in(run, "documents", document))
end

local logged = {}

--- Makes a change, whoever runs: returns what that returns.
---@param run hocket.Run
---@param what string
---@param ... any Data.
---@return any
function logged.make(run, what, ...)
  local change = changes[what]
  if not run.here or kept.here() == run.here then return change(run, ...) end
  local args, result = table.pack(...), nil
  local function make()
    result = table.pack(change(run, table.unpack(args, 1, args.n)))
  end
  run.journal:tell("within", what, pack.encode(...), make)
  if not result then make() end -- it has ended, and no replay comes to this
  return table.unpack(result, 1, result.n)
end

--- A replay has come to one.
---@param run hocket.Run
---@param what string
---@param packed string
---@return true
function logged.again(run, what, packed)
  changes[what](run, pack.decode(packed))
  return true
end

return logged
