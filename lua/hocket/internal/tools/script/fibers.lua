-- Coroutines side by side in the process of a script that a model wrote (tools `workflow` and `lua`). When all of them wait, the calls that only hocket can
-- make go out: {calls = {{id, …}}, cancel = {id}}. One answer comes back: {id, …}.
local base = ...
local env = base.env
local create, resume, yield, running = coroutine.create, coroutine.resume, coroutine.yield, coroutine.running
local pack, unpack = table.pack, table.unpack

local function new_error(err)
  return setmetatable(err, { __tostring = function(e) return ("%s: %s"):format(e.code, e.message) end })
end

-- ---- Coroutines --------------------------------------------------------------------------------

local ready, first, last = {}, 1, 0 -- who is to go on
local waiting, calls, cancelled, count = {}, {}, {}, 0
local tasks = {} -- by coroutine: its children

local function wake(co, ...)
  last = last + 1
  ready[last] = pack(co, ...)
end

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

-- Also inside of itself, where a script calls side by side in a coroutine of its own: each goes on once.
local function run_ready()
  while first <= last do
    local one = ready[first]
    ready[first], first = nil, first + 1
    if tasks[one[1]] then
      local ok, err = resume(one[1], unpack(one, 2, one.n))
      if not ok then error(err, 0) end
      if coroutine.status(one[1]) == "dead" then tasks[one[1]] = nil end
    end
  end
end

-- Asks hocket, and waits for its answer as it comes.
local function ask_raw(call)
  count = count + 1
  call.id = count
  calls[#calls + 1] = call
  waiting[count] = running()
  return yield()
end

-- The same for a word of a workflow: its value, or nil and an error.
local function ask(word, args)
  local answer = ask_raw { word = word, args = args }
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

-- As positive_limit there.
local function check_limit(limit)
  if limit ~= math.huge and (math.type(limit) ~= "integer" or limit < 1) then
    error(("bad option 'limit' (an integer of at least 1 expected, got %s)"):format(env.tostring(limit)), 0)
  end
end

function flow.map(list, fn, opts)
  check_limit(opts.limit)
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

-- Runs a function as the first coroutine, until `over()`; returns why it does not go on, where it does not.
local function run(main, over)
  spawn(main)
  run_ready()
  while not over() do
    if next(waiting) == nil then return "the script waits for nothing that comes" end
    base.say { calls = calls, cancel = cancelled }
    calls, cancelled = {}, {}
    local answer = base.read()
    local co = waiting[answer.id]
    waiting[answer.id] = nil
    if co then wake(co, answer) end
    run_ready()
  end
end

return { ask = ask, ask_raw = ask_raw, flow = flow, new_error = new_error, run = run, is_inside = function() return tasks[running()] ~= nil end }
