--- Concurrency: children that run side by side and end with their owner.
---
---     local hocket = require "hocket"
---     local flow = hocket.flow
---     local lengths = assert(flow.map({ "a", "bb", "ccc" }, function(word)
---       flow.sleep(0.01)
---       return #word
---     end, { limit = 2 }))
---     print(lengths[3], flow.timeout(1, function() return "in time" end))
---
--- Everything here must run inside a fiber (a script that `hocket run` started, a tool, a pattern). A fiber owns its children:
--- when it ends, raises an error or is cancelled, its children are cancelled, their connections closed, and they end before it
--- does.
local arguments = require("hocket.internal.base.arguments").check
local fiber = require "hocket.internal.core.fiber"
local failed = require("hocket.internal.core.system").error

local flow = {}

--- A function that runs beside its owner.
---@class hocket.Fiber
---@field wait fun(self: hocket.Fiber, seconds?: number): ... Returns its results; raises its error; `nil, error` after the time limit (as for flow.timeout).
---@field cancel fun(self: hocket.Fiber): boolean Cancels it and its children; true if it was still running.
---@field status fun(self: hocket.Fiber): "ready"|"running"|"waiting"|"closing"|"done"

local function check_function(fn, position, what)
  if type(fn) ~= "function" then
    error(("bad argument #%d to '%s' (function expected, got %s)"):format(position, what, type(fn)), 3)
  end
end

local function check_seconds(seconds, what)
  if type(seconds) ~= "number" then
    error(("bad argument #1 to '%s' (number expected, got %s)"):format(what, type(seconds)), 3)
  elseif not (seconds >= 0) then
    error(("bad argument #1 to '%s' (seconds must not be negative)"):format(what), 3)
  end
end

--- Runs `fn(...)` in a fiber, and blocks until it has ended: for a program without a run, on its main thread. Inside a run it just
--- calls it.
---@param fn function
---@return any ... Its results; its errors are raised.
function flow.run(fn, ...)
  check_function(fn, 1, "run")
  if fiber.self() then return fn(...) end
  local results = table.pack(fiber.run(fn, ...))
  if not results[1] then error(results[2], 0) end
  return table.unpack(results, 2, results.n)
end

--- Starts `fn(...)` as a child of the running fiber.
---@param fn function
---@return hocket.Fiber
function flow.spawn(fn, ...)
  check_function(fn, 1, "spawn")
  return fiber.spawn(fn, ...)
end

--- Calls `fn()` at the start of each fiber that begins from now on; nil ends that. For debuggers and profilers, whose hooks belong
--- to one coroutine each (docs/guides/observability.md).
---@param fn? function
function flow.on_begin(fn)
  if fn ~= nil then check_function(fn, 1, "on_begin") end
  fiber.on_begin(fn)
end

--- Waits for this time; others run meanwhile.
---@async
---@param seconds number
function flow.sleep(seconds)
  check_seconds(seconds, "sleep")
  fiber.sleep(seconds)
end

--- Seconds on a clock that never goes back.
---@return number
function flow.now()
  return fiber.now()
end

--- Whether the running fiber was cancelled. Code that catches errors should then stop, and raise again.
---@return boolean
function flow.cancelled()
  return fiber.cancelled()
end

--- Lets every other ready fiber run once.
---@async
function flow.yield()
  fiber.sleep(0)
end

local scope_meta = {
  __close = function(scope)
    for _, child in ipairs(scope) do child:cancel() end
  end,
}

-- Cancels what still runs of `children`, and waits until it has ended.
local function reap(children)
  for _, child in ipairs(children) do child:cancel() end
  for _, child in ipairs(children) do
    child:join()
    fiber.rest()
  end
end

local function check_list(list, what, level)
  if type(list) ~= "table" then
    error(("bad argument #1 to '%s' (a list expected, got %s)"):format(what, type(list)), level or 3)
  end
  return list
end

-- A call in place of a function has been made before it could run beside others.
local function check_functions(list, what)
  check_list(list, what, 4)
  for i, fn in ipairs(list) do
    if type(fn) ~= "function" then
      error(("bad argument #1 to '%s' (item %d is a %s and no function: function() return … end)"):format(what, i, type(fn)), 3)
    end
  end
  return list
end

local function positive_limit(opts)
  local limit = opts and opts.limit
  if limit == nil then return math.huge end
  if math.type(limit) ~= "integer" or limit < 1 then
    error(("bad option 'limit' (an integer of at least 1 expected, got %s)"):format(tostring(limit)), 3)
  end
  return limit
end

-- What has ended one of them in the middle of its own affairs, which nothing but a lack of memory does; nil when
-- nothing has.
local function error_among(children)
  for _, child in ipairs(children) do
    local ok, err = child:result()
    if ok == false then return err end
  end
end

