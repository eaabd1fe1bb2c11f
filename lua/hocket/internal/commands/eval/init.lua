--- `hocket eval`: cases, each run so many times with each model, and what came of it (docs/guides/evaluation.md).
---
---     read, chosen, checked ──> run, side by side ──> report ──> beside a baseline ──> --json, --junit, --save
local agents = require "hocket.agent"
local cases = require "hocket.internal.eval.cases"
local compare = require "hocket.internal.eval.compare"
local evals = require "hocket.internal.eval.eval"
local fs = require "hocket.internal.core.fs"
local json = require "hocket.json"
local junit = require "hocket.internal.eval.junit"
local problem = require "hocket.internal.agents.problem"
local results = require "hocket.internal.eval.results"
local runs = require "hocket.internal.run.run"
local suggest = require "hocket.internal.base.suggest"
local targets = require "hocket.internal.eval.targets"
local text_report = require "hocket.internal.eval.text_report"
local failure = require("hocket.internal.core.system").failure

-- ---- What is evaluated ------------------------------------------------------------------------------

local function has_tag(case, tags)
  local own = case.spec.tags
  for _, one in ipairs(type(own) == "table" and own or { own }) do
    for _, tag in ipairs(tags) do
      if one == tag then return true end
    end
  end
  return #tags == 0
end

local function has_name(case, names)
  for _, name in ipairs(names) do
    if case.name == name then return true end
  end
  return #names == 0
end

-- A name that no case has is a slip.
local function check_names(list, names)
  local known, all = {}, {}
  for i, case in ipairs(list) do known[case.name], all[i] = true, case.name end
  for _, name in ipairs(names) do
    local near = not known[name] and suggest(name, all)
    if not known[name] then return failure("invalid", "there is no case '%s'%s", name, near and (": did you mean '%s'?"):format(near) or "") end
  end
  return true
end

