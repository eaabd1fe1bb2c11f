--- `hocket fork`: a run that has the past of another one up to a record, and a future of its own. Nothing is copied.
---
--- Of the log those entries are its parent's that came before the next record could be made: records have the time of the
--- entry that they came of.
local consent = require "hocket.internal.run.consent"
local isotime = require "hocket.internal.base.isotime"
local json = require "hocket.json"
local store = require "hocket.internal.core.store"
local stored = require "hocket.internal.commands.stored"
local system = require "hocket.internal.core.system"

--- Kinds of entries: the wall time at 0 of the run's clock; an effect begins; an effect has ended.
local LIFE, END, BEGIN = 1, 6, 9

local function place_of(entry)
  return ("%d %d"):format(entry.path, entry.ord)
end

-- The last record of the same moment as record `at`, that moment, and how often the wall clock had gone back until then: a
-- process that continues a run may have an earlier clock.
local function moment_of(row, at)
  local seq, time, last, before, back = 0, nil, 0, 0, 0
  local ok, err = stored.each(row.id, function(record)
    last = record.seq
    local ms = isotime.ms(record.json:match '"time":"([^"]*)"')
    if record.seq <= at and ms then
      if ms < before then back = back + 1 end
      before = ms
    end
    if record.seq < at then return false end
    if record.seq == at then
      seq, time = at, ms
      return not ms
    end
    if ms ~= time then return true end
    seq = record.seq
    return false
  end)
  if not ok then return nil, err end
  if last < at then return stored.failure("invalid", "run %s has %d records: there is no record %d (hocket show %s numbers them)", row.id, last, at, row.id) end
  if not time then return stored.failure("parse", "record %d of run %s has no time", at, row.id) end
  return seq, time, back
end

-- The last entry that is of that moment or before: n; and the effects that begin behind all else of it.
local function entry_at(row, time, back, beyond)
  local n, began, before, gone_back, is_beyond = 0, nil, 0, 0, false
  local last = {} -- for each such effect: the place, and the time until then
  local ok, err = stored.each(row.id, function(entry)
    if is_beyond then return beyond(entry, last) end
    if entry.kind == LIFE then began = math.tointeger(tonumber(entry.value)) or began end
    local ms = began and began + entry.at_ms or 0
    if ms < before then gone_back = gone_back + 1 end
    is_beyond = gone_back > back or gone_back == back and ms > time
    if is_beyond then return beyond(entry, last) end
    n = entry.n
    if entry.kind ~= BEGIN then last = {} else last[#last + 1] = { place = place_of(entry), before = before } end
    before = ms
    return false
  end, store.entries)
  if not ok then return nil, err end
  return n, last
end

-- What had begun there and came to its end behind it the fork begins itself, as everything that is behind it: whether the first of it was
-- logged in the same millisecond is chance. What has no end stays: nobody knows whether it was done. The moment is earlier then.
local function entries_at(row, time, back)
  local n, last = entry_at(row, time, back, function(entry, begun)
    local left = false
    for _, one in ipairs(begun) do
      if entry.kind == END and one.place == place_of(entry) then one.ended = true end
      left = left or not one.ended
    end
    return not left
  end)
  if not n then return nil, last end
  for i = #last, 1, -1 do
    if not last[i].ended then break end
    n, time = n - 1, last[i].before
  end
  return n, time
end

-- The last record up to `seq` that is of that time or before.
local function record_until(row, seq, time)
  local last = 0
  local ok, err = stored.each(row.id, function(record)
    if record.seq > seq then return true end
    local ms = isotime.ms(record.json:match '"time":"([^"]*)"')
    if ms and ms <= time then last = record.seq end
  end)
  if not ok then return nil, err end
  return last
end

-- Its parent's part: how many records, how many entries.
local function part_of(row, at)
  if at == nil then
    local seq = 0
    local ok, err = stored.each(row.id, function(record) seq = record.seq end)
    if not ok then return nil, err end
    return seq, row.last_n
  elseif math.type(at) ~= "integer" or at < 1 then
    return stored.failure("invalid", "records are numbered from 1: there is no record %s", tostring(at))
  end
  local seq, time, back = moment_of(row, at)
  if not seq then return nil, time end
  local n, moment = entries_at(row, time, back)
  if not n then return nil, moment end
  if moment < time then -- the fork itself repeats the events after these entries
    local err
    seq, err = record_until(row, seq, moment)
    if not seq then return nil, err end
  end
  return seq, n
end

-- Whose it is, of clients of `hocket serve`: of whoever forks it.
local function serve_of(options, args)
  local before = type(options.serve) == "table" and options.serve or nil
  return (before or args.token) and { agent = before and before.agent, hooks = before and before.hooks, token = args.token } or nil
end

-- The options of its parent, with others in place of some. A model and an input that come after a past are said when that is over.
local function options_of(row, args)
  local options = json.decode(row.options or "{}")
  if type(options) ~= "table" then return stored.failure("parse", "the options of run %s cannot be read", row.id) end
  if args.input and not options.conversation then
    return stored.failure("invalid", "run %s is no conversation: its input was read before record %d (--latest begins anew, and reuses the results that are the same)", row.id, args.at or row.last_n)
  end
  for name, value in pairs(args.options or {}) do options[name] = value end
  options.serve = serve_of(options, args)
  options.latest = nil -- it has a past, whatever its parent was
  options.fork = (args.model or args.input) and { model = args.model, input = args.input } or nil
  return options
end

-- Puts it.
local function put(row, n, seq, args, fork)
  local id = system.run_id()
  fork.id, fork.options = id, consent.inherited(row, id, fork, args.consent == true)
  return store.fork(row.id, n, seq, fork)
end

-- What is said of a fork that was made.
local function told(id, parent, n, seq)
  local row, err = store.find(id)
  if not row then return nil, err end
  return { id = id, parent = parent, at_n = n, at_seq = seq, state = stored.state(row) }
end

-- A run from the beginning, on the files as they are now, that remembers what its parent asked.
local function latest(row, args)
  if args.at then return stored.failure("invalid", "--at and --latest: a fork leaves its parent at a record, or begins anew") end
  local options = json.decode(row.options or "{}")
  if type(options) ~= "table" then return stored.failure("parse", "the options of run %s cannot be read", row.id) end
  for name, value in pairs(args.options or {}) do options[name] = value end
  options.serve = serve_of(options, args)
  options.model, options.latest, options.fork = args.model or options.model, true, nil
  if type(options.call) == "table" then options.call.due_ms, options.call.spent_ms = nil, nil end -- its caller's time was over long ago
  local id, err = put(row, 0, 0, args, { input = args.input, options = options, target = args.target, anew = true })
  if not id then return nil, err end
  return told(id, row.id, 0, 0)
end

---@async
---@param args {id: string, at?: integer, latest?: boolean, input?: string, model?: string, options?: table, target?: string, consent?: boolean, token?: string} token: of a client of `hocket serve` consent: a person makes it; at: a record; without it everything that the run has.
return function(args)
  local row, err = stored.named(args.id)
  if not row then return nil, err end
  if args.latest then return latest(row, args) end
  local seq, n = part_of(row, args.at)
  if not seq then return nil, n end
  local options, wrong = options_of(row, args)
  if wrong then return nil, wrong end
  local id, failed = put(row, n, seq, args, { options = options, target = args.target })
  if not id then return nil, failed end
  return told(id, row.id, n, seq)
end
