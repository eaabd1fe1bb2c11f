-- Runs a workflow that a model wrote (tool `workflow`), with the coroutines of script/fibers.lua.
local base, fibers, make_words = ...
local env, ask_host, flow, new_error, pack = base.env, fibers.ask, fibers.flow, fibers.new_error, table.pack

-- ---- The module ----------------------------------------------------------------------------------

local words = make_words(flow, new_error, function(goal, value)
  local verdict, err = ask_host("check", { goal = goal, value = value })
  if not verdict then return nil, err end
  return verdict.holds, verdict.missing
end)
local workflow = { map = words.map, parallel = words.parallel, pipeline = words.pipeline, race = words.race, loop = words.loop }

function workflow.agent(spec)
  if type(spec) ~= "table" then error(("bad argument #1 to 'agent' (a table expected, got %s)"):format(type(spec)), 2) end
  local args = {}
  for name, value in env.pairs(spec) do args[name == 1 and "agent" or name] = value end
  return ask_host("agent", args)
end

function workflow.ask_again(id, input) return ask_host("ask_again", { id = id, input = input }) end
function workflow.phase(name, planned) ask_host("phase", { name = name, planned = planned }) end
function workflow.report(text) ask_host("report", { text = text }) end
function workflow.ask(question) return ask_host("ask", { text = question }) end
function workflow.approve(text) return ask_host("approve", { text = text }) end
function workflow.signal(name, opts) return ask_host("signal", { name = name, timeout = opts and opts.timeout }) end
function workflow.sleep_until(time) ask_host("sleep_until", { time = time }) end
function workflow.step(name, fn) return fn(tostring(name)) end -- what it calls is in the log by itself
function workflow.checkpoint(state) return state end
function workflow.budget() error("'budget' is not for scripts of a model: give 'agent' a budget", 2) end

local Made = {}

function workflow.new(def)
  words.check_fields("workflow", def, { description = "string", input = "table", output = "table", run = "function" })
  return setmetatable(def, Made)
end

setmetatable(workflow, { __call = function(_, def) return workflow.new(def) end })

local modules = { [("hocket.%s"):format "workflow"] = workflow, ["hocket.json"] = { encode = env.json.encode, decode = env.json.decode, null = base.null, array = function(list) return list end } }
modules.hocket = { workflow = workflow, json = modules["hocket.json"] }

env.require = function(name)
  return modules[name] or error(("there is no module '%s' here, but those of hocket that are called workflow and json"):format(tostring(name)), 2)
end

env.load, env.coroutine = nil, nil

-- ---- The script ------------------------------------------------------------------------------------

local start = base.read()
local fn, wrong = load(start.code, "=workflow", "t", env)
if not fn then return base.finish(false, wrong) end

local over
local function main()
  over = pack(xpcall(function()
    local made = fn()
    if getmetatable(made) ~= Made then error("the script returns no workflow: return workflow { … }", 0) end
    local input = start.input
    if input == base.null then input = nil end
    local value, err = made.run(input)
    if value == nil and err ~= nil then error(err, 0) end
    return value
  end, base.described))
end

local stuck = fibers.run(main, function() return over ~= nil end)
if stuck then base.finish(false, stuck) else base.finish(over[1], over[2]) end
