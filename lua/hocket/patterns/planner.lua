--- Plan and coordinate: a planner sees the whole conversation. It answers small talk itself and splits work into tasks, which a
--- coordinator gives to specialists.
---
---     local hocket = require "hocket"
---     local reply = assert(hocket.patterns.planner.run { request = "Good morning!" })
---     print(reply.text)
---
---     request, history ──> planner ──┬─ talk ──────────────────────────> answer (one model call)
---                            ^       ├─ questions ──> user ──┐
---                            └───────┼──────── answers ──────┘
---                                    └─ plan ─(approval)─> coordinator ──> results, what failed and why
---
--- The planner knows what the specialists can do. It has no tools itself, unless it explores: then it has those of its
--- file that only read, and what it reads is there for the specialists. [Plans](hocket.patterns.plan.md) are data, and
--- [the coordinator](hocket.patterns.coordinator.md) carries them out without a model.
local agents = require "hocket.agent"
local answers = require "hocket.patterns.planner.answers"
local ask = require "hocket.ask"
local blockers = require "hocket.patterns.blockers"
local coordinator = require "hocket.patterns.coordinator"
local drafts = require "hocket.patterns.planner.drafts"
local fence = require "hocket.fence"
local json = require "hocket.json"
local llm = require "hocket.llm"
local orchestrate = require "hocket.orchestrate"
local plan = require "hocket.patterns.plan"
local texts = require "hocket.text"

local planner = {}

--- Answers that are no valid plan and are sent back with what is wrong.
local REPAIRS = 2
--- Times that questions are asked, and that a plan is revised, for one request.
local ROUNDS = 5
--- Messages of the conversation that the conversation agent is given: the last three exchanges.
local EXCHANGES = 6

local known_options = {
  request = true, history = true, team = true, planner = true, specialists = true, state = true, answers = true,
  approve_plan = true, specialist = true, direct = true, checks = true, remember = true, plans = true, explore = true,
}
local passed_on = { "limit", "execution_mode", "retries", "backoff", "timeouts", "on_failure", "max_replans", "max_stalls", "stall", "board", "model", "allowed", "tools",
  "task_limit", "split_depth" }
for _, name in ipairs(passed_on) do known_options[name] = true end

-- ---- The conversation so far ---------------------------------------------------------------

-- A list of {role, text, labels} or a history, copied: plans are no part of the user's conversation.
local function messages_of(history)
  if not history then return {} end
  if type(history) == "userdata" then return history:messages() end
  local list = {}
  for i, message in ipairs(history) do list[i] = { role = message.role, text = message.text or message.content, labels = message.labels } end
  return list
end

local function history_of(messages)
  local history = llm.history()
  for _, message in ipairs(messages) do assert(history:add(message)) end
  return history
end

-- ---- Asking the planner -----------------------------------------------------------------------

