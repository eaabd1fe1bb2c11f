--- What the commands about kept runs share: how a run is found, and told.
local json = require "hocket.json"
local store = require "hocket.internal.core.store"
local system = require "hocket.internal.core.system"
local truncate = require "hocket.internal.base.truncate"

local stored = {}

stored.failure = system.failure

--- The run whose id begins so.
---@async
---@return table? row
---@return hocket.Error?
function stored.find(id)
  if type(id) ~= "string" or not id:find "^%w+$" or #id > 26 then
    return stored.failure("invalid", "'%s' is no id of a run, nor the beginning of one (hocket runs lists them)", tostring(id))
  end
  return store.find(id)
end

--- Whether a person means a run's target: as it was typed then, or the name of its file or folder.
---@param target string
---@param meant string
---@return boolean
function stored.is_target(target, meant)
  local name = target:gsub("/+$", ""):match "[^/]*$"
  return target == meant or name == meant or name:gsub("%.%w+$", "") == meant
end

-- The newest run that a person has begun: no evaluation, and none that another run has called.
local function newest(meant)
  local before
  repeat
    local page, more = store.runs { before = before }
    if not page then return nil, more end
    for _, row in ipairs(page) do
      if not row.caller and not stored.eval(row) and (not meant or stored.is_target(row.target or "", meant)) then return row end
      before = row.id
    end
  until not more
  return stored.failure("not_found", meant and "there is no run of '%s' yet (hocket runs lists all)" or "there is no run yet", meant)
end

--- The run that a person names: by its id or the beginning of one, as "last" (the newest), or as "last:TARGET" (the newest of a target).
---@async
---@param name string
---@return table? row
---@return hocket.Error?
function stored.named(name)
  if name == "last" then return newest() end
  local target = type(name) == "string" and name:match "^last:(.+)$"
  if target then return newest(target) end
  return stored.find(name)
end

--- A run that says that it goes on and that nobody has was cut off: its process has ended. One of a pool continues with the next worker, and a fork
--- that has nothing of its own has never had a process.
---@param row table
---@return string
function stored.state(row)
  if row.state ~= "running" or row.owner then return row.state end
  if row.pool then return "queued" end
  return row.parent and (row.last_n or 0) == (row.at_n or 0) and "forked" or "cut_off"
end

local function parsed(text)
  local value = text and json.decode(text)
  return type(value) == "table" and value or nil
end

--- What it waits for: a list of {id, kind, …}, and nothing else whatever stands there.
---@param row table
---@return table[]
function stored.open(row)
  local list = json.array {}
  for _, one in ipairs(parsed(row.waiting_for) or {}) do
    if type(one) == "table" and type(one.id) == "string" then list[#list + 1] = one end
  end
  return list
end

local for_people = { question = true, approval = true }

--- What people are asked of that; it may wait for runs, signals and budgets beside it.
---@param row table
---@return table[]
function stored.asked(row)
  local list = json.array {}
  for _, one in ipairs(stored.open(row)) do
    if for_people[one.kind] then list[#list + 1] = one end
  end
  return list
end

-- The time of day that it waits for.
local function until_ms(row)
  for _, one in ipairs(parsed(row.waiting_for) or {}) do
    if type(one) == "table" and one.kind == "time" then return math.tointeger(one.until_ms) end
  end
end

--- Why the worker that had it last could not continue with it; nil: none has said so.
---@param row table
---@return {code: string, why: string}?
function stored.put_off(row)
  for _, one in ipairs(parsed(row.waiting_for) or {}) do
    if type(one) == "table" and one.kind == "worker" and type(one.why) == "string" then
      return { code = type(one.code) == "string" and one.code or "state", why = one.why }
    end
  end
end

--- The day's budget that it waits for, where its project has used that up.
---@param row table
---@return {project: string, limit: string, until: string}?
function stored.budget(row)
  for _, one in ipairs(stored.open(row)) do
    if one.kind == "budget" and type(one.project) == "string" then
      return { project = one.project, limit = tostring(one.limit), ["until"] = tostring(one["until"]) }
    end
  end
end

--- Of a run of an evaluation, which case it was: `case`, `file`, `turn`, `seed`; or `judge_of`.
---@param row table
---@return table?
function stored.eval(row)
  if not (row.options and row.options:find('"eval":', 1, true)) then return nil end
  local options = parsed(row.options)
  return options and type(options.eval) == "table" and options.eval or nil
end

--- What it was labelled with (`--label k=v`).
---@param row table
---@return table<string, string>?
function stored.label(row)
  if not (row.options and row.options:find('"label":', 1, true)) then return nil end
  local options = parsed(row.options)
  return options and type(options.label) == "table" and options.label or nil
end

-- Its options without the mark of who has begun it (run/proof.lua), which is for nobody to see.
local function options_of(row)
  local options = parsed(row.options)
  if options then options.made = nil end
  return options
end

local function number_or_null(n)
  return n == nil and json.null or n
end

--- A row as commands tell it.
---@param row table
---@param brief? boolean Without its options, and with the beginning of its input: in a list.
---@return table
function stored.describe(row, brief)
  local input, put_off = row.input or "", stored.put_off(row)
  return {
    id = row.id, parent = row.parent, at_n = row.at_n, at_seq = row.at_seq, target = row.target or "", version = row.version,
    input = brief and truncate(input, 300) or input, options = not brief and options_of(row) or nil,
    state = stored.state(row), waiting_for = stored.open(row), until_ms = until_ms(row), owner = row.owner, simulated = row.simulated,
    eval = stored.eval(row), label = stored.label(row), cost = number_or_null(row.cost), tokens = number_or_null(row.tokens),
    created_ms = row.created_ms, updated_ms = row.updated_ms, pool = row.pool, due_ms = (row.due_ms or 0) > 0 and row.due_ms or nil, caller = row.caller, project = row.project,
    put_off = put_off and put_off.why,
  }
end

--- Calls fn(record) for each record of a run from `from` on, until that returns true: a page at a time.
---@async
---@param id string
---@param fn fun(record: {seq: integer, json: string}): boolean?
---@param list? function store.records, or store.entries.
---@return boolean? done
---@return hocket.Error?
function stored.each(id, fn, list)
  local from = 1
  while true do
    local page, more = (list or store.records)(id, from)
    if not page then return nil, more end
    for _, one in ipairs(page) do
      if fn(one) then return true end
      from = (one.seq or one.n) + 1
    end
    if not more or #page == 0 then return true end
  end
end

return stored
