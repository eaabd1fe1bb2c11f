--- hocket in a Lua that is not 5.4: LuaJIT and 5.1 to 5.3. Agents and their scripts run in a Lua 5.4 of
--- hocket's own; values go across as copies. This file runs in the engine's Lua, and is written for all of them.
---
---     local hocket = require "hocket"
---     local npc = hocket.host:agent { name = "npc", prompt = "You sell fish." }
---     local run = hocket.start(npc, "Good day!")
---     -- each frame:
---     hocket.host:pump(2)                        -- at most about 2 ms
---     if run:done() then print(run:result().text) end
local core = ...

local hocket = {}

--- JSON: `null` is json.null, json.array marks a table as an array that may be empty.
hocket.json = { null = core.null, array = core.array, encode = core.encode, decode = core.decode }

--- The version of hocket.
function hocket.version() return core.version end

---@class hocket.BridgeHost
local Host = {}
Host.__index = Host

---@class hocket.BridgeRun
local Run = {}
Run.__index = Run

local function expect(value, kind, argument, fn)
  if type(value) ~= kind then
    error(("bad argument #%d to '%s' (%s expected, got %s)"):format(argument, fn, kind, type(value)), 3)
  end
end

--- Opens a host. Options: thread (requests on a thread of their own), max_runs, max_memory, max_connections,
--- max_journal, max_message; store ("memory", or a file) keeps runs, with durability, store_days, store_bytes, store_optional; policy: a text
--- that no run exceeds (docs/guides/guardrails.md).
--- Variables are read with getenv.
---@return hocket.BridgeHost?
---@return table? err {code, message}
function hocket.open(options)
  local handle, err = core.open(options or {})
  if not handle then return nil, err end
  return setmetatable({ handle = handle, runs = {}, tools = {}, calls = {}, saves = {} }, Host)
end

-- ---- Agents and tools -----------------------------------------------------------------------

--- Keeps a text as the target "buffer:NAME": an agent (.md) or a script for hocket's Lua 5.4 (.lua).
---@return string? target
---@return table? err
function Host:load(name, text)
  expect(name, "string", 1, "load")
  expect(text, "string", 2, "load")
  local ok, err = core.load(self.handle, name, text)
  if not ok then return nil, err end
  return "buffer:" .. name
end

--- The same with all agents and scripts of a directory, as they are now, and the hooks of its project.
---@return string? target
---@return table? err
function Host:load_dir(name, dir)
  expect(name, "string", 1, "load_dir")
  expect(dir, "string", 2, "load_dir")
  local ok, err = core.load_dir(self.handle, name, dir)
  if not ok then return nil, err end
  return "buffer:" .. name
end

