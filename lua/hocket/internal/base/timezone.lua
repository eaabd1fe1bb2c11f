--- Time zones, from the data of the system (TZif, RFC 9636): which clock time a moment has there.
---
---     local zone = timezone.open "Europe/Berlin"
---     local offset, from, to = zone:at(t)        at the moment t clocks are so many seconds ahead of UTC, from `from` until before `to`
---
--- Moments are whole seconds since 1970, UTC. What comes after the last change in the file follows the rule at its end.
local files = require "hocket.internal.core.fs"
local fs = require "hocket.fs"
local isotime = require "hocket.internal.base.isotime"
local system = require "hocket.internal.core.system"

local timezone = {}

local PLACES = { "/usr/share/zoneinfo", "/usr/lib/zoneinfo" }
timezone.MAX_FILE = 1 << 20
local DAY = 86400

---@class hocket.Zone
---@field name string
local Zone = {}
Zone.__index = Zone

-- ---- Days ---------------------------------------------------------------------------------------

--- The date of a day since 1970-01-01: isotime.days the other way round.
---@return integer year
---@return integer month
---@return integer day
function timezone.date(days)
  local z = days + 719468
  local era = z // 146097
  local of_era = z - era * 146097
  local y = (of_era - of_era // 1460 + of_era // 36524 - of_era // 146096) // 365
  local of_year = of_era - (365 * y + y // 4 - y // 100)
  local m = (5 * of_year + 2) // 153
  local month = m < 10 and m + 3 or m - 9
  return y + era * 400 + (month <= 2 and 1 or 0), month, of_year - (153 * m + 2) // 5 + 1
end

--- 0 is Sunday.
function timezone.weekday(days)
  return (days + 4) % 7
end

local function is_leap(year)
  return year % 4 == 0 and (year % 100 ~= 0 or year % 400 == 0)
end

-- ---- The rule at a file's end: POSIX TZ ------------------------------------------------------------

-- "-3:30" is 3.5 hours behind; the text behind it is the second result.
local function read_time(text)
  local sign, hours, rest = text:match "^([+-]?)(%d%d?%d?)(.*)$"
  if not hours then return nil end
  local seconds = tonumber(hours) * 3600
  for _, unit in ipairs { 60, 1 } do
    local digits, after = rest:match "^:(%d%d)(.*)$"
    if not digits then break end
    seconds, rest = seconds + tonumber(digits) * unit, after
  end
  return sign == "-" and -seconds or seconds, rest
end

local function read_name(text)
  return text:match "^<[%w+-]+>(.*)$" or text:match "^%a%a%a+(.*)$"
end

-- "M3.5.0/2": the seconds since the year's begin, by the clock that holds before.
local function read_change(text)
  local month, week, day, rest = text:match "^,M(%d+)%.(%d)%.(%d)(.*)$"
  local change = month and { month = tonumber(month), week = tonumber(week), day = tonumber(day) }
  if not change then
    local julian, number, after = text:match "^,(J?)(%d+)(.*)$"
    if not number then return nil end
    change, rest = { leapless = julian == "J", number = tonumber(number) }, after
  end
  change.time = 7200
  if rest:sub(1, 1) == "/" then
    change.time, rest = read_time(rest:sub(2))
    if not change.time then return nil end
  end
  return change, rest
end

local function day_of(change, year)
  if not change.month then
    if not change.leapless then return isotime.days(year, 1, 1) + change.number end
    return isotime.days(year, 1, 1) + change.number - 1 + (is_leap(year) and change.number >= 60 and 1 or 0)
  end
  local first = isotime.days(year, change.month, 1)
  local day = first + (change.day - timezone.weekday(first)) % 7 + (change.week - 1) * 7
  local after = change.month == 12 and isotime.days(year + 1, 1, 1) or isotime.days(year, change.month + 1, 1)
  while day >= after do day = day - 7 end
  return day
end

-- POSIX counts the offset to the west.
local function read_rule(text)
  local rest = read_name(text)
  local west
  if rest then west, rest = read_time(rest) end
  if not west then return nil end
  local rule = { standard = -west }
  if rest == "" then return rule end
  rest = read_name(rest)
  if not rest then return nil end
  rule.summer = rule.standard + 3600
  if rest:sub(1, 1) ~= "," then
    west, rest = read_time(rest)
    if not west then return nil end
    rule.summer = -west
  end
  rule.begins, rest = read_change(rest)
  if not rule.begins then return nil end
  rule.ends, rest = read_change(rest)
  return rule.ends and rest == "" and rule or nil
end

-- The changes of three years, in their order: {moment, offset from then on}.
local function changes_around(rule, year)
  local list = {}
  for y = year - 1, year + 1 do
    list[#list + 1] = { day_of(rule.begins, y) * DAY + rule.begins.time - rule.standard, rule.summer }
    list[#list + 1] = { day_of(rule.ends, y) * DAY + rule.ends.time - rule.summer, rule.standard }
  end
  table.sort(list, function(a, b) return a[1] < b[1] end)
  return list
end

local function by_rule(rule, t)
  if not rule.begins then return rule.standard, math.mininteger, math.maxinteger end
  local list = changes_around(rule, (timezone.date(t // DAY)))
  for i = #list, 1, -1 do
    if list[i][1] <= t then return list[i][2], list[i][1], list[i + 1] and list[i + 1][1] or math.maxinteger end
  end
end

-- ---- Files ----------------------------------------------------------------------------------------------

-- What stands at a part's head: how many there are of what. The second part's times have 64 bits.
local function counts(data, at)
  local magic, version, _, utc, std, leap, times, types, chars, body = (">c4 c1 c15 I4 I4 I4 I4 I4 I4"):unpack(data, at)
  if magic ~= "TZif" then return nil end
  return { version = version, utc = utc, std = std, leap = leap, times = times, types = types, chars = chars, body = body }
end

local function read_file(data)
  local old = counts(data, 1)
  if not old or old.version < "2" then return nil end
  local n = counts(data, old.body + old.times * 5 + old.types * 6 + old.chars + old.leap * 8 + old.std + old.utc)
  if not n or n.leap > 0 or n.types == 0 then return nil end
  local zone = { times = {}, offsets = {} }
  local types_at = n.body + n.times * 9
  local function offset_of(index)
    return ((">i4"):unpack(data, types_at + index * 6))
  end
  for i = 1, n.times do
    zone.times[i] = (">i8"):unpack(data, n.body + (i - 1) * 8)
    zone.offsets[i] = offset_of(data:byte(n.body + n.times * 8 + i - 1))
    if i > 1 and zone.times[i] <= zone.times[i - 1] then return nil end
  end
  zone.first = offset_of(0)
  local rule = data:match("^\n([^\n]*)\n", types_at + n.types * 6 + n.chars + n.leap * 12 + n.std + n.utc)
  zone.rule = rule and rule ~= "" and read_rule(rule) or nil
  return (rule == "" or zone.rule) and zone or nil
end

--- A zone without a name, of what stands in a file; nil: it cannot be read.
---@param data string
---@return hocket.Zone?
function timezone.read(data)
  local ok, zone = pcall(read_file, data)
  return ok and zone and setmetatable(zone, Zone) or nil
end

--- The folders in which zones are, the first one that has it counts.
---@return string[]
function timezone.folders()
  local own = system.getenv "TZDIR"
  return own and own ~= "" and { own } or PLACES
end

-- What these name is another zone on each machine, or none that was set.
local NONE = { localtime = true, posixrules = true, Factory = true }

-- "Europe/Berlin", "Etc/GMT+3": nothing that leaves the folder.
local function is_name(name)
  return type(name) == "string" and #name <= 64 and name:find "^%a[%w_+/-]*$" and not name:find "//" and not name:find "/$"
    and not NONE[name:match "[^/]*$"]
end

local function load(name)
  for _, place in ipairs(timezone.folders()) do
    local data = fs.read(place .. "/" .. name, timezone.MAX_FILE)
    if data then
      local zone = timezone.read(data)
      if zone then return zone end
      return system.failure("invalid", "the data of time zone %s (%s/%s) cannot be read", name, place, name)
    end
  end
  return system.failure("invalid", "there is no time zone '%s' on this machine: expected a name as Europe/Berlin or UTC (on Debian they are in the package tzdata)", name)
end

local known = {}

---@param name string
---@return hocket.Zone?
---@return hocket.Error?
function timezone.open(name)
  if name == "UTC" then return setmetatable({ name = name, times = {}, offsets = {}, first = 0 }, Zone) end
  if not is_name(name) then return system.failure("invalid", "'%s' is no time zone: expected a name as Europe/Berlin or UTC", tostring(name)) end
  if known[name] then return known[name] end
  local zone, err = load(name)
  if not zone then return nil, err end
  zone.name = name
  known[name] = zone
  return zone
end

--- The offset from UTC at the moment t, in seconds; since when and until before when it holds.
---@return integer offset
---@return integer from
---@return integer to
function Zone:at(t)
  local times, low, high = self.times, 1, #self.times
  if high == 0 and self.rule then return by_rule(self.rule, t) end
  while low <= high do
    local middle = (low + high) // 2
    if times[middle] <= t then low = middle + 1 else high = middle - 1 end
  end
  if high == 0 then return self.first, math.mininteger, times[1] or math.maxinteger end
  if high < #times then return self.offsets[high], times[high], times[high + 1] end
  if not self.rule then return self.offsets[high], times[high], math.maxinteger end
  local offset, from, to = by_rule(self.rule, t)
  return offset, math.max(from, times[high]), to
end

--- "2026-11-24 06:00"
---@return string
function Zone:text(t)
  local wall = t + (self:at(t))
  local year, month, day = timezone.date(wall // DAY)
  local of_day = wall % DAY
  return ("%04d-%02d-%02d %02d:%02d"):format(year, month, day, of_day // 3600, of_day // 60 % 60)
end

-- ---- This machine's own -------------------------------------------------------------------------------
-- That of TZ, of the link /etc/localtime, of /etc/timezone. It is never guessed, since what goes into a store is read on other
-- machines and for years: where none of them names a zone a person has to.

local LINK, FILE = "/etc/localtime", "/etc/timezone"
--- Seconds in which two zones that are the same have the same clocks.
local SAME = 2 * 366 * 86400

local function nameless(message, ...)
  local mend = "; say whose clocks count, as in --tz Europe/Berlin, or --tz UTC"
  return nil, system.error { code = "invalid", message = message:format(...) .. mend }
end

-- Of a path below a folder of zones what is below it. The data may be there a second time, for clocks as POSIX has them.
local function name_below(machine, path)
  for _, folder in ipairs(path and timezone.folders() or {}) do
    folder = (machine.real(folder) or folder) .. "/"
    if path:sub(1, #folder) == folder then return (path:sub(#folder + 1):gsub("^posix/", "")) end
  end
end

local function named(name, place)
  local zone, err = timezone.open(name)
  if zone then return zone.name end
  return nameless("%s names this machine's time zone, but %s", place, err.message)
end

-- As tzset(3) reads it; a rule ("CET-1CEST") is no name that others know.
local function of_variable(machine, value)
  local text = value:gsub("^:", "")
  local name = text:sub(1, 1) == "/" and name_below(machine, machine.real(text)) or text:gsub("^posix/", "")
  if name:find "^UTC[+-]?00?$" then return "UTC" end
  if timezone.open(name) then return name end
  return nameless("TZ is '%s', and there is no time zone of that name here", (value:sub(1, 80):gsub("[^ -~]", "?")))
end

local function agree(a, b, from)
  local at = from
  while at < from + SAME do
    local x, _, x_to = a:at(at)
    local y, _, y_to = b:at(at)
    if x ~= y then return false end
    at = math.min(x_to, y_to)
  end
  return true
end

-- What was written there by whoever set the machine up. In a container it may be the image's, while the clocks' file is the machine's.
local function of_file(machine)
  local name = (machine.read(FILE, 256) or ""):match "^%s*(%S+)%s*$"
  local data = machine.read(LINK, timezone.MAX_FILE)
  if not name then
    if data then return nameless("this machine's time zone has no name (%s is no link to one)", LINK) end
    return nameless("this machine does not say which time zone it is in (TZ, %s, %s)", LINK, FILE)
  end
  local ok, err = named(name, FILE)
  if not ok or not data then return ok, err end
  local clocks = timezone.read(data)
  if clocks and agree(clocks, timezone.open(name), math.floor(machine.wall())) then return name end
  return nameless("%s says %s, and %s has other clocks", FILE, name, LINK)
end

--- The name of this machine's own time zone; nil and what is to be done where there is none.
---@param machine? {getenv: (fun(name: string): string?), real: (fun(path: string): string?), read: (fun(path: string, limit: integer): string?), wall: fun(): number} For tests.
---@return string?
---@return hocket.Error?
function timezone.here(machine)
  machine = machine or { getenv = system.getenv, real = files.real, read = files.read, wall = system.wall }
  local value = machine.getenv "TZ"
  if value and value ~= "" then return of_variable(machine, value) end
  local name = name_below(machine, machine.real(LINK))
  if name then return named(name, LINK) end
  return of_file(machine)
end

return timezone
