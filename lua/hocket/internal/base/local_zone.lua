--- The name of this machine's own time zone: that of TZ, of the link /etc/localtime, of /etc/timezone. It is never guessed, since what
--- goes into a store is read on other machines and for years: where none of them names a zone a person has to.
local fs = require "hocket.internal.core.fs"
local system = require "hocket.internal.core.system"
local timezone = require "hocket.internal.base.timezone"

local local_zone = {}

local LINK, FILE = "/etc/localtime", "/etc/timezone"
--- Seconds in which two zones that are the same have the same clocks.
local SAME = 2 * 366 * 86400

local function failure(message, ...)
  local mend = "; say whose clocks count, as in --tz Europe/Berlin, or --tz UTC"
  return nil, system.error { code = "invalid", message = message:format(...) .. mend }
end

-- Of a path below a folder of zones what is below it. The data may be there a second time, for clocks as POSIX has them.
local function below(machine, path)
  for _, folder in ipairs(path and timezone.folders() or {}) do
    folder = (machine.real(folder) or folder) .. "/"
    if path:sub(1, #folder) == folder then return (path:sub(#folder + 1):gsub("^posix/", "")) end
  end
end

local function named(name, place)
  local zone, err = timezone.open(name)
  if zone then return zone.name end
  return failure("%s names this machine's time zone, but %s", place, err.message)
end

-- As tzset(3) reads it; a rule ("CET-1CEST") is no name that others know.
local function of_variable(machine, value)
  local text = value:gsub("^:", "")
  local name = text:sub(1, 1) == "/" and below(machine, machine.real(text)) or text:gsub("^posix/", "")
  if name:find "^UTC[+-]?00?$" then return "UTC" end
  if timezone.open(name) then return name end
  return failure("TZ is '%s', and there is no time zone of that name here", (value:sub(1, 80):gsub("[^ -~]", "?")))
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
    if data then return failure("this machine's time zone has no name (%s is no link to one)", LINK) end
    return failure("this machine does not say which time zone it is in (TZ, %s, %s)", LINK, FILE)
  end
  local ok, err = named(name, FILE)
  if not ok or not data then return ok, err end
  local clocks = timezone.read(data)
  if clocks and agree(clocks, timezone.open(name), math.floor(machine.wall())) then return name end
  return failure("%s says %s, and %s has other clocks", FILE, name, LINK)
end

--- The name; nil and what is to be done where there is none.
---@param machine? {getenv: (fun(name: string): string?), real: (fun(path: string): string?), read: (fun(path: string, limit: integer): string?), wall: fun(): number} For tests.
---@return string?
---@return hocket.Error?
function local_zone.name(machine)
  machine = machine or { getenv = system.getenv, real = fs.real, read = fs.read, wall = system.wall }
  local value = machine.getenv "TZ"
  if value and value ~= "" then return of_variable(machine, value) end
  local name = below(machine, machine.real(LINK))
  if name then return named(name, LINK) end
  return of_file(machine)
end

return local_zone
