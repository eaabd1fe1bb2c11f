--- In which order the calls of one turn run: side by side, except for the ones that touch the same
--- thing, at least one of them changing it, and for those of a serial tool. They run in the order in
--- which the model made them. Where a person has changed the arguments of one, what they touch counts.
local caught = require "hocket.internal.base.caught"
local fiber = require "hocket.internal.core.fiber"
local wake_all = require "hocket.internal.base.wake_all"

local call_order = {}

local function as_set(list)
  local set = {}
  for _, name in ipairs(list or {}) do set[name] = true end
  return set
end

-- What a call changes and reads, or nil when it says nothing.
local function touches(call)
  if not call.one or not call.one.conflicts then return nil end
  local ok, changes, reads = pcall(call.one.conflicts, call.args)
  if not ok and caught.no_memory(changes) then error(changes, 0) end
  if not ok then return nil end
  return { changes = as_set(changes), reads = as_set(reads) }
end

local function meets(changes, other)
  for name in pairs(changes) do
    if other.changes[name] or other.reads[name] then return true end
  end
  return false
end

local function conflict(a, b, of)
  if a.one and a.one == b.one and a.one.serial then return true end
  local x, y = of[a], of[b]
  return x ~= nil and y ~= nil and (meets(x.changes, y) or meets(y.changes, x))
end

---@class hocket.CallOrder
---@field package calls {one?: hocket.Tool, args?: table}[]
---@field package of table<table, table> What each of them touches.
---@field package before integer[][] Of each, whom it waits for.
---@field package begun table<integer, boolean>
---@field package done table<integer, boolean>
local CallOrder = {}
CallOrder.__index = CallOrder

local function may_meet(calls)
  for _, call in ipairs(calls) do
    if call.one and (call.one.serial or call.one.conflicts) then return true end
  end
  return false
end

--- Looks at the calls of a turn, each {one = tool, args = checked arguments}; those without a tool
--- touch nothing. Returns nil when they can run in any order.
---@param calls {one?: hocket.Tool, args?: table}[]
---@return hocket.CallOrder?
function call_order.new(calls)
  if not may_meet(calls) then return nil end
  local of = {}
  local self = setmetatable({ calls = calls, of = of, before = {}, begun = {}, done = {}, waiting = {} }, CallOrder)
  for _, call in ipairs(calls) do of[call] = touches(call) end
  for i, call in ipairs(calls) do
    local before = {}
    for j = 1, i - 1 do
      if conflict(call, calls[j], of) then before[#before + 1] = j end
    end
    self.before[i] = before
  end
  return self
end

--- Whether two calls must not run beside each other.
---@param a {one?: hocket.Tool, args: table}
---@param b {one?: hocket.Tool, args: table}
---@return boolean
function call_order.meet(a, b)
  if not may_meet { a, b } then return false end
  return conflict(a, b, { [a] = touches(a), [b] = touches(b) })
end

--- Waits until all calls that the i-th must not run beside have ended. Calls have to be begun in order.
---@async
---@param i integer
function CallOrder:wait(i)
  for _, j in ipairs(self.before[i]) do
    while not self.done[j] do
      self.waiting[#self.waiting + 1] = fiber.self()
      fiber.park()
    end
  end
end

--- The arguments of the i-th call are others now. It waits for everybody that they meet and who is first or has begun; the others wait
--- for it.
---@param i integer
function CallOrder:renew(i)
  local call, of, before = self.calls[i], self.of, {}
  of[call] = touches(call)
  for j, other in ipairs(self.calls) do
    if j ~= i and conflict(call, other, of) then
      local list = (j < i or self.begun[j]) and before or self.before[j]
      list[#list + 1] = list == before and j or i
    end
  end
  self.before[i] = before
end

--- The i-th call is about to be made: waits for whoever it has come to meet since it waited first.
---@async
---@param i integer
function CallOrder:begin(i)
  self:wait(i)
  self.begun[i] = true
end

--- The i-th call has ended.
---@param i integer
function CallOrder:finish(i)
  self.done[i] = true
  wake_all(self.waiting)
end

return call_order
