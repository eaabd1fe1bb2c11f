--- What the runs of an evaluation come to: for each case with each model how many passed, what is not known counted apart. The
--- report of --json, and what --save keeps, is this.
local json = require "hocket.json"
local stats = require "hocket.internal.eval.stats"
local system = require "hocket.internal.core.system"

local results = {}

--- Of the report's shape. Members may be added to a version.
results.VERSION = 1

local function or_null(value)
  if value == nil then return json.null end
  return value
end

local function attempt_of(record)
  return {
    run = or_null(record.kept and record.run or nil), turn = record.turn, seed = record.seed, state = record.state, cost = or_null(record.cost), seconds = or_null(record.seconds),
    tokens = or_null(record.tokens), turns = or_null(record.turns), calls = or_null(record.calls), folder = record.folder,
    failures = record.failures and #record.failures > 0 and record.failures or nil, reason = record.reason,
    judge = record.judge and {
      run = or_null(record.judge.kept and record.judge.run or nil), pass = or_null(record.judge.pass), score = or_null(record.judge.score), reason = record.judge.reason,
      cost = or_null(record.judge.cost), simulated = record.judge.simulated,
    },
  }
end

-- The sum, and the mean where all of it is known.
local function amounts(records, name)
  local list, unknown = {}, false
  for _, record in ipairs(records) do
    local value = record[name]
    if type(value) == "number" then list[#list + 1] = value else unknown = true end
  end
  return list, unknown
end

local function judges(records)
  local cost, unknown = 0.0, false
  local any = false
  for _, record in ipairs(records) do
    local judge = record.judge
    if judge then
      any, unknown = true, unknown or judge.cost == nil
      cost = cost + (judge.cost or 0)
    end
  end
  if not any then return nil end
  return unknown and json.null or cost
end

local function measured_only(records)
  local list = {}
  for _, record in ipairs(records) do
    if record.state ~= "unmeasured" then list[#list + 1] = record end
  end
  return list
end

local function all_simulated(records, case)
  if #records == 0 then return false end
  for _, record in ipairs(records) do
    if not (record.simulated or case.spec.replay) or record.judge and not record.judge.simulated then return false end
  end
  return true
end

local function row(case, model, records)
  local counted, passed = measured_only(records), 0
  for _, record in ipairs(counted) do passed = passed + (record.state == "passed" and 1 or 0) end
  local low, high = stats.wilson(passed, #counted)
  local costs, unknown = amounts(counted, "cost")
  local tokens, seconds = amounts(counted, "tokens"), amounts(counted, "seconds")
  local needed, ok = case.spec.pass or 1, nil
  if #counted > 0 then ok = passed >= needed * #counted - 1e-9 end
  local attempts = json.array {}
  for i, record in ipairs(records) do attempts[i] = attempt_of(record) end
  return {
    case = case.name, file = case.base, path = case.file, line = case.line, digest = case.digest, model = model.name, needed = needed,
    tags = case.spec.tags and json.array(type(case.spec.tags) == "table" and case.spec.tags or { case.spec.tags }) or nil, skipped = case.spec.skip,
    passed = passed, measured = #counted, unmeasured = #records - #counted, rate = or_null(#counted > 0 and passed / #counted or nil), low = low, high = high,
    deterministic = all_simulated(counted, case), ok = or_null(ok),
    cost = or_null(not unknown and stats.mean(costs) or nil), seconds = or_null(stats.median(seconds)), tokens = or_null(stats.mean(tokens)), judge_cost = judges(records),
    attempts = attempts,
  }
end

local function grouped(eval)
  local groups = {}
  for _, record in ipairs(eval.records) do
    local key = record.case * 1000 + record.model
    groups[key] = groups[key] or {}
    table.insert(groups[key], record)
  end
  for _, list in pairs(groups) do table.sort(list, function(a, b) return a.turn < b.turn end) end
  return groups
end

local function summary(eval, rows)
  local sum = { cases = #eval.cases, runs = #eval.records, planned = eval.total, passed = 0, failed = 0, unmeasured = 0, skipped = 0, cost = eval.cost, judge_cost = eval.judge_cost }
  local unknown = false
  for _, record in ipairs(eval.records) do
    sum[record.state] = sum[record.state] + 1
    unknown = unknown or record.state ~= "unmeasured" and record.cost == nil
  end
  for _, case in ipairs(eval.cases) do sum.skipped = sum.skipped + (case.spec.skip and 1 or 0) end
  sum.cost_known = not unknown
  sum.rows_ok, sum.rows_failed, sum.rows_unmeasured = 0, 0, 0
  for _, one in ipairs(rows) do
    local name = one.ok == true and "rows_ok" or one.ok == false and "rows_failed" or "rows_unmeasured"
    if not one.skipped then sum[name] = sum[name] + 1 end
  end
  return sum
end

--- The report.
---@param eval hocket.Eval
---@return table
function results.of(eval)
  local groups, rows, models = grouped(eval), json.array {}, json.array {}
  for m, model in ipairs(eval.models) do models[m] = model.name end
  for i, case in ipairs(eval.cases) do
    for m, model in ipairs(eval.models) do rows[#rows + 1] = row(case, model, groups[i * 1000 + m] or {}) end
  end
  return {
    hocket_eval = results.VERSION, hocket = system.version(), ended = os.date("!%Y-%m-%dT%H:%M:%SZ", math.floor(system.wall())), seconds = eval.seconds,
    interrupted = eval.stopping or false, spent = eval.spent or false, models = models, seed = eval.seed, results = rows, summary = summary(eval, rows),
  }
end

return results
