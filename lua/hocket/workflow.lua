--- Workflows: a Lua file that holds a plan, with typed input and output. A person or a model can write one. The log of its run
--- records everything that a workflow does, so a killed workflow continues where it was.
---
---     local workflow = require "hocket.workflow"
---     local agent, map = workflow.agent, workflow.map
---     local audit = workflow {
---       description = "Says of each topic what is new",
---       input = { type = "object", required = { "topics" }, properties = { topics = { type = "array", items = { type = "string" } } } },
---       run = function(input)
---         local notes = map(input.topics, function(topic) return agent { prompt = "You write one line.", input = topic } end, { max = 20 })
---         return table.concat(notes, "\n")
---       end,
---     }
---     print(audit:run({ topics = { "tea", "coffee" } }))
---
--- A file `workflows/NAME.lua` returns one; `hocket run workflows/NAME.lua '{"topics": ["tea"]}'` runs it. A named agent comes from the
--- folder `agents` beside the folder of the workflow, or is a built-in one. Errors are values: a failed call returns nil and an error
--- with `code` and `message`, and a workflow that returns them has failed with that error.
local account = require "hocket.internal.base.lazy" "hocket.internal.models.account"
local agents = require "hocket.agent"
local arguments = require("hocket.internal.base.arguments").check
local ask = require "hocket.internal.base.lazy" "hocket.ask"
local broker = require "hocket.internal.base.lazy" "hocket.broker"
local call_choices = require "hocket.internal.base.lazy" "hocket.internal.work.call_choices"
local fiber = require "hocket.internal.core.fiber"
local flow = require "hocket.flow"
local json = require "hocket.json"
local misuse = require "hocket.internal.base.lazy" "hocket.internal.base.misuse"
local named = require "hocket.internal.runner.named"
local orchestrate = require "hocket.internal.base.lazy" "hocket.orchestrate"
local runs = require "hocket.internal.base.lazy" "hocket.internal.run.run"
local signals = require "hocket.internal.base.lazy" "hocket.internal.run.signals"
local schema = require "hocket.schema"
local step = require "hocket.internal.run.step"
local system = require "hocket.internal.core.system"
local workflow_file = require "hocket.internal.base.lazy" "hocket.internal.agents.workflow_file"
local failure = system.failure
require "hocket.internal.runner.builtins"

local workflow = {}

local check_goal
local words = require "hocket.internal.tools.workflow.words"(flow, system.error, function(goal, value) return check_goal(goal, value) end)
local check_fields = words.check_fields

-- ---- The workflow -----------------------------------------------------------------------------

---@class hocket.Workflow
---@field description string
---@field input? table JSON Schema; without one the input is a text.
---@field output? table JSON Schema; without one the result is as a script's.
---@field package body fun(input: any): any, hocket.Error?
---@field package file? string That returned it.
local Workflow = {}
Workflow.__index = Workflow

local fields = { description = "string", input = "table", output = "table", run = "function" }

local function compile(what, source)
  if not source then return nil end
  local compiled, err = schema.compile(source)
  if not compiled then error(("the %s of a workflow is no JSON Schema: %s"):format(what, err.message), 4) end
  return compiled
end

--- Makes one: `workflow { description = …, input = …, output = …, run = function(input) … end }`.
---@param def {description: string, input?: table, output?: table, run: fun(input: any): any, hocket.Error?}
---@return hocket.Workflow
function workflow.new(def)
  check_fields("workflow", def, fields)
  for _, name in ipairs { "description", "run" } do
    if def[name] == nil then error(("field '%s' is missing in a workflow"):format(name), 2) end
  end
  return setmetatable({ description = def.description, input = def.input, output = def.output, body = def.run,
    input_check = compile("input", def.input), output_check = compile("output", def.output) }, Workflow)
end

--- The workflow that a file has returned; nil: it returned something else.
---@param value any
---@param file string
---@return hocket.Workflow?
---@internal
function workflow.of_file(value, file)
  if getmetatable(value) ~= Workflow then return nil end
  value.file = file
  return value
end

-- Whether a schema takes texts alone.
local function is_text(source)
  return source.type == "string" or type(source.type) == "table" and #source.type == 1 and source.type[1] == "string"
end

