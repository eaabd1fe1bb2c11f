--- Time zones against date(1), which reads the same data.
local t = require "harness"
local process = require "hocket.process"
local timezone = require "hocket.internal.base.timezone"

t.test("days and dates are each other's", function()
  t.equal(timezone.days(1970, 1, 1), 0)
  t.equal(timezone.days(2000, 3, 1), 11017)
  t.equal(timezone.weekday(timezone.days(2026, 11, 23)), 1)
  for day = -200000, 200000, 37 do
    local year, month, of_month = timezone.date(day)
    t.equal(timezone.days(year, month, of_month), day)
  end
end)

t.test("a name is a name and no path", function()
  for _, name in ipairs { "", "../../etc/passwd", "/etc/localtime", "Europe/../../passwd", "Europe//Berlin", "Europe/", "Mars/Phobos", ("a"):rep(70), "Europe" } do
    local zone, err = timezone.open(name)
    t.equal(zone, nil)
    t.equal(err.code, "invalid")
  end
  t.equal(timezone.open "UTC":text(0), "1970-01-01 00:00")
end)

local function has_data()
  if timezone.open "Europe/Berlin" then return true end
  print "  skipped: this machine has no data of time zones"
end

-- What date(1) says of these moments: offsets and texts.
local function asked(name, moments)
  local lines = {}
  for i, moment in ipairs(moments) do lines[i] = "@" .. moment end
  local done = assert(process.run { argv = { "date", "-f", "-", "+%z %Y-%m-%d %H:%M" }, cwd = "/", sandbox = "limits",
    env = { "TZ=" .. name, "PATH=/usr/bin:/bin" }, input = table.concat(lines, "\n") .. "\n" })
  t.equal(done.stderr, "")
  local offsets, texts = {}, {}
  for sign, hours, minutes, text in done.stdout:gmatch "([+-])(%d%d)(%d%d) ([^\n]*)\n" do
    offsets[#offsets + 1] = (sign == "-" and -1 or 1) * (tonumber(hours) * 60 + tonumber(minutes)) * 60
    texts[#texts + 1] = text
  end
  return offsets, texts
end

-- Half an hour before and behind each change from 1975 on (before, offsets have seconds), and moments between.
local function moments_of(zone)
  local list, at, last = {}, timezone.days(1975, 1, 1) * 86400, timezone.days(2120, 1, 1) * 86400
  while at < last do
    local _, _, to = zone:at(at)
    list[#list + 1] = at
    if to < last then table.move({ to - 1, to, to + 1800 }, 1, 3, #list + 1, list) end
    at = math.max(to, at + 1)
    if to == math.maxinteger then break end
  end
  for _ = 1, 50 do list[#list + 1] = math.random(timezone.days(1975, 1, 1), timezone.days(2120, 1, 1)) * 86400 + math.random(86400) end
  return list
end

local names = { "Europe/Berlin", "Europe/Dublin", "America/New_York", "America/Sao_Paulo", "America/St_Johns", "America/Nuuk", "Asia/Kathmandu", "Asia/Tehran", "Africa/Casablanca",
  "Africa/Cairo", "Australia/Lord_Howe", "Pacific/Apia", "Pacific/Chatham", "Antarctica/Troll", "Asia/Gaza", "Etc/GMT+3", "UTC" }

t.test("clocks show what date(1) says, at each change and between, also after the last one of the data", function()
  if not has_data() then return end
  for _, name in ipairs(names) do
    local zone = assert(timezone.open(name))
    local moments = moments_of(zone)
    local offsets, texts = asked(name, moments)
    t.equal(#offsets, #moments)
    for i, moment in ipairs(moments) do
      if (zone:at(moment)) ~= offsets[i] then t.equal(("%s at %d: %d"):format(name, moment, zone:at(moment)), tostring(offsets[i])) end
      t.equal(zone:text(moment), texts[i])
    end
  end
end)

t.test("an offset holds from its first second until before the next", function()
  if not has_data() then return end
  for _, name in ipairs(names) do
    local zone = assert(timezone.open(name))
    local at = timezone.days(2020, 1, 1) * 86400
    for _ = 1, 60 do
      local offset, from, to = zone:at(at)
      assert(from <= at and at < to)
      t.equal((zone:at(math.max(from, at - 86400 * 365))), offset)
      if to == math.maxinteger then break end
      t.equal((zone:at(to - 1)), offset)
      t.equal(select(2, zone:at(to)), to)
      at = to
    end
  end
end)

return t.finish()
