--- One run of a case with one model, from its folder to what came of it.
---
---     passed      as expected
---     failed      not so: `failures` says in what
---     unmeasured  nobody can know: the provider failed, there is no key, the judge answered nonsense, the budget is used up
---     interrupted the evaluation was asked to end
local core = require "hocket.internal.core.host"
local ending = require "hocket.internal.base.ending"
local expect = require "hocket.internal.eval.expect"
local json = require "hocket.json"
local judge = require "hocket.internal.eval.judge"
local observed = require "hocket.internal.eval.observed"
local people = require "hocket.internal.eval.people"
local text_checks = require "hocket.internal.eval.text_checks"
local workspace = require "hocket.internal.eval.workspace"

local attempt = {}

---@class hocket.EvalRecord
---@field case integer
---@field model integer
---@field turn integer Which of its runs, from 1.
---@field seed integer
---@field state "passed"|"failed"|"unmeasured"|"interrupted"
---@field run? string
---@field failures? hocket.EvalFailure[]
---@field reason? string Why it was not measured.

-- ---- What the run is asked -------------------------------------------------------------------------

local function merged(own, more)
  local all = {}
  for name, value in pairs(own or {}) do all[name] = value end
  for name, value in pairs(more or {}) do all[name] = value end
  return next(all) and all or nil
end

local function as_list(value)
  return type(value) == "table" and value or { value }
end

local function paths(case)
  local list = json.array {}
  for i, path in ipairs(as_list(case.spec.attach)) do list[i] = case.real .. "/" .. path end
  return #list > 0 and list or nil
end

-- Of the case's limit and what is left for all, the smaller.
local function budget_of(eval, spec)
  local budget = eval:budget_left() or {}
  if spec.max_cost then budget.cost = math.min(spec.max_cost, budget.cost or math.huge) end
  budget.tokens = spec.max_tokens or budget.tokens
  return next(budget) and budget or nil
end

local function texts(map)
  if not map then return nil end
  local all = {}
  for name, value in pairs(map) do all[name] = tostring(value) end
  return all
end

-- Options of the command hold for all cases; a case's own come first.
local function options_of(eval, case, variant, folder, job)
  local spec, options = case.spec, {}
  for name, value in pairs(eval.options) do options[name] = value end
  options.model = variant.model or spec.model
  options.models = merged(spec.models, eval.options.models)
  options.variables = merged(eval.options.variables, texts(spec.variables))
  options.approve = spec.approve and json.array(as_list(spec.approve)) or options.approve
  for _, name in ipairs { "max_turns", "network", "sandbox" } do
    if spec[name] ~= nil then options[name] = spec[name] end
  end
  options.timeout = spec.timeout or options.timeout or eval.TIMEOUT
  options.budget, options.files = budget_of(eval, spec), paths(case)
  options.replay = spec.replay and case.real .. "/" .. spec.replay or nil
  options.workdir, options.tree, options.simulate = folder.dir, false, false
  options.interactive, options.park, options.typed = spec.answers ~= nil, nil, nil
  options.seed, options.seed_models = job.seed, eval.seed ~= nil or nil
  options.eval = { case = case.name, file = case.base, turn = job.turn, seed = job.seed }
  return options
end

-- ---- What came of it -------------------------------------------------------------------------------

local function number(value)
  return type(value) == "number" and value or nil
end

local function note_usage(record, result)
  local used = expect.used(result)
  record.cost, record.tokens, record.turns, record.calls, record.seconds = used.cost, used.tokens, used.turns, used.calls, used.seconds
  record.known_cost = used.cost or number((result.usage or {}).cost_known) or 0
  record.simulated = result.simulated or nil
end

local function unmeasured(record, reason)
  record.state, record.reason = "unmeasured", text_checks.short(reason)
end

