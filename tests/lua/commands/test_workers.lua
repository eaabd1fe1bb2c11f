--- Workers say that they are there; what lies in pools, and what waits for whom, is told to whoever looks.
local t = require "harness"
local announced = require "hocket.internal.commands.workers.announced"
local cancel = require("hocket.internal.run.cancel").run
local fiber = require "hocket.internal.core.fiber"
local json = require "hocket.json"
local look = require "hocket.internal.commands.workers.list"
local store = require "hocket.internal.core.store"
local system = require "hocket.internal.core.system"

local now = math.floor(system.wall() * 1000)

local function put(id, json_text, due_ms)
  assert(store.item_put { kind = "worker", id = id, expected = -1, json = json_text, due_ms = due_ms })
end

local function seen(fn)
  local told
  for _ = 1, 2000 do
    told = assert(look())
    if fn(told) then return told end
    fiber.sleep(0.01)
  end
  t.ok(false, "it never came: " .. json.encode(told))
end

local function pool_of(told, name)
  for _, one in ipairs(told.pools) do
    if one.name == name then return one end
  end
end

local function submit(pool, more)
  local spec = { target = "a.lua", options = "{}", pool = pool }
  for key, value in pairs(more or {}) do spec[key] = value end
  return assert(store.submit(spec))
end

local function take(pool) return assert(store.take_next(pool)) end

-- What a test that failed has left there.
t.test("nothing is there", function()
  for _, one in ipairs(assert(store.items "worker")) do store.item_del("worker", one.id) end
  while true do
    local row = store.take_next "a,b,gpu"
    if not row then break end
    assert(store.finish(row.id, row.fence, "cancelled"))
  end
  for _, row in ipairs(assert(store.runs { pool = "gpu", states = { "queued" } })) do assert(cancel(row.id)) end
end)

