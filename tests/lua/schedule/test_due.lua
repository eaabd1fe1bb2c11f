--- What becomes of a schedule now: what was missed, what goes on, its last day, clocks that jump.
local t = require "harness"
local cron = require "hocket.internal.schedule.cron"
local due = require "hocket.internal.schedule.due"
local isotime = require "hocket.internal.base.isotime"
local timezone = require "hocket.internal.base.timezone"

local zone = assert(timezone.open "UTC")
local hourly, daily, minutely = assert(cron.parse "@hourly"), assert(cron.parse "0 6 * * *"), assert(cron.parse "* * * * *")
local H, D = 3600, 86400
local T = isotime.days(2026, 11, 23) * D -- midnight

local function decide(times, spec, due_at, now, busy)
  return due.decide(times, zone, { missed = spec.missed or "once", overlap = spec.overlap or "skip", until_ms = spec.until_ms, waiting = spec.waiting }, due_at * 1000, now * 1000, busy or false)
end

t.test("on time", function()
  t.equal(decide(hourly, {}, T + H, T + H - 1), nil)
  t.same(decide(hourly, {}, T + H, T + H), { fire = T + H, next = T + 2 * H, skipped = 0 })
  for _, missed in ipairs { "once", "skip", "all" } do
    t.same(decide(hourly, { missed = missed }, T + H, T + H + 59), { fire = T + H, next = T + 2 * H, skipped = 0 })
  end
end)

t.test("missed: one run for all, none, or one for each", function()
  local now = T + 5 * H + 1800
  t.same(decide(hourly, {}, T + H, now), { fire = T + 5 * H, next = T + 6 * H, skipped = 0 })
  t.same(decide(hourly, { missed = "skip" }, T + H, now), { next = T + 6 * H, skipped = 1 })
  t.same(decide(hourly, { missed = "skip" }, T + H, T + 5 * H + 30), { fire = T + 5 * H, next = T + 6 * H, skipped = 0 })
  local at, fired = T + H, {}
  while at <= now do
    local what = decide(hourly, { missed = "all" }, at, now)
    fired[#fired + 1], at = what.fire - T, what.next
  end
  t.same(fired, { H, 2 * H, 3 * H, 4 * H, 5 * H })
  t.equal(at, T + 6 * H)
end)

t.test("years of minutes are no years of runs", function()
  local now, at, n = T + 5 * 366 * D, T, 0
  t.same(decide(minutely, {}, at, now), { fire = now, next = now + 60, skipped = 0 })
  while at <= now do
    local what = decide(minutely, { missed = "all" }, at, now)
    at, n = what.next, n + 1
  end
  t.equal(n, due.MOST)
end)

t.test("of more than a hundred that were missed the last hundred come, and the others are counted", function()
  local now = T + 287 * 60 -- 288 of them
  local first = decide(minutely, { missed = "all" }, T, now)
  t.same(first, { fire = now - 99 * 60, next = now - 98 * 60, skipped = 188, left_out = 188 })
  t.same(decide(minutely, { missed = "all" }, first.next, now), { fire = first.next, next = first.next + 60, skipped = 0 })
  t.same(decide(minutely, { missed = "all" }, first.next, now + 60), { fire = first.next, next = first.next + 60, skipped = 0 }, "it has become one more")
  t.same(decide(minutely, { missed = "all" }, first.next, now + 180), { fire = first.next + 120, next = first.next + 180, skipped = 2, left_out = 2 })
  t.same(decide(minutely, { missed = "all" }, T, now, true), { next = now - 98 * 60, skipped = 189, left_out = 188 }, "and one more where a run goes on")
  t.same(decide(minutely, {}, T, now), { fire = now, next = now + 60, skipped = 0 }, "one run for all of them")
  local years = decide(minutely, { missed = "all" }, T, T + 5 * 366 * D)
  t.same({ years.skipped, years.left_out }, { due.COUNTED, due.COUNTED }, "so many at least")
end)

t.test("while its last run goes on", function()
  t.same(decide(hourly, {}, T + H, T + H, true), { next = T + 2 * H, skipped = 1 })
  t.same(decide(hourly, { overlap = "queue" }, T + H, T + H, true), { wait = true })
  t.same(decide(hourly, { overlap = "queue" }, T + H, T + 3 * H, false), { fire = T + 3 * H, next = T + 4 * H, skipped = 0 })
  t.same(decide(hourly, { overlap = "allow" }, T + H, T + H, true), { fire = T + H, next = T + 2 * H, skipped = 0 })
end)

t.test("what waits for the last run was there in time, however long that takes", function()
  local queue = { missed = "skip", overlap = "queue" }
  t.same(decide(hourly, queue, T + H, T + H + 30, true), { wait = true })
  queue.waiting = true
  t.same(decide(hourly, queue, T + H, T + H + 120, true), { wait = true })
  t.same(decide(hourly, queue, T + H, T + H + 1800, false), { fire = T + H, next = T + 2 * H, skipped = 0 })
  t.same(decide(hourly, queue, T + H, T + 3 * H + 1800, false), { fire = T + 3 * H, next = T + 4 * H, skipped = 0 })
  queue.waiting = nil -- nobody was there
  t.same(decide(hourly, queue, T + H, T + H + 120, true), { next = T + 2 * H, skipped = 1 })
  t.same(decide(hourly, queue, T + H, T + H + 120, false), { next = T + 2 * H, skipped = 1 })
end)

t.test("its last day", function()
  local last = { until_ms = (T + D + 7 * H) * 1000 }
  t.same(decide(daily, last, T + 6 * H, T + 6 * H), { fire = T + 6 * H, next = T + D + 6 * H, skipped = 0 })
  t.same(decide(daily, last, T + D + 6 * H, T + D + 6 * H), { fire = T + D + 6 * H, skipped = 0 })
  -- nobody was there until long after it: what was planned before is made up for, what is later never was
  t.same(decide(daily, last, T + 6 * H, T + 30 * D), { fire = T + D + 6 * H, skipped = 0 })
  t.same(decide(daily, { missed = "skip", until_ms = last.until_ms }, T + 6 * H, T + 30 * D), { skipped = 1 })
  t.equal(due.from(daily, zone, last, (T + D + 6 * H) * 1000), nil)
end)

t.test("any absence, any times: once is the last one, all are the last of those that a crontab says, and what is next is later", function()
  for _ = 1, 300 do
    local text = ({ "*/7 * * * *", "0 6 * * mon", "13 */5 * * *", "0 0 1 * *", "30 2 * * *" })[math.random(5)]
    local times, from = assert(cron.parse(text)), T + math.random(0, 400 * D)
    local at = times:next(from, zone)
    local now, expected, one = at + math.random(0, 20) ^ 3 * 60, {}, at
    while one <= now do
      expected[#expected + 1] = one
      one = times:next(one, zone)
    end
    local what = decide(times, {}, at, now // 1 | 0)
    t.equal(what.fire, expected[#expected], text)
    t.equal(what.next, one)
    local list = {}
    while at <= now do
      what = decide(times, { missed = "all" }, at, now // 1 | 0)
      list[#list + 1], at = what.fire, what.next
    end
    t.same(list, table.move(expected, math.max(#expected - due.MOST + 1, 1), #expected, 1, {}), text)
  end
end)

return t.finish()
