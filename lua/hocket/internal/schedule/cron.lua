--- Times as crontabs have them: `0 6 * * mon-fri`. Pure: the clock is an argument.
---
---     local times = cron.parse "*/15 8-17 * * *"
---     local t = times:next(after, zone)          the next moment after `after`; nil: never
---
--- As in Vixie's cron, a day has to match the day of the month or that of the week where both say something, and both where one of them begins
--- with a `*`. Where clocks are put forward, a time that is left out comes at the moment of the change; where they are put back, one that
--- comes twice counts once, the first time. An hour that begins with `*` says "every so often" and not a time of the day: then nothing
--- is made up for, and both of two equal times count.
local isotime = require "hocket.internal.base.isotime"
local sorted_keys = require "hocket.internal.base.sorted_keys"
local suggest = require "hocket.internal.base.suggest"
local system = require "hocket.internal.core.system"
local timezone = require "hocket.internal.base.timezone"
local trim = require "hocket.internal.base.trim"

local cron = {}

local DAY, MINUTE = 86400, 60

local words = {
  ["@yearly"] = "0 0 1 1 *", ["@annually"] = "0 0 1 1 *", ["@monthly"] = "0 0 1 * *", ["@weekly"] = "0 0 * * 0",
  ["@daily"] = "0 0 * * *", ["@midnight"] = "0 0 * * *", ["@hourly"] = "0 * * * *",
}

local function numbered(first, text)
  local names = {}
  for name in text:gmatch "%a+" do names[name], first = first, first + 1 end
  return names
end

local fields = {
  { name = "minute", low = 0, high = 59 },
  { name = "hour", low = 0, high = 23 },
  { name = "day of the month", low = 1, high = 31, last = true, any = true },
  { name = "month", low = 1, high = 12, names = numbered(1, "jan feb mar apr may jun jul aug sep oct nov dec") },
  { name = "day of the week", low = 0, high = 7, any = true, names = numbered(0, "sun mon tue wed thu fri sat") },
}

---@class hocket.CronTimes
---@field text string As it was given.
local Times = {}
Times.__index = Times

local function fail(message, ...)
  error(system.error { code = "invalid", message = message:format(...) }, 0)
end

-- ---- Reading --------------------------------------------------------------------------------------

local function read_value(field, text, is_end)
  local n = field.names and field.names[text:lower():match "^%a+$" or ""]
  if n == 0 and is_end and field.high == 7 then return 7 end -- fri-sun
  n = n or text:find "^%d%d?$" and math.tointeger(tonumber(text))
  if not n then
    local known = field.names and ("a number from %d to %d or a name as %s"):format(field.low, field.high, field.high == 7 and "mon" or "jan")
    fail("%s: '%s' is none: expected %s", field.name, text, known or ("a number from %d to %d"):format(field.low, field.high))
  end
  if n < field.low or n > field.high then fail("%s: %d is not from %d to %d", field.name, n, field.low, field.high) end
  return n
end

local function read_range(field, text)
  if text == "*" or text == "?" and field.any then return field.low, field.high == 7 and 6 or field.high end
  local from, to = text:match "^(%w+)%-(%w+)$"
  if not from then
    local n = read_value(field, text)
    return n, n
  end
  from, to = read_value(field, from), read_value(field, to, true)
  if from > to then
    local low, high = field.low, field.high == 7 and 6 or field.high
    fail("%s: %s goes backwards: write %d-%d,%d-%d", field.name, text, from, high, low, to)
  end
  return from, to
end

-- One of a list: `*`, `5`, `1-5`, each but a single number also with `/2`.
local function read_part(field, part, set)
  if field.last and part:lower() == "l" then
    set.last = true
    return
  end
  local range, step = part:match "^([^/]*)/(.*)$"
  local from, to = read_range(field, range or part)
  if step then
    local n = step:find "^%d%d?$" and math.tointeger(tonumber(step))
    if not n or n < 1 or n > field.high then fail("%s: a step is a number from 1 to %d, as in */2, not '%s'", field.name, field.high, part) end
    if from == to and range:find "^%w+$" then fail("%s: a step needs a range: write %d-%d/%d in place of %s", field.name, from, field.high, n, part) end
    step = n
  end
  for n = from, to, step or 1 do set[field.high == 7 and n % 7 or n] = true end
end

local function read_field(field, text)
  local set = { star = text:find "^[*?]" ~= nil }
  for part in (text .. ","):gmatch "([^,]*)," do
    if part == "" then fail("%s: there is nothing before or behind a comma in '%s'", field.name, text) end
    read_part(field, part, set)
  end
  return set
