--- Times as crontabs have them, and what becomes of them where clocks are changed.
local t = require "harness"
local cron = require "hocket.internal.schedule.cron"
local isotime = require "hocket.internal.base.isotime"
local timezone = require "hocket.internal.base.timezone"

local utc = assert(timezone.open "UTC")
local berlin = timezone.open "Europe/Berlin"
if not berlin then print "  skipped: what changes clocks (this machine has no data of time zones)" end

local function moment(text)
  local year, month, day, hour, minute, second = text:match "^(%d+)-(%d+)-(%d+) (%d+):(%d+):?(%d*)$"
  return isotime.days(tonumber(year), tonumber(month), tonumber(day)) * 86400 + tonumber(hour) * 3600 + tonumber(minute) * 60 + (tonumber(second) or 0)
end

-- The next n times after a moment in UTC, as clocks of the zone show them.
local function following(text, after, n, zone)
  local times, at, list = assert(cron.parse(text)), moment(after), {}
  for i = 1, n do
    at = assert(times:next(at, zone or utc))
    list[i] = (zone or utc):text(at)
  end
  return list
end

local function refused(text, part)
  local times, err = cron.parse(text)
  t.fails("invalid", part, times, err)
end

t.test("fields, ranges, steps, lists, names", function()
  t.same(following("0 6 * * *", "2026-11-23 06:00", 2), { "2026-11-24 06:00", "2026-11-25 06:00" })
  t.same(following("0 6 * * *", "2026-11-23 05:59:59", 1), { "2026-11-23 06:00" })
  t.same(following("*/20 8-9 * * *", "2026-11-23 08:10", 4), { "2026-11-23 08:20", "2026-11-23 08:40", "2026-11-23 09:00", "2026-11-23 09:20" })
  t.same(following("5,10-12/2 0 1 JAN,jul *", "2026-11-23 00:00", 4), { "2027-01-01 00:05", "2027-01-01 00:10", "2027-01-01 00:12", "2027-07-01 00:05" })
  t.same(following("0 0 * * mon-Fri", "2026-11-27 00:00", 2), { "2026-11-30 00:00", "2026-12-01 00:00" })
  t.same(following("0 0 * * fri-sun", "2026-11-27 00:00", 3), { "2026-11-28 00:00", "2026-11-29 00:00", "2026-12-04 00:00" })
  t.same(following("0 0 * * 7", "2026-11-23 00:00", 1), following("0 0 ? * 0", "2026-11-23 00:00", 1))
  t.same(following("0 0 L * *", "2027-01-31 12:00", 3), { "2027-02-28 00:00", "2027-03-31 00:00", "2027-04-30 00:00" })
  t.same(following(" @Daily ", "2026-11-23 00:00", 1), { "2026-11-24 00:00" })
  t.same(following("@hourly", "2026-11-23 00:00", 1), { "2026-11-23 01:00" })
  t.same(following("@yearly", "2026-11-23 00:00", 1), { "2027-01-01 00:00" })
  t.same(following("0 0 29 2 *", "2096-03-01 00:00", 1), { "2104-02-29 00:00" })
end)

t.test("a day of the month or of the week, as Vixie's cron has it", function()
  t.same(following("0 0 13 * 5", "2026-11-01 00:00", 4), { "2026-11-06 00:00", "2026-11-13 00:00", "2026-11-20 00:00", "2026-11-27 00:00" })
  t.same(following("0 0 1 * mon", "2026-12-28 00:00", 2), { "2027-01-01 00:00", "2027-01-04 00:00" })
  t.same(following("0 0 */2 * mon", "2026-11-23 00:00", 2), { "2026-12-07 00:00", "2026-12-21 00:00" })
  t.same(following("0 0 29 2 */7", "2026-01-01 00:00", 2), { "2032-02-29 00:00", "2060-02-29 00:00" })
end)