-- What it is asked, as its schema has it: JSON, or the text itself where it takes texts.
local function read_input(self, given)
  if not self.input then return given end
  local value = given
  if type(given) == "string" and not is_text(self.input) then
    local read, wrong = json.decode(given)
    local takes_text = self.input_check:check(given)
    if read == nil and not takes_text then return failure("invalid", "the workflow takes JSON (input): %s", wrong.message) end
    if read ~= nil and (not takes_text or type(read) == "table" or self.input_check:check(read)) then value = read end
  end
  local ok, why = self.input_check:check(value, "the input does not fit")
  if not ok then return failure("invalid", "%s", why) end
  return value
end

local function check_output(self, value)
  if not self.output then return value end
  if value == nil then return failure("script", "the workflow returned nothing, and its 'output' promises a value") end
  local ok, why = self.output_check:check(value, "the result of the workflow does not fit")
  if not ok then return failure("script", "%s", why) end
  return value
end

named.set_workflows(workflow.of_file)

--- Runs it in the run that is going on.
---@async
---@param input any A value, or its JSON.
---@return any result
---@return hocket.Error? err
function Workflow:run(input)
  local value, wrong = read_input(self, input)
  if value == nil and wrong then return nil, wrong end
  local outer = fiber.context()
  fiber.set_context(setmetatable({ workflow = self }, { __index = outer }))
  local closing <close> = setmetatable({}, { __close = function() fiber.set_context(outer) end })
  local result, err = self.body(value)
  if result == nil and err ~= nil then return nil, err end
  return check_output(self, result)
end

-- ---- Agents ---------------------------------------------------------------------------------------

local function team_of(self)
  if self and self.team then return self.team end
  local dir = workflow_file.agents_folder(self and self.file or "")
  local team = dir and agents.load_dir(dir) or agents.built_in()
  if self then self.team = team end
  return team
end

local function find_named(name)
  local context = fiber.context()
  local team = team_of(context and context.workflow)
  local found = rawget(team, name) or rawget(agents.built_in(), name)
  if found then return found end
  return misuse.called("agent", function() return team[name] end) -- raises, with the names that are near
end

-- The caller's tools that an agent made here may have are named by it: nothing more than the workflow's own run could give.
local function ad_hoc(spec)
  return agents.load { name = spec.name or "worker", description = spec.description, prompt = spec.prompt, model = spec.model, reasoning = spec.reasoning,
    tools = spec.tools, output = spec.output, budget = spec.budget, max_turns = spec.max_turns, max_tokens = spec.max_tokens, context = spec.context ~= "fork" and spec.context or nil }
end

local agent_fields = {
  [1] = "string table", agent = "string table", id = "string", prompt = "string", input = "string number boolean table", output = "table", name = "string", description = "string",
  model = "string table", reasoning = "string number", tools = "table", budget = "table", timeout = "number", max_turns = "number", max_tokens = "number", context = "table string", variables = "table",
}

-- What only an agent takes that is made here.
local made_here = { "name", "description", "tools", "max_turns", "max_tokens", "context" }

-- An agent of a file, as it is asked here: where the file says what may be chosen for one call (per_call), no more than that.
local function vary_named(spec, def)
  if def.per_call or spec.context == "fork" then
    return call_choices.read(def, { model = def.per_call and spec.model, reasoning = spec.reasoning, output = spec.output, context = spec.context })
  end
  return agents.vary(def, { reasoning = spec.reasoning, output = spec.output })
end

local function definition(spec)
  local which = spec[1] or spec.agent
  if which and spec.prompt then error("'agent' takes the name of an agent, or a prompt, not both", 3) end
  if not which and not spec.prompt then error("'agent' needs the name of an agent, or a prompt", 3) end
  if type(spec.context) == "string" and spec.context ~= "fork" then error("bad field 'context' of 'agent' (\"fork\", or settings of the window, expected)", 3) end
  if not which then return ad_hoc(spec) end
  for _, name in ipairs(made_here) do
    if spec[name] ~= nil and spec[name] ~= "fork" then error(("'%s' of 'agent' is for an agent that is made here, with a prompt: one that is named has what its file says"):format(name), 3) end
  end
  return vary_named(spec, type(which) == "string" and find_named(which) or which)
end

local function as_text(input)
  return type(input) == "table" and json.encode(input) or tostring(input == nil and "" or input)
end

local function answer_of(reply, err)
  if not reply then return nil, system.error(err) end
  if reply.cut then return nil, system.error { code = reply.cut.code, message = reply.cut.message, partial = reply.text } end
  if reply.value ~= nil then return reply.value end
  return reply.text