t.test("one that works is there, drains, and is gone", function()
  t.equal(#assert(look()).workers, 0)
  local here = announced.start { pools = { "a", "b" }, runs = 3 }
  local one = seen(function(told) return #told.workers == 1 end).workers[1]
  local host, pid = store.process()
  t.equal(one.host, host)
  t.equal(one.pid, pid)
  t.equal(one.state, "working")
  t.equal(one.max_runs, 3)
  t.same({ one.pools[1], one.pools[2], #one.pools }, { "a", "b", 2 })
  t.equal(one.version, system.version())
  here:draining()
  seen(function(told) return told.workers[1].state == "draining" end)
  here:stop()
  t.equal(#assert(look()).workers, 0)
end)

-- The store's items as they would be had those of `ids` been written so many seconds ago, until the end of the scope. `looked`: how often they were read.
local function aged(ids)
  local items, told = store.items, { looked = 0 }
  function store.items(...)
    local rows, err = items(...)
    for _, row in ipairs(rows or {}) do row.at_ms = row.at_ms - (ids[row.id] or 0) * 1000 end
    told.looked = told.looked + 1
    return rows, err
  end
  return setmetatable(told, { __close = function() store.items = items end })
end

t.test("one that is silent is lost, and forgotten after an hour", function()
  put("x 1 1", json.encode { host = "x", pid = 1, since_ms = now - 100, pools = { "a" }, runs = 1 }, now - 1)
  put("x 2 1", json.encode { host = "x", pid = 2, since_ms = now - 100, pools = { "a" }, runs = 1 }, now + 60000)
  t.equal(assert(look()).workers[1].state, "working", "it was heard of a moment ago, whatever it had said of that")
  t.equal(assert(look { now_ms = now + 120 * 1000 }).workers[1].state, "lost")
  local old <close> = aged { ["x 1 1"] = 3600, ["x 2 1"] = 3661 }
  t.equal(assert(look()).workers[1].state, "lost")
  t.equal(#assert(look()).workers, 2)
  local here = announced.start { pools = { "a" }, runs = 1 }
  local told = seen(function(told) return #told.workers == 2 and told.workers[2].pid ~= 2 and told.workers[1].pid ~= 2 end)
  t.equal(pool_of(told, "a").workers, 1)
  here:stop()
  store.item_del("worker", "x 1 1")
end)

-- Times are the store's: a worker's own clock may be hours off.
t.test("one whose clock is wrong removes nobody, and is not removed", function()
  local wall = system.wall
  for _, off in ipairs { 7200, -7200 } do
    put("x 1 1", json.encode { host = "x", pid = 1, since_ms = now, pools = { "a" }, runs = 1 }, now + (60 - off) * 1000)
    local none <close> = aged {}
    local right <close> = setmetatable({}, { __close = function() system.wall = wall end })
    system.wall = function() return wall() + off end
    local here = announced.start { pools = { "a" }, runs = 1 }
    while none.looked == 0 do fiber.sleep(0.01) end
    fiber.sleep(0.05) -- it removes what it has found
    local told = assert(look())
    t.same({ #told.workers, told.workers[1].state, told.workers[2] and told.workers[2].state }, { 2, "working", "working" })
    t.equal(assert(look { now_ms = math.floor(wall() * 1000) + 120 * 1000 }).workers[1].state, "lost")
    t.equal(assert(look { now_ms = math.floor(wall() * 1000) + 120 * 1000 }).workers[2].state, "lost")
    here:stop()
    store.item_del("worker", "x 1 1")
  end
end)

t.test("what others have written there breaks nothing", function()
  for i, text in ipairs { "1", "{}", "[]", '{"host":1,"pid":2}', '{"host":"h","pid":"x"}', '{"host":"h","pid":1.5}', "null" } do put("bad" .. i, text, now + 60000) end
  put("odd", '{"host":"h\\u0007","pid":7,"pools":[1,{"x":2},"p"],"runs":"many","since_ms":"x","version":3,"draining":"no"}', now + 60000)
  local told = assert(look())
  t.equal(#told.workers, 1)
  t.equal(#told.workers[1].pools, 1)
  t.equal(told.workers[1].max_runs, json.null)
  t.equal(told.workers[1].state, "working")
  for i = 1, 7 do store.item_del("worker", "bad" .. i) end
  store.item_del("worker", "odd")
end)

t.test("what lies in a pool is counted, and that nobody takes it is said", function()
  local soon = now + 3600 * 1000
  submit "gpu"
  local later = submit("gpu", { due_ms = soon })
  local told = assert(look())
  local gpu = pool_of(told, "gpu")
  t.same({ gpu.queued, gpu.later, gpu.running, gpu.workers, gpu.unserved }, { 1, 1, 0, 0, true })
  t.ok(gpu.oldest_ms >= now - 1000 and gpu.oldest_ms < now + 600 * 1000)
  local here = announced.start { pools = { "gpu" }, runs = 1 }
  t.equal(pool_of(seen(function(one) return #one.workers == 1 end), "gpu").unserved, false)
  local row = take "gpu"
  told = assert(look())
  gpu = pool_of(told, "gpu")
  t.same({ gpu.queued, gpu.running, gpu.oldest_ms, told.workers[1].runs }, { 0, 1, json.null, 1 })
  here:draining()
  seen(function(one) return one.workers[1].state == "draining" and pool_of(one, "gpu").workers == 0 end)
  here:stop()
  assert(store.finish(row.id, row.fence, "done"))
  assert(cancel(later))
  t.equal(#assert(look()).pools, 0)
end)

-- The answer of the store may be on its way, or there, when the one who asked is cancelled.
t.test("a run that was taken by a fiber that is cancelled meanwhile is the next one's", function()
  local taken = 0
  for i = 1, 60 do
    local id = submit "gpu"
    local row
    local one = fiber.spawn(function()
      row = i % 2 == 0 and store.take_next "gpu" or store.take(id)
      fiber.sleep(10)
    end)
    for _ = 1, i % 15 do fiber.sleep(0) end
    one:cancel()
    one:join()
    if row then
      taken = taken + 1
    else
      local deadline = system.wall() + 30
      repeat
        row = store.take(id)
        if not row then fiber.sleep(0.01) end
      until row or system.wall() > deadline
      t.ok(row, "nobody can take " .. id)
    end
    assert(store.finish(row.id, row.fence, "cancelled"))
  end
  t.ok(taken < 60, "none was cancelled in time")
end)

t.test("who has ended waits for nobody", function()
  local caller = submit "a"
  local row = take "a"
  submit("b", { caller = caller })
  t.equal(assert(look()).blocked[1].state, "running")
  assert(store.finish(row.id, row.fence, "done"))
  t.equal(#assert(look()).blocked, 0)
  local child = take "b"
  assert(store.finish(child.id, child.fence, "done"))
end)

t.test("what waits for whom is told", function()
  local caller = submit "a"
  local row = take "a"
  local child = submit("b", { caller = caller })
  assert(store.finish(row.id, row.fence, "waiting"))
  local told = assert(look())
  t.equal(#told.blocked, 1)
  local one = told.blocked[1]
  t.same({ one.run, one.state, one.pool }, { caller, "waiting", "a" })
  t.same({ one.waits_for[1].kind, one.waits_for[1].run, one.waits_for[1].pool, one.waits_for[1].state }, { "run", child, "b", "queued" })
  local work = take "b"
  t.equal(assert(look()).blocked[1].waits_for[1].state, "running")
  assert(store.finish(work.id, work.fence, "done"))
  t.equal(#assert(look()).blocked, 0) -- it was told, and is queued
  row = take "a"
  assert(store.finish(row.id, row.fence, "done"))
end)

return t.finish()