t.test("what is wrong is said with its field, and what would be right", function()
  refused("0 6 * *", "has 4 fields")
  refused("60 6 * * *", "minute: 60 is not from 0 to 59")
  refused("0 24 * * *", "hour: 24 is not from 0 to 23")
  refused("0 22-2 * * *", "write 22-23,0-2")
  refused("0 0 * * fri-mon", "write 5-6,0-1")
  refused("5/15 * * * *", "write 5-59/15")
  refused("*/0 * * * *", "a step is a number from 1 to 59")
  refused("*/60 * * * *", "from 1 to 59")
  refused("0 0-20/24 * * *", "from 1 to 23")
  refused("0 0 1,,2 * *", "comma")
  refused("0 0 * foo *", "a name as jan")
  refused("0 0 0 * *", "from 1 to 31")
  refused("0 0 * * 5#2", "expected a number")
  refused("@dayly", "@daily")
  refused("@reboot", "not supported")
  refused("0 0 30 2 *", "is never")
  refused("0 0 31 4,6,9,11 *", "is never")
  refused(("0,"):rep(2000) .. "0 x * * *", "hour")
  refused("", "has 0 fields")
  refused(nil, "a text")
  refused("-1 0 * * *", "minute")
end)

t.test("clocks that are put forward: a time that is left out comes at the change, once", function()
  if not berlin then return end
  t.same(following("30 2 * * *", "2027-03-27 12:00", 2, berlin), { "2027-03-28 03:00", "2027-03-29 02:30" })
  t.same(following("*/10 2 * * *", "2027-03-27 12:00", 2, berlin), { "2027-03-28 03:00", "2027-03-29 02:00" })
  t.same(following("0,30 2,3 * * *", "2027-03-27 12:00", 3, berlin), { "2027-03-28 03:00", "2027-03-28 03:30", "2027-03-29 02:00" })
  t.same(following("*/30 * * * *", "2027-03-28 00:20", 3, berlin), { "2027-03-28 01:30", "2027-03-28 03:00", "2027-03-28 03:30" })
  t.same(following("30 * * * *", "2027-03-28 00:00", 2, berlin), { "2027-03-28 01:30", "2027-03-28 03:30" })
end)

t.test("clocks that are put back: a time that comes twice counts once, an interval goes on", function()
  if not berlin then return end
  t.same(following("30 2 * * *", "2026-10-24 12:00", 2, berlin), { "2026-10-25 02:30", "2026-10-26 02:30" })
  t.equal(assert(cron.parse "30 2 * * *"):next(moment "2026-10-24 12:00", berlin), moment "2026-10-25 00:30")
  local times, at, list = assert(cron.parse "*/30 * * * *"), moment "2026-10-24 23:45", {}
  for i = 1, 5 do
    at = times:next(at, berlin)
    list[i] = at - moment "2026-10-25 00:00"
  end
  t.same(list, { 0, 1800, 3600, 5400, 7200 })
  -- from between the two: what has been is not again
  t.equal(assert(cron.parse "30 2 * * *"):next(moment "2026-10-25 01:10", berlin), moment "2026-10-26 01:30")
end)

t.test("New York, and Lord Howe, whose clocks change by half an hour", function()
  local york, howe = timezone.open "America/New_York", timezone.open "Australia/Lord_Howe"
  if not york or not howe then return end
  -- forward on 2027-03-14 from 02:00 to 03:00, back on 2027-11-07 from 02:00 to 01:00
  t.same(following("30 2 * * *", "2027-03-13 12:00", 3, york), { "2027-03-14 03:00", "2027-03-15 02:30", "2027-03-16 02:30" })
  t.same(following("30 1 * * *", "2027-11-06 12:00", 3, york), { "2027-11-07 01:30", "2027-11-08 01:30", "2027-11-09 01:30" })
  t.equal(assert(cron.parse "30 1 * * *"):next(moment "2027-11-06 12:00", york), moment "2027-11-07 05:30") -- the first of the two
  t.equal(assert(cron.parse "30 1 * * *"):next(moment "2027-11-07 06:10", york), moment "2027-11-08 06:30") -- and not the second
  -- forward on 2026-10-04 from 02:00 to 02:30, back on 2027-04-04 from 02:00 to 01:30
  t.same(following("15 2 * * *", "2026-10-03 12:00", 2, howe), { "2026-10-04 02:30", "2026-10-05 02:15" })
  t.same(following("45 1 * * *", "2027-04-03 12:00", 2, howe), { "2027-04-04 01:45", "2027-04-05 01:45" })
  t.equal(assert(cron.parse "45 1 * * *"):next(moment "2027-04-03 12:00", howe), moment "2027-04-03 14:45")
  t.same(following("0 * * * *", "2026-10-03 15:10", 3, howe), { "2026-10-04 03:00", "2026-10-04 04:00", "2026-10-04 05:00" })
end)

