--- `hocket runs`: what is kept, newest first.
local json = require "hocket.json"
local store = require "hocket.internal.core.store"
local stored = require "hocket.internal.commands.stored"
local suggest = require "hocket.internal.base.suggest"

local PAGE = 1000

local states = { "queued", "running", "waiting", "parked", "done", "failed", "cancelled", "cut_off", "forked" }
local is_state = {}
for _, word in ipairs(states) do is_state[word] = true end

-- What the store is to look for, and which states are wanted of that: it knows no run that was cut off or only forked, nor that a worker's is queued again by that.
local function read_states(list)
  if list == nil then return {} end
  local wanted, rows = {}, {}
  for _, word in ipairs(type(list) == "table" and list or { list }) do
    word = tostring(word):gsub("[%s-]", "_")
    local near = suggest(word, states)
    if not is_state[word] then
      return stored.failure("invalid", "there is no state '%s'%s (there are: %s)", word,
        near and (": did you mean '%s'?"):format(near) or "", table.concat(states, ", "))
    end
    wanted[word], rows[#rows + 1] = true, (word == "cut_off" or word == "forked") and "running" or word
    if word == "queued" then rows[#rows + 1] = "running" end
  end
  return { states = rows }, wanted
end

-- Those of evaluations: nil: as others; true: they alone; false: all others.
local function is_meant(row, eval)
  if eval == nil then return true end
  return (stored.eval(row) ~= nil) == eval
end

-- False: there is one more than wanted.
local function add(runs, page, wanted, limit, args, evals)
  for _, row in ipairs(page) do
    if not is_meant(row, evals.wanted) then
      evals.left_out = true
    elseif (not wanted or wanted[stored.state(row)]) and (not args.meant or args.meant(row)) then
      if #runs == limit then return false end
      runs[#runs + 1] = stored.describe(row, true)
      if args.agent_of then runs[#runs].agent = args.agent_of(row) end
    end
  end
  return true
end

--- `more` of the answer: there are older ones; `before`: those alone that are older than this id.
---@async
---@param args {state?: string|string[], eval?: boolean, limit?: integer, parent?: string, before?: string, agent_of?: fun(row: table): string?, meant?: fun(row: table): boolean} limit: 50; 0: no limit.
return function(args)
  local limit = args.limit or 50
  if math.type(limit) ~= "integer" or limit < 0 then return stored.failure("invalid", "the limit is a whole number of at least 0") end
  local filter, wanted = read_states(args.state)
  if not filter then return nil, wanted end
  filter.parent, filter.before = args.parent, args.before
  filter.limit = limit > 0 and limit < PAGE and not wanted and args.eval == nil and not args.meant and limit + 1 or PAGE
  limit = limit > 0 and limit or math.maxinteger
  local runs, left, evals = json.array {}, true, { wanted = args.eval }
  while left do
    local page, more = store.runs(filter)
    if not page then return nil, more end
    if not add(runs, page, wanted, limit, args, evals) then return { runs = runs, more = true } end
    left = more and #page > 0
    filter.before = left and page[#page].id
  end
  return { runs = runs, more = false, evals_left_out = evals.left_out and not args.eval or nil }
end
