local t = require "harness"
local fiber = require "hocket.internal.core.fiber"
local flow = require "hocket.flow"
local hocket = require "hocket"

local function is_cancelled(err)
  return type(err) == "table" and err.code == "cancelled"
end

-- ---- spawn ------------------------------------------------------------------------------

t.test("a child's results come back, also nil ones", function()
  t.same(table.pack(flow.spawn(function(...) return ..., nil, "last" end, 1):wait()), { 1, nil, "last", n = 3 })
  t.equal(select("#", flow.spawn(function() end):wait()), 0)
end)

t.test("children run beside their owner, in the order they were made", function()
  local order = {}
  local a = flow.spawn(function() order[#order + 1] = "a1" flow.yield() order[#order + 1] = "a2" end)
  local b = flow.spawn(function() order[#order + 1] = "b1" flow.yield() order[#order + 1] = "b2" end)
  order[#order + 1] = "owner"
  a:wait()
  b:wait()
  t.same(order, { "owner", "a1", "b1", "a2", "b2" })
end)

t.test("what a child raises is raised where it is waited for, as it was", function()
  local thing = { code = "mine" }
  local child = flow.spawn(function() error(thing) end)
  local ok, err = pcall(child.wait, child)
  t.equal(ok, false)
  t.equal(err, thing)
  t.equal(child:status(), "done")
  local _, message = flow.spawn(function() local x = nil; return x.y end):result()
  t.equal(message, nil)
end)

t.test("what a child left goes with the first look of the collector", function()
  local seen = setmetatable({}, { __mode = "k" }) -- a finalizer would keep its keys for a second one
  local function made()
    local thing = {}
    seen[thing] = true
    return thing
  end
  flow.spawn(made):wait()
  flow.yield()
  collectgarbage()
  t.equal(next(seen), nil)
end)

t.test("a text that was raised has its traceback", function()
  local child = flow.spawn(function() error "here" end)
  child:join()
  local ok, err, traceback = child:result()
  t.equal(ok, false)
  t.matches(err, "test_flow.lua:%d+: here")
  t.has(traceback, "test_flow.lua")
end)

t.test("a wait with a time gives up, the child goes on", function()
  local child = flow.spawn(function() flow.sleep(0.05) return "done" end)
  t.fails("timeout", "", child:wait(0.005))
  t.equal(child:wait(), "done")
  t.equal(child:wait(), "done")
end)

t.test("many wait for one", function()
  local one = flow.spawn(function() flow.sleep(0.01) return 7 end)
  local values = flow.map({ 1, 2, 3 }, function() return one:wait() end)
  t.same(values, { 7, 7, 7 })
end)

t.test("a fiber cannot be ended by collecting it", function()
  local got
  flow.spawn(function() flow.sleep(0.01) got = true end)
  for _ = 1, 5 do collectgarbage() end
  flow.sleep(0.03)
  t.equal(got, true)
end)

t.test("an owner that ends cancels its children, which end first", function()
  local events = {}
  local owner = flow.spawn(function()
    flow.spawn(function()
      local closing <close> = setmetatable({}, { __close = function() events[#events + 1] = "child closed" end })
      flow.sleep(60)
    end)
    flow.yield()
    events[#events + 1] = "owner returned"
  end)
  owner:wait()
  events[#events + 1] = "waited"
  t.same(events, { "owner returned", "child closed", "waited" })
end)

t.test("an owner that raises cancels its children", function()
  local closed
  local owner = flow.spawn(function()
    flow.spawn(function()
      local closing <close> = setmetatable({}, { __close = function() closed = true end })
      flow.sleep(60)
    end)
    flow.yield()
    error "owner"
  end)
  t.raises("owner", owner.wait, owner)
  t.equal(closed, true)
end)

-- ---- Cancelling ---------------------------------------------------------------------------

t.test("cancel reaches grandchildren", function()
  local closed = 0
  local function sleeper()
    local closing <close> = setmetatable({}, { __close = function() closed = closed + 1 end })
    flow.sleep(60)
  end
  local top = flow.spawn(function()
    flow.spawn(function()
      flow.spawn(sleeper)
      sleeper()
    end)
    sleeper()
  end)
  flow.sleep(0.005)
  t.equal(top:cancel(), true)
  top:join()
  t.equal(closed, 3)
  t.equal(top:cancel(), false)
end)

t.test("cancel is sticky: every later wait raises it again", function()
  local raised = {}
  local child = flow.spawn(function()
    for i = 1, 3 do
      local _, err = pcall(flow.sleep, 60)
      raised[i] = is_cancelled(err)
    end
    return "went on"
  end)
  flow.yield()
  child:cancel()
  t.equal(child:wait(), "went on")
  t.same(raised, { true, true, true })
end)

t.test("a fiber that never lets itself be cancelled is given up", function()
  local rounds = 0
  local child = flow.spawn(function()
    while true do
      pcall(flow.sleep, 60)
      rounds = rounds + 1
    end
  end)
  flow.yield()
  child:cancel()
  t.ok(child:join(5), "it still runs")
  t.ok(rounds > 1 and rounds < 1000)
  local ok, err = child:result()
  t.equal(ok, false)
  t.ok(is_cancelled(err))
end)

t.test("a child that was cancelled before it began never runs", function()
  local ran
  local child = flow.spawn(function() ran = true end)
  child:cancel()
  t.raises("cancelled", child.wait, child)
  t.equal(ran, nil)
end)

t.test("what a cancelled fiber spawns is cancelled too", function()
  local ran
  local child = flow.spawn(function()
    pcall(flow.sleep, 60)
    flow.spawn(function() ran = true end)
  end)
  flow.yield()
  child:cancel()
  child:join()
  t.equal(ran, nil)
end)

t.test("a fiber may cancel itself", function()
  local child = flow.spawn(function()
    fiber.self():cancel()
    flow.sleep(1)
    return "never"
  end)
  t.raises("cancelled", child.wait, child)
end)

t.test("waiting in a close handler of a cancelled fiber does not hang", function()
  local child = flow.spawn(function()
    local closing <close> = setmetatable({}, { __close = function() flow.sleep(60) end })
    flow.sleep(60)
  end)
  flow.yield()
  child:cancel()
  t.ok(child:join(5), "it still runs")
end)

t.test("close handlers of a fiber that an error ends are still inside of it, and may wait", function()
  local seen = {}
  local child = flow.spawn(function()
    fiber.set_context { name = "mine" }
    local closing <close> = setmetatable({}, { __close = function(_, err)
      seen.self, seen.name, seen.err = fiber.self(), fiber.context().name, err
      flow.spawn(function() seen.child = true end)
      seen.slept = pcall(flow.sleep, 0.005)
    end })
    error("the error", 0)
  end)
  child:join()
  t.equal(seen.self, child)
  t.equal(seen.name, "mine")
  t.equal(seen.err, "the error")
  t.equal(seen.slept, true)
  t.equal(seen.child, true)
  local ok, err = child:result()
  t.equal(ok, false)
  t.equal(err, "the error")
end)

t.test("close handlers of a cancelled fiber are still inside of it", function()
  local seen = {}
  local child = flow.spawn(function()
    local closing <close> = setmetatable({}, { __close = function()
      seen.self = fiber.self()
      for _ = 1, 200 do
        local _, err = pcall(flow.sleep, 60)
        if not is_cancelled(err) then seen.wrong = err end
      end
    end })
    flow.sleep(60)
  end)
  flow.yield()
  child:cancel()
  t.raises("cancelled", child.wait, child)
  t.equal(seen.self, child)
  t.equal(seen.wrong, nil)
end)

-- ---- Clean-up that waits ----------------------------------------------------------------------

local function cancel_later(child, seconds)
  flow.sleep(seconds or 0.01)
  child:cancel()
  t.ok(child:join(5), "it still runs")
end

t.test("what is shielded is done though its fiber is cancelled: before it, in it, in a close handler", function()
  for name, clean_up in pairs {
    ["in a close handler"] = function(work)
      local closing <close> = setmetatable({}, { __close = function() flow.shield(work) end })
      flow.sleep(60)
    end,
    ["where it was caught"] = function(work)
      local ok, err = pcall(flow.sleep, 60)
      flow.shield(work)
      if not ok then error(err, 0) end
    end,
    ["while it goes on"] = function(work) flow.shield(work) flow.sleep(60) end,
    ["in a shield"] = function(work) flow.shield(function() flow.shield(work) end) flow.sleep(60) end,
    ["in a close handler of a job's"] = function(work)
      hocket.broker():call { run = function()
        local closing <close> = setmetatable({}, { __close = function() flow.shield(work) end })
        flow.sleep(60)
      end }
    end,
  } do
    local steps = 0
    local child = flow.spawn(clean_up, function()
      for _ = 1, 3 do
        flow.sleep(0.01)
        steps = steps + 1
      end
      local both = flow.all { function() flow.sleep(0.01) return 1 end, function() return 2 end }
      steps = steps + #both
      t.equal(fiber.cancelled(), false)
    end)
    cancel_later(child)
    t.eventually(function() return steps == 5 end, 5, name .. ": it was cut short")
    t.raises("cancelled", child.wait, child)
  end
end)

t.test("a shield gives what its function gives, and raises what it raises", function()
  t.same({ flow.shield(function() flow.sleep(0.001) return 1, nil, 3 end) }, { 1, nil, 3 })
  t.equal(select("#", flow.shield(function() return nil, nil end)), 2)
  t.raises("broken", flow.shield, function() error "broken" end)
  t.raises("function expected", flow.shield, 1)
  for _, seconds in ipairs { 0, -1, math.huge, 0 / 0, "1" } do
    t.raises("'timeout'", flow.shield, function() end, { timeout = seconds })
  end
end)

t.test("a shield has a limit, and then what it waits for is cancelled", function()
  local closed, outcome
  local child = flow.spawn(function()
    local closing <close> = setmetatable({}, { __close = function()
      outcome = table.pack(flow.shield(function()
        local note <close> = setmetatable({}, { __close = function() closed = true end })
        flow.sleep(60)
      end, { timeout = 0.03 }))
    end })
    flow.sleep(60)
  end)
  local begin = flow.now()
  cancel_later(child)
  t.fails("timeout", "0.03 seconds", outcome[1], outcome[2])
  t.equal(closed, true)
  t.ok(flow.now() - begin < 2)
end)

t.test("a fiber is as cancelled behind a shield as before it, however often it is told", function()
  local after
  local child = flow.spawn(function()
    flow.shield(function() flow.sleep(0.03) end)
    after = pcall(flow.sleep, 60)
  end)
  flow.sleep(0.005)
  for _ = 1, 5 do
    child:cancel()
    flow.yield()
  end
  t.ok(child:join(5))
  t.equal(after, false)
end)

t.test("who waits for a fiber's end waits for what it shields", function()
  local done = false
  local owner = flow.spawn(function()
    flow.spawn(function()
      local closing <close> = setmetatable({}, { __close = function() flow.shield(function() flow.sleep(0.02) done = true end) end })
      flow.sleep(60)
    end)
    flow.sleep(0.005)
  end)
  owner:wait()
  t.equal(done, true)
end)

t.test("where nobody can wait nothing can be shielded, and it says so", function()
  t.raises("cannot wait here", string.gsub, "abc", "%w", function() flow.shield(print) end)
end)

t.test("an error keeps its traceback, and its close handlers' error takes its place", function()
  local child = flow.spawn(function()
    local function deep() error "deep down" end
    deep()
  end)
  child:join()
  local ok, err, traceback = child:result()
  t.equal(ok, false)
  t.has(err, "deep down")
  t.has(traceback, "in local 'deep'")
  child = flow.spawn(function()
    local closing <close> = setmetatable({}, { __close = function() error("while closing", 0) end })
    error("first", 0)
  end)
  child:join()
  t.equal(select(2, child:result()), "while closing")
end)

-- ---- all, map, any, race, timeout ------------------------------------------------------------

t.test("all runs side by side and keeps the order", function()
  local begin = flow.now()
  local results = flow.all {
    function() flow.sleep(0.06) return "a" end,
    function() flow.sleep(0.03) return "b" end,
    function() return "c" end,
  }
  t.same(results, { "a", "b", "c" })
  t.ok(flow.now() - begin < 0.11, "they ran one after the other")
end)

t.test("all: failures of the world come back beside the results", function()
  local results, errors = flow.all {
    function() return 1 end,
    function() return nil, { code = "io" } end,
    function() return nil end,
    function() return false, "ignored" end,
  }
  t.same(results, { 1, nil, nil, false })
  t.same(errors, { [2] = { code = "io" } })
end)

t.test("all: the first that raises cancels the others, and is raised", function()
  local closed, after = 0, false
  local function sibling()
    local closing <close> = setmetatable({}, { __close = function() closed = closed + 1 end })
    flow.sleep(60)
    after = true
  end
  local thing = { code = "mine" }
  local ok, err = pcall(flow.all, { sibling, function() flow.sleep(0.005) error(thing) end, sibling })
  t.equal(ok, false)
  t.equal(err, thing)
  t.equal(closed, 2)
  t.equal(after, false)
end)

t.test("all: nothing to do", function()
  t.same(flow.all {}, {})
  t.same(flow.map({}, error), {})
end)

t.test("map: at most `limit` at once, all of them in the end", function()
  local now, most, list = 0, 0, {}
  for i = 1, 50 do list[i] = i end
  local results = flow.map(list, function(n, i)
    t.equal(n, i)
    now = now + 1
    most = math.max(most, now)
    flow.sleep(i % 3 / 1000)
    now = now - 1
    return n * 2
  end, { limit = 4 })
  t.equal(most, 4)
  t.equal(#results, 50)
  t.equal(results[50], 100)
end)

t.test("map: after an error the rest is not begun", function()
  local begun = 0
  t.raises("third", flow.map, { 1, 2, 3, 4, 5, 6 }, function(n)
    begun = begun + 1
    flow.sleep(0.002)
    if n == 3 then error "third" end
  end, { limit = 1 })
  t.equal(begun, 3)
end)

t.test("map: a cancelled owner cancels what runs", function()
  local closed = 0
  local owner = flow.spawn(function()
    flow.map({ 1, 2, 3 }, function()
      local closing <close> = setmetatable({}, { __close = function() closed = closed + 1 end })
      flow.sleep(60)
    end)
  end)
  flow.sleep(0.005)
  owner:cancel()
  owner:join()
  t.equal(closed, 3)
end)

t.test("any: the first that returns something wins, the others are cancelled", function()
  local closed
  local value, which = flow.any {
    function()
      local closing <close> = setmetatable({}, { __close = function() closed = true end })
      flow.sleep(60)
      return "slow"
    end,
    function() return nil, { code = "io" } end,
    function() error "broken" end,
    function() flow.sleep(0.01) return "fast" end,
  }
  t.equal(value, "fast")
  t.equal(which, 4)
  t.equal(closed, true)
end)

t.test("any: none", function()
  t.fails("io", "", flow.any { function() return nil, { code = "io", message = "x" } end })
  t.fails("not_found", "", flow.any {})
  t.equal(flow.any { function() return nil end }, nil)
end)

t.test("race: the first end decides, well or not", function()
  t.same(table.pack(flow.race { function() flow.sleep(60) end, function() return nil, "x" end }), { 2, nil, "x", n = 3 })
  t.raises("first", flow.race, { function() flow.sleep(60) end, function() error "first" end })
  t.raises("at least one", flow.race, {})
  t.equal(flow.race { function() return 1 end, function() return 2 end }, 1)
end)

t.test("timeout: in time, too late, raised", function()
  t.same(table.pack(flow.timeout(5, function() return 1, nil, 3 end)), { 1, nil, 3, n = 3 })
  local closed
  t.fails("timeout", "", flow.timeout(0.01, function()
    local closing <close> = setmetatable({}, { __close = function() closed = true end })
    flow.sleep(60)
  end))
  t.equal(closed, true, "it has ended before the timeout returns")
  t.raises("inside", flow.timeout, 5, function() error "inside" end)
  t.fails("timeout", "", flow.timeout(0, function() flow.sleep(1) end))
end)

t.test("timeout inside of timeout", function()
  local begin = flow.now()
  local value, err = flow.timeout(5, function() return flow.timeout(0.01, function() flow.sleep(60) end) end)
  t.fails("timeout", "", value, err)
  t.fails("timeout", "", flow.timeout(0.01, function() return flow.timeout(5, function() flow.sleep(60) end) end))
  t.ok(flow.now() - begin < 2)
end)

t.test("sleep sleeps as long as it says, not less", function()
  for _, seconds in ipairs { 0.001, 0.02 } do
    local begin = flow.now()
    flow.sleep(seconds)
    t.ok(flow.now() - begin >= seconds - 0.002, "too short")
  end
end)

t.test("a wake that is meant for something else does not cut a sleep", function()
  local self, begin = fiber.self(), flow.now()
  flow.spawn(function() self:wake() end)
  flow.sleep(0.03)
  t.ok(flow.now() - begin >= 0.027, "too short")
  self:wake()
  begin = flow.now()
  flow.sleep(0.03)
  t.ok(flow.now() - begin >= 0.027, "too short")
end)

-- ---- Misuse ----------------------------------------------------------------------------------

t.test("what waits in a coroutine of one's own has whoever resumed it wait", function()
  local order = {}
  local beside = flow.spawn(function()
    flow.sleep(0.001)
    order[#order + 1] = "beside"
  end)
  local co = coroutine.create(function(a)
    flow.sleep(0.02)
    local b = coroutine.yield(a + 1)
    local list = assert(flow.map({ b, b + 1 }, function(n) flow.sleep(0.001) return n * 2 end))
    return table.unpack(list)
  end)
  t.same({ coroutine.resume(co, 1) }, { true, 2 })
  order[#order + 1] = "resumed"
  t.same(order, { "beside", "resumed" })
  t.same({ coroutine.resume(co, 5) }, { true, 10, 12 })
  t.equal(coroutine.status(co), "dead")
  t.same({ coroutine.resume(co) }, { false, "cannot resume dead coroutine" })
  beside:wait()
end)

t.test("so it is in coroutines within coroutines, and in those of coroutine.wrap", function()
  local inner = coroutine.wrap(function(n)
    while true do
      flow.sleep(0.001)
      n = coroutine.yield(n * 10)
    end
  end)
  local outer = coroutine.wrap(function()
    for i = 1, 3 do coroutine.yield(inner(i) + flow.map({ i }, function(n) return n end)[1]) end
  end)
  t.equal(outer() .. " " .. outer() .. " " .. outer(), "11 22 33")
  local failing = coroutine.wrap(function()
    flow.sleep(0.001)
    error "lost"
  end)
  local ok, err = pcall(function()
    failing()
    return 1
  end)
  t.equal(ok, false)
  t.matches(err, "test_flow%.lua:%d+: .*test_flow%.lua:%d+: lost$")
  local value = {}
  ok, err = pcall(coroutine.wrap(function() flow.yield() error(value) end))
  t.ok(not ok and err == value)
  t.same({ coroutine.resume(coroutine.create(function(...) flow.yield() return ... end), 1, nil, 3, nil) }, { true, 1, nil, 3 })
end)

t.test("a coroutine that waits is resumed by nobody else", function()
  local co = coroutine.create(function()
    flow.sleep(0.02)
    return "done"
  end)
  local first = flow.spawn(function() return select(2, coroutine.resume(co)) end)
  flow.sleep(0.001)
  t.same({ coroutine.resume(co) }, { false, "cannot resume non-suspended coroutine" })
  t.equal(first:wait(), "done")
end)

t.test("what waits is nobody else's to resume or to close, a fiber's own coroutine too", function()
  local own
  local fiber = flow.spawn(function()
    own = coroutine.running()
    flow.sleep(0.02)
    return "whole"
  end)
  local co = coroutine.create(function()
    flow.sleep(0.02)
    return "done"
  end)
  local first = flow.spawn(function() return select(2, coroutine.resume(co)) end)
  flow.sleep(0.001)
  for _, one in ipairs { own, co } do
    t.same({ coroutine.resume(one) }, { false, "cannot resume non-suspended coroutine" })
    t.equal(coroutine.status(one), "normal")
    local ok, err = pcall(coroutine.close, one)
    t.ok(not ok)
    t.ok(tostring(err):find("cannot close a normal coroutine", 1, true))
  end
  t.equal(fiber:wait(), "whole")
  t.equal(first:wait(), "done")
  t.equal(coroutine.status(co), "dead")
  t.equal(coroutine.status(coroutine.running()), "running")
  local open = coroutine.create(coroutine.yield)
  coroutine.resume(open)
  t.equal(coroutine.status(open), "suspended")
  t.ok(coroutine.close(open))
end)

t.test("a cancel reaches what waits in a coroutine of one's own, and closes it", function()
  local closed, caught = false, nil
  local _, err = flow.timeout(0.005, function()
    local co = coroutine.create(function()
      local here <close> = setmetatable({}, { __close = function() closed = true end })
      flow.sleep(100)
    end)
    local _, wrong = coroutine.resume(co)
    caught = wrong
    flow.sleep(100)
  end)
  t.equal(err.code, "timeout")
  t.ok(closed)
  t.equal(caught.code, "cancelled")
  -- one that catches it for ever is given up
  local stubborn = flow.spawn(function()
    return coroutine.resume(coroutine.create(function() while true do pcall(flow.sleep, 100) end end))
  end)
  flow.sleep(0.001)
  stubborn:cancel()
  t.eventually(function() return stubborn:status() == "done" end)
end)

t.test("across a C function nothing waits, also in a coroutine", function()
  local ok, err = pcall(table.sort, { 2, 1 }, function()
    local _, wrong = coroutine.resume(coroutine.create(function() flow.sleep(0.001) end))
    error(wrong, 0)
  end)
  t.equal(ok, false)
  t.has(err, "this waits")
  t.raises("coroutine expected", coroutine.resume, 1)
  t.raises("function expected", coroutine.wrap, 1)
end)

t.test("coroutines of one's own work as ever inside of a fiber", function()
  local co = coroutine.wrap(function(a) local b = coroutine.yield(a + 1) return b * 2 end)
  t.equal(co(1), 2)
  flow.sleep(0.001)
  t.equal(co(5), 10)
end)

t.test("a plain yield lets the others run", function()
  local order = {}
  local a = flow.spawn(function() coroutine.yield() order[#order + 1] = "a" end)
  local b = flow.spawn(function() order[#order + 1] = "b" end)
  a:wait()
  b:wait()
  t.same(order, { "b", "a" })
end)

t.test("waiting across a C function says what is in between", function()
  t.raises("table.sort, string.gsub", table.sort, { 2, 1 }, function() flow.sleep(0.001) end)
  t.raises("cannot wait here", string.gsub, "abc", "%w", function() flow.sleep(0.001) end)
  local object = setmetatable({}, { __tostring = function() flow.sleep(0.001) return "x" end })
  t.raises("cannot wait here", tostring, object)
end)

t.test("metamethods, iterators and close handlers may wait", function()
  local object = setmetatable({}, { __index = function(_, k) flow.sleep(0.001) return k end, __call = function() flow.yield() return 1 end })
  t.equal(object.x, "x")
  t.equal(object(), 1)
  for i in function(_, n) flow.yield() return n < 3 and n + 1 or nil end, nil, 0 do t.ok(i) end
  do
    local closed
    do local closing <close> = setmetatable({}, { __close = function() flow.sleep(0.001) closed = true end }) end
    t.equal(closed, true)
  end
  t.equal(select(2, pcall(function() flow.sleep(0.001) return 5 end)), 5)
end)

t.test("bad arguments are the caller's fault", function()
  local function raised_at(fn)
    local line = debug.getinfo(fn, "S").linedefined
    local ok, err = pcall(fn)
    t.equal(ok, false)
    t.has(err, ("test_flow.lua:%d:"):format(line))
    return err
  end
  t.has(raised_at(function() flow.map(3, print) end), "bad argument #1 to 'map' (a list expected, got number)")
  t.has(raised_at(function() flow.map({}, print, { limit = 0 }) end), "bad option 'limit'")
  t.has(raised_at(function() flow.race {} end), "at least one function")
  t.raises("number expected", flow.sleep, "x")
  t.raises("", flow.sleep, -1)
  t.raises("", flow.sleep, 0 / 0)
  t.raises("function expected", flow.spawn, 3)
  t.raises("bad argument #2 to 'map' (function expected, got nil)", flow.map, { 1 })
  t.raises("bad argument #1 to 'map' (a list expected, got number)", flow.map, 5, print)
  for _, name in ipairs { "all", "any", "race" } do
    t.raises(("bad argument #1 to '%s' (item 2 is a string and no function"):format(name), flow[name], { print, "x" })
    t.raises(("bad argument #1 to '%s' (a list expected, got nil)"):format(name), flow[name])
  end
  t.raises("bad argument #1 to 'timeout' (seconds must not be negative)", flow.timeout, -1, print)
  t.raises("bad argument #2 to 'timeout' (function expected, got nil)", flow.timeout, 1)
  raised_at(function() flow.all { 5 } end)
  raised_at(function() flow.any(5) end)
  raised_at(function() flow.map({}, 5) end)
  raised_at(function() flow.spawn(5) end)
  raised_at(function() flow.timeout("1", print) end)
  t.raises("while a fiber runs", fiber.run, print)
end)

t.test("a fiber cannot wait for itself for ever unseen", function()
  local child = flow.spawn(function() return fiber.self():wait(0.01) end)
  t.fails("timeout", "", child:wait(5))
end)

-- ---- Many ---------------------------------------------------------------------------------------

t.test("10,000 fibers", function()
  local begin, list = flow.now(), {}
  for i = 1, 10000 do list[i] = flow.spawn(function() flow.sleep(0.05) return i end) end
  local sum = 0
  for _, one in ipairs(list) do sum = sum + one:wait() end
  t.equal(sum, 50005000)
  t.ok(flow.now() - begin < 20, "10,000 sleeps took too long")
end)

t.test("10,000 fibers are cancelled together", function()
  local closed = 0
  local owner = flow.spawn(function()
    for _ = 1, 10000 do
      flow.spawn(function()
        local closing <close> = setmetatable({}, { __close = function() closed = closed + 1 end })
        flow.sleep(60)
      end)
    end
    flow.sleep(60)
  end)
  flow.sleep(0.001)
  flow.sleep(0.001)
  owner:cancel()
  t.ok(owner:join(20), "they still run")
  t.equal(closed, 10000)
end)

t.test("a chain of 1,000 owners", function()
  local deepest
  local function go(n)
    if n == 0 then
      deepest = true
      return flow.sleep(60)
    end
    flow.spawn(go, n - 1):wait()
  end
  local top = flow.spawn(go, 1000)
  t.eventually(function() return deepest end, 10)
  top:cancel()
  t.ok(top:join(10))
end)

t.test("the context is inherited and does not flow back", function()
  fiber.set_context { name = "outer" }
  flow.spawn(function()
    t.equal(fiber.context().name, "outer")
    fiber.set_context { name = "inner" }
  end):wait()
  t.equal(fiber.context().name, "outer")
end)

t.test("misuse is told with the caller's line, not with one of ours", function()
  local hocket, process = require "hocket", require "hocket.process"
  for _, misuse in ipairs {
    function() flow.sleep "long" end,
    function() local _ = hocket.document {} end, function() hocket.document { { "day", "what" } } end,
    function() hocket.document { { "day", { "x", "x" } } } end,
    function() hocket.board { limit = "many" } end, function() hocket.board "x" end,
    function() local _ = os.time { year = 2020 } end, function() local _ = os.date("%Q") end, function() local _ = math.random(2, 1) end,
    function() local _ = hocket.fs.read(nil) end, function() local _ = hocket.fs.write "x" end, function() local _ = process.run {} end,
    function() local _ = process.open { argv = 1 } end, function() local _ = hocket.http.request { url = "http://127.0.0.1:1", nonsense = 1 } end,
    function() local _ = require "no.such.module" end, function() local _ = require(nil) end, function() hocket.step(1) end,
  } do
    local ok, message = pcall(misuse)
    t.ok(not ok)
    t.matches(message, "test_flow%.lua:%d+: ")
    t.ok(not message:find "hocket%.internal", message)
    local said = message:gsub("^.-test_flow%.lua:%d+: ", "") -- the place may lie in a folder of that name
    t.ok(not said:find "hocket/[%l_/]+%.lua:", message)
    for _, name in ipairs { "?", "fn", "original" } do t.lacks(message, ("'%s'"):format(name)) end
  end
end)

-- What is left here is ended by the host, with these fibers waiting.
for _ = 1, 100 do
  fiber.detach(function()
    local closing <close> = setmetatable({}, { __close = function() pcall(flow.sleep, 1) end })
    flow.sleep(3600)
  end)
end
flow.yield()

t.test("what is called first in each fiber: a debugger's hook reaches its code, also in fibers that jobs are", function()
  local hocket = require "hocket"
  local seen, lines = {}, {}
  local function hook(_, line)
    local info = debug.getinfo(2, "S")
    if info.source:find("test_flow", 1, true) then lines[line] = coroutine.running() end
  end
  local ended <close> = setmetatable({}, { __close = function() flow.on_begin(nil) end })
  flow.on_begin(function()
    seen[coroutine.running()] = true
    debug.sethook(hook, "l")
  end)
  local at
  local look = hocket.tool.new { name = "look", description = "Looks.", parameters = { type = "object" }, run = function()
    at = debug.getinfo(1, "l").currentline
    flow.sleep(0.001)
    return "fine"
  end }
  local served = hocket.sim.serve { reply = function(request)
    if request.last.role == "tool" then return "done" end
    return { calls = { { name = "look", arguments = {} }, { name = "look", arguments = {} } } }
  end }
  hocket.provider("hooked", { protocol = "openai_chat", base = served.base })
  local agent = hocket.agent { name = "a", prompt = "p", model = "hooked/m", tools = { look } }
  t.equal(hocket.run(agent, "go").text, "done")
  local co = lines[at + 1]
  t.ok(co and seen[co], "a line of the tool's function was not seen") -- in another fiber than this one
  t.ok(co ~= coroutine.running())
  t.ok(lines[at + 2], "the line behind a wait was not seen")
  flow.on_begin(nil)
  local before
  flow.spawn(function() before = debug.gethook() end):join()
  t.equal(before, nil)
  t.raises("function expected", flow.on_begin, 1)
  served:close()
end)

return t.finish()
