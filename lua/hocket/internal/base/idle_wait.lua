--- Waits that are no work of the run: time limits count work, and stand still while a run waits for people alone
--- (src/bind/fiber/work_clock.h).
---
---     idle_wait("people", wait, question)     for what somebody outside says
---     idle_wait("run", wait, message)         for another run, which has limits of its own
local fiber = require "hocket.internal.core.fiber"

local back = { __close = function(self) fiber.away(self.was) end }

--- Calls fn(...), which waits, and returns what it returns. Whoever asks another run for what its people say waits for people.
---@async
---@param kind "people"|"run"
---@param fn fun(...): ...
---@return any ...
return function(kind, fn, ...)
  local was = fiber.away()
  local at_work <close> = setmetatable({ was = was }, back)
  if was ~= "people" then fiber.away(kind) end
  return fn(...)
end
