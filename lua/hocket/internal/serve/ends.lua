--- Ends of the runs that Lua has started in this host, for each that listens: two servers of one program, an editor's door beside them. The core
--- tells an end once, to one fiber: whoever of the listeners waits first hears it for all.
local core = require "hocket.internal.core.runs"
local fiber = require "hocket.internal.core.fiber"

local ends = {}

local listeners = {}
local hearing -- the listener that waits in the core

local function wake_one()
  for _, one in ipairs(listeners) do
    if one.waiter then return one.waiter:wake() end
  end
end

---@class hocket.Ends
---@field package heard table[] Ends that it has not taken.
---@field package waiter? hocket.Fiber
local Ends = {}
Ends.__index = Ends

--- Listens from now on, until it is closed.
---@return hocket.Ends
function ends.listen()
  local self = setmetatable({ heard = {} }, Ends)
  listeners[#listeners + 1] = self
  return self
end

function Ends:__close()
  for i, one in ipairs(listeners) do
    if one == self then table.remove(listeners, i) break end
  end
  if hearing ~= self then return end
  hearing = nil
  wake_one()
end

local function hear(self)
  hearing = self
  local told = table.pack(core.ended())
  hearing = nil
  for _, one in ipairs(listeners) do one.heard[#one.heard + 1] = told end
  for _, one in ipairs(listeners) do
    if one.waiter then one.waiter:wake() end
  end
end

--- Waits for the next end, of whosever run.
---@async
---@return integer number
---@return string code
---@return string message
---@return string result As JSON.
function Ends:next()
  while not self.heard[1] do
    if hearing then
      self.waiter = fiber.self()
      fiber.park()
      self.waiter = nil
    else
      hear(self)
    end
  end
  return table.unpack(table.remove(self.heard, 1))
end

return ends