end

--- Lets an agent answer: a named one (`agent { "reviewer", input = … }`), or a new one (`agent { prompt = …, input = … }`).
---@async
---@param spec {[1]?: string|hocket.Agent, agent?: string|hocket.Agent, prompt?: string, input: any, id?: string, output?: table, name?: string, description?: string, model?: string|string[], reasoning?: string|integer, tools?: string[], budget?: hocket.Budget, timeout?: number, max_turns?: integer, max_tokens?: integer, context?: table|"fork", variables?: table} input: a table is given as JSON. id: for ask_again. output: a JSON Schema of the answer. name, tools, max_turns, max_tokens, context: of a new agent. context "fork": it begins with the conversation of the agent that called the workflow.
---@return any answer Its text; with an output, the agent's own or the call's, the value.
---@return hocket.Error? err
function workflow.agent(spec)
  check_fields("agent", spec, agent_fields)
  local def, refused = definition(spec)
  if not def then return nil, refused end
  return answer_of(orchestrate.call(def, as_text(spec.input), {
    override_model = not spec.prompt and not def.per_call and spec.model or nil, budget = not spec.prompt and spec.budget or nil, timeout = spec.timeout, variables = spec.variables,
    fork = spec.context == "fork" or nil, child_id = spec.id,
  }))
end

--- Asks an agent again that has finished and had an `id`: it continues its conversation. The newest 1,000 are kept.
---@async
---@param id string
---@param input any A table is given as JSON.
---@return any answer As for agent.
---@return hocket.Error? err
function workflow.ask_again(id, input)
  arguments("workflow.ask_again", 1, "string", id)
  return answer_of(orchestrate.ask_again(id, as_text(input)))
end

-- ---- Goals ------------------------------------------------------------------------------------------

-- The agent whose call a goal's command is: with this one tool, in the team of the workflow, so that a judge is found.
local function checker(goal)
  local team = {}
  if goal.judge then team[goal.judge] = find_named(goal.judge) end
  return agents.load { name = "goal", prompt = "You check.", tools = goal.command and { "execute_command" } or nil, team = team }
end

-- Whether the goal of a loop holds: true; false and what is missing; nil and an error.
function check_goal(goal, value)
  local spec, wrong = orchestrate.read_goal(goal)
  if not spec then error(("bad field 'goal' of 'loop' (%s)"):format(wrong), 0) end
  local context = fiber.context()
  local self = context and context.workflow
  return orchestrate.check(checker(spec), spec, as_text(value), self and self.description or "The goal of the loop")
end

-- ---- Side by side -----------------------------------------------------------------------------------

--- Calls fn(item, index) for each item, at most `limit` (64) at once, and waits for all. The first that raises ends the others.
---@async
---@param list any[]
---@param fn fun(item: any, index: integer): any, any
---@param opts? {limit?: integer, max?: integer} max: items that there may be; more are an error before anything is done.
---@return any[] results First result of each call, by index.
---@return any[] errors Second result of each call whose first was nil, by index.
function workflow.map(list, fn, opts)
  arguments("workflow.map", 3, "table?", opts)
  return words.map(list, fn, opts)
end

--- Calls all functions side by side, at most `limit` (64) at once, and waits for all: as map.
---@async
---@param list function[]
---@param opts? {limit?: integer}
---@return any[] results
---@return any[] errors
function workflow.parallel(list, opts)
  arguments("workflow.parallel", 2, "table?", opts)
  return words.parallel(list, opts)
end

--- Sends each item through all stages, without waiting for the others between two stages. A stage gets what the one before returned; one that
--- returns nil and an error ends that item.
---@async
---@param list any[]
---@param stages (fun(value: any, index: integer): any, any)[]
---@param opts? {limit?: integer, max?: integer}
---@return any[] results
---@return any[] errors
function workflow.pipeline(list, stages, opts)
  return words.pipeline(list, stages, opts)
end

--- Calls all functions side by side: the first that returns something (not nil) wins, and the others are cancelled.
---@async
---@param list function[]
---@return any value
---@return integer|table index_or_error Which one it was; the last error when none did.
function workflow.race(list)
  return words.race(list)
end

