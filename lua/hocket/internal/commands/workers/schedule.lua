--- `hocket schedule`: runs at times. A schedule stands in the store with the files of its target; who works on that store puts its runs.
local check = require "hocket.internal.commands.check"
local cron = require "hocket.internal.schedule.cron"
local isotime = require "hocket.internal.base.isotime"
local json = require "hocket.json"
local plain_name = require "hocket.internal.base.plain_name"
local ping = require "hocket.internal.base.lazy" "hocket.internal.serve.ping"
local schedules = require "hocket.internal.schedule.schedules"
local sorted_keys = require "hocket.internal.base.sorted_keys"
local sources = require "hocket.internal.base.sources"
local store = require "hocket.internal.core.store"
local submission = require "hocket.internal.runner.submission"
local system = require "hocket.internal.core.system"
local timezone = require "hocket.internal.base.timezone"
local truncate = require "hocket.internal.base.truncate"

local words = {}
local failure = schedules.failure

-- A prompt; what is larger is read from a file.
local MAX_INPUT = 256 << 10

local missed = { once = true, skip = true, all = true }
local overlap = { skip = true, queue = true, allow = true }

local function now_ms()
  return math.floor(system.wall() * 1000)
end

-- ---- Reading --------------------------------------------------------------------------------------

local function one_of(name, value, known, default)
  if value == nil then return default end
  if known[value] then return value end
  return failure("invalid", "--%s %s: expected %s", name, value, table.concat(sorted_keys(known), ", "))
end

-- "travel/agents" is "travel", unless it says nothing.
local function name_of(target)
  local name = target:gsub("/+$", ""):match("[^/]*$"):gsub("%.%w+$", "")
  if name == "agents" or name == "" or name == "." then name = target:match "([^/]+)/[^/]+/*$" or name end
  name = name:gsub("[^%w._-]", "-"):gsub("^[^%w]+", "")
  return name ~= "" and name:sub(1, 64) or "schedule"
end

local function check_name(name)
  local wrong = plain_name.wrong(name, "schedule")
  if wrong then return failure("invalid", "%s", wrong) end
  return true
end

-- "2026-12-31" is until its end, there; or with a time of day.
local function read_until(text, zone)
  if not text then return nil end
  local year, month, day, rest = text:match "^(%d%d%d%d)%-(%d%d)%-(%d%d)(.*)$"
  local hour, minute = (rest or ""):match "^[T ](%d%d):(%d%d)$"
  local days = year and isotime.days(tonumber(year), tonumber(month), tonumber(day))
  local same = days and ("%04d-%02d-%02d"):format(timezone.date(days)) == text:sub(1, 10)
  if not same or rest ~= "" and (not hour or tonumber(hour) > 23 or tonumber(minute) > 59) then
    return failure("invalid", "--until %s: expected a day as 2026-12-31, or with a time: 2026-12-31T18:00", text)
  end
  local wall = days * 86400 + (hour and tonumber(hour) * 3600 + tonumber(minute) * 60 or 86399)
  return (wall - (zone:at(wall - (zone:at(wall))))) * 1000
end

-- What is wrong in a script is said now, and not each night; what is wrong with agents is said anyway.
local function check_script(target)
  local path = target:find "%.lua$" and target or target .. "/main.lua"
  if not sources.info(path) then return true end
  local ok, err = check.check { paths = { path }, json = false }
  return ok and true, err
end

