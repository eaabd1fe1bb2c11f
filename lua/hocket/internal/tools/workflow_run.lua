-- Runs a workflow that a model wrote (tool `workflow`). Coroutines go side by side here. When all of them wait, the calls that only hocket
-- can make go out: {calls = {{id, word, args}}, cancel = {id}}. One answer comes back: {id, value} or {id, error}.
local base, make_words = ...
local env = base.env
local create, resume, yield, running = coroutine.create, coroutine.resume, coroutine.yield, coroutine.running
local pack, unpack = table.pack, table.unpack

local function new_error(err)
  return setmetatable(err, { __tostring = function(e) return ("%s: %s"):format(e.code, e.message) end })
end

-- ---- Coroutines --------------------------------------------------------------------------------

local ready, waiting, calls, cancelled, count = {}, {}, {}, {}, 0
local tasks = {} -- by coroutine: its children

local function wake(co, ...) ready[#ready + 1] = pack(co, ...) end

local function spawn(fn)
  local co = create(fn)
  local parent = tasks[running()]
  tasks[co] = {}
  if parent then parent[#parent + 1] = co end
  wake(co)
  return co
end

-- Ends a coroutine that waits, and its children.
local function drop(co)
  local children = tasks[co]
  if not children then return end
  tasks[co] = nil
  for _, child in ipairs(children) do drop(child) end
  for id, who in env.pairs(waiting) do
    if who == co then
      waiting[id] = nil
      cancelled[#cancelled + 1] = id
    end
  end
end

local function run_ready()
  local at = 1
  while ready[at] do
    local one = ready[at]
    at = at + 1
    if tasks[one[1]] then
      local ok, err = resume(one[1], unpack(one, 2, one.n))
      if not ok then error(err, 0) end
      if coroutine.status(one[1]) == "dead" then tasks[one[1]] = nil end
    end
  end
  ready = {}
end

-- Asks hocket, and waits for the answer.
local function ask_host(word, args)
  count = count + 1
  calls[#calls + 1] = { id = count, word = word, args = args }
  waiting[count] = running()
  local answer = yield()
  if answer.error then return nil, new_error(answer.error) end
  if answer.value == base.null then return nil end
  return answer.value
end

-- ---- Side by side -----------------------------------------------------------------------------------

-- As run_each of hocket.flow.
local function run_each(n, limit, work, ended)
  local me, next_one, open, over, children = running(), 1, 0, false, {}
  if n == 0 then return end
  local function worker()
    local stop = false
    while next_one <= n and not stop and not over do
      local i = next_one
      next_one = i + 1
      stop = ended(i, pcall(work, i)) or false
    end
    open = open - 1
    if (stop or open == 0) and not over then
      over = true
      wake(me)
    end
  end
  open = math.min(n, limit)
  for i = 1, open do children[i] = spawn(worker) end
  yield()
  for _, child in ipairs(children) do drop(child) end
end

local flow = {}

function flow.map(list, fn, opts)
  local results, errors, raised = {}, {}, nil
  run_each(#list, opts.limit, function(i) return fn(list[i], i) end, function(i, ok, value, err)
    if not ok then
      raised = raised or { value }
      return true
    end
    results[i] = value
    if value == nil then errors[i] = err end
  end)
  if raised then error(raised[1], 0) end
  return results, errors
end

function flow.all(list, opts)
  return flow.map(list, function(fn) return fn() end, opts)
end

function flow.any(list)
  local winner, value, last
  run_each(#list, math.huge, function(i) return list[i]() end, function(i, ok, result, err)
    if ok and result ~= nil then
      if not winner then winner, value = i, result end
      return true
    end
    last = ok and err or result
  end)
  if winner then return value, winner end
  return nil, last or new_error { code = "not_found", message = "nothing to choose from" }
end

-- ---- The module ----------------------------------------------------------------------------------

local words = make_words(flow, new_error)
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

spawn(main)
run_ready()
while not over do
  if next(waiting) == nil then return base.finish(false, "the workflow waits for nothing that comes") end
  base.say { calls = calls, cancel = cancelled }
  calls, cancelled = {}, {}
  local answer = base.read()
  local co = waiting[answer.id]
  waiting[answer.id] = nil
  if co then wake(co, answer) end
  run_ready()
end
base.finish(over[1], over[2])