-- Why a run says nothing of its case; nil where it does.
local function why_unknown(self, code, result)
  local err = type(result.error) == "table" and result.error or {}
  if ending.of { finish = result.finish, error = { code = code } }.unmeasured then return ("%s: %s"):format(code, err.message or "") end
  local limited = self.case.spec.max_cost or self.case.spec.max_tokens
  -- What is left of the evaluation's budget was the run's: too little for one more call is nothing.
  if code == "budget" and not limited and self.eval.max_cost and (err.message or ""):find "^the budget of the run" then
    self.eval.spent = true
    return "the evaluation's --max-cost is used up"
  end
end

-- Failures of a team of which a provider has let one down are nobody's.
local function let_down(result)
  for _, one in ipairs(type(result.partial) == "table" and result.partial or {}) do
    if ending.of_error(one).unmeasured then return ("%s: %s: %s"):format(one.agent or "an agent", one.code, one.error or "") end
  end
end

local function ask_judge(self, record)
  local judged = judge.run(self.case, self.text, self.eval, record.seed)
  record.judge = judged
  if judged.unmeasured then return unmeasured(record, judged.unmeasured) end
  if judged.pass then return end
  record.state = "failed"
  record.failures[#record.failures + 1] = { expect = "judge", expected = judged.wanted, got = ("%s%s"):format(judged.score and ("%g: "):format(judged.score) or "", judged.reason) }
end

local function look(self, record)
  local failures, unknown = expect.run(self)
  record.failures = failures
  if #failures > 0 then
    local why = let_down(self.result)
    if why then return unmeasured(record, why) end
    record.state = "failed"
  elseif unknown then
    unmeasured(record, unknown)
  else
    record.state = "passed"
    local wanted = self.case.spec.expect
    if wanted and wanted.judge then ask_judge(self, record) end
  end
end

-- A code that the case expects is an outcome like any other.
local function is_expected(case, code)
  local wanted = case.spec.expect and case.spec.expect.error
  return wanted ~= nil and (type(wanted) == "string" and wanted or wanted.code) == code
end

local function settle(self, record, code)
  note_usage(record, self.result)
  if code == "cancelled" and self.eval.stopping then
    record.state = "interrupted"
    return
  end
  if code == "cancelled" and self.eval.spent then return unmeasured(record, "the evaluation's --max-cost is used up") end
  local why = not is_expected(self.case, code) and why_unknown(self, code, self.result)
  if why then return unmeasured(record, why) end
  self.text = type(self.result.text) == "string" and self.result.text or ""
  if not self.text:find "%S" then self.text = observed.printed(self.journal) end
  look(self, record)
end

--- Does one.
---@async
---@param eval hocket.Eval
---@param job {case: integer, model: integer, turn: integer, seed: integer}
---@return hocket.EvalRecord
function attempt.run(eval, job)
  local case, variant = eval.cases[job.case], eval.models[job.model]
  local record = { case = job.case, model = job.model, turn = job.turn, seed = job.seed, state = "failed" }
  local folder <close>, err = workspace.make(eval.folder, case)
  if not folder then
    unmeasured(record, err.message)
    return record
  end
  local input = case.spec.input
  if input ~= nil and type(input) ~= "string" then input = json.encode(input) end
  local started, wrong = core.start(case.target, input, json.encode(options_of(eval, case, variant, folder, job)))
  if not started then
    unmeasured(record, wrong.message)
    return record
  end
  local self = { eval = eval, case = case, folder = folder, seen = observed.new(), journal = started:journal() }
  local over <close> = eval:hold(started, self.seen)
  local person = case.spec.answers and people.attend(started, case.spec.answers)
  local code, _, text, message = started:wait()
  if person then person:cancel() end
  record.run, record.kept = started:name(), started:is_kept()
  self.result = json.decode(text) or {}
  if code ~= "ok" and type(self.result.error) ~= "table" then self.result.error = { code = code, message = message } end
  settle(self, record, code)
  if eval.keep and record.state == "failed" then folder.stays, record.folder = true, folder.dir end
  return record
end

return attempt
