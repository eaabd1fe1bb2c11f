--- The host as seen from Lua, for programs whose loop is written in Lua.
---
---     local hocket = require "hocket"
---     local smith = hocket.agent { name = "smith", prompt = "You are a smith." }
---     local run = hocket.start(smith, "Good day!", { on_done = function(reply) print(reply.text) end })
---     run:wait()                          -- a program with a loop of its own: `hocket.host:pump(2)` in each round,
---     print(run:done(), #run:events())    -- at most about 2 ms, until `run:done()`
---
--- There are three ways to get an answer: poll (`run:done()`, `run:result()`), a callback (`on_done`), or a wait in your own
--- coroutine, which hocket neither resumes nor yields. `run:await(coroutine.yield)` calls the given function until the run is over.
--- `run:wait()` blocks.
local caught = require "hocket.internal.base.caught"
local core = require "hocket.internal.core.host"
local fiber = require "hocket.internal.core.fiber"
local journals = require "hocket.internal.core.journal"
local json = require "hocket.json"
local system = require "hocket.internal.core.system"

local host = {}
local closed = false
local under_way = setmetatable({}, { __mode = "k" }) -- what was started and has not ended

local function milliseconds(value, otherwise, where)
  if value == nil then return otherwise end
  if type(value) ~= "number" or not (value >= 0) then
    error(("bad argument #1 to '%s' (a number of at least 0 expected, got %s)"):format(where, tostring(value)), 3)
  end
  return math.min(value, 1e9)
end

--- Does what the first run would have to do: reads hocket's scripts, and loads libcurl. Some 15 ms of CPU, once; for a loading screen.
---@return boolean? ok
---@return hocket.Error? err `unsupported`: there is no libcurl. Runs without models work.
function host:prepare()
  return core.prepare()
end

--- Does what is possible now, for at most about this time, without blocking. Not allowed inside a run, or if the event loop belongs
--- to the program.
---@param budget? number Milliseconds (1).
---@return boolean work_left Includes work that waits for the network.
function host:pump(budget)
  return core.pump(math.max(1, math.floor(milliseconds(budget, 1, "pump") * 1000)))
end

--- Sleeps until there is something to do, for at most this time, then does it.
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

--- The longest time that such a poll may sleep.
---@return number? milliseconds nil: no limit.
function host:timeout()
  local ms = core.timeout()
  if ms >= 0 then return ms end
end

--- Counts: runs, runs_ended, events, fibers, requests, tool_calls, lua_bytes.
---@return table<string, integer>
function host:stats()
  return core.stats()
end

--- Closes the host that `require "hocket"` has made, before its state is closed: runs are cancelled, connections closed. A later
--- `require "hocket"` makes a new one; modules of the closed host raise an error.
function host:close()
  if closed then return end
  core.close()
  closed = true
  for started in pairs(under_way) do started:end_with { code = "cancelled", message = "cancelled" } end
end

-- ---- Targets and tools of the program ------------------------------------------------------

local function expect(value, kind, argument, where)
  if type(value) ~= kind then
    error(("bad argument #%d to '%s' (%s expected, got %s)"):format(argument, where, kind, type(value)), 3)
  end
end

-- What was raised is the second result.
local function attempt(fn, ...)
  local ok, err = pcall(fn, ...)
  if ok then return true end
  return nil, system.error(type(err) == "table" and err or { code = "invalid", message = tostring(err) })
end

--- Keeps a text in memory as the target "buffer:NAME": an agent (.md) or a script (.lua).
---@param name string
---@param text string
---@return string? target
---@return hocket.Error?
function host:load(name, text)
  expect(name, "string", 1, "load")
  expect(text, "string", 2, "load")
  local ok, err = attempt(require("hocket.internal.host.buffers").add, name, text)
  if not ok then return nil, err end
  return "buffer:" .. name
end

--- The same for all agents and scripts of a directory, in their present form, with the hooks of its project.
---@param name string
---@param dir string
---@return string? target
---@return hocket.Error?
function host:load_dir(name, dir)
  expect(name, "string", 1, "load_dir")
  expect(dir, "string", 2, "load_dir")
  local ok, err = attempt(require("hocket.internal.host.buffers").directory, name, dir)
  if not ok then return nil, err end
  return "buffer:" .. name
end

--- Makes an agent from a table a target: the keys of an agent file, and `prompt`. Such agents can name each other in `agents`, and
--- tools of `host:tool` in `tools`.
---@param def table
---@return string? target
---@return hocket.Error?
function host:agent(def)
  expect(def, "table", 1, "agent")
  if type(def.name) ~= "string" or not def.name:find "^[%w_-]+$" then
    error("bad field 'name' of an agent (letters, digits, _ and - expected)", 2)
  end
  local head, keys = {}, {}
  for key in pairs(def) do
    if key ~= "prompt" then keys[#keys + 1] = tostring(key) end
  end
  table.sort(keys)
  for _, key in ipairs(keys) do head[#head + 1] = key .. ": " .. json.encode(def[key]) end
  if not def.description then head[#head + 1] = "description: " .. json.encode(def.name) end
  return self:load("agents/" .. def.name .. ".md", "---\n" .. table.concat(head, "\n") .. "\n---\n" .. (def.prompt or "") .. "\n")
end

--- Registers a function as a tool: {name, description, parameters (JSON Schema), timeout (seconds), run, on_cancel, idempotent}. `run(args,
--- call)` returns a text or a table for the model, or nil and an error message; or nothing, and calls call:answer(value) or
--- call:fail(message) later. An agent has the tool if its `tools` names it. `idempotent = true`: it only reads, or a second call does
--- no harm; a call that a save or the end of the process has interrupted is made again.
---@param def table
---@return boolean? ok
---@return hocket.Error?
function host:tool(def)
  expect(def, "table", 1, "tool")
  if type(def.run) ~= "function" then error("field 'run' of a tool has to be a function", 2) end
  return attempt(require("hocket.internal.host.tools").keep, def)
end

--- Removes such a tool: its functions are no longer called, and open calls end with an error.
---@param name string
---@return boolean? ok
---@return hocket.Error?
function host:remove_tool(name)
  expect(name, "string", 1, "remove_tool")
  return attempt(require("hocket.internal.host.tools").take_back, name)
end

--- Registers hooks for runs that begin from now on: {name, timeout (seconds), before_tool = fn, …}, as in a project's hooks.lua
--- (docs/guides/hooks.md). They are asked before those of the project.
---@param def table
---@return boolean? ok
---@return hocket.Error?
function host:hook(def)
  expect(def, "table", 1, "hook")
  return attempt(require("hocket.internal.host.hooks").keep, def)
end

--- Removes such hooks: they are no longer asked.
---@param name string
---@return boolean? ok
---@return hocket.Error?
function host:remove_hook(name)
  expect(name, "string", 1, "remove_hook")
  return attempt(require("hocket.internal.host.hooks").remove, name)
end

-- ---- Saving --------------------------------------------------------------------------------

local function cannot_save()
  return nil, system.error { code = "unsupported",
    message = "runs in the program's own Lua state cannot be saved, as what they see of its tables stands in no log; hocket.open { store = \"memory\" } makes a host whose runs can" }
end

--- Runs of this host live in the program's own Lua state and cannot be saved; runs of a host from `hocket.open` can
--- (docs/guides/games.md).
---@return nil
---@return hocket.Error `unsupported`
function host:save()
  return cannot_save()
end

--- The same: only a host from `hocket.open` can load saves.
---@return nil
---@return hocket.Error `unsupported`
function host:restore()
  return cannot_save()
end

-- ---- Telemetry -----------------------------------------------------------------------------

---@class hocket.Telling
local Telling = {}
Telling.__index = Telling

--- Sends telemetry of new runs to a collector, by OpenTelemetry's variables (docs/guides/observability.md).
---@param variables? table<string, string> Used instead of the environment.
---@return hocket.Telling? telling nil without an error: they name no collector.
---@return hocket.Error? `state`: telemetry is already on; `invalid`.
function host:telemetry(variables)
  if variables ~= nil then expect(variables, "table", 1, "telemetry") end
  local opened, err = require("hocket.internal.telemetry.service").open(variables)
  if not opened then return nil, err end
  return setmetatable({ opened = opened }, Telling)
end

--- Sends the rest and ends telemetry. Waits inside a fiber; elsewhere it blocks.
---@param seconds? number At most (3).
---@return {sent: table<string, integer>, dropped: table<string, integer>} By signal: traces, metrics, logs.
function Telling:close(seconds)
  seconds = milliseconds(seconds, 3, "close")
  local over = self.result ~= nil
  local function close()
    local settled <close> = setmetatable({}, { __close = function() over = true end })
    self.result = self.opened:close(seconds)
  end
  local at_work = not over and fiber.detach(close)
  if at_work and fiber.self() then at_work:join() end
  while not over and not closed do core.wait(-1) end
  return self.result or { sent = {}, dropped = {} }
end

-- ---- Looking into it ---------------------------------------------------------------------

--- Allows this process's owner to use `hocket attach NAME` (docs/guides/observability.md): to look at its runs, agents, boards and
--- events, and to control them. `look = true`: only look. `root`: what root may do; refused by default.
---@param name? string Default: the process number; a path to a socket begins with '/'.
---@param options? {look?: boolean, root?: "none"|"look"|"all"}
---@return string? name
---@return hocket.Error? `exists`: the name is taken.
function host:offer(name, options)
  return require("hocket.internal.host.offer").open(name, options)
end

--- Ends offers: the one with this name, or all.
---@param name? string
---@return boolean was_offered
function host:withdraw(name)
  return require("hocket.internal.host.offer").close(name)
end

-- ---- What was started ---------------------------------------------------------------------

--- A run that works while the program continues.
---@class hocket.Started
local Started = {}
Started.__index = Started

--- Whether it has ended.
---@return boolean
function Started:done()
  return self.outcome ~= nil
end

--- Its result; nothing while it works.
---@return hocket.Reply?
---@return hocket.Error?
function Started:result()
  if not self.outcome then return nil, nil end
  return self.outcome[1], self.outcome[2]
end

--- Cancels it and closes its connections. It ends in the next `pump`.
---@return boolean was_running
function Started:cancel()
  if self.outcome then return false end
  if self.begun then return self.fiber:cancel() end
  self.given_up = true -- a fiber that never begins could not end it
  return true
end

--- Lets it finish its current work and answer: every agent makes at most one more call, without tools.
---@return boolean was_running
function Started:stop()
  if self.outcome or not self.journal then return false end
  require("hocket.internal.run.run").stop(self.journal)
  return true
end

--- See host:save.
---@return nil
---@return hocket.Error `unsupported`
function Started:save()
  return cannot_save()
end

-- What is asked of the run itself, once it has begun.
local function of_run(started, name, ...)
  local run = not started.outcome and started.journal and require("hocket.internal.run.run").by_journal(started.journal)
  if not run then return nil, system.error { code = "state", message = started.outcome and "the run is over" or "the run has not begun" } end
  local ok, err = run[name](run, ...)
  if not ok and type(err) == "table" then system.error(err) end
  return ok, err
end

--- Answers an open question, by the id in its event: question_asked, approval_requested, or input_requested of a conversation, for
--- which the text is the next message; an empty text ends the conversation.
---@param question string
---@param text string
---@return boolean?
---@return hocket.Error? `not_found`; or `invalid` if the text is no answer: the question stays open.
function Started:answer(question, text)
  return of_run(self, "answer", question, text)
end

--- Sends a signal, which hocket.signal(name) in the run receives.
---@param name string
---@param value any Data.
---@return boolean?
---@return hocket.Error? `limit` if 1000 signals already wait.
function Started:signal(name, value)
  return of_run(self, "signal", name, value)
end

--- Says something to one of its agents at work, which hears it before its next model call; one that was about to answer goes on.
---@param text string
---@param agent? string Its name, the end of its path ("lead/writer"), or its operation's id; nil: who works at the run itself.
---@return string? id Of the message in its events.
---@return hocket.Error? `not_found`, `state` when it has ended, `invalid`, `limit`.
function Started:say(text, agent)
  return of_run(self, "say", text, agent)
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

--- Who has used what so far, as a tree (see the chapter on budgets); nil before it has begun, and when it is over: its
--- result has the tree.
---@return table?
function Started:tree()
  if self.outcome then return nil end
  local run = self.journal and require("hocket.internal.run.run").by_journal(self.journal)
  return run and run:tree()
end

--- The events that have come since the last call; with the option `deltas` also the text of the streams, as events
--- `model_delta`.
---@return table[]
function Started:events()
  local list, deltas, i = {}, self.deltas or {}, 1
  self.deltas, self.delta_bytes = nil, 0
  while self.journal and not closed do
    local line, seq = self.journal:next(self.cursor)
    while deltas[i] and (not line or deltas[i].after < seq) do
      list[#list + 1], i = deltas[i].event, i + 1
    end
    if not line then break end
    self.cursor = seq
    list[#list + 1] = json.decode(line)
  end
  return list
end

-- Bytes of text that nobody has asked for, at most: then everything that is older goes, since the answer has it.
local MAX_DELTAS = 1 << 20

function Started:keep_delta(event)
  self.delta_bytes = (self.delta_bytes or 0) + #event.text
  if self.delta_bytes > MAX_DELTAS then self.deltas, self.delta_bytes = nil, #event.text end
  self.deltas = self.deltas or {}
  self.deltas[#self.deltas + 1] = { after = self.journal:last(), event = event }
end

-- What becomes of the text of a run's streams; an error of the program's function does not end the stream.
function Started:delta_teller(on_event, deliver)
  return function(kind, text, agent, op)
    local event = { seq = 0, type = "model_delta", agent = agent, op = op, kind = kind, text = text }
    if not on_event then return self:keep_delta(event) end
    deliver() -- what came before it
    local ok, err = pcall(on_event, event)
    if not ok and fiber.cancelled() then error(err, 0) end
  end
end

function Started:end_with(err)
  if not self.outcome then self.outcome, under_way[self] = { nil, err }, nil end
end

---@internal
function Started:of(run, on_event, deliver)
  self.journal = run.journal
  run.tell_delta = self:delta_teller(on_event, deliver)
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
  local runner = on_event and require "hocket.internal.runner.run_agent"
  local listener, deliver
  if runner then listener, deliver = runner.listen({ journal = started.journal }, on_event) end
  local left <close> = runner and runner.rest(deliver)
  local args = { target = target, input = input, options = options, tell_delta = started:delta_teller(on_event, deliver) }
  local result, err = require "hocket.internal.runner.run_target"(args, started.journal, id)
  if listener then listener:wait() end
  if result then result.tasks, result.tree = result.tasks, result.tree end -- fields like the others, for whoever goes through them
  return result, err
end

-- The work of a run that was cancelled before it began: its events are its end.
---@async
local function nothing(started, on_event)
  started.journal = journals.new { run = system.run_id() }
  local listener = on_event and require "hocket.internal.runner.run_agent".listen({ journal = started.journal }, on_event)
  started.journal:close "cancelled"
  if listener then listener:wait() end
  return nil, { code = "cancelled", message = "cancelled" }
end

-- The outcome stands before anybody learns of it, whatever happens in `work`.
---@async
local function perform(started, work, on_event, on_done)
  started.begun = true
  local settled <close> = setmetatable({}, { __close = function()
    started:end_with { code = "cancelled", message = "cancelled" }
  end })
  local ok, reply, err = pcall(started.given_up and nothing or work, started, on_event)
  if not ok then reply, err = nil, caught.error(reply) end
  if type(err) == "table" then system.error(err) end
  started.outcome, under_way[started] = { reply, err }, nil
  if on_done then on_done(reply, err) end
end

--- As hocket.start.
---@param what hocket.Agent|string
---@param input? string
---@param options? table
---@return hocket.Started
function host:start(what, input, options)
  local copy = {}
  for name, value in pairs(options or {}) do copy[name] = value end
  copy.events = nil -- they are kept in any case
  local on_done = take_callback(copy, "on_done")
  local started = setmetatable({ cursor = 0 }, Started)
  local work, on_event
  if type(what) == "string" then
    on_event = take_callback(copy, "on_event")
    work = function() return run_target(started, what, input, copy, on_event) end
  else
    local runner = require "hocket.internal.runner.run_agent"
    runner.check(what, input, copy, "start")
    on_event = copy.on_event
    work = function() return runner.run_started(what, input, copy, started) end
  end
  started.fiber = fiber.detach(perform, started, work, on_event, on_done)
  under_way[started] = true
  return started
end

--- The same, and waits.
---@return hocket.Reply?
---@return hocket.Error?
function host:run(what, input, options)
  return self:start(what, input, options):wait()
end

return host
