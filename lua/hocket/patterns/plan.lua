--- Plans: what a planner writes and a coordinator carries out. Reads a plan from a model's JSON or from a file, checks it, and
--- says what is wrong in words that a model or a person can fix it by.
---
---     local hocket = require "hocket"
---     local plan = require "hocket.patterns.plan"
---     local value = {
---       type = "task",
---       tasks = {
---         { id = "sights", specialist = "guide", description = "Choose three sights in Lisbon." },
---         { id = "route", specialist = "guide", description = "Put them in order.", depends_on = { "sight" } },
---       },
---     }
---     print(plan.check(value, { "guide" }))
---     value.tasks[2].depends_on = { "sights" }
---     assert(plan.check(value, { "guide" }) == nil)
---     print(plan.to_markdown { name = "lisbon", plan = value })
---
--- A plan is data: a model's answer (`plan.read`), a file of Markdown or YAML (`plan.parse`), or a table of yours.
--- [The coordinator](hocket.patterns.coordinator.md) carries it out; [the planner](hocket.patterns.planner.md) writes one from a request.
local json = require "hocket.json"
local orchestrate = require "hocket.orchestrate"
local schema = require "hocket.schema"

local plan = {}

--- Tasks of one plan, where nobody says otherwise (`task_limit`).
plan.TASK_LIMIT = 20
--- Tasks of any plan, whatever `task_limit` says: the broker takes as many jobs at once. Parts of tasks come beside them.
plan.MOST = 1000

--- Questions, where a server holds the planner to its schema.
local QUESTIONS = 3

---@class hocket.PlanTask One piece of work for one specialist.
---@field id string Its name in the plan, which other tasks and events use.
---@field specialist string The agent that does it, by its name in the team.
---@field description string What the specialist is asked to do.
---@field active_form? string What the board shows while the specialist works, such as "Choosing the sights".
---@field context? string What the specialist needs to know besides.
---@field depends_on? string[] Ids of tasks that come first. The specialist reads their results.
---@field files? string[] Paths that it is about.
---@field expected? string The outcome, in a sentence.
---@field check? string|hocket.Check What has to hold before it is done: see orchestrate.read_check.
---@field findings? hocket.Finding[] What its specialist gets of what was read while the plan was made; in a planner's answer their numbers.
---@field alternates? string[] Specialists that get it after this one has failed. No planner is asked for these.

---@class hocket.PlanFile What a plan's file says.
---@field plan hocket.Plan
---@field name string
---@field description? string
---@field request? string What it was made for: for a request like it the plan is a draft.
---@field user? string The only end user of `hocket serve` whose requests get it as a draft.
---@field team? string The folder of its agents, relative to the file.
---@field approve_plan? boolean
---@field lines? table<string, integer> Where each step begins, by its id, in a file that was read.

---@class hocket.Plan Either talk (`type` is "conversation"), with a response or questions, or tasks.
---@field type "conversation"|"task"
---@field response? string The answer to small talk, which needs no specialist.
---@field clarification_needed? boolean Whether the questions have to be answered before a plan can be made.
---@field questions? string[]
---@field tasks? hocket.PlanTask[] In any order; `depends_on` must have no circle.
---@field execution_mode? "parallel"|"sequential" Whether tasks that do not depend on each other run at once (the default) or one at a time.
---@field on_failure? "skip"|"continue"|"abort"|"replan" After a failed task: its dependents are skipped (the default), or run without its result; or everything stops; or the planner plans anew.

-- What a planner says of a task's outcome. A schema as a check is for people's plans.
local function add_outcome(properties, any)
  properties.files, properties.expected = { type = "array", items = any, maxItems = 50 }, any
  properties.check = { type = "object", properties = { command = any, file = any, ["function"] = any } }
end

--- What a planner reads of checks, below its specialists.
plan.about_checks = [[


Each task also has `files` (paths that it is about), `expected` (its outcome in one sentence) and `check`: how the program finds out that it is done, one of
{"command": "make test"} (exit code 0; for specialists with execute_command), {"file": "a path that has to exist"}, {"function": "module.function"} (if the user names one).]]

--- What a planner reads that may look around, below its specialists.
plan.about_findings = [[


Before you plan, look with your tools at what there is; they only read. Each result has a number, [finding 1]. Give each task the numbers of what its specialist
needs in `findings`: it gets these results with its task, and does not have to look again.]]

