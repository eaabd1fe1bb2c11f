--- What has to be asked of the store, or told there, waits for it while it is away, as everything that is kept does.
local fiber = require "hocket.internal.core.fiber"

--- Seconds between two attempts: the first pause, each doubled, and the longest.
local FIRST, LONGEST = 0.05, 2

--- Calls ask(...) until it answers, or fails with what another attempt would meet again.
---@async
---@param ask fun(...): any, hocket.Error?
---@param ... any
---@return any answer
---@return hocket.Error?
return function(ask, ...)
  local pause = FIRST
  while true do
    local answer, err = ask(...)
    if answer or type(err) ~= "table" or not err.retryable then return answer, err end
    fiber.sleep(pause)
    pause = math.min(pause * 2, LONGEST)
  end
end
