--- Who is there puts the runs of schedules, once, however many there are; what fails is noted and told.
local t = require "harness"
local fiber = require "hocket.internal.core.fiber"
local firing = require "hocket.internal.schedule.firing"
local digest = require "hocket.internal.base.digest"
local json = require "hocket.json"
local listeners = require "hocket.internal.core.server"
local notices = require "hocket.internal.schedule.notices"
local schedules = require "hocket.internal.schedule.schedules"
local store = require "hocket.internal.core.store"
local system = require "hocket.internal.core.system"
local isotime = require "hocket.internal.base.isotime"

local T = isotime.days(2026, 11, 23) * 86400
local now = T

-- As if the store had this clock.
local function due(ahead_ms, limit)
  local list = {}
  for _, one in ipairs(assert(schedules.all())) do
    if one.due_ms > 0 and one.due_ms <= now * 1000 + ahead_ms and #list < limit then list[#list + 1] = one end
  end
  return list, #list == limit
end

local function worker()
  return firing.new { wall = function() return now end, due = due, secret = function() return "a key" end }
end

local function add(name, more)
  local spec = { cron = "0 * * * *", tz = "UTC", missed = "once", overlap = "skip", target = "a.lua", options = "{}", pool = "default", open = json.array {}, notices = json.array {} }
  for key, value in pairs(more or {}) do spec[key] = value end
  local one = { name = name, version = 0, spec = spec }
  schedules.plan(one, now * 1000)
  assert(schedules.put(one, now * 1000))
end