local function describe(self)
  local lines = {}
  for i, name in ipairs(self.specialists) do
    local def, tools = self.team[name], {}
    for j, one in ipairs(def.tools) do tools[j] = type(one) == "table" and one.name or one end
    for _, one in ipairs(self.options.tools and self.options.tools[name] or {}) do tools[#tools + 1] = one.name end
    lines[i] = ("- %s: %s%s"):format(name, def.description, #tools > 0 and (" (tools: %s)"):format(table.concat(tools, ", ")) or "")
  end
  return table.concat(lines, "\n")
end

--- Characters of a text of a plan. llama.cpp counts to 1,000 at most, and drops a larger bound.
local BOUND = 1000

local function say(self, text)
  local more = (self.checks and plan.about_checks or "") .. (self.findings and plan.about_findings or "")
  local material = self.material
  self.material = false -- it stands in the conversation from now on
  return orchestrate.call(self.planner, text, {
    trigger = "plan", material = self.findings and material or nil, history = self.history, allowed = not self.findings and {} or nil, model = self.options.model,
    findings = self.findings, only_reads = self.findings ~= nil,
    schema = self.schema_text, schema_name = "plan", variables = { specialists = describe(self) .. more, task_limit = math.min(self.task_limit, plan.MOST) },
  })
end

-- Which calls the numbers of a task's findings stand for; a task that names none gets those of its files.
local function named_findings(self, task)
  local numbers = task.findings
  if numbers ~= nil and (not self.findings or type(numbers) ~= "table") then return nil, "findings: a list of numbers is expected" end
  if numbers == nil and self.findings and task.files then numbers = self.findings:about(task.files) end
  if not numbers or not numbers[1] then return nil end
  return self.findings:named(numbers)
end

-- Returns what is wrong with them.
local function name_findings(self, tasks)
  for _, task in ipairs(tasks) do
    local list, wrong = named_findings(self, task)
    if wrong then return ("- task '%s': %s"):format(task.id, wrong) end
    task.findings = list
  end
end

-- `self.before`: what came of the tasks that were planned before, where this is a plan for what is left.
local function examine(self, reply)
  local value, wrong = plan.read(reply.text, self.compiled)
  if value and self.before then value = plan.leave_out_done(value, self.before) end
  if value and value.type == "task" then wrong = name_findings(self, value.tasks or {}) end
  if value and not wrong then wrong = plan.check(value, self.specialists, self.done, self.team) end
  if not wrong and self.wrong and value.type == "task" and value.tasks then wrong = self.wrong(value.tasks) end
  if wrong then return nil, wrong end
  return value
end

-- A valid plan: what is wrong with an answer is reported to the model, twice at most.
local function make_plan(self, text)
  local wrong
  for _ = 0, REPAIRS do
    local reply, err = say(self, text)
    if not reply then return nil, err end
    local value
    value, wrong = examine(self, reply)
    if value then return value end
    self.run:emit("warning", { message = "the plan is not valid: " .. wrong }, self.planner.name)
    text = ("Your answer cannot be used:\n%s\n\nAnswer again with the whole corrected JSON object and nothing else."):format(wrong)
  end
  return nil, { code = "model", message = ("the planner made no valid plan in %d attempts; the last: %s"):format(REPAIRS + 1, wrong) }
end

-- ---- Questions and approval --------------------------------------------------------------------

local function is_assuming(self)
  return self.assumed ~= nil and #self.assumed > 0
end

-- What continues the planning later: plain data that JSON can hold.
local function state_of(self, request, value)
  local draft = self.draft
  return { findings = self.findings and self.findings:calls() or nil, request = request, messages = json.array(self.history:messages()), plan = value, approve_plan = self.approve_plan or nil,
    draft = draft and { name = draft.name, request = draft.request, same = draft.same }, assumed = is_assuming(self) and json.array(self.assumed) or nil }
end

-- Takes answers to earlier questions as assumptions.
local function assume(self, list)
  self.assumed = list
  for _, one in ipairs(list) do
    if one.labels ~= 0 then self.history:labels(one.labels) end
  end
end

-- Nobody knows whose words a function gives.
local function is_person(self)
  return not self.run.options.on_question
end

-- Whose words a question may have.
local function labels_of(self)
  local run = self.run.labels
  return (run and run.bits or 0) | self.history:labels()
end

-- Asks what the planner wants to know, and returns its next plan; or the questions as the result, when nobody is there to
-- answer them.
local function clarify(self, value, request)
  local answer, err = ask(value.questions, { kind = "clarification" })
  if answer and self.remembers and is_person(self) then answers.keep(request, value.questions, answer, labels_of(self)) end
  if answer then return make_plan(self, "The user answers:\n" .. answer) end
  if err.code ~= "unsupported" then return nil, err end
  return nil, nil, { text = table.concat(value.questions, "\n"), finish = "questions", questions = value.questions, state = state_of(self, request) }
end

-- A plan for whoever is to approve it; one that takes the place of another says how they differ.
local function describe_plan(self, value)
  local shown = plan.describe(value)
  if self.draft then shown = ("%s\n\n%s"):format(drafts.shown(self.draft), shown) end
  if is_assuming(self) then shown = ("%s\n\n%s"):format(shown, answers.shown(self.assumed)) end
  if not self.before then return shown end
  return ("The plan so far did not work out: %s. A new one:\n\n%s\n\nWhat differs from the last:\n%s"):format(
    self.why, shown, plan.difference(self.tasks, value))
end

-- Plans a request, with what the user has answered before, and beside a saved plan for one like it.
local function plan_anew(self, request)
  assume(self, self.remembers and answers.find(request) or {})
  local parts = {}
  if is_assuming(self) then parts[1] = answers.framed(self.assumed) end
  if self.draft then parts[#parts + 1] = drafts.framed(self.draft) end
  parts[#parts + 1] = request
  return make_plan(self, table.concat(parts, "\n\n"))
end

-- What was read for all tasks of a plan, each once.
local function findings_in(value)
  local list, seen = {}, {}
  for _, task in ipairs(value.tasks or {}) do
    for _, one in ipairs(task.findings or {}) do
      local key = orchestrate.finding_words { one }
      if not seen[key] then list[#list + 1], seen[key] = one, true end
    end
  end
  return #list > 0 and list or nil
end

-- A saved plan for the same request stands in the conversation as the planner's answer, so that the planner can change it later.
local function take_draft(self, request)
  assert(self.history:add { role = "user", text = request })
  assert(self.history:add { role = "assistant", text = json.encode(self.draft.plan) })
  self.approve_plan = self.approve_plan or self.draft.approve_plan
  self.material = findings_in(self.draft.plan)
  return self.draft.plan
end

local function without_draft(history)
  local messages = history:messages()
  return history_of(table.move(messages, 1, #messages - 2, 1, {}))
end

-- The planner's next plan, after what the user has said to one: about a draft that it has not made itself, about an assumption, or about the plan.
-- `keeps`: whether the words are a person's.
local function revised(self, request, said, keeps)
  if self.draft and self.draft.same then
    self.draft = nil
    if said:lower():find "^%s*new%s*$" then
      self.history, self.material = without_draft(self.history), nil
      return plan_anew(self, request)
    end
  end
  local corrected = is_assuming(self) and answers.correct(self.assumed, said, keeps)
  return make_plan(self, corrected or "The user wants the plan changed:\n" .. said)
end

-- Shows a plan, or reads what the user has said to it already. Returns it with `true` when it is to be carried out, else the
-- planner's next one; or a result that says that there is none.
local function approve(self, value, request, answer)
  local verdict, said
  local shown = describe_plan(self, value)
  if answer then verdict, said = ask.plan_verdict(answer) else verdict, said = ask.plan(shown) end
  if verdict == "accept" then return value, nil, nil, true end
  if verdict == "refuse" then return nil, nil, { text = "The plan was not approved; nothing was done.", finish = "declined", plan = value } end
  if verdict == "revise" then return revised(self, request, said, not answer and is_person(self)) end
  if said.code ~= "unsupported" then return nil, said end
  return nil, nil, { text = shown, finish = "approval", plan = value, state = state_of(self, request, value) }
end

-- The plan that is to be carried out, or talk. Whatever the user says, the planner's next answer may ask, talk or plan again.
local function agree(self, value, request, answer)
  local asked, shown, err, instead, agreed = 0, 0
  while value do
    if value.clarification_needed then
      if asked == ROUNDS then return nil, { code = "limit", message = ("the planner asked %d times and still has no plan"):format(ROUNDS) } end
      asked = asked + 1
      value, err, instead = clarify(self, value, request)
    elseif value.type == "conversation" or not self.approve_plan then
      return value
    else
      if shown == ROUNDS then return nil, { code = "limit", message = ("the plan was changed %d times and not approved"):format(ROUNDS) } end
      shown = shown + 1
      value, err, instead, agreed = approve(self, value, request, answer)
      if agreed then return value end
    end
    answer = nil
  end
  return nil, err, instead
end

-- ---- Carrying out -------------------------------------------------------------------------------

-- Takes note of what came of the plan so far, for everything that is planned from now on.
local function look_back(self, tasks, why)
  self.tasks, self.why, self.before, self.done = tasks, why, {}, {}
  for _, entry in ipairs(tasks) do
    self.before[entry.id] = entry
    self.done[entry.id] = entry.status == "completed" or nil
  end
end

-- What a task has come to.
local function found(entry)
  if entry.status == "completed" then return fence.wrap("result", entry.id, texts.truncate(entry.result or "", 4000)) end
  return fence.failure(entry.id, { message = texts.truncate(entry.error or "", 4000), partial = entry.partial and texts.truncate(entry.partial, 4000) })
end

local function report(state)
  local lines = {}
  for i, entry in ipairs(state.tasks) do
    lines[i] = ("%s (%s) %s\n%s"):format(entry.id, entry.specialist, entry.status, found(entry))
  end
  return ("The plan did not work out: %s. %s\n\n%s\n\nPlan what is left, in another way. Completed tasks may be "
    .. "depended on by their ids and must not be planned again; give new tasks new ids."):format(state.reason, fence.note, table.concat(lines, "\n\n"))
end

-- What the user was to decide, and did not, or did otherwise: there is no new plan.
local function not_decided(self, instead)
  self.open = instead
  if instead.finish == "declined" then return nil, { code = "denied", message = "the user did not approve it" } end
  return nil, { code = "unsupported", message = instead.finish == "questions" and "the planner has questions, and nobody is there to answer: " .. instead.text
    or "it has to be approved, and nobody is there to do so" }
end

-- Tells the planner how far it came, and has it plan the rest. Its questions are asked, and its plan is approved, as those of
-- the first one were.
local function replan(self)
  return function(state)
    look_back(self, state.tasks, state.reason)
    local value, err = make_plan(self, report(state))
    if not value then return nil, err end
    local instead
    value, err, instead = agree(self, value, self.request)
    if instead then return not_decided(self, instead) end
    if not value then return nil, err end
    if value.type ~= "task" or #(value.tasks or {}) == 0 then return nil, { code = "state", message = value.response or "the planner gave up" } end
    return value
  end
end

-- Asks the planner about what blocks a task, in a copy of its conversation: several may be blocked at once. What it plans is approved as
-- its first plan was. It refuses by talk.
local function on_blocker(self)
  return function(about)
    local done = {}
    for _, entry in ipairs(about.tasks) do done[entry.id] = true end
    local asked = setmetatable({ history = history_of(self.history:messages()), done = done, before = false, wrong = about.wrong }, { __index = self })
    local value, err = make_plan(asked, ("Task '%s' (%s) is blocked and waits. %s\n\n%s\n\nPlan only what removes this, with new ids; tasks may depend on completed ones. Or refuse: answer with type conversation and say why in response."):format(
      about.task.id, about.task.specialist, fence.note, blockers.framed(about.task.specialist, about)))
    if not value then return nil, err end
    if value.clarification_needed then return nil, "the planner would have to ask the user: " .. table.concat(value.questions or {}, " ") end
    local instead
    if value.type == "task" then value, err, instead = agree(asked, value, self.request) end
    if instead then return nil, "the user has not approved it" end
    if not value then return nil, err end
    if value.type ~= "task" then return nil, value.response or "the planner refused" end
    return value.tasks
  end
end

local function carry_out(self, value)
  local options = { findings = self.findings, approve_parts = self.approve_plan and coordinator.ask_about_parts or nil, on_blocker = self.history and on_blocker(self) or nil, team = self.team, specialists = self.specialists, replan = self.history and replan(self) or nil }
  for _, name in ipairs(passed_on) do options[name] = self.options[name] end
  options.on_failure, options.task_limit = options.on_failure or self.planner.on_failure, self.task_limit
  local reply, err = coordinator.run(value, options)
  if reply then
    reply.plan = value
    if self.open then reply.questions = self.open.questions end
  end
  return reply, err
end

-- A plan whose tasks have the request in their context.
local function with_request(value, request)
  if not request or not request:find "%S" then return value end
  local made, tasks = {}, json.array {}
  for name, field in pairs(value) do made[name] = field end
  for i, task in ipairs(value.tasks) do
    local copy = {}
    for name, field in pairs(task) do copy[name] = field end
    copy.context = (copy.context and copy.context .. "\n" or "") .. "The request: " .. request
    tasks[i] = copy
  end
  made.tasks = tasks
  return made
end

-- Talk that the planner left unanswered.
local function converse(self, request)
  local def = rawget(self.team, "conversation")
  if not def then return nil, { code = "model", message = "the planner answered with nothing" } end
  local messages = messages_of(self.options.history)
  local last = table.move(messages, math.max(1, #messages - EXCHANGES + 1), #messages, 1, {})
  while last[1] and last[1].role ~= "user" do table.remove(last, 1) end
  return orchestrate.call(def, request, { trigger = "plan", given = true, history = history_of(last), model = self.options.model })
end

local function one_task(name, request)
  return { type = "task", tasks = { { id = "task_1", specialist = name, description = request } } }
end

-- `verdict`: what the user says to this plan, when that is known already.
local function proceed(self, value, request, verdict)
  local err, instead
  self.request, self.approve_plan = request, self.approve_plan or verdict ~= nil
  value, err, instead = agree(self, value, request, verdict)
  if instead then return instead end
  if not value then return nil, err end
  self.draft = nil -- a plan that follows is the planner's
  if value.type == "task" then return carry_out(self, value) end
  if value.response and not value.response:find "^%s*$" then return { text = value.response, finish = "stop" } end
  return converse(self, request)
end

-- The first plan for a request.
local function first_plan(self, request)
  self.draft = drafts.find(request, self.specialists, self.team, self.compiled, self.options.plans)
  if self.draft and self.draft.same then return take_draft(self, request) end
  return plan_anew(self, request)
end

-- The plan to begin with; and what the user says to it, where that is known already.
local function plan_of(self, request)
  local state, said = self.options.state, self.options.answers
  if not said then return first_plan(self, request) end
  self.draft = state.draft
  assume(self, state.assumed or {})
  if state.plan then return state.plan, nil, said end
  return make_plan(self, "The user answers:\n" .. said)
end

-- ---- Making -----------------------------------------------------------------------------------------

-- Whom the planner may give work to: whom its file names, else all but itself and the one that talks.
local function specialists_of(team, lead, options)
  if options.specialists then return options.specialists end
  if #lead.agents > 0 then return lead.agents end
  local names, own = {}, agents.built_in()
  local no_specialists = { [lead] = true, [own.assistant] = true, [own.facilitator] = true, [own.orchestrator] = true }
  for name, def in pairs(team) do
    if name ~= "conversation" and not no_specialists[def] then names[#names + 1] = name end
  end
  table.sort(names)
  return names
end

local function new(options)
  local run = orchestrate.current_run() or error("a planner can only be run inside a run (hocket.run makes one)", 3)
  local team = options.team or agents.built_in()
  local lead = options.planner or rawget(team, "planner") or agents.built_in().planner
  local self = { run = run, options = options, team = team, planner = lead }
  self.specialists = specialists_of(team, lead, options)
  self.remembers = options.remember ~= false
  self.checks = options.checks
  if self.checks == nil then self.checks = lead.checks or nil end
  local explores = options.explore
  if explores == nil then explores = lead.explore end
  self.findings = explores and orchestrate.findings(options.state and options.state.findings) or nil
  self.task_limit = options.task_limit or lead.task_limit or plan.TASK_LIMIT
  self.approve_plan = options.approve_plan
  if self.approve_plan == nil and options.state then self.approve_plan = options.state.approve_plan end
  if self.approve_plan == nil then self.approve_plan = lead.approve_plan end
  return self
end

local function check(options)
  for name in pairs(options) do
    if not known_options[name] then error(("unknown option '%s' for 'planner.run'"):format(tostring(name)), 3) end
  end
  if options.answers and not options.state then error("'answers' need the 'state' of the result that asked", 3) end
  if type(options.request or options.state and options.state.request) ~= "string" then error("'planner.run' needs the option 'request' (a text)", 3) end
end

-- Without a planner: the user has chosen who does it.
local function forced(self, request)
  local name = self.options.specialist or "conversation"
  if not rawget(self.team, name) then
    local names = table.concat(self.specialists, ", ")
    return nil, { code = "not_found", message = ("there is no specialist '%s' (there are: %s)"):format(name, names) }
  elseif self.options.direct then
    return orchestrate.call(self.team[name], request, { trigger = "direct", given = true, model = self.options.model, history = history_of(messages_of(self.options.history)) })
  end
  self.specialists = { name }
  return carry_out(self, one_task(name, request))
end

-- Before a token is spent on a plan: a prompt without a value, of any who may get a task.
local function find_missing(self)
  for _, name in ipairs(self.specialists) do
    local def = rawget(self.team, name)
    local err = def and agents.missing(def, { self.run.options.variables or {} }, self.run.options)
    if err then return err end
  end
end

--- Carries out a plan that exists, such as one from a file. A person approves it first, unless the option `approved` is true.
---@async
---@param value hocket.Plan
---@param options table Those of the coordinator (hocket.CoordinatorOptions), and `approved`.
---@param request? string What the plan is for; every task has it in its context.
---@return table? reply As of planner.run.
---@return hocket.Error?
function planner.carry_out(value, options, request)
  orchestrate.argument("patterns.planner.carry_out", 1, "table", value, "table", options, "string?", request)
  value = with_request(value, request)
  local rest = {}
  for name, option in pairs(options) do rest[name] = option end
  rest.approved = nil
  if not options.approved then
    local verdict, said = ask.plan(plan.describe(value))
    if verdict == "refuse" then return { text = "The plan was not approved; nothing was done.", finish = "declined", plan = value } end
    if verdict == "revise" then return nil, { code = "invalid", message = "the user wants the plan changed, which is a file: edit it. The user says: " .. said } end
    if not verdict then return nil, said end
    rest.approve_parts = coordinator.ask_about_parts
  end
  local reply, err = coordinator.run(value, rest)
  if reply then reply.plan = value end
  return reply, err
end

---@class hocket.PlannerOptions The coordinator gets `limit`, `execution_mode`, `retries`, `backoff`, `timeouts`, `on_failure`, `max_replans`, `max_stalls`, `stall`, `board`, `model`, `allowed`, `tools`, `task_limit` and `split_depth` (hocket.CoordinatorOptions). And these:
---@field request? string What the user wants; with `state` it may be left out.
---@field history? hocket.History|{role: string, text: string}[] The conversation before it.
---@field team? table<string, hocket.Agent> Without it the built-in agents.
---@field planner? hocket.Agent In place of the team's `planner`.
---@field specialists? string[] Those of the team that may get tasks; without it the ones of the planner's file.
---@field approve_plan? boolean Whether a person approves the plan before it is carried out.
---@field specialist? string Makes the request a task of this specialist, without a planner.
---@field direct? boolean Passes the request to one agent (`specialist`, or the conversation agent) without a plan.
---@field state? table Of a result with the finish "questions" or "approval": continues there.
---@field answers? string To the questions of that result, or "yes" to its plan.
---@field checks? boolean Tasks get files, an expected outcome and a check. The planner's file has this key as well.
---@field explore? boolean The planner has those of its tools that only read; what it reads is there for the specialists. The planner's file has this key as well.
---@field remember? boolean With `false` the user's answers to questions are neither kept nor used later.
---@field plans? string The folder of saved plans.

--- Plans a request and has the plan carried out.
---@async
---@param options hocket.PlannerOptions
---@return {text: string, finish: "stop"|"partial"|"questions"|"approval"|"declined", tasks?: hocket.Outcome[], plan?: hocket.Plan, questions?: string[], state?: table}?
---@return hocket.Error?
function planner.run(options)
  orchestrate.argument("patterns.planner.run", 1, "table", options)
  check(options)
  local self = new(options)
  local request = options.request or options.state.request
  if options.direct or options.specialist then return forced(self, request) end
  local missing = find_missing(self)
  if missing then return nil, missing end
  self.compiled, self.schema_text = plan.compile(self.specialists, self.task_limit), json.encode(plan.schema(self.specialists, self.task_limit, BOUND, self.checks, self.findings ~= nil))
  self.history = history_of(options.state and options.state.messages or messages_of(options.history))
  local value, err, verdict = plan_of(self, request)
  if not value then return nil, err end
  local reply, wrong = proceed(self, value, request, verdict)
  if reply and is_assuming(self) then reply.assumptions = self.assumed end
  return reply, wrong
end

return planner
