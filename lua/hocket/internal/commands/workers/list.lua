--- `hocket workers`: who works for the store, what lies in its pools, and what waits for whom. It only reads.
local ended = require "hocket.internal.run.ended"
local json = require "hocket.json"
local store = require "hocket.internal.core.store"
local stored = require "hocket.internal.commands.stored"

--- Runs of what waits for whom, at most.
local BLOCKED = 200

--- Milliseconds after which one silent is lost.
local SILENT = 60000

local WHATS = { "queued", "later", "running", "waiting", "parked" }

-- ---- Workers ----------------------------------------------------------------------------------------

local function texts(list)
  local kept = json.array {}
  for _, one in ipairs(type(list) == "table" and list or {}) do
    if type(one) == "string" then kept[#kept + 1] = one end
  end
  return kept
end

-- On the machine where it was its process is known to be gone.
local function has_ended(told)
  return type(told.place) == "string" and math.tointeger(told.start) ~= nil and store.has_ended(told.place, math.tointeger(told.pid), math.tointeger(told.start))
end

-- By the store's clock, since the worker's may be hours off, and this one's, too.
local function is_lost(item, told, now)
  return item.at_ms + SILENT < (now or item.now_ms) or has_ended(told)
end

-- What stands there was written by some version of hocket, or by somebody else.
local function worker(item, now)
  local told = json.decode(item.json)
  if type(told) ~= "table" or type(told.host) ~= "string" or not math.tointeger(told.pid) then return nil end
  return {
    host = told.host, pid = math.tointeger(told.pid), since_ms = math.tointeger(told.since_ms) or json.null, seen_ms = item.at_ms, pools = texts(told.pools),
    max_runs = math.tointeger(told.runs) or json.null, runs = 0, version = type(told.version) == "string" and told.version or json.null,
    state = is_lost(item, told, now) and "lost" or told.draining == true and "draining" or "working",
  }
end

-- A process is known by its machine and number; one that was begun later may have the number of one that was lost.
local function owner(host, pid) return host .. "\0" .. pid end

local function workers_of(items, counts, now)
  local list, by = json.array {}, {}
  for _, item in ipairs(items) do
    local one = worker(item, now)
    if one then
      list[#list + 1] = one
      local key = owner(one.host, one.pid)
      if not by[key] or by[key].since_ms ~= json.null and one.since_ms ~= json.null and by[key].since_ms < one.since_ms then by[key] = one end
    end
  end
  for _, row in ipairs(counts) do
    local one = row.what == "running" and by[owner(row.host, row.pid)]
    if one then one.runs = one.runs + row.n end
    if one and one.state == "lost" then row.what = "queued" end -- for whoever takes it over
  end
  table.sort(list, function(a, b)
    if a.host ~= b.host then return a.host < b.host end
    return a.pid < b.pid
  end)
  return list
end

-- ---- Pools -------------------------------------------------------------------------------------------

local function pool(name)
  local one = { name = name, workers = 0, oldest_ms = json.null }
  for _, what in ipairs(WHATS) do one[what] = 0 end
  return one
end

local function pools_of(counts, workers)
  local by, list = {}, json.array {}
  local function need(name)
    if not by[name] then
      by[name] = pool(name)
      list[#list + 1] = by[name]
    end
    return by[name]
  end
  for _, row in ipairs(counts) do
    local one = need(row.pool)
    one[row.what] = (one[row.what] or 0) + row.n
    if row.what == "queued" then one.oldest_ms = math.min(one.oldest_ms == json.null and row.since_ms or one.oldest_ms, row.since_ms) end
  end
  for _, one in ipairs(workers) do
    for _, name in ipairs(one.pools) do
      local at = need(name)
      if one.state == "working" then at.workers = at.workers + 1 end
    end
  end
  for _, one in ipairs(list) do one.unserved = one.queued > 0 and one.workers == 0 end
  table.sort(list, function(a, b) return a.name < b.name end)
  return list
end

-- ---- What waits for whom --------------------------------------------------------------------------------

-- The run that is awaited, where it is one.
local function called(open)
  return open.kind == "run" and type(open.child) == "string" and open.child or open.kind == "signal" and tostring(open.name):match "^run (%w+)$" or nil
end

-- Several of its agents may wait for the same budget.
local function is_known_budget(list, open)
  for _, one in ipairs(list) do
    if open.kind == "budget" and one.project == open.project and one.limit == open.limit then return true end
  end
  return false
end

-- For persons, signals, times and budgets; for the runs that it has called in any case.
local function waits_for(row, children)
  local list, known = json.array {}, {}
  for _, child in ipairs(children or {}) do
    known[child.id] = true
    list[#list + 1] = { kind = "run", run = child.id, pool = child.pool, state = stored.state(child), target = child.target }
  end
  for _, open in ipairs(stored.open(row)) do
    local run = called(open)
    if run and not known[run] then list[#list + 1] = { kind = "run", run = run } end
    if not run and not is_known_budget(list, open) then
      list[#list + 1] = { kind = type(open.kind) == "string" and open.kind or "signal", name = open.name,
        project = open.project, limit = open.limit, ["until"] = open["until"], until_ms = open.until_ms }
    end
  end
  return list
end

local function blocked_of(rows)
  local children, list = {}, json.array {}
  for _, row in ipairs(rows) do
    if row.caller then
      children[row.caller] = children[row.caller] or {}
      table.insert(children[row.caller], row)
    end
  end
  for _, row in ipairs(rows) do
    local told = waits_for(row, children[row.id])
    local state = stored.state(row)
    if #told > 0 and (state == "waiting" or state == "parked" or children[row.id]) then
      list[#list + 1] = { run = row.id, target = row.target or "", pool = row.pool, state = state, since_ms = row.updated_ms, caller = row.caller, waits_for = told }
    end
    children[row.id] = nil
  end
  -- Callers that are no worker's, as a script of somebody's own; one that has ended waits for nobody.
  for id, called_by in pairs(children) do
    local row = store.find(id)
    if row and not ended.states[row.state] then
      list[#list + 1] = { run = id, target = row.target or "", pool = row.pool, state = stored.state(row), since_ms = row.updated_ms, waits_for = waits_for({}, called_by) }
    end
  end
  table.sort(list, function(a, b) return a.run < b.run end)
  return list
end

-- ---- All ---------------------------------------------------------------------------------------------------

-- The oldest that wait, each with what for.
local function blocked()
  local rows, err = store.blocked(BLOCKED + 1)
  if not rows then return nil, err end
  local more = #rows > BLOCKED
  rows[BLOCKED + 1] = nil
  return blocked_of(rows), more
end

--- Of what waits the oldest; `more`: there are others.
---@async
---@param args? {now_ms?: integer} now_ms: what time it is, for tests.
---@return {workers: table[], pools: table[], blocked: table[], more: boolean}?
---@return hocket.Error?
return function(args)
  local items, err = store.items "worker"
  if not items then return nil, err end
  local counts
  counts, err = store.pools()
  if not counts then return nil, err end
  local waiting, more = blocked()
  if not waiting then return nil, more end
  local workers = workers_of(items, counts, args and args.now_ms)
  return { workers = workers, pools = pools_of(counts, workers), blocked = waiting, more = more }
end