--- An agent from a table: the keys of an agent file's head, and `prompt`. Agents that were made so can name each
--- other in `agents`.
---@return string? target
---@return table? err
function Host:agent(def)
  expect(def, "table", 1, "agent")
  if type(def.name) ~= "string" or not def.name:find "^[%w_-]+$" then
    error("bad field 'name' of an agent (letters, digits, _ and - expected)", 2)
  end
  local head, keys = {}, {}
  for key in pairs(def) do
    if key ~= "prompt" then keys[#keys + 1] = tostring(key) end
  end
  table.sort(keys)
  for _, key in ipairs(keys) do head[#head + 1] = key .. ": " .. core.encode(def[key]) end
  if not def.description then head[#head + 1] = "description: " .. core.encode(def.name) end
  return self:load("agents/" .. def.name .. ".md",
    "---\n" .. table.concat(head, "\n") .. "\n---\n" .. (def.prompt or "") .. "\n")
end

--- Registers a function of the engine as a tool: {name, description, parameters (JSON Schema), timeout (seconds),
--- run, on_cancel, idempotent}. `run(args, call)` runs inside of `pump`; it returns a text or a table for the model, or nil and
--- what went wrong; or nothing at all, and call:answer(text) or call:fail(message) is called later. An agent
--- has the tool when its `tools` name it. `idempotent = true`: it only reads, or a second call does no harm; a call that a save or
--- the end of the process has interrupted is made again.
---@return boolean? ok
---@return table? err
function Host:tool(def)
  expect(def, "table", 1, "tool")
  if type(def.run) ~= "function" then error("field 'run' of a tool has to be a function", 2) end
  if def.idempotent ~= nil and type(def.idempotent) ~= "boolean" then error("field 'idempotent' of a tool has to be true or false", 2) end
  local ok, err = core.tool(self.handle, def.name, def.description,
    def.parameters and core.encode(def.parameters), math.floor((def.timeout or 0) * 1000), def.idempotent)
  if not ok then return nil, err end
  self.tools[def.name] = def
  return true
end

--- Registers hooks for runs that begin from now on: {name, timeout (seconds), before_tool = fn, …}. Each function gets the event, and
--- returns what it decides, or nothing (docs/guides/hooks.md).
---@param def table
---@return boolean? ok
---@return table? err
function Host:hook(def)
  expect(def, "table", 1, "hook")
  local points = {}
  for key, fn in pairs(def) do
    if key ~= "name" and key ~= "timeout" then
      if type(fn) ~= "function" then error("field '" .. tostring(key) .. "' of a hook has to be a function", 2) end
      points[#points + 1] = key
    end
  end
  if self.tools[def.name] then return nil, { code = "exists", message = "there is a tool or a hook '" .. tostring(def.name) .. "' already" } end
  local ok, err = core.hook(self.handle, def.name, table.concat(points, " "), nil, math.floor((def.timeout or 0) * 1000))
  if not ok then return nil, err end
  self.tools[def.name] = { run = function(event) return def[event.point](event) or "" end }
  return true
end

--- Takes hooks back: they are not asked any more.
---@param name string
---@return boolean? ok
---@return table? err
function Host:remove_hook(name)
  expect(name, "string", 1, "remove_hook")
  local ok, err = core.unhook(self.handle, name)
  if ok then self.tools[name] = nil end
  return ok, err
end

--- Takes a tool back: its functions are not called any more, and calls that are open end with an error.
---@param name string
---@return boolean? ok
---@return table? err
function Host:remove_tool(name)
  expect(name, "string", 1, "remove_tool")
  local ok, err = core.untool(self.handle, name)
  if not ok then return nil, err end
  local def = self.tools[name]
  self.tools[name] = nil
  for id, call in pairs(self.calls) do
    if call.tool == def then self.calls[id] = nil end
  end
  return true
end

local Call = {}
Call.__index = Call

--- Answers a call that was left open. False when nobody waits for it any more.
function Call:answer(value)
  return core.reply(self.handle, self.id, type(value) == "table" and core.encode(value) or tostring(value))
end

function Call:fail(message)
  return core.reply(self.handle, self.id, nil, tostring(message))
end

local function count(...)
  return select("#", ...), ...
end

local function run_tool(tool, call, args)
  local n, ok, value, err = count(pcall(tool.run, args, call))
  if not ok then return call:fail("the tool failed: " .. tostring(value)) end
  if n == 1 then return end -- it will answer later
  if value == nil then return call:fail(type(err) == "table" and err.message or err or "it failed") end
  call:answer(value)
end

-- ---- Delivering -----------------------------------------------------------------------------

-- What a callback raises must not keep the others from theirs: the first error is raised in the end.
local function attempt(self, fn, ...)
  local ok, err = pcall(fn, ...)
  if not ok and self.raised == nil then self.raised = err end
end

local function deliver_calls(self)
  while true do
    local id, name, agent, args = core.call(self.handle)
    if not id then return end
    if name and self.tools[name] then
      local call = setmetatable({ handle = self.handle, id = id, agent = agent, tool = self.tools[name] }, Call)
      self.calls[id] = call
      attempt(self, run_tool, call.tool, call, args)
    elseif not name then
      local call = self.calls[id]
      if call and call.tool.on_cancel then attempt(self, call.tool.on_cancel, call) end
      self.calls[id] = nil
    end
  end
end

local function deliver_events(self)
  while true do
    local id, kind, value, err = core.next(self.handle)
    if not id then return end
    local run = self.runs[id]
    if kind == "result" then
      self.runs[id] = nil
      if run then
        run.outcome = { not err and value or nil, err }
        if run.on_done then attempt(self, run.on_done, run.outcome[1], err) end
      end
    elseif run and run.on_event then
      attempt(self, run.on_event, value)
    elseif run and run.kept then
      run.kept[#run.kept + 1] = value
    end
  end
end

local function deliver_saves(self)
  while true do
    local which, bytes, err = core.saved(self.handle)
    if not which then return end
    local fn = self.saves[which]
    self.saves[which] = nil
    if fn then attempt(self, fn, bytes, err) end
  end
end

local function deliver(self, work_left)
  deliver_calls(self)
  deliver_events(self)
  deliver_saves(self)
  local raised = self.raised
  self.raised = nil
  if raised ~= nil then error(raised, 0) end
  return work_left
end

--- Does what the first run would have to do: reads hocket's scripts, and loads libcurl. Some 15 ms, for a loading screen.
---@return boolean? ok
---@return table? err
function Host:prepare()
  return core.prepare(self.handle)
end

--- Does what can be done now, for about so many milliseconds at most (1), without blocking, and calls what is due.
---@return boolean work_left
function Host:pump(budget)
  return deliver(self, core.pump(self.handle, math.max(1, math.floor((budget or 1) * 1000))))
end

--- Sleeps until something can be done, for at most so many milliseconds, then does it.
---@return boolean work_left
function Host:wait(timeout)
  return deliver(self, core.wait(self.handle, timeout and math.ceil(timeout) or -1))
end

--- A descriptor for a poll, and how many milliseconds it may sleep (nil: for ever).
function Host:fd() return core.fd(self.handle) end

function Host:timeout()
  local ms = core.timeout(self.handle)
  if ms >= 0 then return ms end
end

--- Cancels everything and closes. Nothing can be done with it afterwards; when it was `hocket.host`, a later
--- `require "hocket"` makes a new one.
function Host:close()
  core.close(self.handle)
  if rawget(hocket, "host") == self and package and package.loaded.hocket == hocket then package.loaded.hocket = nil end
  local err = { code = "cancelled", message = "cancelled" }
  for _, run in pairs(self.runs) do run.outcome = { nil, err } end
  self.runs = {}
end

--- Lets `hocket attach NAME` of the same user look into the host (docs/guides/observability.md). Options: look, root.
---@param name? string The process's number when nil.
---@return boolean? ok
---@return table? err
function Host:offer(name, options)
  return core.offer(self.handle, name, options and core.encode(options))
end

--- Takes an offer back: the one of that name, or all.
---@return boolean? ok
---@return table? err
function Host:withdraw(name)
  return core.withdraw(self.handle, name)
end

function Host:stats() return core.stats(self.handle) end

-- ---- Saving ---------------------------------------------------------------------------------

local function save(self, id, fn, where)
  if fn ~= nil then expect(fn, "function", 1, where) end
  local over, bytes, wrong = false, nil, nil
  local which, err = core.save(self.handle, id)
  if not which then return nil, err end
  self.saves[which] = fn or function(...) over, bytes, wrong = true, ... end
  if fn then return true end
  while not over do self:wait() end
  return bytes, wrong
end

--- Saves all runs that go on, as one text, which `host:restore` takes; the host needs a store. `fn(bytes, err)` is called from
--- a later pump; without it this waits (blocks).
---@return string|boolean? bytes
---@return table? err
function Host:save(fn) return save(self, nil, fn, "save") end

--- The same with one run.
---@return string|boolean? bytes
---@return table? err
function Run:save(fn)
  if self.outcome then return nil, { code = "state", message = "the run is over" } end
  return save(self.host, self.id, fn, "save")
end

--- Goes on with what was saved: a list of runs, in the order in which they had begun. Options: as of `start`; on_event and
--- on_done may also be set in each of the runs, before the next pump. What does not fit is refused whole.
---@return hocket.BridgeRun[]? runs
---@return table? err
function Host:restore(bytes, options)
  expect(bytes, "string", 1, "restore")
  local sent, any, own, list = {}, false, {}, {}
  for key, value in pairs(options or {}) do
    if key == "on_event" or key == "on_done" then
      expect(value, "function", 2, "restore")
      own[key] = value
    elseif key == "events" then
      own.events = value
    else
      sent[key], any = value, true
    end
  end
  local first, count = core.restore(self.handle, bytes, any and core.encode(sent) or nil)
  if not first then return nil, count end
  for i = 1, count do
    local run = setmetatable({ host = self, id = first + i - 1, kept = own.events and {} or nil }, Run)
    run.on_event, run.on_done = own.on_event, own.on_done
    self.runs[run.id], list[i] = run, run
  end
  return list
end

-- ---- Runs -----------------------------------------------------------------------------------

--- Starts a run of a target: a name that `load` or `agent` gave, or a path. Options: those of a run
--- (docs/guides/embedding.md), on_event(event), on_done(result, err), events (true: kept for run:events()).
---@return hocket.BridgeRun? run
---@return table? err
function Host:start(target, input, options)
  expect(target, "string", 1, "start")
  local sent, any = {}, false
  local run = setmetatable({ host = self }, Run)
  for key, value in pairs(options or {}) do
    if key == "on_event" or key == "on_done" then
      expect(value, "function", 3, "start")
      run[key] = value
    elseif key == "events" then
      run.kept = value and {} or nil
    else
      sent[key], any = value, true
    end
  end
  local id, err = core.start(self.handle, target, input, any and core.encode(sent) or nil)
  if not id then return nil, err end
  run.id = id
  self.runs[id] = run
  return run
end

--- The same, and waits: blocks.
---@return table? result
---@return table? err
function Host:run(target, input, options)
  local run, err = self:start(target, input, options)
  if not run then return nil, err end
  return run:wait()
end

--- Whether it has ended.
function Run:done() return self.outcome ~= nil end

--- What became of it; nothing while it goes on.
---@return table? result {text, usage, tasks, …} as `hocket run --json` prints it.
---@return table? err {code, message}
function Run:result()
  if self.outcome then return self.outcome[1], self.outcome[2] end
end

--- The events since the last call, when the option `events` keeps them.
function Run:events()
  local list = self.kept or {}
  if self.kept then self.kept = {} end
  return list
end

--- Cancels it. It ends in the next pump.
---@return boolean was_running
function Run:cancel() return not self.outcome and core.cancel(self.host.handle, self.id) end

--- Lets it finish what it is at, and answer: every agent makes one more call at most, without tools.
---@return boolean was_running
function Run:stop() return not self.outcome and core.stop(self.host.handle, self.id) end

local function is_over(run)
  if run.outcome then return { code = "state", message = "the run is over" } end
end

--- Ends what a conversation does just now; it then asks for the next input.
---@return boolean? ok
---@return table? err
function Run:interrupt()
  local over = is_over(self)
  if over then return nil, over end
  return core.interrupt(self.host.handle, self.id)
end

--- Changes options of the run for the agents that begin to work from now on: model, models, variables,
--- max_turns, timeout, priority; `reload = true` reads a conversation's agents anew.
---@return boolean? ok
---@return table? err
function Run:change(options)
  expect(options, "table", 1, "change")
  local over = is_over(self)
  if over then return nil, over end
  return core.change(self.host.handle, self.id, core.encode(options))
end

--- Who has used what so far, as a tree; nil when it has not begun, or is over (its result has the tree).
---@return table?
function Run:tree()
  if self.outcome then return nil end
  return (core.tree(self.host.handle, self.id))
end

--- Answers an event question_asked or approval_requested, by its id.
---@return boolean? ok
---@return table? err
function Run:answer(question, text)
  local over = is_over(self)
  if over then return nil, over end
  return core.answer(self.host.handle, self.id, question, text)
end

--- Says something to an agent at work, which hears it before its next model call.
---@param agent? string Its name, the end of its path, or its operation's id; nil: who works at the run itself.
---@return boolean? ok
---@return table? err
function Run:say(text, agent)
  expect(text, "string", 1, "say")
  local over = is_over(self)
  if over then return nil, over end
  return core.say(self.host.handle, self.id, agent, text)
end

--- Sends it a message: what hocket.signal(name) in it waits for, or is going to.
---@return boolean? ok
---@return table? err
function Run:signal(name, value)
  expect(name, "string", 1, "signal")
  local over = is_over(self)
  if over then return nil, over end
  return core.signal(self.host.handle, self.id, name, core.encode(value))
end

--- Calls yield(...) until the run is over: the engine's own way to wait, in a coroutine of the engine's. hocket
--- neither resumes nor yields it. Somebody has to pump meanwhile, or `yield` does it.
function Run:await(yield, ...)
  expect(yield, "function", 1, "await")
  while not self.outcome do yield(...) end
  return self:result()
end

--- Blocks until it is over.
function Run:wait()
  while not self.outcome do self.host:wait() end
  return self:result()
end

-- ---- One host for all who do not open their own ---------------------------------------------

--- An agent, as a target of `hocket.start` and `hocket.run`; raises what is wrong with it.
function hocket.agent(def)
  local target, err = hocket.host:agent(def)
  return target or error(err.message, 2)
end

--- A tool, for the `tools` of agents; raises what is wrong with it. One of the same name that was made before gives way to it: scripts
--- may be loaded again. Calls that are open end with an error.
function hocket.tool(def)
  local host = hocket.host
  local before = type(def) == "table" and type(def.run) == "function" and host.tools[def.name]
  if before then host:remove_tool(def.name) end
  local ok, err = host:tool(def)
  if not ok and before then host:tool(before) end
  return ok and def.name or error(err.message, 2)
end

function hocket.start(...) return hocket.host:start(...) end

function hocket.run(...) return hocket.host:run(...) end

return setmetatable(hocket, {
  __index = function(self, key)
    if key ~= "host" then return nil end
    local host, err = hocket.open()
    if not host then error(err.message, 2) end
    rawset(self, "host", host)
    return host
  end,
})