end

local function read_word(text)
  local meant = words[text:lower()]
  if meant then return meant end
  if text:lower() == "@reboot" then fail "@reboot is not supported: schedules belong to the store, not to one machine" end
  local list = sorted_keys(words)
  local near = suggest(text, list)
  fail("there is no '%s'%s (there are: %s)", text, near and (": did you mean %s?"):format(near) or "", table.concat(list, ", "))
end

local function read(text)
  if type(text) ~= "string" then fail("times are a text, as '0 6 * * *', and not a %s", type(text)) end
  local given = trim.both(text)
  if given:find "^@" then given = read_word(given) end
  local parts = {}
  for part in given:gmatch "%S+" do parts[#parts + 1] = part end
  if #parts ~= 5 then fail("'%s' has %d fields: expected minute, hour, day of the month, month and day of the week, as in '0 6 * * *'", text, #parts) end
  local sets = {}
  for i, field in ipairs(fields) do sets[i] = read_field(field, parts[i]) end
  return setmetatable({ text = text, minutes = sets[1], hours = sets[2], days = sets[3], months = sets[4], weekdays = sets[5] }, Times)
end

-- ---- Times of a calendar ---------------------------------------------------------------------------

local function length_of(year, month)
  local next_year, next_month = year, month + 1
  if month == 12 then next_year, next_month = year + 1, 1 end
  return isotime.days(next_year, next_month, 1) - isotime.days(year, month, 1)
end

local function has_day(self, day, month_length, weekday)
  local by_month = self.days[day] or self.days.last and day == month_length
  local by_week = self.weekdays[weekday]
  if self.days.star or self.weekdays.star then return by_month and by_week end
  return by_month or by_week
end

-- The first minute of the day at or after `minute` that matches.
local function minute_of(self, minute)
  for hour = minute // 60, 23 do
    if self.hours[hour] then
      for m = hour == minute // 60 and minute % 60 or 0, 59 do
        if self.minutes[m] then return hour * 60 + m end
      end
    end
  end
end

-- The calendar is the same again after 400 years, to the day of the week: what is not in these is never.
local YEARS = 400

-- The first clock time at or after `wall` that matches, as seconds; nil: never.
local function next_wall(self, wall)
  local minutes = -(-wall // MINUTE)
  local day, minute = minutes // 1440, minutes % 1440
  local year, month, of_month = timezone.date(day)
  for y = year, year + YEARS do
    for m = y == year and month or 1, 12 do
      local length = self.months[m] and length_of(y, m) or 0
      for d = of_month, length do
        local here = isotime.days(y, m, d)
        local found = has_day(self, d, length, timezone.weekday(here)) and minute_of(self, here == day and minute or 0)
        if found then return here * DAY + found * MINUTE end
      end
      of_month = 1
    end
  end
end

-- ---- Moments -------------------------------------------------------------------------------------------

-- Each moment whose clock time matches: times that do not exist are passed over, the ones that come twice count twice.
local function next_of_interval(self, t, zone)
  t = t + 1
  while true do
    local offset, _, to = zone:at(t)
    local wall = next_wall(self, t + offset)
    if not wall then return nil end
    if wall - offset < to then return wall - offset end
    t = to
  end
end

-- The latest clock time that was seen until t: before clocks were put back it was later than it is now.
local function latest_wall(zone, t)
  local offset, from = zone:at(t)
  local latest = t + offset
  while from > t - 2 * DAY do
    local before = from - 1
    offset, from = zone:at(before)
    latest = math.max(latest, before + offset)
  end
  return latest
end

-- The first moment at which clocks show that time or a later one.
local function next_of_day(self, t, zone)
  local wall = next_wall(self, latest_wall(zone, t) + 1)
  if not wall then return nil end
  local offset, _, to = zone:at(t)
  while wall - offset >= to do
    t = to
    offset, _, to = zone:at(t)
  end
  return math.max(t, wall - offset)
end

--- The next moment after t, in seconds since 1970; nil: there is none.
---@param t integer
---@param zone hocket.Zone
---@return integer?
function Times:next(t, zone)
  return (self.hours.star and next_of_interval or next_of_day)(self, t, zone)
end

---@param text string
---@return hocket.CronTimes?
---@return hocket.Error? Which field is wrong, and what would be right.
function cron.parse(text)
  local ok, times = pcall(read, text)
  if not ok then
    if type(times) == "string" then error(times, 0) end
    return nil, times
  end
  if not next_wall(times, 0) then return nil, system.error { code = "invalid", message = ("'%s' is never: no month has such a day"):format(text) } end
  return times
end

return cron
