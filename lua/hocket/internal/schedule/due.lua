--- What becomes of a schedule now: pure, with the time as an argument.
---
---     planned times:   ·    ·    ·    ·  now            nobody was there for some of them: they were missed
---     once                            x                 one run for all of them, however long it was
---     all              x    x    x    x                 one for each, the last hundred; the others are left out, and counted
---     skip                                              none; what is not older than a minute is on time
local due = {}

--- Seconds until which a time is on time; times that `all` makes up for, at most, and that are counted of those before.
due.LATE, due.MOST, due.COUNTED = 60, 100, 10000

-- The last n planned times from `from` until `now`, in their order: looked for in a window that is made wider until it has them,
-- so that a year of minutes is not gone through.
local function last_times(times, zone, from, now, n)
  local window = 60
  while true do
    local start, list = math.max(from, now - window), {}
    local at = times:next(start - 1, zone)
    while at and at <= now do
      list[#list + 1] = at
      at = times:next(at, zone)
    end
    if #list >= n or start == from then return table.move(list, math.max(#list - n + 1, 1), #list, 1, {}), at end
    window = window * 2
  end
end

-- How many planned times there are from `from` on, before `to`; nil: none.
local function count(times, zone, from, to)
  local n, at = 0, times:next(from - 1, zone)
  while at < to and n < due.COUNTED do
    n, at = n + 1, times:next(at, zone)
  end
  return n > 0 and n or nil
end

local function seconds(ms)
  return ms and ms // 1000
end

--- `busy`: a run of it goes on; `spec.waiting`: its time came, on time, while one did. What is given back: `fire`, the planned time of a run that is to be put; `next`, when it is due
--- again, in seconds; nil: never; `skipped`: times for which there is no run, `left_out` of them as they are more than a hundred (COUNTED: or more); `wait`: nothing changes until that run is over. nil: it is not due.
---@param times hocket.CronTimes
---@param zone hocket.Zone
---@param spec {missed: "once"|"skip"|"all", overlap: "skip"|"queue"|"allow", until_ms?: integer, waiting?: boolean}
---@param due_ms integer
---@param now_ms integer
---@param busy boolean
---@return {fire?: integer, next?: integer, skipped?: integer, left_out?: integer, wait?: boolean}?
function due.decide(times, zone, spec, due_ms, now_ms, busy)
  local now, last = seconds(now_ms), seconds(spec.until_ms)
  if due_ms > now_ms then return nil end
  local list, after = last_times(times, zone, seconds(due_ms), math.min(now, last or now), spec.missed == "all" and due.MOST or 1)
  local fire, left_out = list[1], nil
  if spec.missed == "all" then after = list[2] or after end
  if #list == due.MOST then left_out = count(times, zone, seconds(due_ms), fire) end
  if fire and spec.missed == "skip" and not spec.waiting and now - fire > due.LATE then fire = nil end
  if fire and busy and spec.overlap == "queue" then return { wait = true } end
  if busy and spec.overlap == "skip" then fire = nil end
  if after and last and after > last then after = nil end
  return { fire = fire, next = after, skipped = (left_out or 0) + (fire and 0 or 1), left_out = left_out }
end

--- When a schedule is due from `now` on; nil: never again.
---@return integer? seconds
function due.from(times, zone, spec, now_ms)
  local at = times:next(seconds(now_ms), zone)
  if at and spec.until_ms and at > seconds(spec.until_ms) then return nil end
  return at
end

return due