--- Makes the JSON Schema of a plan, to send to a model.
---@param specialists? string[] Who may get tasks; without it a plan may name anybody.
---@param limit? integer The most tasks.
---@param most? integer The most characters of a text. A server that enforces the schema would otherwise let a model write on and on.
---@param checks? boolean Tasks have files, an expected outcome and a check.
---@param explores? boolean Tasks have the numbers of findings.
---@return table
function plan.schema(specialists, limit, most, checks, explores)
  orchestrate.argument("patterns.plan.schema", 1, "table?", specialists, "integer?", limit, "integer?", most, "boolean?", checks, "boolean?", explores)
  local text, any = { type = "string", minLength = 1, maxLength = most }, { type = "string", maxLength = most }
  local task = {
    type = "object", required = { "id", "specialist", "description" },
    properties = json.object {
      { "id", { type = "string", minLength = 1, maxLength = 64 } }, { "specialist", { type = "string", enum = specialists } },
      { "description", text }, { "active_form", any }, { "context", any },
      { "depends_on", { type = "array", items = most and { type = "string", maxLength = 64 } or any, maxItems = most and limit or nil } },
    },
  }
  if checks then add_outcome(task.properties, any) end
  if explores then task.properties.findings = { type = "array", items = { type = "integer" }, maxItems = most and 50 or nil } end
  return {
    type = "object", required = { "type" },
    properties = json.object {
      { "type", { type = "string", enum = { "conversation", "task" } } }, { "response", { type = "string" } },
      { "clarification_needed", { type = "boolean" } }, { "questions", { type = "array", items = text, maxItems = most and QUESTIONS or nil } },
      { "tasks", { type = "array", items = task, maxItems = limit and math.min(limit, plan.MOST) } },
      { "execution_mode", { type = "string", enum = { "parallel", "sequential" } } },
      { "on_failure", { type = "string", enum = { "skip", "continue", "abort", "replan" } } },
    },
  }
end

-- ---- Reading ------------------------------------------------------------------------------

-- Whether an answer means to be a plan: talk may have JSON in it, too.
local function means_a_plan(text)
  return text:find "^%s*[{`]" or text:find('"type"', 1, true) or text:find('"tasks"', 1, true)
end

local function has_words(text)
  return text ~= nil and text:find "%S" ~= nil
end

