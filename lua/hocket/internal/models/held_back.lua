--- Text that a model writes, held until somebody has decided about it: hooks behind a call, guards of an agent's answer.
---
---     hear("text", "The ro") ──> held ──┬─ release() ────────────> everything, in order
---                                       ├─ release("Another.") ──> this text in its place
---                                       └─ drop() ───────────────> nothing
local effects = require "hocket.internal.base.effects"

local held_back = {}

---@class hocket.HeldBack
---@field package list table[] What was said so far: {fn, …}.
---@field package hear? fun(kind: string, text: string) Whose text it is.
local HeldBack = {}
HeldBack.__index = HeldBack

---@return hocket.HeldBack
function held_back.new()
  return setmetatable({ list = {} }, HeldBack)
end

--- Who hears in place of `hear` until it is released.
---@param hear fun(kind: string, text: string)
---@return fun(kind: string, text: string)
function HeldBack:behind(hear)
  self.hear = hear
  return function(kind, text) self:add(hear, kind, text) end
end

--- Holds a call of fn(kind, value); `inside`: it is the run's own, an event.
---@param fn function
---@param kind string
---@param value any
---@param inside? boolean
function HeldBack:add(fn, kind, value, inside)
  self.list[#self.list + 1] = { fn, kind, value, inside }
end

--- Forgets what was held so far: it was of an attempt that has failed.
function HeldBack:drop()
  self.list = {}
end

-- Listeners are outside of the run.
local function say(fn, kind, value, inside)
  if inside or not effects.here() then return fn(kind, value) end
  effects.aside(fn, kind, value)
end

--- Lets everything out that was held; with a text this in place of what was written.
---@param instead? string
function HeldBack:release(instead)
  local list = self.list
  self.list = {}
  if instead then
    if self.hear and instead ~= "" then say(self.hear, "text", instead) end
    return
  end
  for _, one in ipairs(list) do say(table.unpack(one, 1, 4)) end
end

return held_back