--- Calls `step(round, value, missing)` until `done(value, round)` is true or the `goal` holds, at most `max` (10) times; `value` is what the round
--- before returned, `missing` what its goal lacked. A goal is a check as `until` of an agent has: a command, `{command =}`, `{file =}`, `{schema =}` or
--- `{judge = "critic"}`. The loop ends where a goal gives the same result `same` (3) times in a row.
---@async
---@param spec {step: (fun(round: integer, value: any, missing: string?): any, any), done?: (fun(value: any, round: integer): boolean), goal?: string|table, max?: integer, same?: integer}
---@return any value
---@return integer|hocket.Error rounds How many it took; with nil the error: of a step, "limit" or "state" with the last value as `partial` where none was good.
function workflow.loop(spec)
  return words.loop(spec)
end

--- Bounds everything that a function does by a budget of its own, within those around it. What it used counts in both.
---@async
---@param limits hocket.Budget
---@param fn fun(): any, hocket.Error?
---@return any value
---@return hocket.Error? err "budget" where the limit was reached, or an error of fn.
function workflow.budget(limits, fn)
  local bounds, wrong = account.read(limits)
  if not bounds then error(("bad argument #1 to 'budget' (%s)"):format(wrong), 2) end
  if type(fn) ~= "function" then error(("bad argument #2 to 'budget' (a function expected, got %s)"):format(type(fn)), 2) end
  local returned
  local done, err = broker.shared():call { agent = "workflow", budget = bounds, run = function()
    returned = table.pack(fn())
    return "done"
  end }
  if not done then return nil, system.error(err) end
  return table.unpack(returned, 1, returned.n)
end

-- ---- What a person sees -------------------------------------------------------------------------------

local function emit(type, payload)
  local run = runs.current()
  if not run then error("this belongs inside of a run", 3) end
  run:emit(type, payload)
end

--- Begins a part of the plan, which the terminal, the page and the events show.
---@param name string
---@param planned? integer How many agents it is going to ask, if that is known.
function workflow.phase(name, planned)
  if type(name) ~= "string" or name == "" then error("bad argument #1 to 'phase' (a name expected)", 2) end
  if planned ~= nil and math.type(planned) ~= "integer" then error("bad argument #2 to 'phase' (a whole number expected)", 2) end
  emit("phase_started", { name = name, planned = planned })
end

--- Tells whoever looks on how it goes.
---@param text string
function workflow.report(text)
  if type(text) ~= "string" then error(("bad argument #1 to 'report' (a text expected, got %s)"):format(type(text)), 2) end
  emit("workflow_report", { content = text })
end

--- Asks a person, and waits for the answer: see hocket.ask.
---@async
---@param question string
---@param opts? {timeout?: number}
---@return string? answer
---@return hocket.Error? err
function workflow.ask(question, opts)
  return ask.ask(question, opts)
end

--- Shows a text, and asks whether to go ahead.
---@async
---@param text string
---@return boolean? agreed
---@return hocket.Error? err "declined", with what the person said as `text`; or why nobody was asked.
function workflow.approve(text)
  arguments("workflow.approve", 1, "string", text)
  local verdict, said = ask.plan(text)
  if verdict == "accept" then return true end
  if not verdict then return nil, said end
  return nil, system.error { code = "declined", message = "it was not approved" .. (type(said) == "string" and ": " .. said or ""), text = said }
end

--- Does something once over all lives of the run: see hocket.step.
---@async
---@param name string
---@param fn fun(id: string): ...
---@param opts? {idempotent?: boolean, reconcile?: fun(id: string): ..., of?: any}
---@return any ...
function workflow.step(name, fn, opts)
  return step(name, fn, opts)
end

--- Waits for a message to this run from outside: see hocket.signal.
---@async
---@param name string
---@param opts? {timeout?: number} Seconds.
---@return any value
---@return hocket.Error? err "timeout"
function workflow.signal(name, opts)
  arguments("workflow.signal", 1, "string", name)
  arguments("workflow.signal", 2, "table?", opts)
  return signals.wait(name, opts)
end

--- Waits until a time of day: see hocket.sleep_until.
---@async
---@param time number Seconds since 1970.
function workflow.sleep_until(time)
  signals.sleep_until(time)
end

--- Bounds what has to be done again in another process: see hocket.checkpoint.
---@async
---@param state? any Data.
---@return any state The newest one; nil: there is none yet.
function workflow.checkpoint(...)
  return require "hocket.internal.run.checkpoint"(...)
end

return setmetatable(workflow, { __call = function(_, def) return workflow.new(def) end })
