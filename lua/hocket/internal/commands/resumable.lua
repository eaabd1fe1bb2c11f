--- The operation `resumable`: runs of the store that can be gone on with, and where: what `hocket resume` and `hocket chat --continue`
--- have to know before they begin.
local ended = require "hocket.internal.run.ended"
local json = require "hocket.json"
local proof = require "hocket.internal.run.proof"
local store = require "hocket.internal.core.store"
local stored = require "hocket.internal.commands.stored"

local function options_of(run)
  local options = run.options and json.decode(run.options)
  return type(options) == "table" and options or {}
end

local function told(run)
  local options = options_of(run)
  local cwd = proof.is_ours(run) and options.cwd or nil -- else it is anybody's word where tools work
  return { id = run.id, state = run.state, target = run.target, input = run.input, cwd = cwd, updated_ms = run.updated_ms,
    conversation = options.conversation == true }
end

-- Whether it goes on without being named. A run of an evaluation that was cut off is nobody's to continue with, unless he says so: its
-- folder may be gone. Nor is one of a pool: that is a worker's. Nor is a fork that nobody has gone on with yet: it would be paid for.
local function is_left(run, conversation)
  if run.owner or run.pool or stored.eval(run) then return false end
  return conversation or stored.state(run) ~= "forked"
end

-- All runs that have not ended: conversations, or the others.
local function open_ones(conversation)
  local list, held, before = {}, {}, nil
  repeat
    local page, more = store.runs { states = ended.open, before = before }
    if not page then return nil, more end
    for _, run in ipairs(page) do
      local one = told(run)
      local fits = one.conversation == conversation
      if fits and is_left(run, conversation) then list[#list + 1] = one end
      if fits and run.owner then held[#held + 1] = { id = run.id, pid = run.owner.pid, cwd = one.cwd, updated_ms = run.updated_ms } end
      before = run.id
    end
  until not more
  return list, held
end

-- The ones that were left last come first; where `here` is given, runs that were left here come before the others.
local function sort(list, here)
  local function is_before(a, b)
    local a_here, b_here = a.cwd == here, b.cwd == here
    if here and a_here ~= b_here then return a_here end
    if a.updated_ms ~= b.updated_ms then return a.updated_ms > b.updated_ms end
    return a.id > b.id
  end
  table.sort(list, is_before)
end

-- Notes a run that another process has and that would have come first, so that the user learns why another one continues.
local function note_held(list, held, here)
  local first = list[1]
  sort(held, here)
  for _, one in ipairs(first and held or {}) do
    local nearer = not here or one.cwd == here or first.cwd ~= here
    if nearer and one.updated_ms >= first.updated_ms then
      first.held = { id = one.id, pid = one.pid }
      return
    end
  end
end

--- `id`: that one, which may be shortened; else all runs that have not ended, newest first, or the `most` conversations that
--- were left last, those of the folder `here` before all others.
---@async
---@param args {id?: string, conversation?: boolean, most?: integer, here?: string}
---@return {text: string, runs: table[]}?
---@return hocket.Error?
return function(args)
  local list, err
  if args.id then
    local run
    run, err = stored.named(args.id)
    list = run and { told(run) }
  else
    local held
    list, held = open_ones(args.conversation == true)
    err = not list and held or nil
    if list and args.conversation then
      sort(list, args.here)
      note_held(list, held, args.here)
    end
  end
  if not list then return nil, err end
  for i = #list, (args.most or #list) + 1, -1 do list[i] = nil end
  return { text = "", runs = json.array(list) }
end
