--- `hocket runs`: what is kept, newest first; as a list, in a few words (--summary), or by agent (--stats).
local json = require "hocket.json"
local store = require "hocket.internal.core.store"
local stored = require "hocket.internal.commands.stored"
local suggest = require "hocket.internal.base.suggest"
local system = require "hocket.internal.core.system"
local told = require "hocket.internal.base.lazy" "hocket.internal.commands.runs.summary"
local webhook = require "hocket.internal.base.lazy" "hocket.internal.serve.webhook"

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

local units = { s = 1, m = 60, h = 3600, d = 86400, w = 7 * 86400 }

-- Milliseconds since 1970, so long ago: "90s", "30m", "24h", "7d", "2w". nil: nothing was said.
local function time_of(name, age)
  if age == nil then return nil end
  local n, unit = tostring(age):match "^(%d+)([smhdw])$"
  if n and #n <= 9 then return math.floor(system.wall() * 1000) - math.tointeger(n) * units[unit] * 1000 end
  return stored.failure("invalid", "--%s %s: expected a time like 90s, 30m, 24h, 7d or 2w", name, tostring(age))
end

-- Each of the labels "k=v", or "k" for any value.
local function has_labels(row, wanted)
  local labels = stored.label(row) or {}
  for _, one in ipairs(wanted) do
    local name, value = one:match "^([^=]*)=(.*)$"
    local has = labels[name or one]
    if has == nil or value and has ~= value then return false end
  end
  return true
end

-- What is searched for: `meant(row)`, the states as the store and as people name them, and when the oldest began.
local function read(args)
  local filter, wanted = read_states(args.state)
  if not filter then return nil, wanted end
  local since, older, wrong
  since, wrong = time_of("since", args.since)
  if not wrong then older, wrong = time_of("older", args.older) end
  if wrong then return nil, wrong end
  local function is_wanted(row)
    return (not wanted or wanted[stored.state(row)]) and (not older or row.created_ms <= older)
      and (not args.target or stored.is_target(row.target or "", args.target)) and (not args.label or has_labels(row, args.label))
      and (not args.meant or args.meant(row))
  end
  filter.parent, filter.before = args.parent, args.before
  return { filter = filter, is_wanted = is_wanted, since = since, is_plain = not (wanted or since or older or args.target or args.label or args.meant or args.eval ~= nil) }
end

-- False: there is one more than wanted, or the rows that follow are too old.
local function add(answer, page, look, limit, args)
  local runs = answer.runs
  for _, row in ipairs(page) do
    if look.since and row.created_ms < look.since then return false end
    if not is_meant(row, args.eval) then
      answer.evals_left_out = not args.eval or nil
    elseif look.is_wanted(row) then
      answer.more = #runs == limit
      if answer.more then return false end
      runs[#runs + 1] = stored.describe(row, true)
      if args.agent_of then runs[#runs].agent = args.agent_of(row) end
    end
  end
  return true
end

local function list(args, limit)
  local look, err = read(args)
  if not look then return nil, err end
  local filter, answer = look.filter, { runs = json.array {}, more = false }
  filter.limit = limit > 0 and limit < PAGE and look.is_plain and limit + 1 or PAGE
  limit = limit > 0 and limit or math.maxinteger
  while true do
    local page, more = store.runs(filter)
    if not page then return nil, more end
    if not add(answer, page, look, limit, args) or not more or #page == 0 then return answer end
    filter.before = page[#page].id
  end
end

-- The address is the operator's, and what is posted is signed as all webhooks are.
local function post(url, summary)
  if not url:find "^https?://[^/%s]+" then return stored.failure("invalid", "--webhook: expected an address that begins with http:// or https://") end
  local key, err = webhook.secret()
  if not key then return nil, err end
  local sent, why = webhook.post(key, url, "runs_summary_" .. system.run_id(), webhook.body("runs.summary", { text = summary.text, summary = summary.summary }))
  if not sent then return stored.failure("http", "the summary could not be delivered to the webhook: %s", why) end
  return summary
end

--- `more` of the answer: there are older ones; `before`: those alone that are older than this id. `text`: of `summary` and `stats` (runs/summary.lua), which look at
--- all runs that are meant.
---@async
---@param args {state?: string|string[], target?: string, label?: string[], since?: string, older?: string, summary?: boolean, webhook?: string, stats?: boolean, eval?: boolean, limit?: integer, parent?: string, before?: string, agent_of?: fun(row: table): string?, meant?: fun(row: table): boolean} limit: 50; 0: no limit. since, older: ages, as "24h".
return function(args)
  local limit = args.limit or 50
  if math.type(limit) ~= "integer" or limit < 0 then return stored.failure("invalid", "the limit is a whole number of at least 0") end
  local answer, err = list(args, (args.summary or args.stats) and 0 or limit)
  if not answer then return nil, err end
  if args.webhook and not args.summary then return stored.failure("invalid", "--webhook posts what --summary says: give both") end
  if args.summary then
    local summary = told.summary(answer.runs)
    if args.webhook then return post(args.webhook, summary) end
    return summary
  end
  if args.stats then return told.stats(answer.runs) end
  return answer
end
