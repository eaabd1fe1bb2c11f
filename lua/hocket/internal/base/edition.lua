--- Which edition of the built-in prompts and tool sets a run works with. A run's log holds what models were asked, so a run that goes on,
--- or is replayed, asks as it did before: the edition that it began with stands in its options (`edition`, host/run/start.c).
---
--- Whoever changes what a built-in pattern sends raises HOCKET__EDITION (core/run_state.h), and keeps the former words for older runs:
---
---     if edition.of(run) >= 6 then … end
---
---     1   until November 2026; runs that name none. Members of JSON stand by name, words of fences are drawn in the order of time (bind/fiber/kept.c)
---     4   as 5, but for jobs
---
--- These two are from before the first release. hocket can continue runs like those in tests/versions: a team of a facilitator, an approval, a
--- conversation. Other runs may ask something else than their logs have, and end with that error. Editions 2 and 3 are refused.
---
---     5   a job's attempts are named by who submitted the job, and wait as long before the next one, in whatever order jobs begin and fail
---         (bind/broker/work.c); what a call in a pool has lent on and was not used comes back when that has ended (pool/share.lua);
---         an answer of delegate_to_agent has no seconds
---     6   a script that a conversation begins with calls no agent before the first message (runner/responder.lua); what a program took is said roughly, and not below a
---         second (tools/sandbox.lua)
local kept = require "hocket.internal.core.kept"
local system = require "hocket.internal.core.system"

local edition = {}

--- That of runs that begin now.
edition.NOW = system.edition()

--- That of a run, or of what carries its options.
---@param run {edition?: integer}
---@return integer
function edition.of(run)
  return run.edition or edition.NOW
end

--- That of the run whose code runs, also before there is a hocket.Run of it.
---@return integer
function edition.here()
  return kept.edition() or edition.NOW
end

--- Notes in the options of a run which edition it has: one that was begun before keeps what stands there.
---@param options table
---@param continued boolean
---@return integer edition
function edition.begin(options, continued)
  if options.edition == nil and not continued then options.edition = edition.NOW end
  return options.edition or 1
end

--- Whether a run with these options can be continued here.
---@param options table
---@return true?
---@return hocket.Error?
function edition.check(options)
  local value = options.edition or 1
  if value == 2 or value == 3 then
    return nil, { code = "state", message = ("the run was begun before the first release (edition %d): only the version that began it can continue it"):format(value) }
  end
  if math.type(value) == "integer" and value >= 1 and value <= edition.NOW then return true end
  return nil, { code = "unsupported",
    message = ("the run has edition %s of the built-in prompts, and this hocket knows those up to %d: continue it with a newer version"):format(tostring(value), edition.NOW) }
end

return edition
