--- The host from inside, for programs whose loop is written in Lua.
---
---     local hocket = require "hocket"
---     local smith = hocket.agent { name = "smith", prompt = "You are a smith." }
---     local run = hocket.start(smith, "Good day!", { on_done = function(reply) print(reply.text) end })
---     run:wait()                          -- a program with a loop of its own: `hocket.host:pump(2)` in each round,
---     print(run:done(), #run:events())    -- at most about 2 ms, until `run:done()`
---
--- There are three ways to an answer: ask (`run:done()`, `run:result()`), be called (`on_done`), or wait
--- in a coroutine of one's own, which hocket neither resumes nor yields: `run:await(coroutine.yield)`
--- calls the given function until the run is over. `run:wait()` blocks.
local caught = require "hocket.internal.base.caught"
local core = require "hocket.internal.core.host"
local fiber = require "hocket.internal.core.fiber"
local journals = require "hocket.internal.core.journal"
local json = require "hocket.json"
local system = require "hocket.internal.core.system"

local host = {}

local function milliseconds(value, otherwise, where)
  if value == nil then return otherwise end
  if type(value) ~= "number" or not (value >= 0) then
    error(("bad argument #1 to '%s' (a number of at least 0 expected, got %s)"):format(where, tostring(value)), 3)
  end
  return math.min(value, 1e9)
end

--- Does what can be done now, for about so many milliseconds at most, without blocking. Not inside of a
--- run, and not where the event loop belongs to the program.
---@param budget? number Milliseconds (1).
---@return boolean work_left Also work that waits for the network.
function host:pump(budget)
  return core.pump(math.max(1, math.floor(milliseconds(budget, 1, "pump") * 1000)))
end

--- Sleeps until something can be done, for at most so many milliseconds, then does it.
---@param timeout? number Milliseconds; without it there is no limit.
---@return boolean work_left
function host:wait(timeout)
  local ms = milliseconds(timeout, nil, "wait")
  return core.wait(ms and math.ceil(ms) or -1)
end

--- A descriptor that becomes readable when `pump` has something to do, for a poll.
---@return integer
function host:fd()
  return core.fd()
end

--- How long such a poll may sleep.
---@return number? milliseconds nil: for ever.
function host:timeout()
  local ms = core.timeout()
  if ms >= 0 then return ms end
end

--- Closes the host that `require "hocket"` has made, before its state is closed: runs are cancelled,
--- sockets closed. A later `require "hocket"` makes a new one.
function host:close()
  core.close()
end

-- ---- What was started ---------------------------------------------------------------------

--- A run that goes on while the program does.
---@class hocket.Started
local Started = {}
Started.__index = Started

--- Whether it has ended.
---@return boolean
function Started:done()
  return self.outcome ~= nil
end

--- What became of it; nothing while it goes on.
---@return hocket.Reply?
---@return hocket.Error?
function Started:result()
  if not self.outcome then return nil, nil end
  return self.outcome[1], self.outcome[2]
end

--- Cancels it, down to its sockets. It ends in the next `pump`.
---@return boolean was_running
function Started:cancel()
  return self.fiber:cancel()
end

--- Lets it finish what it is at, and answer: every agent makes one more call at most, without tools.
---@return boolean was_running
function Started:stop()
  if self.outcome or not self.journal then return false end
  require("hocket.internal.run.run").stop(self.journal)
  return true
end

-- What is asked of the run itself, once it has begun.
local function of_run(started, name, ...)
  local run = not started.outcome and started.journal and require("hocket.internal.run.run").by_journal(started.journal)
  if not run then return nil, system.error { code = "state", message = started.outcome and "the run is over" or "the run has not begun" } end
  local ok, err = run[name](run, ...)
  if not ok and type(err) == "table" then system.error(err) end
  return ok, err
end

--- Answers one of its open questions, by the id in its event: question_asked, approval_requested, or
--- input_requested of a conversation, whose next turn the text is; an empty text ends a conversation.
---@param question string
---@param text string
---@return boolean?
---@return hocket.Error? `not_found`, or `invalid` when the text is no answer: the question stays open.
function Started:answer(question, text)
  return of_run(self, "answer", question, text)
end

--- Ends what a conversation does just now; it then asks for the next input.
---@return boolean?
---@return hocket.Error?
function Started:interrupt()
  return of_run(self, "interrupt")
end

--- Changes options of the run for the agents that begin to work from now on: model, models, variables,
--- max_turns, timeout; `reload = true` reads a conversation's agents anew.
---@param options table
---@return boolean?
---@return hocket.Error?
function Started:change(options)
  return of_run(self, "change", options)
end

--- Who has used what so far, as a tree (see the chapter on budgets); nil before it has begun.
---@return table?
function Started:tree()
  local run = self.journal and require("hocket.internal.run.run").by_journal(self.journal)
  return run and run:tree()
end

--- The events that have come since the last call.
---@return table[]
function Started:events()
  local list = {}
  while self.journal do
    local line, seq = self.journal:next(self.cursor)
    if not line then break end
    self.cursor = seq
    list[#list + 1] = json.decode(line)
  end
  return list
end

--- Calls `yield(...)` until the run is over: in a coroutine of the program with the program's way to
--- yield. Somebody has to pump meanwhile; where nobody does, let `yield` do it.
---@param yield function
---@return hocket.Reply?
---@return hocket.Error?
function Started:await(yield, ...)
  if type(yield) ~= "function" then
    error(("bad argument #1 to 'await' (function expected, got %s)"):format(type(yield)), 2)
  end
  while not self.outcome do yield(...) end
  return self:result()
end

--- Waits until the run is over: inside of a fiber as everything that waits, elsewhere it blocks.
---@return hocket.Reply?
---@return hocket.Error?
function Started:wait()
  if fiber.self() then
    self.fiber:join()
  else
    while not self.outcome do core.wait(-1) end
  end
  return self:result()
end

local function take_callback(options, name)
  local fn = options[name]
  if fn ~= nil and type(fn) ~= "function" then
    error(("bad option '%s' (function expected, got %s)"):format(name, type(fn)), 4)
  end
  options[name] = nil
  return fn
end

-- A target as `hocket run` takes it.
---@async
local function run_target(started, target, input, options, on_event)
  local id = system.run_id()
  started.journal = journals.new { run = id }
  local args = { target = target, input = input, options = options }
  local listener = on_event and require("hocket.internal.runner.run_agent").listen({ journal = started.journal }, on_event)
  local result, err = require "hocket.internal.runner.run_target"(args, started.journal, id)
  if listener then listener:wait() end
  if result then result.tasks, result.tree = result.tasks, result.tree end -- fields like the others, for whoever goes through them
  return result, err
end

-- The outcome stands before anybody hears of it, whatever happens in `work`.
---@async
local function perform(started, work, on_done)
  local settled <close> = setmetatable({}, { __close = function()
    if not started.outcome then started.outcome = { nil, { code = "cancelled", message = "cancelled" } } end
  end })
  local ok, reply, err = pcall(work)
  if not ok then reply, err = nil, caught.error(reply) end
  if type(err) == "table" then system.error(err) end
  started.outcome = { reply, err }
  if on_done then on_done(reply, err) end
end

--- See hocket.start.
---@internal
function host.start(what, input, options)
  local copy = {}
  for name, value in pairs(options or {}) do copy[name] = value end
  local on_done = take_callback(copy, "on_done")
  local started = setmetatable({ cursor = 0 }, Started)
  local work
  if type(what) == "string" then
    local on_event = take_callback(copy, "on_event")
    work = function() return run_target(started, what, input, copy, on_event) end
  else
    local runner = require "hocket.internal.runner.run_agent"
    runner.check(what, input, copy, "start")
    work = function() return runner.run_started(what, input, copy, started) end
  end
  started.fiber = fiber.detach(perform, started, work, on_done)
  return started
end

return host
