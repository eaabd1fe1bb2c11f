--- How `hocket work` takes runs: how many it asks for, and what becomes of those that it does not begin. What is behind it is
--- played: the store's queue, and runs that go on until they are told to end.
local t = require "harness"
local announced = require "hocket.internal.commands.workers.announced"
local core = require "hocket.internal.core.runs"
local fiber = require "hocket.internal.core.fiber"
local firing = require "hocket.internal.schedule.firing"
local runs = require "hocket.internal.run.run"
local store = require "hocket.internal.core.store"
local work = require "hocket.internal.commands.workers.work"

-- In the place of what it has: until the end of the scope.
local function instead(of, functions)
  local kept = {}
  for name, fn in pairs(functions) do
    kept[name], of[name] = of[name], fn
  end
  return setmetatable({}, { __close = function()
    for name, fn in pairs(kept) do of[name] = fn end
  end })
end

local function until_true(fn)
  while not fn() do fiber.sleep(0.001) end
end

-- A worker of so many places over a queue: answer(most, n) gives the rows of its n-th question.
local function with_worker(max, answer, fn)
  local on = { asked = {}, begun = {}, queued = {}, ends = {}, n = 0, rows = {} }
  local make = runs.new
  local made <close> = instead(runs, { new = function(spec)
    on.run = make(spec)
    return on.run
  end })
  local of_store <close> = instead(store, {
    patient = function() end,
    runs = function() return {} end,
    take_several = function(_, most)
      on.asked[#on.asked + 1] = most
      t.ok(most >= 1 and most <= max - on.n, "there is room")
      fiber.sleep(0.001)
      return answer(most, #on.asked)
    end,
    changed = function() fiber.sleep(0.001) end,
    find = function(id) return on.rows[id] end,
    finish = function(id, fence, state)
      fiber.sleep(0.001)
      on.queued[#on.queued + 1] = ("%s %d %s"):format(id, fence, state)
      return id
    end,
  })
  function on.over(number, code)
    on.n = on.n - 1
    table.insert(on.ends, { number, code })
  end
  local of_core <close> = instead(core, {
    resume = function(id)
      on.n = on.n + 1
      on.begun[#on.begun + 1] = id
      return #on.begun
    end,
    ended = function()
      until_true(function() return #on.ends > 0 end)
      return table.unpack(table.remove(on.ends, 1))
    end,
    drain = function(number)
      on.over(number, "parked")
      return true
    end,
    park = function() return true end,
  })
  local here = { draining = function() end, stop = function() end }
  local of_announced <close> = instead(announced, { start = function() return here end })
  local of_firing <close> = instead(firing, { start = function() return here end })
  local worker = fiber.spawn(work, { runs = max }, nil, "w")
  until_true(function() return on.run and on.run.answer and #on.asked > 0 end)
  function on.stop() on.run:answer("shutdown", "0") end
  fn(on)
  on.stop()
  worker:wait()
end

local function rows(n, prefix)
  local list = {}
  for i = 1, n do list[i] = { id = prefix .. i, target = "x", fence = i } end
  return list
end

t.test("with much queued it asks for more and more, and never for more than it has room for", function()
  with_worker(8, function(most, n) return rows(most, n .. ".") end, function(on)
    until_true(function() return on.n == 8 end)
    t.same(on.asked, { 1, 2, 4, 1 })
    t.same({ #on.begun, on.begun[2], on.begun[3] }, { 8, "2.1", "2.2" }, "in their order")
    fiber.sleep(0.01)
    t.equal(#on.asked, 4, "there is no room")
    for i = 1, 6 do on.over(i, "ok") end
    until_true(function() return on.n == 8 end)
    t.equal(#on.begun, 14)
    t.same(on.queued, {})
  end)
end)

t.test("with room for many it asks for no more than the store gives", function()
  with_worker(50, function(most, n) return rows(most, n .. ".") end, function(on)
    until_true(function() return on.n == 50 end)
    t.same(on.asked, { 1, 2, 4, 8, 16, 16, 3 })
  end)
end)

t.test("with little queued it asks for one", function()
  local given = { 1, 1, 0, 1, 2, 1, 0, 0 }
  with_worker(8, function(_, n) return rows(given[n] or 0, n .. ".") end, function(on)
    until_true(function() return #on.asked > 9 end)
    t.same({ table.unpack(on.asked, 1, 9) }, { 1, 2, 1, 1, 2, 3, 1, 1, 1 })
  end)
end)

t.test("while it has one that workers were lost with it asks for none", function()
  local lost = { id = "lost", target = "x", fence = 3, attempts = 2, last_n = 5 }
  with_worker(8, function(_, n) return n == 1 and { lost } or {} end, function(on)
    on.rows.lost = lost
    until_true(function() return on.n == 1 end)
    fiber.sleep(0.02)
    t.equal(#on.asked, 1)
    on.rows.lost = { id = "lost", last_n = 8 }
    until_true(function() return #on.asked > 1 end)
  end)
end)

t.test("what it has taken and not begun when it is to end it gives back", function()
  local on
  with_worker(8, function(most, n)
    if n == 3 then on.stop() end
    return rows(most, n .. ".")
  end, function(it)
    on = it
    until_true(function() return #on.queued == 4 end)
    table.sort(on.queued)
    t.same(on.queued, { "3.1 1 queued", "3.2 2 queued", "3.3 3 queued", "3.4 4 queued" })
    t.same(on.begun, { "1.1", "2.1", "2.2" })
  end)
end)

return t.finish()