-- A question without words is none. Talk that needs an answer and asks for nothing is an answer.
local function with_questions(value)
  local asked = json.array {}
  for _, one in ipairs(value.questions or {}) do
    if has_words(one) then asked[#asked + 1] = one end
  end
  value.questions = #asked > 0 and asked or nil
  if value.type == "conversation" and not value.questions and has_words(value.response) then value.clarification_needed = nil end
  return value
end

--- Reads a model's answer. Returns a plan of the right form, or nil and what is wrong. An answer without JSON is a conversation
--- with that text as its response.
---@param text string
---@param compiled userdata Of plan.compile.
---@return hocket.Plan?
---@return string? wrong
function plan.read(text, compiled)
  orchestrate.argument("patterns.plan.read", 1, "string", text, "userdata", compiled)
  local value, wrong = compiled:read(text, "the plan does not fit")
  if value ~= nil then return with_questions(value) end
  if not means_a_plan(text) then return { type = "conversation", response = text } end
  local _, err = json.decode(text)
  return nil, wrong or ("the answer is not one whole JSON object, it may have been cut: it is not valid JSON (%s)"):format(err and err.message or "no object")
end

--- Compiles the schema, for plan.read.
---@param specialists? string[]
---@param limit? integer Tasks.
---@return userdata
function plan.compile(specialists, limit)
  orchestrate.argument("patterns.plan.compile", 1, "table?", specialists, "integer?", limit)
  return assert(schema.compile(plan.schema(specialists, limit)))
end

--- Returns a plan without the tasks that are done already: those with the id and the specialist of a completed outcome. Other
--- tasks may still depend on them.
---@param value hocket.Plan
---@param before table<string, hocket.Outcome> By id.
---@return hocket.Plan
function plan.leave_out_done(value, before)
  orchestrate.argument("patterns.plan.leave_out_done", 1, "table", value, "table", before)
  local tasks, left_out = {}, false
  for _, task in ipairs(value.tasks or {}) do
    local one = before[task.id]
    local done = one and one.status == "completed" and one.specialist == task.specialist
    if done then left_out = true else tasks[#tasks + 1] = task end
  end
  if not left_out then return value end
  local rest = {}
  for name, field in pairs(value) do rest[name] = field end
  rest.tasks = json.array(tasks)
  return rest
end

-- ---- Checking -------------------------------------------------------------------------------

-- The path of a cycle, "a -> b -> a", or nil.
local function find_cycle(tasks)
  local by_id, state, path = {}, {}, {}
  for _, task in ipairs(tasks) do by_id[task.id] = task end
  local function visit(id)
    if state[id] == "done" or not by_id[id] then return nil end
    path[#path + 1] = id
    if state[id] == "open" then return path end
    state[id] = "open"
    for _, other in ipairs(by_id[id].depends_on or {}) do
      if visit(other) then return path end
    end
    state[id] = "done"
    path[#path] = nil
  end
  for _, task in ipairs(tasks) do
    if visit(task.id) then
      local first = 1
      while path[first] ~= path[#path] do first = first + 1 end
      return table.concat(path, " -> ", first)
    end
  end
end

-- Programs that a check runs are run by whoever does the task.
local function wrong_check(task, team)
  local spec, wrong = orchestrate.read_check(task.check)
  if not spec then return wrong end
  local def = spec.command and team and rawget(team, task.specialist)
  if not def or def.router or def.team or def.handoff then return nil end
  for _, one in ipairs(def.tools) do
    if one == "execute_command" then return nil end
  end
  return ("it is a command, and '%s' has no tool execute_command"):format(task.specialist)
end

local function is_list_of_texts(value)
  if type(value) ~= "table" then return false end
  for i, one in pairs(value) do
    if math.type(i) ~= "integer" or type(one) ~= "string" then return false end
  end
  return true
end

-- What a task says of its outcome.
local function check_outcome(task, team, say)
  if task.files ~= nil and not is_list_of_texts(task.files) then say("task '%s': files: a list of paths is expected", task.id) end
  if task.expected ~= nil and type(task.expected) ~= "string" then say("task '%s': expected: a text is expected", task.id) end
  local wrong = task.check ~= nil and wrong_check(task, team)
  if wrong then say("task '%s': check: %s", task.id, wrong) end
  local unread = task.findings ~= nil and orchestrate.wrong_findings(task.findings)
  if unread then say("task '%s': findings: %s", task.id, unread) end
end

local function check_tasks(tasks, specialists, known, team)
  if #tasks > plan.MOST then return { ("a plan has %d tasks at most; this one has %d"):format(plan.MOST, #tasks) } end
  local wrong, ids, may = {}, {}, {}
  local function say(...) wrong[#wrong + 1] = (...):format(select(2, ...)) end
  for _, name in ipairs(specialists) do may[name] = true end
  for _, task in ipairs(tasks) do
    if ids[task.id] then say("the id '%s' is given twice", task.id) end
    ids[task.id] = true
    if known and known[task.id] then say("the task '%s' is done already, by somebody else: give a new task a new id", task.id) end
    if not may[task.specialist] then
      say("task '%s': there is no specialist '%s' (there are: %s)", task.id, task.specialist, table.concat(specialists, ", "))
    end
    local others = task.alternates
    if others ~= nil and type(others) ~= "table" then say("task '%s': alternates: a list of specialists is expected", task.id) end
    for _, name in ipairs(type(others) == "table" and others or {}) do
      if not may[name] then say("task '%s': alternates: there is no specialist '%s'", task.id, tostring(name)) end
    end
    check_outcome(task, team, say)
  end
  for _, task in ipairs(tasks) do
    for _, other in ipairs(task.depends_on or {}) do
      if not ids[other] and not (known and known[other]) then say("task '%s' depends on '%s', which is no task", task.id, other) end
    end
  end
  local cycle = find_cycle(tasks)
  if cycle then say("the tasks depend on each other in a circle: %s", cycle) end
  return wrong
end

--- Checks what a schema cannot: ids, specialists, dependencies, circles, checks. Returns nil, or what is wrong: a line for each mistake.
---@param value hocket.Plan
---@param specialists string[]
---@param known? table<string, boolean> Ids of tasks that are done and may be depended on.
---@param team? table<string, hocket.Agent> To know who can run programs.
---@return string?
function plan.check(value, specialists, known, team)
  orchestrate.argument("patterns.plan.check", 1, "table", value, "table", specialists, "table?", known, "table?", team)
  local tasks, wrong = value.tasks or {}, {}
  if value.clarification_needed then
    if #(value.questions or {}) == 0 then wrong[1] = "clarification_needed is true, but there are no questions" end
  elseif value.type == "conversation" then
    return nil
  elseif #tasks == 0 then
    wrong[1] = "a plan of type 'task' needs at least one task, or clarification_needed with questions"
  else
    wrong = check_tasks(tasks, specialists, known, team)
  end
  return #wrong > 0 and "- " .. table.concat(wrong, "\n- ") or nil
end

-- A model's text in a list for people: what it has below its first line stands further in, and is no line of the list.
local function item(form, ...)
  return (form:format(...):gsub("%s*[\r\n]%s*", "\n     "))
end

--- Says in words what a task has about its outcome: files, what is expected, its check. Each part begins with `before`. A task without
--- these gives "".
---@param task hocket.PlanTask
---@param before string
---@param is_brief? boolean For the specialist, who gets its findings themselves.
---@return string
function plan.outcome_of(task, before, is_brief)
  orchestrate.argument("patterns.plan.outcome_of", 1, "table", task, "string", before, "boolean?", is_brief)
  local parts = {}
  if task.files and task.files[1] then parts[#parts + 1] = "Files: " .. table.concat(task.files, ", ") end
  if task.expected and task.expected:find "%S" then parts[#parts + 1] = "Expected outcome: " .. task.expected end
  local read = is_brief and "" or orchestrate.finding_words(task.findings)
  if read ~= "" then parts[#parts + 1] = "It gets what was read: " .. read end
  local check = task.check ~= nil and orchestrate.read_check(task.check)
  if check then parts[#parts + 1] = "It is done when this check holds: " .. orchestrate.check_words(check) end
  return #parts > 0 and before .. table.concat(parts, before) or ""
end

-- Everything that a specialist is going to be told of a task.
local function told(task)
  local context = task.context and task.context:match "%S" and "\nwith: " .. task.context or ""
  return task.description .. context .. plan.outcome_of(task, "\n")
end

--- Writes a plan for a person who approves it: a numbered list with everything that the specialists will read, who does each task, and
--- which tasks it needs.
---@param value hocket.Plan
---@return string
function plan.describe(value)
  orchestrate.argument("patterns.plan.describe", 1, "table", value)
  local lines = {}
  for i, task in ipairs(value.tasks) do
    local after = task.depends_on and #task.depends_on > 0 and (", after %s"):format(table.concat(task.depends_on, ", ")) or ""
    lines[i] = item("%d. %s (%s%s): %s", i, task.id, task.specialist, after, told(task))
  end
  if value.execution_mode == "sequential" then lines[#lines + 1] = "\nOne at a time, in this order." end
  return table.concat(lines, "\n")
end

local function line(sign, task, what)
  return item("%s %s (%s): %s", sign, task.id, task.specialist, what)
end

--- Writes for a person how a new plan differs from the former one: tasks that are new (+), changed or tried again (~), given up (-),
--- and done (=).
---@param before hocket.Outcome[]
---@param value hocket.Plan
---@return string
function plan.difference(before, value)
  orchestrate.argument("patterns.plan.difference", 1, "table", before, "table", value)
  local now, was, lines = {}, {}, {}
  for _, task in ipairs(value.tasks) do now[task.id] = task end
  for _, one in ipairs(before) do
    local task = now[one.id]
    was[one.id] = true
    if one.status == "completed" then
      lines[#lines + 1] = line("=", one, "done, and not done again")
    elseif not task then
      lines[#lines + 1] = line("-", one, ("given up (it was %s)"):format(one.status))
    elseif task.specialist ~= one.specialist or task.description ~= one.description then
      lines[#lines + 1] = line("~", task, told(task))
    else
      lines[#lines + 1] = line("~", task, "once more, as before")
    end
  end
  for _, task in ipairs(value.tasks) do
    if not was[task.id] then lines[#lines + 1] = line("+", task, told(task)) end
  end
  return table.concat(lines, "\n")
end

-- ---- Plans as files ---------------------------------------------------------------------------

local function files()
  return require "hocket.patterns.plan.file"
end

--- Whether a text is meant as a plan's file: Markdown with the key `plan` in its front matter, or YAML with it.
---@param text string
---@return boolean
function plan.is_file(text)
  orchestrate.argument("patterns.plan.is_file", 1, "string", text)
  return files().is(text)
end

--- Reads a plan's file, Markdown or YAML. Every mistake has its line.
---@param text string
---@return hocket.PlanFile? about
---@return {line: integer, message: string}[] problems Empty where it is read.
function plan.parse(text)
  orchestrate.argument("patterns.plan.parse", 1, "string", text)
  return files().read(text)
end

--- Writes a plan as Markdown.
---@param about hocket.PlanFile
---@return string
function plan.to_markdown(about)
  orchestrate.argument("patterns.plan.to_markdown", 1, "table", about)
  return files().to_markdown(about)
end

--- Writes a plan as YAML.
---@param about hocket.PlanFile
---@return string
function plan.to_yaml(about)
  orchestrate.argument("patterns.plan.to_yaml", 1, "table", about)
  return files().to_yaml(about)
end

return plan
