--- A run that an interface has started, or continues with: what its readers hear of it, and what can be said to it. See desk.lua.
local core = require "hocket.internal.core.runs"
local fiber = require "hocket.internal.core.fiber"
local json = require "hocket.json"
local limits = require "hocket.internal.models.limits"
local readers = require "hocket.internal.endpoints.reader"
local system = require "hocket.internal.core.system"

--- Bytes of streamed text of a run that readers may be behind.
local MAX_BEHIND = 1 << 20

---@class hocket.DeskRun
---@field name string Its id: in its events, and in the store.
---@field target? string The agent that it was started with, as it is offered.
---@field run? hocket.Run Once it has begun.
---@field journal? userdata
---@field outcome? {ok: boolean, code?: string, message?: string, result: string}
local DeskRun = {}
DeskRun.__index = DeskRun

local desk_run = {}

--- Wakes the fibers that are a set's keys.
---@param list table<hocket.Fiber, boolean>
function desk_run.wake_all(list)
  for one in pairs(list) do one:wake() end
end

-- Readers that are behind what is kept see a gap, which is reported.
local function keep_delta(self, kind, text, agent, op)
  local ring, after = self.deltas, self.journal:last()
  local newest = ring[ring.last]
  if newest and newest.after == after and newest.agent == agent and newest.kind == kind and newest.op == op and not newest.taken then
    newest.parts[#newest.parts + 1] = text
  else
    ring.last = ring.last + 1
    ring[ring.last] = { after = after, kind = kind, agent = agent, op = op, parts = { text }, number = ring.last }
  end
  ring.bytes = ring.bytes + #text
  while ring.bytes > MAX_BEHIND and ring.first < ring.last do
    local oldest = ring[ring.first]
    for _, part in ipairs(oldest.parts) do ring.bytes = ring.bytes - #part end
    ring[ring.first], ring.first = nil, ring.first + 1
  end
  desk_run.wake_all(self.hungry)
end

--- One that was started, and has not begun.
---@param owner hocket.Desk
---@param number integer
---@param name? string
---@param target? string
---@return hocket.DeskRun
function desk_run.new(owner, number, name, target)
  return setmetatable({
    desk = owner, number = number, name = name, target = target, created_ms = math.floor(system.wall() * 1000), waiting = {}, hungry = {},
    deltas = { first = 1, last = 0, bytes = 0 },
  }, DeskRun)
end

--- It has begun: it can be spoken to.
---@param self hocket.DeskRun
---@param run hocket.Run
function desk_run.begin(self, run)
  self.run, self.journal, self.options = run, run.journal, run.options
  if run.options.deltas then run.tell_delta = function(...) keep_delta(self, ...) end end
  desk_run.wake_all(self.waiting)
  for _, fn in ipairs(self.desk.beginners) do fn(self) end
end

--- Waits until it has begun, or cannot.
---@async
---@return boolean begun
function DeskRun:begun()
  while not self.journal and not self.outcome do
    self.waiting[fiber.self()] = true
    fiber.park()
    self.waiting[fiber.self()] = nil
  end
  return self.journal ~= nil
end

--- Waits until something can be said to it: one that was put away does first again what it has done.
---@async
---@return boolean live
function DeskRun:live()
  if not self:begun() then return false end
  while not self.outcome do
    if self.run:change {} then return true end
    if self.journal:finished() then self:wait() else self.journal:wait(self.journal:last()) end
  end
  return false
end

--- Waits for its end.
---@async
---@return table? result As `hocket run --json` has it.
---@return hocket.Error?
---@return table? partial What exists of a result, of a run that failed.
function DeskRun:wait()
  local me = fiber.self()
  local over <close> = setmetatable({}, { __close = function() self.waiting[me] = nil end })
  while not self.outcome do
    self.waiting[me] = true
    fiber.park()
  end
  local outcome = self.outcome
  local result = json.decode(outcome.result)
  if outcome.ok then return result end
  return nil, system.error { code = outcome.code, message = outcome.message }, result
end

--- A reader of its events.
---@param options? {after?: integer, deltas?: boolean} after: the record behind which it begins; deltas: also text as it is streamed, where the run's option `deltas` asks for it.
---@return hocket.DeskReader
function DeskRun:subscribe(options)
  return readers.new(self, options or {})
end

--- Something to close: unless the run has ended by then, it is cancelled.
---@return table
function DeskRun:bound()
  return setmetatable({}, { __close = function() self:cancel() end })
end

local function of_run(self, name, ...)
  if self.outcome then return nil, { code = "state", message = ("the run %s has ended"):format(self.name) } end
  if not self.run then return nil, { code = "state", message = ("the run %s has not begun"):format(self.name or "") } end
  return self.run[name](self.run, ...)
end

--- Answers a question by the id in its event; an empty text is no answer.
function DeskRun:answer(question, text) return of_run(self, "answer", question, text) end

--- Sends a message to `hocket.signal` in it.
function DeskRun:signal(name, value) return of_run(self, "signal", name, value) end

--- Says something to an agent at work in it.
function DeskRun:say(text, agent) return of_run(self, "say", text, agent) end

--- Ends what a conversation does just now.
function DeskRun:interrupt() return of_run(self, "interrupt") end

--- Changes options of the run, within the limits that the server was started with.
function DeskRun:change(options)
  local within, both = {}, limits.both(self.desk.options, options)
  for name, value in pairs(options) do within[name] = both[name] or value end
  return of_run(self, "change", within)
end

--- Lets it finish what it is at, and answer.
---@return boolean?
---@return hocket.Error?
function DeskRun:stop()
  if self.outcome then return nil, { code = "state", message = ("the run %s has ended"):format(self.name) } end
  if not self.run then return self:cancel() end
  self.run:stop()
  return true
end

--- Ends it now.
---@return boolean? was_running
function DeskRun:cancel()
  if self.outcome then return nil end
  return core.cancel(self.number)
end

--- Puts it away: it can be gone on with from where it is. Only where it is kept.
---@return boolean?
---@return hocket.Error?
function DeskRun:park()
  local last = self.journal and self.journal:last()
  local ok, err = core.park(self.number)
  if ok then self.parked_at = last end -- what it tells of its end here is not in the store, and not so when it goes on
  return ok, err
end

--- The open questions, approvals and inputs that it waits for, in the order in which they were asked.
---@return table[] questions With `id`.
function DeskRun:waits()
  local list = {}
  for id, question in pairs(self.run and not self.outcome and self.run.questions or {}) do
    if question.answer == nil and not question.declined then
      question.id = id
      list[#list + 1] = question
    end
  end
  table.sort(list, function(a, b) return (tonumber(a.id:match "%d+") or 0) < (tonumber(b.id:match "%d+") or 0) end)
  return list
end

--- Whether it does something: one that waits for a person does not.
---@return boolean
function DeskRun:is_at_work()
  for _, question in pairs(self.run and self.run.questions or {}) do
    if question.answer == nil and not question.declined then return false end
  end
  return not self.outcome
end

return desk_run
