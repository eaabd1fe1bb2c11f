--- `hocket budget`: what projects may use in a day, and what is left of it. It stands in the store, for all who work on it.
local day_budget = require "hocket.internal.models.day_budget"
local ended = require "hocket.internal.run.ended"
local json = require "hocket.json"
local plain_name = require "hocket.internal.base.plain_name"
local origin = require "hocket.internal.run.origin"
local store = require "hocket.internal.core.store"
local system = require "hocket.internal.core.system"
local timezone = require "hocket.internal.base.timezone"
local failure = system.failure

--- Runs that may wait for it: the ones that are queued look by themselves when they go on.

local words = {}

local function check_name(name)
  local wrong = plain_name.wrong(name, "project")
  if wrong then return failure("invalid", "%s", wrong) end
  return true
end

-- ---- What is left -------------------------------------------------------------------------------------

local function value_of(kind, units)
  return kind == "cost" and units / day_budget.PARTS or units
end

-- What was spent today, and what is left and not held by calls that are under way.
local function state_of(project, date, kind, limit)
  local units = day_budget.units(kind, limit)
  local drawn, err = store.draw { name = day_budget.row(project, date, kind), capacity = units } -- wants nothing
  if not drawn then return nil, err end
  local free = math.max(drawn.level, 0)
  local held = math.min(drawn.held, free)
  return { limit = limit, used = value_of(kind, units - drawn.level), held = value_of(kind, held), left = value_of(kind, free - held) }
end

local function described(project, spec)
  local date, next_day = day_budget.day(spec, math.floor(system.wall()))
  local one = { project = project, tz = spec.tz, day = date or json.null, limits = {} }
  if not date then
    one.problem = next_day.message
    return one
  end
  one.resumes_ms = next_day * 1000
  for _, kind in ipairs(day_budget.KINDS) do
    local err
    if spec[kind] then
      one.limits[kind], err = state_of(project, date, kind, spec[kind])
      if not one.limits[kind] then return nil, err end
    end
  end
  return one
end

local function number(kind, value)
  return kind == "cost" and ("%.10g USD"):format(value) or ("%d %s"):format(value, kind)
end

local function line_of(one)
  if one.problem then return ("%s  %s"):format(one.project, one.problem) end
  local zone = assert(timezone.open(one.tz))
  local lines = { ("%s  %s, until %s %s"):format(one.project, one.day, zone:text(one.resumes_ms // 1000), zone.name) }
  for _, kind in ipairs(day_budget.KINDS) do
    local state = one.limits[kind]
    if state then
      local held = state.held > 0 and (", %s held by calls under way"):format(number(kind, state.held)) or ""
      lines[#lines + 1] = ("  %s a day: %s used, %s left%s"):format(number(kind, state.limit), number(kind, state.used), number(kind, state.left), held)
    end
  end
  return table.concat(lines, "\n")
end

local function answer(project, spec)
  local one, err = described(project, spec)
  if not one then return nil, err end
  one.text = line_of(one)
  return one
end

-- ---- Who waits for it ---------------------------------------------------------------------------------

-- They look again: one of a worker's is queued by that, and a process that has one hears it. One that nobody has looks when
-- somebody continues with it.
local function tell(row)
  if not row.owner and not row.pool then return true end
  local ok, err = origin.put(row.id, "look " .. system.run_id(), '{"wish":"look"}')
  if ok or err.code == "not_found" then return true end
  return nil, err
end

local function tell_all(project)
  local before, page, more
  repeat
    page, more = store.runs { project = project, states = ended.open, before = before }
    if not page then return nil, more end
    for _, row in ipairs(page) do
      local ok, err = tell(row)
      if not ok then return nil, err end
      before = row.id
    end
  until not more
  return true
end

local function tell_changed(project, what)
  local ok, err = tell_all(project)
  if ok then return true end
  return failure(err.code, "the budget is %s, but runs that wait for it could not be told: %s. Say it again, or hocket resume ID", what, err.message)
end

-- ---- The words --------------------------------------------------------------------------------------------

local function changed(old, args)
  local spec = { tz = args.tz or old and old.tz or "UTC" }
  local zone, err = timezone.open(spec.tz)
  if not zone then return nil, err end
  for _, kind in ipairs(day_budget.KINDS) do
    spec[kind] = args[kind] or old and old[kind]
    if args[kind] and day_budget.units(kind, args[kind]) ~= math.ceil(kind == "cost" and args[kind] * day_budget.PARTS or args[kind]) then
      return failure("invalid", "a limit of %.10g %s is larger than any that can be kept", args[kind], kind == "cost" and "USD" or kind)
    end
    if args.none and args.none[kind] then spec[kind] = nil end
  end
  return spec
end

-- What is not named stays as it was.
function words.set(args)
  local ok, err = check_name(args.project)
  if not ok then return nil, err end
  for _ = 1, 20 do
    local rows, spec, done
    rows, err = store.items("project", args.project)
    if not rows then return nil, err end
    spec, err = changed(rows[1] and day_budget.of(args.project), args)
    if not spec then return nil, err end
    if not (spec.cost or spec.tokens or spec.calls) then return failure("invalid", "a budget has --cost USD, --tokens N or --calls N (hocket budget rm %s removes it)", args.project) end
    done, err = store.item_put { kind = "project", id = args.project, json = json.encode(spec), expected = rows[1] and rows[1].version or 0 }
    if done then
      ok, err = tell_changed(args.project, "set")
      if not ok then return nil, err end
      return answer(args.project, spec)
    end
    if err.code ~= "state" and err.code ~= "not_found" then return nil, err end
  end
  return failure("state", "the budget of %s is changed by others all the time: try again", args.project)
end

function words.show(args)
  local spec, err = day_budget.of(args.project)
  if err then return nil, err end
  if not spec then return failure("not_found", "project '%s' has no budget ('hocket budget list' lists them)", args.project) end
  return answer(args.project, spec)
end

function words.list()
  local rows, err = store.items "project"
  if not rows then return nil, err end
  table.sort(rows, function(a, b) return a.id < b.id end)
  local all, lines = json.array {}, {}
  for i, row in ipairs(rows) do
    local one
    local spec, wrong = day_budget.of(row.id)
    if spec then one, wrong = described(row.id, spec) end
    all[i] = one or { project = row.id, problem = wrong and wrong.message or "it was removed" }
    lines[i] = line_of(all[i])
  end
  return { projects = all, text = #lines > 0 and table.concat(lines, "\n") or "no project has a budget (hocket budget set NAME --cost USD)" }
end

-- What was used today stays counted, for one set again.
function words.rm(args)
  local ok, err = store.item_del("project", args.project)
  if ok then ok, err = tell_changed(args.project, "removed") end
  if ok then return { project = args.project, text = "" } end
  if err.code ~= "not_found" then return nil, err end
  return failure("not_found", "project '%s' has no budget ('hocket budget list' lists them)", args.project)
end

---@async
---@param args {word: string, project?: string, cost?: number, tokens?: integer, calls?: integer, tz?: string, none?: table<string, boolean>}
return function(args)
  local word = words[args.word]
  if not store.is_shared() then return failure("unsupported", "a budget in this store would be gone with this command: name a file or a database (--store)") end
  if not word then return failure("invalid", "there is no '%s': set, list, show or rm", tostring(args.word)) end
  return word(args)
end