t.test("far times: 2100 is no leap year, zones go on by their rule", function()
  local york = timezone.open "America/New_York"
  if not york then return end
  t.same(following("0 0 29 2 *", "2096-03-01 00:00", 2, york), { "2104-02-29 00:00", "2108-02-29 00:00" })
  t.same(following("30 2 * * sun", "2100-03-13 12:00", 2, york), { "2100-03-14 03:00", "2100-03-21 02:30" })
end)

t.test("a day that is left out comes with the next one", function()
  local apia = timezone.open "Pacific/Apia"
  if not apia then return end
  t.same(following("0 6 30 12 *", "2011-12-29 20:00", 1, apia), { "2011-12-31 00:00" })
end)

-- ---- Against going through all minutes ------------------------------------------------------------------

local function pick(low, high)
  local kind = math.random(6)
  if kind <= 2 then return "*" end
  if kind == 3 then return ("*/%d"):format(math.random(1, high - low)) end
  local a, b = math.random(low, high), math.random(low, high)
  if a > b then a, b = b, a end
  if kind == 4 then return ("%d-%d"):format(a, b) end
  return a == b and tostring(a) or ("%d,%d"):format(a, b)
end

-- Read anew, in the plainest way.
local function holds(text, low, high, n)
  for part in (text .. ","):gmatch "([^,]*)," do
    local range, step = part:match "^(.-)/(%d+)$"
    range = range or part
    local from, to = range:match "^(%d+)%-(%d+)$"
    if range == "*" then from, to = low, high elseif not from then from, to = range, range end
    from, to = tonumber(from), tonumber(to)
    if n >= from and n <= to and (n - from) % (tonumber(step) or 1) == 0 then return true end
  end
  return false
end

local function matches(fields, wall)
  local days, of_day = wall // 86400, wall % 86400
  local _, month, day = timezone.date(days)
  local by_month, by_week = holds(fields[3], 1, 31, day), holds(fields[5], 0, 6, timezone.weekday(days))
  local both = fields[3]:sub(1, 1) == "*" or fields[5]:sub(1, 1) == "*"
  local on_day = both and by_month and by_week or not both and (by_month or by_week)
  return on_day and holds(fields[4], 1, 12, month) and holds(fields[2], 0, 23, of_day // 3600) and holds(fields[1], 0, 59, of_day // 60 % 60)
end

-- All moments from `from` on, for so many minutes, by their definition: a time of day at the first moment that shows it or more.
local function all_moments(fields, zone, from, minutes)
  local list, latest = {}, from - 60 + (zone:at(from - 60))
  for m = 0, minutes - 1 do
    local at = from + m * 60
    local wall = at + (zone:at(at))
    local here = false
    if fields[2]:sub(1, 1) == "*" then
      here = matches(fields, wall)
    else
      for w = latest + 60, wall, 60 do here = here or matches(fields, w) end
      latest = math.max(latest, wall)
    end
    if here then list[#list + 1] = at end
  end
  return list
end

t.test("any times, in any zone, over changes of clocks: as going through all minutes finds them", function()
  if not berlin then return end
  local changes = {
    { "Europe/Berlin", "2027-03-26 23:00" }, { "Europe/Berlin", "2026-10-23 23:00" }, { "America/New_York", "2027-03-13 00:00" },
    { "Australia/Lord_Howe", "2027-04-02 00:00" }, { "Australia/Lord_Howe", "2026-10-02 20:00" }, { "Pacific/Apia", "2011-12-29 00:00" },
    { "Antarctica/Troll", "2027-03-27 00:00" }, { "America/Sao_Paulo", "2018-11-03 00:00" }, { "UTC", "2028-02-27 12:00" }, { "Asia/Gaza", "2023-04-28 00:00" },
  }
  for round = 1, 60 do
    local name, text = table.unpack(changes[round % #changes + 1])
    local zone, from = assert(timezone.open(name)), moment(text)
    local fields = { pick(0, 59), pick(0, 23), pick(1, 31), pick(1, 12), pick(0, 6) }
    if round % 2 == 0 then fields[3], fields[4], fields[5] = "*", "*", "*" end
    local line = table.concat(fields, " ")
    local times = cron.parse(line)
    if times then
      local expected, at, found = all_moments(fields, zone, from, 3 * 1440), from - 1, {}
      while true do
        at = times:next(at, zone)
        if not at or at >= from + 3 * 86400 then break end
        found[#found + 1] = at
      end
      t.same(found, expected, name .. ": " .. line)
    end
  end
end)

return t.finish()