local function choose(list, args)
  local names, tags, chosen = args.only or {}, args.tags or {}, {}
  local ok, err = check_names(list, names)
  if not ok then return nil, err end
  for _, case in ipairs(list) do
    if has_name(case, names) and has_tag(case, tags) then chosen[#chosen + 1] = case end
  end
  if #chosen == 0 then return failure("invalid", "no case has these names and tags") end
  return chosen
end

local function models_of(args)
  local list, seen = {}, {}
  for _, id in ipairs(args.models or {}) do
    if not seen[id] then list[#list + 1] = { model = id, name = id } end
    seen[id] = true
  end
  if #list == 0 then list[1] = { name = "default" } end
  return list
end

local function prepare(args)
  local list, problems = cases.read(args.paths)
  if #problems > 0 then return nil, { code = "agent", message = agents.explain(problems) } end
  local chosen, err = choose(list, args)
  if not chosen then return nil, err end
  for _, case in ipairs(chosen) do case.real = fs.real(case.dir) or case.dir end
  local models = models_of(args)
  local wrong, refused = targets.find(chosen, args.target, args.options or {}, models)
  if refused then return nil, refused end
  if #wrong > 0 then return nil, { code = "agent", message = agents.explain(problem.sort(wrong)) } end
  return chosen, models
end

-- ---- What is written --------------------------------------------------------------------------------

-- Before an hour of runs it is known that there is a place for what they say.
local function check_places(args)
  for _, name in ipairs { "save", "report", "junit" } do
    local path = args[name]
    local dir = path and path ~= "-" and (path:match "^(.*)/[^/]*$" or ".")
    local info = dir and fs.info(dir == "" and "/" or dir)
    if dir and not (info and info.kind == "directory") then return failure("invalid", "%s cannot be written: there is no folder %s", path, dir) end
  end
  if args.save and (#(args.only or {}) > 0 or #(args.tags or {}) > 0) then
    return failure("invalid", "--save keeps all cases: it goes not with --only and --tag, which leave some out")
  end
  return true
end

local function without_attempts(report)
  local kept, rows = {}, json.array {}
  for name, value in pairs(report) do
    if name ~= "comparison" and name ~= "exit" then kept[name] = value end
  end
  for i, row in ipairs(report.results) do
    rows[i] = {}
    for name, value in pairs(row) do
      if name ~= "attempts" then rows[i][name] = value end
    end
  end
  kept.results = rows
  return kept
end

-- A file is there whole, or as it was before.
local function write(path, text)
  if not path or path == "-" then return true end
  return fs.write(path, text)
end

local function keep(args, report, is_well)
  local early = report.interrupted or report.spent
  local ok, err = true, nil
  if args.junit then ok, err = write(args.junit, junit.of(report, is_well)) end
  if ok and args.report then ok, err = write(args.report, json.encode(report) .. "\n") end
  if ok and args.save and early then return nil, { code = "state", message = ("it ended early: %s is left as it was"):format(args.save) } end
  if ok and args.save then ok, err = write(args.save, json.encode(without_attempts(report)) .. "\n") end
  return ok, err
end

-- ---- What it comes to -------------------------------------------------------------------------------

local judged_by_baseline = { regression = false, same = true, better = true, worse = true }

-- Beside a baseline the comparison decides, where there is one; else whether enough passed.
local function well_by(report)
  local verdicts = {}
  for _, row in ipairs(report.comparison and report.comparison.rows or {}) do
    local state = judged_by_baseline[row.state]
    verdicts[("%s\0%s\0%s"):format(row.file, row.case, row.model)] = state
  end
  return function(row)
    local state = verdicts[("%s\0%s\0%s"):format(row.file, row.case, row.model)]
    if state ~= nil then return state end
    return row.ok == true
  end
end

local function exit_of(report, is_well)
  local unmeasured = false
  for _, row in ipairs(report.results) do
    if not row.skipped and row.measured > 0 and not is_well(row) then return 1 end
    unmeasured = unmeasured or not row.skipped and row.measured == 0
  end
  if report.spent then return 5 end
  return unmeasured and 4 or 0
end

local function tell(journal, eval)
  local counts = { passed = 0, failed = 0, unmeasured = 0, interrupted = 0 }
  return function(record)
    counts[record.state] = counts[record.state] + 1
    local failure_of = record.failures and record.failures[1]
    journal:append("eval_run", {
      case = eval.cases[record.case].name, model = eval.models[record.model].name, turn = record.turn, state = record.state, run_id = record.kept and record.run or nil,
      done = #eval.records, total = eval.total, passed = counts.passed, failed = counts.failed, unmeasured = counts.unmeasured, cost = eval.cost + eval.judge_cost,
      failed_at = failure_of and failure_of.expect, reason = record.reason, seconds = record.seconds,
    })
  end
end

-- The program says "stop": what is done is reported.
local function listen(journal, id, eval)
  local run = runs.new { journal = journal, id = id, options = {} }
  run.answer = function(_, question)
    if question ~= "stop" then return nil, { code = "not_found", message = "only 'stop' can be sent to an evaluation" } end
    eval:stop()
    return true
  end
end

local function report_of(eval, args, baseline)
  local report = results.of(eval)
  if baseline then
    report.comparison = compare.run(baseline, report, args.alpha or 0.05, #(args.only or {}) > 0 or #(args.tags or {}) > 0 or eval.stopping or false)
    report.comparison.baseline = args.baseline
  end
  local is_well = well_by(report)
  report.exit = exit_of(report, is_well)
  return report, is_well
end

local function evaluate(args, journal, id)
  local ok, err = check_places(args)
  if not ok then return nil, err end
  local baseline
  if args.baseline then baseline, err = compare.read(args.baseline) end
  if err then return nil, err end
  local chosen, models = prepare(args)
  if not chosen then return nil, models end
  local eval = evals.new {
    cases = chosen, models = models, folder = args.folder, jobs = args.jobs or 4, options = args.options or {}, times = args.times, max_cost = args.max_cost,
    seed = args.seed, keep = args.keep, judge_model = args.judge_model,
  }
  local too_many = eval:too_many()
  if too_many then return failure("invalid", "%s", too_many) end
  eval.on_record = tell(journal, eval)
  listen(journal, id, eval)
  journal:append("eval_started", { cases = #chosen, total = eval.total, folder = args.folder })
  eval:run()
  local report, is_well = report_of(eval, args, baseline)
  local kept, wrong = keep(args, report, is_well)
  if not kept then report.unwritten, report.exit = wrong.message, report.exit == 0 and 1 or report.exit end
  return setmetatable({ text = text_report.of(report, { store = args.store }) }, { to_json = function() return json.encode(report) end })
end

---@async
---@param args {paths: string[], folder: string, options?: table, models?: string[], judge_model?: string, target?: string, times?: integer, jobs?: integer, only?: string[], tags?: string[], baseline?: string, save?: string, report?: string, junit?: string, max_cost?: number, seed?: integer, alpha?: number, keep?: boolean, store?: string, from?: string} folder: an empty one that nobody else can write to, for the runs; from: the id of a kept run, of which a case is made instead.
---@param journal userdata
return function(args, journal, id)
  local report, err
  if args.from then report, err = require("hocket.internal.commands.eval.from_run")(args) else report, err = evaluate(args, journal, id) end
  if not report then return nil, err, { error = { code = err.code, message = err.message } } end -- whole, however long
  return report
end
