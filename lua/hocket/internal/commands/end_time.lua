--- A time to come as a person writes it: "30d", "12h", "2027-01-31".
local isotime = require "hocket.internal.base.isotime"
local system = require "hocket.internal.core.system"

local end_time = {}

--- Seconds of the units of a time.
end_time.seconds = { s = 1, min = 60, h = 3600, d = 86400, day = 86400 }

---@param text string
---@return integer? seconds Since 1970.
---@return hocket.Error?
function end_time.read(text)
  local now, amount, unit = math.floor(system.wall()), text:match "^(%d+)(%a+)$"
  local ends
  if amount and #amount <= 6 and end_time.seconds[unit] then ends = now + tonumber(amount) * end_time.seconds[unit] else ends = (isotime.ms(text .. "T00:00:00Z") or 0) // 1000 end
  if ends > now then return ends end
  return nil, system.error { code = "invalid", message = ("--expires: expected a time to come, as in 30d, 12h or 2027-01-31, got '%s'"):format(text:sub(1, 40)) }
end

return end_time