-- The runs that were put since, as a worker takes them.
local function take()
  local list = {}
  while true do
    local row = store.take_next "default"
    if not row then return list end
    list[#list + 1] = row
  end
end

local function finish(row, state, result)
  assert(store.finish(row.id, row.fence, state, result and json.encode(result)))
end

local function spec_of(name)
  return assert(schedules.get(name)).spec
end

local function clean()
  for _, one in ipairs(assert(schedules.all())) do schedules.remove(one.name) end
  for _, row in ipairs(take()) do finish(row, "done") end
end

local function test(name, fn)
  t.test(name, function()
    now = T
    clean() -- of a run of this test before, too
    fn()
    clean()
  end)
end

test("a run is put when it is due, and once, however many are there", function()
  add "hourly"
  local workers, fibers = {}, {}
  for i = 1, 8 do workers[i] = worker() end
  workers[1]:look()
  t.equal(#take(), 0)
  for _ = 1, 3 do
    now = now + 3600
    for i, one in ipairs(workers) do fibers[i] = fiber.spawn(one.look, one) end
    for _, one in ipairs(fibers) do one:wait() end
    local runs = take()
    t.equal(#runs, 1)
    t.equal(runs[1].target, "a.lua")
    finish(runs[1], "done")
  end
  now = now + 16
  workers[1]:look()
  t.equal(spec_of "hourly".fired, 3)
  t.equal(spec_of "hourly".last.state, "done")
  t.equal(#spec_of "hourly".open, 0)
end)

test("how long until it is to be looked again", function()
  t.equal(worker():look(), 2)
  add "hourly"
  t.equal(worker():look(), 2)
  now = T + 3599
  t.equal(worker():look(), 1.0)
end)

test("while its run goes on there is no other one, unless that is wanted", function()
  add("one", { overlap = "skip" })
  add("two", { overlap = "allow" })
  add("three", { overlap = "queue" })
  now = T + 3600
  worker():look()
  local first = take()
  t.equal(#first, 3)
  now = T + 2 * 3600
  worker():look()
  local second = take()
  t.equal(#second, 1)
  t.equal(spec_of "one".skipped, 1)
  for _, row in ipairs(first) do finish(row, "done") end
  now = now + 61
  worker():look()
  t.equal(#take(), 1) -- the one that waited
  t.equal(spec_of "three".fired, 2)
end)

test("what is queued behind its last run is run, also where missed times are skipped", function()
  add("hourly", { missed = "skip", overlap = "queue" })
  now = T + 3600
  worker():look()
  local first = take()
  now = T + 2 * 3600
  worker():look()
  for _ = 1, 5 do -- it is looked at, and waited for
    now = now + 60
    worker():look()
    t.equal(#take(), 0)
  end
  finish(first[1], "done")
  now = now + 61
  worker():look()
  local second = take()
  t.equal(#second, 1)
  t.equal(spec_of "hourly".last.planned_ms, (T + 2 * 3600) * 1000)
  t.equal(spec_of "hourly".skipped, 0)
  now = T + 3 * 3600 + 120 -- nobody was there
  worker():look()
  finish(second[1], "done")
  now = now + 61
  worker():look()
  t.equal(#take(), 0)
  t.equal(spec_of "hourly".skipped, 1)
end)

test("paused, it is not due; gone on with, it is due from then on", function()
  add "hourly"
  assert(schedules.change("hourly", now * 1000, function(one)
    one.spec.paused = true
    return schedules.plan(one, now * 1000)
  end))
  now = T + 10 * 3600
  worker():look()
  t.equal(#take(), 0)
  assert(schedules.change("hourly", now * 1000, function(one)
    one.spec.paused = nil
    return schedules.plan(one, now * 1000)
  end))
  worker():look()
  t.equal(#take(), 0)
  t.equal(spec_of "hourly".next_ms, (T + 11 * 3600) * 1000)
end)

test("one that cannot be run says so, and stops no other", function()
  add("bad", { cron = "0 * * * *" })
  add "good"
  assert(schedules.change("bad", now * 1000, function(one)
    one.spec.tz = "Mars/Phobos"
    return true
  end))
  assert(store.item_put { kind = "schedule", id = "broken", json = '{"half', due_ms = 1 })
  now = T + 3600
  worker():look()
  t.equal(#take(), 1)
  t.matches(spec_of "bad".problem, "Mars/Phobos")
  t.equal(spec_of "bad".again_ms, (now + 3600) * 1000)
  t.matches(assert(schedules.get "broken").spec.problem, "cannot be read")
  t.equal(store.items("schedule", "broken")[1].json, '{"half')
  t.equal(assert(schedules.get "broken").due_ms, 0) -- it is not looked at for ever
  assert(schedules.change("bad", now * 1000, function(one)
    one.spec.tz = "UTC"
    return true
  end))
  now = T + 2 * 3600
  worker():look()
  t.equal(spec_of "bad".problem, nil)
  t.equal(spec_of "bad".fired, 1)
end)

local function set(name, change)
  assert(schedules.change(name, now * 1000, function(one)
    change(one.spec)
    return true
  end))
end

test("the time for which it could not be run is made up for, when it can", function()
  for name, missed in pairs { daily = "once", each = "all", skipping = "skip" } do
    add(name, { cron = "0 6 * * *", missed = missed })
    set(name, function(spec) spec.tz = "Mars/Phobos" end)
  end
  now = T + 6 * 3600
  worker():look()
  t.equal(#take(), 0)
  for _, name in ipairs { "daily", "each", "skipping" } do set(name, function(spec) spec.tz = "UTC" end) end
  worker():look() -- within an hour
  t.equal(#take(), 0)
  now = T + 7 * 3600
  worker():look()
  t.equal(#take(), 2)
  for _, name in ipairs { "daily", "each" } do
    t.equal(spec_of(name).last.planned_ms, (T + 6 * 3600) * 1000)
    t.equal(spec_of(name).next_ms, (T + 30 * 3600) * 1000)
    t.equal(spec_of(name).again_ms, nil)
  end
  t.equal(spec_of "skipping".skipped, 1)
end)

test("one without a time has none after a problem either", function()
  add "hourly"
  set("hourly", function(spec)
    spec.paused, spec.next_ms, spec.problem, spec.again_ms = true, nil, "it was broken", (T + 3600) * 1000
  end)
  now = T + 3600
  worker():look()
  t.equal(#take(), 0)
  t.equal(spec_of "hourly".problem, nil)
  t.equal(assert(schedules.get "hourly").due_ms, 0)
end)

test("a clock that was ahead and was put right", function()
  add "hourly"
  now = T + 400 * 86400
  worker():look()
  local runs = take()
  t.equal(#runs, 1)
  finish(runs[1], "done")
  now = T + 60
  worker():look()
  t.equal(#take(), 0)
  t.equal(spec_of "hourly".next_ms, (T + 3600) * 1000)
  now = T + 3600
  worker():look()
  t.equal(#take(), 1)
end)

local function until_true(fn)
  while not fn() do fiber.sleep(0.005) end -- the case has its limit of time
end

local function heard(hook, n)
  until_true(function() return #hook.got >= n end)
  t.equal(#hook.got, n)
end

local function all_told(name)
  until_true(function() return #spec_of(name).notices == 0 end)
end

-- ---- Webhooks ------------------------------------------------------------------------------------------------

local function receiver(status)
  local listener = assert(listeners.new { port = 0 })
  local self = { got = {}, url = ("http://127.0.0.1:%d/hook"):format(listener:port()) }
  self.fiber = fiber.spawn(function()
    while true do
      local http = listener:accept()
      if not http then return end
      self.got[#self.got + 1] = { headers = http.headers, body = http.body, value = json.decode(http.body) }
      listener:respond(http.id, status(#self.got), {}, "")
    end
  end)
  self.fiber:serve()
  return setmetatable(self, { __close = function() listener:close() end })
end

test("a run that failed is told to the webhook, until it was heard", function()
  local hook <close> = receiver(function(n) return n == 1 and 503 or 204 end)
  add("hourly", { webhook = hook.url })
  now = T + 3600
  worker():look()
  local run = take()[1]
  finish(run, "failed", { run = run.id, ok = false, error = { code = "state", message = "it broke" } })
  now = now + 6
  worker():look()
  heard(hook, 1)
  worker():look()
  t.equal(#hook.got, 1) -- later
  now = now + 60
  worker():look()
  heard(hook, 2)
  local one = hook.got[2]
  t.equal(one.value.type, "schedule.failed")
  t.same(one.value.data, { schedule = "hourly", run = run.id, state = "failed", error = "it broke" })
  t.equal(one.headers["webhook-id"], hook.got[1].headers["webhook-id"])
  t.equal(one.headers["webhook-signature"], "v1," .. system.base64(digest.hmac("a key", ("%s.%s.%s"):format(one.headers["webhook-id"], one.headers["webhook-timestamp"], one.body))))
  t.equal(spec_of "hourly".failed, 1)
  all_told "hourly"
end)

test("what cannot be run is told once", function()
  local hook <close> = receiver(function() return 200 end)
  add("hourly", { webhook = hook.url })
  assert(schedules.change("hourly", now * 1000, function(one)
    one.spec.tz = "Mars/Phobos"
    return true
  end))
  for i = 1, 3 do
    now = T + i * 3600 + i
    worker():look()
    heard(hook, 1)
    all_told "hourly"
  end
  t.matches(hook.got[1].value.data.error, "Mars/Phobos")
end)

test("a run that was removed has ended, and one that is done is not told", function()
  local hook <close> = receiver(function() return 200 end)
  add("hourly", { webhook = hook.url })
  now = T + 3600
  worker():look()
  local run = take()[1]
  finish(run, "done")
  assert(store.remove(run.id))
  now = now + 6
  worker():look()
  t.equal(spec_of "hourly".last.state, "removed")
  t.equal(#spec_of "hourly".open, 0)
  t.equal(#hook.got, 0)
end)

-- As if n of its runs had failed, and nobody had been told.
local function failures(n)
  local list = json.array {}
  for i = 1, n do list[i] = { id = "failure_" .. i, body = "{}", after_ms = 1, since_ms = now * 1000, pause = 10 } end
  return list
end

-- An address that takes what comes and says nothing.
local function hanging()
  local listener = assert(listeners.new { port = 0 })
  local self = { url = ("http://127.0.0.1:%d/hook"):format(listener:port()) }
  self.fiber = fiber.spawn(function()
    while listener:accept() do end
  end)
  self.fiber:serve()
  return setmetatable(self, { __close = function() listener:close() end })
end

test("webhooks that hang hold up no schedule, and are not written again and again", function()
  local hook <close> = hanging()
  for i = 1, 110 do add("failing" .. i, { cron = "0 0 1 1 *", webhook = hook.url, notices = failures(2) }) end
  add "hourly"
  now = T + 3600
  local one = worker()
  one:look()
  one:look()
  t.equal(#take(), 1)
  one:look() -- the second one of those that are told
  local left = due(0, 1000)
  t.equal(#left, 0)
  for i = 1, 110 do
    local spec = spec_of("failing" .. i)
    t.equal(#spec.notices, 2)
    for _, what in ipairs(spec.notices) do t.equal(what.pause == 10 or what.pause == 40, true) end
  end
end)

test("those that found no place are told later", function()
  local hook <close> = receiver(function() return 200 end)
  for i = 1, 30 do add("failing" .. i, { cron = "0 0 1 1 *", webhook = hook.url, notices = failures(2) }) end
  local one = worker()
  until_true(function()
    one:look()
    now = now + 5
    return #hook.got >= 60
  end)
  for i = 1, 30 do all_told("failing" .. i) end
  t.equal(#hook.got, 60)
end)

test("one address that hangs does not keep others waiting", function()
  local hangs <close> = hanging()
  local hook <close> = receiver(function() return 200 end)
  add("hangs", { cron = "0 0 1 1 *", webhook = hangs.url, notices = failures(20) })
  local one = worker()
  for _ = 1, 12 do
    one:look()
    now = now + 3
  end
  add("other", { cron = "0 0 1 1 *", webhook = hook.url, notices = failures(1) })
  one:look()
  heard(hook, 1)
  all_told "other"
end)

test("what a webhook is never told is counted, and the next one says how many", function()
  local hook <close> = receiver(function(n) return n == 1 and 410 or 200 end)
  local one = { name = "one", spec = { webhook = hook.url, notices = {} } }
  for i = 1, 23 do notices.add(one, { run = "r" .. i }, now * 1000) end
  t.equal(#one.spec.notices, 20)
  t.equal(one.spec.untold, 3)
  t.equal(json.decode(one.spec.notices[17].body).data.untold, nil)
  t.equal(json.decode(one.spec.notices[20].body).data.untold, 3)
  add("gone", { webhook = hook.url, notices = failures(1) })
  worker():look()
  all_told "gone"
  t.equal(spec_of "gone".untold, 1)
  set("gone", function(spec) spec.notices, spec.webhook = failures(3), nil end) -- of a webhook that was taken away
  worker():look()
  all_told "gone"
  t.equal(#hook.got, 1)
end)

-- ---- Attacks -------------------------------------------------------------------------------------------------

test("all that were missed, one after the other", function()
  add("hourly", { missed = "all", overlap = "queue" })
  now = T + 4 * 3600
  local planned, one = {}, worker()
  for _ = 1, 20 do
    one:look()
    local run = take()[1]
    if run then
      planned[#planned + 1] = (spec_of "hourly".last.planned_ms // 1000 - T) // 3600
      finish(run, "done")
    end
    now = now + 61
  end
  t.same(planned, { 1, 2, 3, 4 })
end)

test("of very many that were missed the last hundred are made up for, and the others are told", function()
  add("often", { cron = "*/5 * * * *", missed = "all", overlap = "allow" })
  now = T + 86400
  local log, told, one = system.log, {}, worker()
  local back <close> = setmetatable({}, { __close = function() system.log = log end })
  function system.log(level, text) told[#told + 1] = level == "warn" and text or nil end
  for _ = 1, 110 do one:look() end
  local spec = spec_of "often"
  t.same({ spec.fired, spec.skipped }, { 100, 188 })
  t.same(told, { "schedule often: 188 times that were missed are left out: the last 100 of them are made up for" })
end)

test("one that is removed while it fires puts no run", function()
  add "hourly"
  now = T + 3600
  local one = worker()
  one.due = function(...)
    local list, more = due(...)
    assert(schedules.remove "hourly")
    return list, more
  end
  one:look()
  t.equal(#take(), 0)
  t.equal(#assert(schedules.all()), 0)
end)

test("what is wrong in one of them stops no other, and is not tried at once", function()
  for i = 1, 5 do add("s" .. i) end
  for i, wrong in ipairs { '{"cron":5}', '[]', '{"cron":"* * * * *","tz":"UTC","target":"a","options":"{}","pool":"p","missed":"once","overlap":"skip","open":"x"}',
    '{"cron":"* * * * *","tz":"UTC","target":"a","options":"{}","pool":"p","missed":"once","overlap":"skip","notices":[{}],"next_ms":1}' } do
    assert(store.item_put { kind = "schedule", id = "wrong" .. i, json = wrong, due_ms = 1 })
  end
  now = T + 3600
  local one = worker()
  one:look()
  t.equal(#take(), 5)
  one:look()
  for _, s in ipairs(assert(schedules.all())) do t.ok(s.due_ms == 0 or s.due_ms > now * 1000, s.name) end
end)

test("any member that is none makes it one that cannot be read, which is due no more", function()
  local huge, notice = math.maxinteger, { id = "n", body = "{}", after_ms = 1, since_ms = 1, pause = 10 }
  local function notice_with(key, value)
    local one = {}
    for k, v in pairs(notice) do one[k] = v end
    one[key] = value
    return { notices = { one } }
  end
  local wrong = { { fired = "x" }, { failed = {} }, { skipped = 1.5 }, { untold = "many" }, { webhook = 5 }, { input = {} }, { project = true }, { problem = 1 }, { waiting = "yes" }, { paused = 1 },
    { set_ms = -1 }, { next_ms = huge }, { again_ms = "soon" }, { until_ms = huge }, { last = { run = 5 } }, { last = { run = "r", at_ms = "then" } }, { last = { run = "r", at_ms = huge } }, { last = "x" },
    { last = { run = "r", state = 1 } }, { last = { run = "r", planned_ms = 1.5 } }, { open = { a = "b" } }, { open = "x" }, { open = { 5 } }, { notices = { a = notice } }, { missed = "never" }, { overlap = "always" },
    notice_with("pause", huge), notice_with("pause", 0), notice_with("after_ms", huge), notice_with("since_ms", -5), notice_with("busy", huge), notice_with("busy", 0), notice_with("body", {}) }
  local said, log <const> = {}, system.log
  local again <close> = setmetatable({}, { __close = function() system.log = log end })
  system.log = function(_, text) said[#said + 1] = text end
  for i, members in ipairs(wrong) do
    -- with all that makes the others be looked at
    local spec = { cron = "0 * * * *", tz = "UTC", missed = "once", overlap = "skip", target = "a.lua", options = "{}", pool = "default", webhook = "http://127.0.0.1:1/", open = { "none" }, notices = {}, next_ms = 1 }
    for key, value in pairs(members) do spec[key] = value end
    assert(store.item_put { kind = "schedule", id = "wrong" .. i, json = json.encode(spec), due_ms = 1 })
  end
  now = T + 3600
  local one = worker()
  one:look()
  one:look()
  t.same(said, {})
  t.equal(#take(), 0)
  for _, s in ipairs(assert(schedules.all())) do
    t.equal(s.due_ms, 0)
    t.matches(s.spec.problem, "cannot be read")
  end
end)

test("a store that may only be read is left alone for an hour, and that is said once", function()
  for _, name in ipairs { "a", "b", "c" } do add(name) end
  assert(store.item_put { kind = "schedule", id = "broken", json = '{"half', due_ms = 1 })
  local real <const>, log <const>, tries, said = store.item_put, system.log, 0, {}
  local again <close> = setmetatable({}, { __close = function() store.item_put, system.log = real, log end })
  store.item_put = function()
    tries = tries + 1
    return nil, { code = "denied", message = "permission denied for table items" }
  end
  system.log = function(level, text) said[#said + 1] = level .. ": " .. text end
  now = T + 3600
  local one = worker()
  for i = 1, 3 do
    t.equal(one:look(), 3600)
    t.equal(tries, i)
  end
  t.same(said, { "warn: schedules are left to others, as this process may only read the store: permission denied for table items" })
  store.item_put = real -- rights were given
  t.ok(one:look() < 10)
  t.equal(#take(), 3)
end)

test("two look at sixty at once: each is run once", function()
  for i = 1, 60 do add("s" .. i) end
  now = T + 3600
  local a, b = worker(), worker()
  local fibers = { fiber.spawn(function() while a:look() < 1 do end end), fiber.spawn(function() while b:look() < 1 do end end) }
  for _, one in ipairs(fibers) do one:wait() end
  local n, seen = 0, {}
  for _, row in ipairs(take()) do
    n, seen[row.id] = n + 1, true
    finish(row, "done")
  end
  t.equal(n, 60)
end)

return t.finish()
