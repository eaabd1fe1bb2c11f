--- Calls what agents' files name of the project's Lua: functions (agents/functions.lua) and workflows (agents/workflow_file.lua). Their
--- files are read as scripts of the run are, once for each run, and run only where the Lua of the run's target may.
local caught = require "hocket.internal.base.caught"
local functions = require "hocket.internal.agents.functions"
local json = require "hocket.json"
local kept_scripts = require "hocket.internal.runner.kept_scripts"
local orchestrate = require "hocket.orchestrate"
local script_reply = require "hocket.internal.base.lazy" "hocket.internal.runner.script_reply"
local sources = require "hocket.internal.base.sources"
local tool = require "hocket.tool"
local trust = require "hocket.internal.base.lazy" "hocket.internal.runner.trust"
local workflow_file = require "hocket.internal.base.lazy" "hocket.internal.agents.workflow_file"

local named = {}

-- `home` is where what it requires is found.
local function load_module(run, path, dir, home)
  local text, err = sources.read(path)
  if not text then error(err, 0) end
  local admitted, refused = trust.admit_module(run, path, dir, text)
  if not admitted then error(refused, 0) end
  local made = run.generation
  local env = made and made.env or kept_scripts.env(run, home or run.target and run.target.dir or dir)
  local chunk, wrong = env.loadfile(path)
  if not chunk then error({ code = "agent", message = wrong }, 0) end
  return chunk()
end

-- A module is loaded once for each run.
local function module_of(run, path, dir, home)
  run.named_modules = run.named_modules or {}
  if run.named_modules[path] == nil then run.named_modules[path] = load_module(run, path, dir, home) end
  return run.named_modules[path]
end

local function check_admitted(run, def, what)
  if not (run.mod or run.admitted and not run.admitted.runs) then return end
  error({ code = "denied", message = ("%s names %s, and the Lua of this run's folder may not run"):format(def.file or def.name, what) }, 0)
end

local function find(run, def, name)
  if type(name) == "function" then return name end
  check_admitted(run, def, ("the function '%s'"):format(name))
  local path, dir = functions.file(def, name)
  local module, member = functions.split(name)
  if not path then error({ code = "agent", message = ("%s: module '%s' not found in %s"):format(def.file or def.name, module, dir) }, 0) end
  local value = module_of(run, path, dir)
  local fn = type(value) == "table" and value[member]
  if type(fn) ~= "function" then error({ code = "agent", message = ("%s: the module has no function '%s', which %s names"):format(path, member, def.file or def.name) }, 0) end
  return fn
end

-- What a call came to, where it raised as well; what ends the run goes on.
local function settled(ok, value, why)
  if ok then
    if value == nil and why ~= nil then return nil, caught.error(why) end
    return value
  end
  local err = caught.error(value)
  if err.code == "no_memory" or err.code == "cancelled" then error(value, 0) end
  return nil, err
end

--- Finds one, and loads its module.
---@async
---@param run hocket.Run
---@param def hocket.Agent Whose file names it.
---@param name string|function
---@return function? fn
---@return hocket.Error? err
function named.find(run, def, name)
  return settled(pcall(find, run, def, name))
end

--- Calls one.
---@async
---@param run hocket.Run
---@param def hocket.Agent Whose file names it.
---@param name string|function "module.function", or in Lua the function.
---@param about table What it is given.
---@return any? value
---@return hocket.Error? err It raised, or returned nil and this; or there is no such function.
function named.call(run, def, name, about)
  return settled(pcall(function() return find(run, def, name)(about) end))
end

-- ---- Workflows --------------------------------------------------------------------------------------

local function of_file() return nil end

--- Hands in who knows the workflow that a file has returned: hocket.workflow, which each such file requires.
---@param fn fun(value: any, file: string): hocket.Workflow?
function named.set_workflows(fn)
  of_file = fn
end

local function load_workflow(run, def)
  check_admitted(run, def, "a workflow")
  local dir = def.file:match "^(.*)/[^/]*$" or "."
  local value = module_of(run, def.file, dir, dir)
  local made = of_file(value, def.file)
  if not made then error({ code = "agent", message = def.file .. ": it returns no workflow" }, 0) end
  return made
end

--- Lets a workflow answer that is an agent (workflow_file.definition).
---@async
---@param step hocket.Step
---@param input string
---@return hocket.Reply?
---@return hocket.Error?
function named.workflow(step, input)
  local value, wrong = settled(pcall(function() return load_workflow(step.run, step.def):run(input) end))
  if value == nil and wrong then return nil, wrong end
  local reply, failed = script_reply.of(value)
  if not reply then return nil, failed end
  return { text = reply.text, value = value, finish = reply.finish or "stop", cut = reply.cut, agent = step.def.name, calls = {}, usage = {} }
end

local text_input = { type = "string", description = "What it is asked, in words: all that it has to know" }

-- A tool takes an object: the workflow's input, or one that has it.
local function parameters_of(def)
  local input = def.input or text_input
  if input.type == "object" then return input, function(args) return json.encode(args) end end
  local parameters = { type = "object", required = { "input" }, properties = { input = input }, additionalProperties = false }
  return parameters, function(args) return type(args.input) == "string" and args.input or json.encode(args.input) end
end

--- The tool of `tools: [workflow:NAME]`. Its call is one of an agent: the caller's budget, rules and grants bind it.
---@param env table
---@param set string
---@return hocket.Tool?
---@return hocket.Error?
function named.tool(env, set)
  local _, name = workflow_file.saved(set)
  local file = name and workflow_file.named(env.agent, name)
  if not file then return nil, { code = "agent", message = ("%s: there is no workflow '%s'"):format(env.agent.file or env.agent.name, set) } end
  local def, problems = workflow_file.definition(file)
  if not def then return nil, { code = "agent", message = problems[1].message } end
  local parameters, as_input = parameters_of(def)
  return tool.new { name = name, description = def.description ~= "" and def.description or ("The workflow %s"):format(name), parameters = parameters,
    steps = true, fence = { "result", name },
    run = function(args)
      local reply, err = orchestrate.call(def, as_input(args), { trigger = "workflow", model = env.model, allowed = env.allowed })
      if not reply then return nil, err end
      return reply.text
    end }
end

return named
