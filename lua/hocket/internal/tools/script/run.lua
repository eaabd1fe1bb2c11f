-- Runs the script of the tool `lua`. A call by itself goes out as {call, args}, and {ok, text} comes back. In `parallel` and `map` the calls go side by side:
-- {calls = {{id, call, args}}} goes out, and {id, ok, text} comes back for each, in the order in which they ended.
local base, fibers = ...

local function answer_of(answer)
  if answer.ok then return answer.text end
  return nil, answer.text
end

local function call(name, args)
  if args ~= nil and type(args) ~= "table" then error(("tools.%s takes one table of arguments, not a %s"):format(name, type(args)), 3) end
  if fibers.is_inside() then return answer_of(fibers.ask_raw { call = name, args = args or {} }) end
  base.say { call = name, args = args or {} }
  return answer_of(base.read())
end

local tools = setmetatable({}, { __index = function(_, name)
  return function(args) return call(tostring(name), args) end
end, __metatable = false })

--- Calls side by side, where the script says nothing.
local AT_ONCE = 16

-- Side by side, also inside of another one.
local function side_by_side(what, list, fn, opts)
  if type(list) ~= "table" then error(("bad argument #1 to '%s' (a list expected, got %s)"):format(what, type(list)), 3) end
  local limit = opts and opts.limit or AT_ONCE
  local function work() return fibers.flow.map(list, fn, { limit = limit }) end
  if fibers.is_inside() then return work() end
  local over
  local stuck = fibers.run(function() over = table.pack(pcall(work)) end, function() return over ~= nil end)
  if stuck then error(stuck, 0) end
  if not over[1] then error(over[2], 0) end
  return over[2], over[3]
end

base.env.tools = tools
base.env.map = function(list, fn, opts) return side_by_side("map", list, fn, opts) end
base.env.parallel = function(list, opts) return side_by_side("parallel", list, function(fn) return fn() end, opts) end
local start = base.read()
local fn, wrong = load(start.code, "=script", "t", base.env)
if fn then base.finish(xpcall(fn, base.described)) else base.finish(false, wrong) end