-- An address without the password, or the key, in front of its host.
local function shown(url)
  local scheme, authority, rest = url:match "^(%w+://)([^/?#]*)(.*)$"
  local user = authority and authority:match "^(.*)@"
  if not user then return url end
  local name = user:match "^([^:]*):"
  return scheme .. (name and name .. ":***" or "***") .. authority:sub(#user + 1) .. rest
end

local function check_webhook(url)
  if url == nil or url:find "^https?://[^/%s]+" then return true end
  return failure("invalid", "--webhook %s: expected an address that begins with http:// or https://", shown(url))
end

local function check_ping(url)
  if url == nil then return true end
  local address, wrong = ping.read(url)
  if address then return true end
  return failure("invalid", "--ping %s: %s", shown(url), wrong)
end

-- When it is to run, and what else is no run's.
local function read(args)
  local times, err = cron.parse(args.cron)
  if not times then return nil, err end
  local spec = { cron = args.cron, tz = args.tz, webhook = args.webhook, ping = args.ping }
  local zone, ok
  if not spec.tz then spec.tz, err = timezone.here() end
  if not spec.tz then return nil, err end
  zone, err = timezone.open(spec.tz)
  if not zone then return nil, err end
  spec.missed, err = one_of("missed", args.missed, missed, "once")
  if not spec.missed then return nil, err end
  spec.overlap, err = one_of("overlap", args.overlap, overlap, spec.missed == "all" and "queue" or "skip")
  if not spec.overlap then return nil, err end
  spec.until_ms, err = read_until(args["until"], zone)
  if err then return nil, err end
  ok, err = check_webhook(args.webhook)
  if ok then ok, err = check_ping(args.ping) end
  return ok and spec, err
end

-- ---- Telling -----------------------------------------------------------------------------------------

local function time(ms, zone)
  return zone and ("%s %s"):format(zone:text(ms // 1000), zone.name) or os.date("!%Y-%m-%d %H:%M", ms // 1000) .. " UTC"
end

local function state_of(last)
  if last.state then return last.state end
  local row = store.find(last.run)
  if not row then return "removed" end
  return row.state == "running" and not row.owner and "queued" or row.state
end

local function described(one)
  local spec = one.spec
  local last = spec.last and { run = spec.last.run, planned_ms = spec.last.planned_ms, state = state_of(spec.last) }
  return { name = one.name, cron = spec.cron, tz = spec.tz, target = spec.target, input = spec.input, pool = spec.pool, project = spec.project,
    missed = spec.missed, overlap = spec.overlap, until_ms = spec.until_ms, webhook = spec.webhook and shown(spec.webhook), ping = spec.ping, paused = spec.paused or false,
    next_ms = not spec.problem and spec.next_ms or json.null, last = last or json.null, problem = spec.problem,
    fired = spec.fired or 0, failed = spec.failed or 0, skipped = spec.skipped or 0, untold = spec.untold or 0 }
end

-- What is not said of it, or cannot be read.
local function with_nulls(d)
  for _, key in ipairs { "cron", "tz", "target", "input", "pool", "project", "missed", "overlap", "until_ms", "webhook", "ping", "problem" } do
    if d[key] == nil then d[key] = json.null end
  end
  return d
end

local function line_of(d)
  local zone = d.tz and timezone.open(d.tz)
  local next_time = d.paused and "paused" or d.next_ms ~= json.null and time(d.next_ms, zone) or d.problem and "tried again within an hour" or "never again"
  local lines = { ("%s  %s  %s  %s"):format(d.name, d.cron or "?", d.tz or "?", d.target or "?"), "  next: " .. next_time }
  if d.last ~= json.null then
    lines[#lines + 1] = ("  last: %s  %s  %s"):format(d.last.planned_ms and time(d.last.planned_ms, zone) or "by hand", d.last.run, d.last.state)
  end
  if d.problem then lines[#lines + 1] = "  cannot be run: " .. d.problem end
  return table.concat(lines, "\n")
end

local function answer(one)
  local d = described(one)
  d.text = line_of(d)
  return with_nulls(d)
end

-- As a person looks at one: how it is run, and the times that come.
local function whole(one)
  local d = described(one)
  local times, zone = schedules.times(one)
  local lines = { line_of(d) }
  local function add(name, value) lines[#lines + 1] = ("  %s: %s"):format(name, value) end
  d.times_ms = json.array {}
  if one.spec.next_ms and times and not d.problem then
    d.times_ms[1] = one.spec.next_ms
    for i = 2, 4 do
      local at = times:next(d.times_ms[i - 1] // 1000, zone)
      if not at or d.until_ms and at * 1000 > d.until_ms then break end
      d.times_ms[i] = at * 1000
      add(i == 2 and "then" or "    ", time(at * 1000, zone))
    end
  end
  if d.input then add("input", truncate((d.input:gsub("%s+", " ")), 200, "…")) end
  if d.pool then add("pool", d.pool .. (d.project and ("  project: " .. d.project) or "")) end
  if d.missed then add("missed", ("%s  overlap: %s"):format(d.missed, d.overlap)) end
  if d.until_ms then add("until", time(d.until_ms, zone)) end
  if d.webhook then add("webhook", d.webhook .. (d.untold > 0 and ("  (never told of %d failures)"):format(d.untold) or "")) end
  if d.ping then add("ping", d.ping) end
  add("runs", ("%d, of which %d failed; %d left out"):format(d.fired, d.failed, d.skipped))
  d.text = table.concat(lines, "\n")
  return with_nulls(d)
end

-- ---- The words --------------------------------------------------------------------------------------------

-- What was kept of one of this name goes with its open runs and what is still to be told.
local function put_new(args, one, files)
  local ok, err = schedules.put(one, now_ms(), nil, files)
  if ok then return answer(one) end
  if err.code ~= "state" then return nil, err end
  if not args.replace then return failure("exists", "there is a schedule '%s' already: give this one another name (--name), or put it in its place (--replace)", one.name) end
  local old
  old, err = schedules.get(one.name)
  if not old then return nil, err end
  one.version, one.spec.open, one.spec.notices, one.spec.untold = old.version, old.spec.open or one.spec.open, old.spec.notices or one.spec.notices, old.spec.untold
  ok, err = schedules.put(one, now_ms(), nil, files)
  return ok and answer(one), err
end

function words.add(args)
  local spec, err = read(args)
  if not spec then return nil, err end
  if #(args.input or "") > MAX_INPUT then return failure("limit", "the input is larger than %d KiB: have the target read it from a file in its folder", MAX_INPUT >> 10) end
  local name = args.name or name_of(args.target)
  local ok, run
  ok, err = check_name(name)
  if not ok then return nil, err end
  ok, err = check_script(args.target)
  if not ok then return nil, err end
  run, err = submission.prepare { id = schedules.mark_of(name), target = args.target, input = args.input, options = args.options, pool = args.pool, project = args.project }
  if not run then return nil, err end
  for _, key in ipairs { "target", "input", "options", "pool", "project" } do spec[key] = run[key] end
  spec.open, spec.notices = json.array {}, json.array {}
  local one = { name = name, version = 0, generation = run.files_of, spec = spec }
  ok, err = schedules.plan(one, now_ms())
  if not ok then return nil, err end
  if not spec.next_ms then return failure("invalid", "it would never run: there is no such time before --until") end
  return put_new(args, one, run.files)
end

local function comes_before(a, b)
  local x, y = a.spec.next_ms or math.maxinteger, b.spec.next_ms or math.maxinteger
  if x ~= y then return x < y end
  return a.name < b.name
end

function words.list()
  local list, err = schedules.all()
  if not list then return nil, err end
  table.sort(list, comes_before)
  local all, lines = json.array {}, {}
  for i, one in ipairs(list) do
    all[i] = described(one)
    lines[i] = line_of(all[i])
    with_nulls(all[i])
  end
  return { schedules = all, text = #lines > 0 and table.concat(lines, "\n") or "there is no schedule (hocket schedule add)" }
end

function words.show(args)
  local one, err = schedules.get(args.name)
  if not one then return nil, err end
  return one.broken and answer(one) or whole(one)
end

function words.rm(args)
  local ok, err = schedules.remove(args.name)
  if ok then return { name = args.name, text = "" } end
  if err.code ~= "not_found" then return nil, err end
  return failure("not_found", "there is no schedule '%s' ('hocket schedule list' lists them)", args.name)
end

local function set_paused(args, paused)
  local one, err = schedules.change(args.name, now_ms(), function(self)
    self.spec.paused = paused or nil
    return schedules.plan(self, now_ms())
  end)
  return one and answer(one), err
end

function words.pause(args)
  return set_paused(args, true)
end

function words.resume(args)
  return set_paused(args, false)
end

-- Beside its times, which stay as they are.
function words.run(args)
  for _ = 1, 20 do
    local one, err = schedules.get(args.name)
    if not one then return nil, err end
    if one.broken then return failure("state", "schedule '%s': %s", one.name, one.spec.problem) end
    local run = schedules.run_of(one, nil, now_ms())
    local ok, failed = schedules.put(one, now_ms(), run)
    if ok then return { name = one.name, id = run.id, text = run.id } end
    if failed.code ~= "state" then return nil, failed end
  end
  return failure("state", "schedule '%s' is changed by others all the time: try again", args.name)
end

---@async
---@param args {word: string, name?: string, cron?: string, target?: string, input?: string, options?: table, tz?: string, missed?: string, overlap?: string, until?: string, webhook?: string, ping?: string, pool?: string, project?: string, replace?: boolean}
return function(args)
  local word = words[args.word]
  if not store.is_shared() then return failure("unsupported", "a schedule in this store would be gone with this command: name a file or a database (--store)") end
  if not word then return failure("invalid", "there is no '%s': add, list, show, run, pause, resume or rm", tostring(args.word)) end
  return word(args)
end
