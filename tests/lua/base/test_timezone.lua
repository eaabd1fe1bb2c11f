--- Time zones against date(1), which reads the same data.
local t = require "harness"
local fs = require "hocket.internal.core.fs"
local process = require "hocket.process"
local isotime = require "hocket.internal.base.isotime"
local timezone = require "hocket.internal.base.timezone"

t.test("days and dates are each other's", function()
  t.equal(isotime.days(1970, 1, 1), 0)
  t.equal(isotime.days(2000, 3, 1), 11017)
  t.equal(timezone.weekday(isotime.days(2026, 11, 23)), 1)
  for day = -200000, 200000, 37 do
    local year, month, of_month = timezone.date(day)
    t.equal(isotime.days(year, month, of_month), day)
  end
end)

t.test("a name is a name and no path", function()
  for _, name in ipairs { "", "../../etc/passwd", "/etc/localtime", "Europe/../../passwd", "Europe//Berlin", "Europe/", "Mars/Phobos", ("a"):rep(70), "Europe",
    "localtime", "posix/localtime", "posixrules", "Factory" } do
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
  local list, at, last = {}, isotime.days(1975, 1, 1) * 86400, isotime.days(2120, 1, 1) * 86400
  while at < last do
    local _, _, to = zone:at(at)
    list[#list + 1] = at
    if to < last then table.move({ to - 1, to, to + 1800 }, 1, 3, #list + 1, list) end
    at = math.max(to, at + 1)
    if to == math.maxinteger then break end
  end
  for _ = 1, 50 do list[#list + 1] = math.random(isotime.days(1975, 1, 1), isotime.days(2120, 1, 1)) * 86400 + math.random(86400) end
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
    local at = isotime.days(2020, 1, 1) * 86400
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

t.test("data without a change in it follow the rule at their end", function()
  local head = (">c4 c1 c15 I4 I4 I4 I4 I4 I4"):pack("TZif", "2", "", 0, 0, 0, 0, 1, 4)
  local body = (">i4 B B c4"):pack(3600, 0, 0, "CET")
  local zone = assert(timezone.read(head .. body .. head .. body .. "\nCET-1CEST,M3.5.0,M10.5.0/3\n"))
  t.equal((zone:at(isotime.days(2026, 1, 1) * 86400)), 3600)
  t.equal((zone:at(isotime.days(2026, 7, 1) * 86400)), 7200)
end)

-- ---- This machine's own ----------------------------------------------------------------------------

-- A machine: the variable, where /etc/localtime leads to (a copy stays where it is), what stands in it and in /etc/timezone.
local function here(variable, link, timezone_file, data)
  local files = { ["/etc/timezone"] = timezone_file, ["/etc/localtime"] = data }
  return timezone.here {
    getenv = function(name) return name == "TZ" and variable or nil end,
    real = function(path)
      if path == "/etc/localtime" then return link end
      return fs.real(path)
    end,
    read = function(path, limit) return files[path] and files[path]:sub(1, limit) end,
    wall = function() return 1795000000 end,
  }
end

local function unnamed(what, ...)
  local name, err = here(...)
  t.equal(name, nil)
  t.equal(err.code, "invalid")
  t.matches(err.message, what)
  t.matches(err.message, "say whose clocks count, as in %-%-tz Europe/Berlin")
  t.ok(not err.message:find "[%c\127-\255]" and #err.message < 400)
end

local ZONES = fs.real "/usr/share/zoneinfo" or "/usr/share/zoneinfo"
local function data_of(name)
  return assert(fs.read(ZONES .. "/" .. name, timezone.MAX_FILE))
end

t.test("the machine's own zone: TZ, else the link, else the file", function()
  if not has_data() then return end
  local berlin = ZONES .. "/Europe/Berlin"
  t.equal(here("Europe/Rome", berlin, "Asia/Tokyo\n"), "Europe/Rome")
  t.equal(here(nil, berlin, "Asia/Tokyo\n"), "Europe/Berlin")
  t.equal(here(nil, nil, "Asia/Tokyo\n"), "Asia/Tokyo")
  t.equal(here("", berlin), "Europe/Berlin") -- as one that is not set
  t.equal(here(nil, ZONES .. "/posix/Europe/Berlin"), "Europe/Berlin")
  t.equal(here(nil, ZONES .. "/Etc/UTC", "Europe/Berlin\n"), "Etc/UTC")
end)

t.test("a copy has the name of the file beside it, when that one has the same clocks", function()
  if not has_data() then return end
  t.equal(here(nil, "/etc/localtime", "Europe/Berlin\n", data_of "Europe/Berlin"), "Europe/Berlin")
  t.equal(here(nil, "/elsewhere/copy", "Europe/Vienna\n", data_of "Europe/Berlin"), "Europe/Vienna")
  unnamed("/etc/timezone says Etc/UTC, and /etc/localtime has other clocks", nil, "/etc/localtime", "Etc/UTC\n", data_of "Europe/Berlin")
  unnamed("has other clocks", nil, "/etc/localtime", "Africa/Lagos\n", data_of "Europe/Berlin") -- the same in winter alone
  unnamed("has other clocks", nil, "/etc/localtime", "Europe/Berlin\n", "TZif2 and no more")
  unnamed("has no name", nil, "/etc/localtime", nil, data_of "Europe/Berlin")
  unnamed("has no name", nil, "/etc/localtime", "", data_of "Etc/UTC")
end)

t.test("TZ as tzset reads it: a name, or a path to one", function()
  if not has_data() then return end
  t.equal(here ":Europe/Rome", "Europe/Rome")
  t.equal(here "posix/Europe/Rome", "Europe/Rome")
  t.equal(here(ZONES .. "/Europe/Rome"), "Europe/Rome")
  t.equal(here(":" .. ZONES .. "/posix/Europe/Rome"), "Europe/Rome")
  t.equal(here(ZONES .. "/Europe/../Asia/Tokyo"), "Asia/Tokyo")
  t.equal(here(":/etc/localtime", ZONES .. "/Europe/Berlin"), "Europe/Berlin")
end)

t.test("clocks of UTC are never assumed", function()
  for _, value in ipairs { "UTC", ":UTC", "UTC0", "UTC-00" } do t.equal(here(value), "UTC") end
  for _, value in ipairs { ":", "CET-1CEST", "CET-1CEST,M3.5.0,M10.5.0/3", "<+03>-3", "UTC+1", "UTC1", "Mars/Phobos", "localtime", "Factory", "../../etc/passwd", "Europe/../../../etc/passwd",
    "/etc/passwd", ":/etc/localtime", "/tmp/zoneinfo/Europe/Berlin", ZONES .. "/../../../etc/passwd", ZONES, ZONES .. "x/Europe/Berlin", "/", "\27[2J", "\0", ("x"):rep(100000), "Europe/Berlin\n", "\xff\xfe" } do
    unnamed("^TZ is '", value, "/etc/localtime", "Europe/Berlin\n")
  end
  unnamed("does not say", nil)
  unnamed("does not say", nil, nil, "")
  unnamed("does not say", nil, nil, "Europe/Berlin Europe/Rome\n")
  unnamed("'Factory' is no time zone", nil, ZONES .. "/Factory")
  unnamed("time zone", nil, ZONES .. "/Mars/Phobos", "Etc/UTC\n")
  unnamed("'../passwd' is no time zone", nil, nil, "../passwd\n")
end)

return t.finish()
