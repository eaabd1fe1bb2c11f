--- The calls of a sandboxed script that go side by side: the tools `workflow` and `lua`. The script says which calls it makes and which it gives up; it gets
--- one answer at a time, in the order in which the calls ended. That order is in the log (script/process.lua), so a script that is resumed gets the same.
---
---     {calls = {{id, …}}, cancel = {id}} ──> a fiber for each, `at_once` of them ──> {id, …}, one at a time
local fiber = require "hocket.internal.core.fiber"
local system = require "hocket.internal.core.system"

local script_queue = {}

--- Calls that wait at once.
local MOST = 10000

---@class hocket.ScriptQueue
---@field package work fun(call: table): table What comes of a call, for the script.
---@field package refuses? fun(call: table): table? What a call comes to that is not to be made; called in the order in which the script asks.
---@field package may_begin? fun(call: table, others: table[]): boolean Whether it may run beside the calls that came before it.
---@field package at_once integer
---@field package open table[] Calls that wait.
---@field package at_work table<integer, {fiber: hocket.Fiber, call: table}> By id.
---@field package answers table[]
---@field package fiber hocket.Fiber
local ScriptQueue = {}
ScriptQueue.__index = ScriptQueue

--- Makes one. To be closed: what is at work ends with it.
---@param at_once integer
---@param work fun(call: table): table
---@param may_begin? fun(call: table, others: table[]): boolean
---@param refuses? fun(call: table): table?
---@return hocket.ScriptQueue
function script_queue.new(at_once, work, may_begin, refuses)
  return setmetatable({ at_once = at_once, work = work, may_begin = may_begin, refuses = refuses, open = {}, at_work = {}, answers = {}, fiber = fiber.self() }, ScriptQueue)
end

ScriptQueue.__close = function(self)
  for _, one in pairs(self.at_work) do one.fiber:cancel() end
end

-- Makes a call in a fiber of its own, and puts the answer at the end of the queue.
local function begin(self, call)
  local one = { call = call }
  self.at_work[call.id] = one
  one.fiber = fiber.spawn(function()
    local answer = self.work(call)
    answer.id = call.id
    self.at_work[call.id] = nil
    self.answers[#self.answers + 1] = answer
    self.fiber:wake()
  end)
end

-- The calls that came before the i-th waiting one, and have not ended.
local function before(self, i)
  local list = {}
  for _, one in pairs(self.at_work) do list[#list + 1] = one.call end
  return table.move(self.open, 1, i - 1, #list + 1, list)
end

local function count(map)
  local n = 0
  for _ in pairs(map) do n = n + 1 end
  return n
end

local function begin_more(self)
  local i = 1
  while self.open[i] and count(self.at_work) < self.at_once do
    if not self.may_begin or self.may_begin(self.open[i], before(self, i)) then begin(self, table.remove(self.open, i)) else i = i + 1 end
  end
end

local function without(list, id)
  for i = #list, 1, -1 do
    if list[i].id == id then table.remove(list, i) end
  end
end

local function cancel(self, id)
  if self.at_work[id] then self.at_work[id].fiber:cancel() end
  self.at_work[id] = nil
  without(self.open, id)
  without(self.answers, id)
end

-- Puts a call at the end of the waiting ones; where it is not to be made, its answer at the end of the answers.
local function take(self, call)
  local answer = self.refuses and self.refuses(call)
  if answer then
    answer.id = call.id
    self.answers[#self.answers + 1] = answer
  else
    self.open[#self.open + 1] = call
  end
  return #self.open <= MOST and #self.answers <= MOST
end

local function invalid(message)
  return nil, system.error { code = "invalid", message = message }
end

--- Takes what the script asks for; returns the next answer for it.
---@async
---@param message table
---@return table? answer
---@return hocket.Error?
function ScriptQueue:next(message)
  for _, id in ipairs(type(message.cancel) == "table" and message.cancel or {}) do cancel(self, id) end
  for _, call in ipairs(type(message.calls) == "table" and message.calls or {}) do
    if type(call) ~= "table" or math.type(call.id) ~= "integer" then return invalid "the script wrote what is no call" end
    if not take(self, call) then return nil, system.error { code = "limit", message = ("the script makes more than %d calls at once"):format(MOST) } end
  end
  begin_more(self)
  while not self.answers[1] do
    if next(self.at_work) == nil and not self.open[1] then return invalid "the script waits for what it has not asked for" end
    fiber.park()
    begin_more(self)
  end
  return table.remove(self.answers, 1)
end

return script_queue
