--- workflow: a workflow that the model writes, and that runs in a sandboxed process. Before it runs its text is judged: a part
--- without a bound is reported back, and a person (or the run's general answer) approves the script and its bound together. The bound is a budget.
---
---     process ──{calls: agent, agent, …}──> jobs, side by side ──> {id, value}, one at a time ──> process … {done}
---
--- The caller may call its agents, or the script makes them: with the caller's model, and no tool that the caller lacks. Each exchange is an
--- effect (script/process.lua), each agent a job: a run that was killed continues in the middle.
local account = require "hocket.internal.models.account"
local agents = require "hocket.agent"
local ask = require "hocket.ask"
local broker = require "hocket.broker"
local call_choices = require "hocket.internal.work.call_choices"
local caught = require "hocket.internal.base.caught"
local fence = require "hocket.fence"
local fiber = require "hocket.internal.core.fiber"
local json = require "hocket.json"
local orchestrate = require "hocket.orchestrate"
local schema = require "hocket.schema"
local script_queue = require "hocket.internal.tools.script.queue"
local script_process = require "hocket.internal.tools.script.process"
local step = require "hocket.internal.run.step"
local signals = require "hocket.internal.run.signals"
local sources = require "hocket.internal.base.sources"
local system = require "hocket.internal.core.system"
local tool = require "hocket.tool"
local workflow_beyond = require "hocket.internal.tools.workflow.beyond"
local workflow_bound = require "hocket.internal.agents.workflow_bound"
local workflow_file = require "hocket.internal.agents.workflow_file"
local workdir = require "hocket.internal.run.workdir"
local workflow_report = require "hocket.internal.tools.workflow.report"
local failed = system.failure

local workflow = {}

--- Agents of one script, and how many work at once; bytes of what comes of it all.
local AGENTS, AT_ONCE, RESULT = 1000, 64, 1 << 20

-- ---- Agents ---------------------------------------------------------------------------------------------

-- The caller's tools by name, as its file has them; a script begins no other script.
local function tools_of(env)
  local tools = {}
  for _, one in ipairs(env.agent.tools) do
    local name = type(one) == "table" and one.name or one
    if name ~= "workflow" and name ~= "lua" then tools[name] = one end
  end
  return tools
end

-- Agents that are made here have the caller's model.
local function model_of(env)
  return env.agent.model or env.model
end

local function team_of(env)
  local team = {}
  for _, name in ipairs(env.agent.agents) do team[name] = env.team[name] end
  return team
end

local fields = {
  agent = "string", id = "string", prompt = "string", input = "string number boolean table", output = "table", name = "string", description = "string",
  model = "string", reasoning = "string number", tools = "table", budget = "table", timeout = "number", max_turns = "number", max_tokens = "number", context = "table string",
}
local made_here = { "name", "description", "tools", "max_turns", "max_tokens", "context" }

local function check_spec(spec)
  for name, value in pairs(spec) do
    local kinds = fields[name]
    if not kinds then return failed("invalid", "unknown field '%s' of 'agent'", tostring(name)) end
    if not kinds:find(type(value), 1, true) then return failed("invalid", "bad field '%s' of 'agent' (%s expected, got %s)", name, kinds, type(value)) end
  end
  if (spec.agent == nil) == (spec.prompt == nil) then return failed("invalid", "'agent' needs the name of an agent, or a prompt") end
  if type(spec.context) == "string" and spec.context ~= "fork" then return failed("invalid", "bad field 'context' of 'agent' (\"fork\", or settings of the window, expected)") end
  if spec.prompt and spec.model then return failed("denied", "an agent that is made here has your model") end
  return true
end

local function make_agent(self, spec)
  local tools = {}
  for i, name in ipairs(spec.tools or {}) do
    tools[i] = self.tools[name]
    if not tools[i] then return failed("denied", "you do not have the tool '%s'", tostring(name)) end
  end
  local key = json.encode { spec.name or "", spec.prompt, spec.tools or "", spec.output or "", spec.reasoning or "", spec.max_turns or "", spec.max_tokens or "", type(spec.context) == "table" and spec.context or "" }
  if not self.made[key] then
    local ok, def = pcall(agents.load, { name = spec.name or "worker", description = spec.description, prompt = spec.prompt, reasoning = spec.reasoning, tools = tools,
      output = spec.output, max_turns = spec.max_turns, max_tokens = spec.max_tokens, context = spec.context ~= "fork" and spec.context or nil })
    if not ok then return failed("invalid", "%s", type(def) == "table" and def.message or tostring(def)) end
    self.made[key] = def
  end
  return self.made[key]
end

local function find_agent(self, spec)
  local def = self.team[spec.agent]
  if not def then return failed("denied", "there is no agent '%s' that you may call", spec.agent) end
  for _, name in ipairs(made_here) do
    if spec[name] ~= nil and spec[name] ~= "fork" then return failed("invalid", "'%s' of 'agent' is for an agent that is made here, with a prompt", name) end
  end
  return call_choices.read(def, { model = spec.model, reasoning = spec.reasoning, output = spec.output, limits = spec.budget, context = spec.context })
end

local function answer_of(reply, err)
  if not reply then return nil, err end
  if reply.value ~= nil then return reply.value end
  return reply.text
end

local words = {}

function words.agent(self, spec)
  self.agents = self.agents + 1
  if self.agents > AGENTS then return failed("limit", "a workflow begins %d agents at most", AGENTS) end
  local ok, err = check_spec(spec)
  if not ok then return nil, err end
  local def
  if spec.agent then def, err = find_agent(self, spec) else def, err = make_agent(self, spec) end
  if not def then return nil, err end
  local _, wrong = account.of(nil, spec.budget)
  if wrong then return failed("invalid", "bad field 'budget' of 'agent' (%s)", wrong) end
  local input = type(spec.input) == "table" and json.encode(spec.input) or tostring(spec.input == nil and "" or spec.input)
  return answer_of(orchestrate.call(def, input, { trigger = "workflow", model = model_of(self.env), allowed = self.allowed, budget = spec.budget, timeout = spec.timeout,
    fork = spec.context == "fork" or nil, child_id = spec.id }))
end

function words.ask_again(self, args)
  self.agents = self.agents + 1
  if self.agents > AGENTS then return failed("limit", "a workflow begins %d agents at most", AGENTS) end
  if type(args.id) ~= "string" then return failed("invalid", "'ask_again' needs the id of an agent") end
  local input = type(args.input) == "table" and json.encode(args.input) or tostring(args.input == nil and "" or args.input)
  return answer_of(orchestrate.ask_again(args.id, input))
end

-- A goal of a loop. Its command is a call of execute_command, which the caller has to have; its judge is one of the caller's agents.
function words.check(self, args)
  local spec, wrong = orchestrate.read_goal(args.goal)
  if not spec then return failed("invalid", "bad field 'goal' of 'loop' (%s)", wrong) end
  if spec.command and not self.tools.execute_command then return failed("denied", "you do not have the tool 'execute_command'") end
  if spec.judge and not self.team[spec.judge] then return failed("denied", "there is no agent '%s' that you may call", spec.judge) end
  local team = {}
  for name, def in pairs(self.team) do team[name] = def end
  local def = agents.load { name = "goal", prompt = "You check.", model = model_of(self.env), tools = spec.command and { "execute_command" } or nil, team = team }
  local text = type(args.value) == "table" and json.encode(args.value) or tostring(args.value)
  local holds, missing = orchestrate.check(def, spec, text, "The goal of a workflow")
  if holds == nil then return nil, missing end
  return { holds = holds, missing = missing }
end

-- ---- What a person sees, and says ---------------------------------------------------------------------------

function words.phase(self, args)
  if type(args.name) ~= "string" then return failed("invalid", "'phase' needs a name") end
  self.env.run:emit("phase_started", { name = args.name, planned = math.tointeger(args.planned) })
end

function words.report(self, args)
  if type(args.text) ~= "string" then return failed("invalid", "'report' needs a text") end
  self.env.run:emit("workflow_report", { content = args.text })
end

function words.ask(_, args)
  if type(args.text) ~= "string" then return failed("invalid", "'ask' needs a question") end
  return ask.ask(args.text)
end

function words.approve(_, args)
  if type(args.text) ~= "string" then return failed("invalid", "'approve' needs a text") end
  local verdict, said = ask.plan(args.text)
  if verdict == "accept" then return true end
  if not verdict then return nil, said end
  return failed("declined", "it was not approved%s", type(said) == "string" and ": " .. said or "")
end

function words.signal(_, args)
  local ok, value, err = pcall(signals.wait, args.name, { timeout = args.timeout })
  if not ok then return failed("invalid", "%s", tostring(value)) end
  return value, err
end

function words.sleep_until(_, args)
  if type(args.time) ~= "number" then return failed("invalid", "'sleep_until' needs seconds since 1970") end
  signals.sleep_until(args.time)
end

-- ---- The calls of the script ----------------------------------------------------------------------------------

local function data_of(err)
  return { code = tostring(err.code or "error"), message = tostring(err.message), partial = type(err.partial) == "string" and err.partial or nil }
end

local function unknown_word(_, _, word)
  return failed("invalid", "there is no word '%s'", tostring(word))
end

-- What comes of a call, for the script.
local function work(self, call)
  local ok, value, err = pcall(words[call.word] or unknown_word, self, type(call.args) == "table" and call.args or {}, call.word)
  if fiber.cancelled() then error({ code = "cancelled", message = "cancelled" }, 0) end
  if not ok then value, err = nil, caught.error(value) end
  if err and err.code == "no_memory" then error(err, 0) end
  return { value = value, error = value == nil and err and data_of(err) or nil }
end

local function converse(queue, process, start)
  local message, err = process:give(json.encode(start))
  while message and not message.done do
    local answer
    answer, err = queue:next(message)
    if not answer then return nil, err end
    if answer.value == nil and not answer.error then answer.value = json.null end
    message, err = process:give(json.encode(answer))
  end
  return message, err
end

local function run_script(env, text, input)
  local tools = tools_of(env)
  local self = { env = env, tools = tools, team = team_of(env), allowed = env.allowed, agents = 0, made = {} }
  local queue <close> = script_queue.new(AT_ONCE, function(call) return work(self, call) end)
  local process <close> = script_process.new(env, { "script/prelude", "script/fibers", "workflow/words", "workflow/run" })
  return converse(queue, process, { code = text, input = input == nil and json.null or input })
end

-- ---- Before it runs -------------------------------------------------------------------------------------------

-- The text of a saved workflow, with edits.
local function saved(env, args)
  local file = workflow_file.named(env.agent, args.name)
  if not file then return failed("not_found", "there is no saved workflow '%s'", args.name) end
  local text, err = sources.read(file)
  if not text then return nil, err end
  for i, edit in ipairs(args.edits or {}) do
    local from, to = text:find(edit.old, 1, true)
    if not from then return failed("invalid", "edit %d: the text is not there", i) end
    if text:find(edit.old, to + 1, true) then return failed("invalid", "edit %d: the text is there more than once", i) end
    text = text:sub(1, from - 1) .. edit.new .. text:sub(to + 1)
  end
  return text
end

local function text_of(env, args)
  if (args.script == nil) == (args.name == nil) then return failed("invalid", "give 'script', or the 'name' of a saved workflow") end
  if args.script then return args.script end
  return saved(env, args)
end

local function unbounded(bound, limits)
  if not bound.unbounded[1] or limits and (limits.turns or limits.tokens or limits.cost) then return nil end
  local lines = {}
  for i, one in ipairs(bound.unbounded) do lines[i] = ("line %d: %s"):format(one.line, one.message) end
  return ("nothing has run. The script has no bound:\n%s\nGive these parts a bound, or give 'budget'."):format(table.concat(lines, "\n"))
end

-- The limits that a person has approved: the bound, and what the model has set itself.
local function limits_of(bound, given)
  local limits = {}
  for name, value in pairs { turns = bound.model_calls, tokens = bound.tokens, cost = bound.cost } do
    if value < math.huge then limits[name] = name == "cost" and value or math.ceil(value) end
  end
  for name, value in pairs(given or {}) do limits[name] = limits[name] and math.min(limits[name], value) or value end
  return limits
end

local function check(what, source, value)
  if not source then return true end
  local compiled, err = schema.compile(source)
  if not compiled then return failed("invalid", "'%s' is no JSON Schema: %s", what, err.message) end
  local ok, why = compiled:check(value, ("the %s does not fit"):format(what))
  if not ok then return failed("invalid", "%s", why) end
  return true
end

local function approved(text, bound, limits, name)
  local shown = workflow_report.text("A workflow that the agent wrote", bound)
  if name then shown = ("%s\n  it is saved as workflows/%s.lua when it is done"):format(shown, name) end
  if limits then shown = ("%s\n  its own budget: %s"):format(shown, json.encode(limits)) end
  shown = ("%s\n\n%s"):format(shown, text)
  local verdict, said = ask.plan(shown)
  if verdict == "accept" then return true end
  if not verdict then return nil, said end
  return failed("declined", "the user did not approve it%s", type(said) == "string" and ", and says: " .. said or "")
end

-- Puts the script into the project, where `hocket run NAME` and `tools: [workflow:NAME]` find it. A person has approved that with the script.
local function save(env, name, text)
  local root, err = workdir.root(env.run)
  if not root then return nil, err end
  local path = ("workflows/%s.lua"):format(name)
  local saved, wrong = step("save " .. path, function()
    local there = root:read(path, { raw = true })
    if there and there.bytes == text then return true end -- a process that is gone has put it there
    return root:write(path, text) -- which replaces nothing
  end, { idempotent = true })
  if not saved then return nil, wrong end
  return path
end

local function outcome(message, about)
  local value = type(message.value) == "string" and message.value or ""
  local printed = type(message.printed) == "string" and message.printed or ""
  if message.ok ~= true then return failed("script", "the workflow failed: %s", value:sub(1, 4000)) end
  if about.output then
    local read = json.decode(value, true)
    local ok, err = check("output", about.output, read == nil and value or read)
    if not ok then return nil, err end
  end
  local text = printed .. (printed ~= "" and value ~= "" and "\n" or "") .. value
  if text == "" then return "(the workflow returned nothing)" end
  return fence.wrap("output", "the workflow", #text > RESULT and text:sub(1, utf8.offset(text, 0, RESULT + 1) - 1) or text)
end

-- Under which name it is kept: as the model says, or the person (hocket workflow --save).
local function name_of(env, args)
  local given = (env.run.options.variables or {}).save_as
  return args.save or type(given) == "string" and given:find "^[%w_-]+$" and given or nil
end

local function run(env, args)
  local text, err = text_of(env, args)
  if not text then return nil, err end
  local name = name_of(env, args)
  local found, about = workflow_file.read(text)
  if not found then return failed("invalid", "line %d: %s", about.line, about.message) end
  local bound
  bound, err = workflow_bound.of_text(text, { path = "workflow.lua", model = model_of(env) or sources.variable("HOCKET_MODEL", true), forced = env.run.options.model, models = env.run.options.models,
    team = team_of(env), tools = tools_of(env) })
  if not bound then return nil, err end
  local open = unbounded(bound, args.budget)
  if open then return nil, open end
  local ok, wrong = check("input", about.input, args.input)
  if ok then ok, wrong = approved(text, bound, args.budget, name) end
  if not ok then return nil, wrong end
  local message
  local limits = limits_of(bound, args.budget)
  local done, cut = broker.shared():call { agent = env.agent.name, budget = limits, run = function()
    local watched <close> = workflow_beyond.watch(env.run, env.agent.name, limits)
    message, err = run_script(env, text, args.input)
    return "done"
  end }
  if not done then return nil, cut end
  if not message then return nil, err end
  local result, failure = outcome(message, about)
  if not result or not name then return result, failure end
  local path, unsaved = save(env, name, text)
  return ("%s\n%s"):format(result, path and ("It is saved as %s."):format(path) or ("It could not be saved: %s"):format(tostring(unsaved)))
end

-- ---- The tool ---------------------------------------------------------------------------------------------------

local edit = { type = "object", required = { "old", "new" }, additionalProperties = false, properties = { old = { type = "string", minLength = 1 }, new = { type = "string" } } }

local parameters = {
  type = "object", additionalProperties = false,
  properties = {
    script = { type = "string", minLength = 1, maxLength = 200000, description = "The workflow" },
    name = { type = "string", minLength = 1, description = "Instead: a saved workflow" },
    edits = { type = "array", items = edit, description = "Changes of the saved one" },
    input = { description = "Its input" },
    save = { type = "string", pattern = "^[A-Za-z0-9_-]+$", maxLength = 64, description = "Save it under this name, only where the user asks for that" },
    budget = { type = "object", additionalProperties = false, properties = { turns = { type = "integer", minimum = 0 }, tokens = { type = "integer", minimum = 0 }, cost = { type = "number", minimum = 0 } },
      description = "Limits for a script that has no bound of its own: model calls, tokens, USD" },
  },
}

local WORKFLOW = ("hocket.%s"):format "workflow"
local DESCRIPTION = [[Run a workflow that you write: a Lua 5.4 script that holds the plan, and lets many agents work. The user sees the script and its worst case, and approves both.
local workflow = require "%s"
return workflow { description = "…", input = SCHEMA, output = SCHEMA, run = function(input) … return value end }
workflow.agent { prompt = "…", input = text or value, output = SCHEMA, tools = { yours }, max_turns = 5 } or agent { "name", input = … }: its text, or with output the value; or nil and an error. With id = "x" in it ask_again("x", text) continues its conversation; context = "fork" begins with yours.
workflow.map(list, fn, { max = 20 }), pipeline(list, { stage, stage }, { max = 20 }), parallel { fn, fn }, race { fn, fn }, loop { max = 3, step = fn(round, value), done = fn(value) or goal = { command = "make test" } or { judge = "name" } }, phase(name), report(text), ask(question).
Every loop around agents needs a bound: max, maxItems of a schema, or numbers. Write tables of agents out. No load, no recursion, no files. At most 1000 agents.]]
DESCRIPTION = DESCRIPTION:format(WORKFLOW)

---@return table parameters JSON Schema.
function workflow.parameters() return parameters end

---@param name "workflow"
---@param env table
---@return hocket.Tool
function workflow.make(name, env)
  return tool.new { name = name, description = DESCRIPTION, parameters = parameters, subject = "script", steps = true, serial = true,
    run = function(args) return run(env, args) end }
end

return workflow