-- Runs work(i) for i = 1…n with at most `limit` at once. `ended(i, ok, …)` learns of each end
-- and returns true to stop early; then the rest is cancelled. Returns after all have ended.
-- `needed`: it ends well only when all have, so that each of them holds its owner up.
local function run_each(n, limit, work, ended, needed)
  local owner, children = fiber.self(), setmetatable({}, scope_meta)
  if not owner then error("this waits: call it inside of a run, or of hocket.flow.run(function() … end); not on the main thread, nor in a coroutine of your own", 3) end
  local scope <close> = children
  local next_one, open, stop = 1, 0, false
  local function worker()
    while next_one <= n and not stop do
      local i = next_one
      next_one = i + 1
      stop = ended(i, pcall(work, i)) or fiber.self():cancelled() or stop
    end
    open = open - 1
    if open == 0 or stop then owner:wake() end
  end
  for _ = 1, math.min(n, limit) do
    open = open + 1
    local child = fiber.spawn(worker)
    if needed or n == 1 then child:hold_up() end
    children[#children + 1] = child
    fiber.rest()
    if stop then break end
  end
  while open > 0 and not stop do
    fiber.park()
    local err = open > 0 and not stop and error_among(children)
    if err then error(err, 0) end
  end
  reap(children)
end

--- Calls fn(item, index) for every item, at most `limit` at once, and waits for all. The first error cancels the others and
--- is raised here.
---@async
---@generic T, R
---@param list T[]
---@param fn fun(item: T, index: integer): R?, any
---@param opts? {limit?: integer}
---@return R[] results First result of each call, by index.
---@return any[] errors Second result of each call whose first was nil, by index.
function flow.map(list, fn, opts)
  arguments("map", 3, "table?", opts)
  check_list(list, "map")
  check_function(fn, 2, "map")
  local results, errors, raised = {}, {}, nil
  run_each(#list, positive_limit(opts), function(i) return fn(list[i], i) end,
    function(i, ok, value, err)
      if not ok then
        raised = raised or { value }
        return true
      end
      results[i] = value
      if value == nil then errors[i] = err end
    end, true)
  if raised then error(raised[1], 0) end
  return results, errors
end

--- Runs all functions side by side and waits for all, like flow.map.
---@async
---@param list function[]
---@param opts? {limit?: integer}
---@return any[] results
---@return any[] errors
function flow.all(list, opts)
  arguments("all", 2, "table?", opts)
  return flow.map(check_functions(list, "all"), function(fn) return fn() end, opts)
end

--- The first function that returns something (not nil) wins; the others are cancelled.
---@async
---@param list function[]
---@return any? value
---@return integer|table index_or_error The index of the winner; or the last error if there is none.
function flow.any(list)
  check_functions(list, "any")
  local winner, value, last
  run_each(#list, math.huge, function(i) return list[i]() end, function(i, ok, result, err)
    if ok and result ~= nil then
      if not winner then winner, value = i, result end
      return true
    end
    last = ok and err or result
  end)
  if winner then return value, winner end
  return nil, last or failed { code = "not_found", message = "nothing to choose from" }
end

--- The first function that ends, with or without an error, decides; the others are cancelled. Its error is raised
--- here.
---@async
---@param list function[]
---@return integer index
---@return any ... Its results.
function flow.race(list)
  check_functions(list, "race")
  if #list == 0 then error("bad argument #1 to 'race' (at least one function expected)", 2) end
  local winner, outcome
  run_each(#list, math.huge, function(i) return list[i]() end, function(i, ...)
    if not winner then winner, outcome = i, table.pack(...) end
    return true
  end)
  if not outcome[1] then error(outcome[2], 0) end
  return winner, table.unpack(outcome, 2, outcome.n)
end

--- Runs fn() for at most this time, then cancels it. Time in which the whole run waits for people does not count: see
--- docs/guides/durable-execution.md, "Time limits".
---@async
---@param seconds number
---@param fn function
---@return any ... Its results, or `nil, error` with the code "timeout", whose field `expired` is fn.
function flow.timeout(seconds, fn)
  check_seconds(seconds, "timeout")
  check_function(fn, 2, "timeout")
  local children = setmetatable({}, scope_meta)
  local scope <close> = children
  children[1] = fiber.spawn(fn)
  if not children[1]:join(seconds) then
    reap(children)
    return nil, failed { code = "timeout", message = ("not done within %g seconds"):format(seconds), expired = fn }
  end
  return children[1]:wait()
end

--- Seconds that clean-up may take where it does not say.
local SHIELDED = 10

--- Runs fn() to its end even if the running fiber is or becomes cancelled: for clean-up that has to wait, in a close handler or
--- after catching a cancel. It delays the end of the fiber, so it has a time limit, after which fn is cancelled. Children of fn are
--- shielded too. Afterwards the fiber is still cancelled.
--- When the host itself is closed, nothing is shielded.
---@async
---@param fn function
---@param opts? {timeout?: number} Seconds, 10 by default.
---@return any ... Its results, or `nil, error` with the code "timeout". Its errors are raised.
function flow.shield(fn, opts)
  check_function(fn, 1, "shield")
  local seconds = opts and opts.timeout or SHIELDED
  if type(seconds) ~= "number" or not (seconds > 0 and seconds < math.huge) then
    error("bad option 'timeout' (seconds expected: clean-up has a limit)", 2)
  end
  local child = fiber.shelter(fn)
  if not child:outlast(seconds) then
    child:cancel()
    child:outlast()
    return nil, { code = "timeout", message = ("not cleaned up within %g seconds"):format(seconds) }
  end
  local outcome = table.pack(child:result())
  if not outcome[1] then error(outcome[2], 0) end
  return table.unpack(outcome, 2, outcome.n)
end

return flow
