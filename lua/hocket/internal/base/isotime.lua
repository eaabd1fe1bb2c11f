--- Times as texts have them (RFC 3339), as numbers.
local isotime = {}

--- Days since 1970-01-01 of a date of the Gregorian calendar.
---@param year integer
---@param month integer
---@param day integer
---@return integer
function isotime.days(year, month, day)
  local y = month <= 2 and year - 1 or year
  local era = y // 400
  local of_era = y - era * 400
  local of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
  return era * 146097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719468
end

--- Milliseconds since 1970 of a time in UTC, as events have it: "2026-11-23T07:00:00.250Z".
---@param text any
---@return integer?
function isotime.ms(text)
  local y, m, d, h, min, s, ms = tostring(text):match "^(%d%d%d%d)%-(%d%d)%-(%d%d)T(%d%d):(%d%d):(%d%d)%.?(%d*)Z$"
  if not y then return nil end
  local days = isotime.days(tonumber(y), tonumber(m), tonumber(d))
  local seconds = ((days * 24 + tonumber(h)) * 60 + tonumber(min)) * 60 + tonumber(s)
  return seconds * 1000 + tonumber((ms .. "000"):sub(1, 3))
end

return isotime
