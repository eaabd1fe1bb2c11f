--- The broker in Lua: waits inside waits, delivery, retries, cancelling at every point.
local t = require "harness"
local s = require "scripted"
local broker = require "hocket.broker"
local fiber = require "hocket.internal.core.fiber"
local flow = require "hocket.flow"
local hocket = require "hocket"
local json = require "hocket.json"
local process = require "hocket.process"
local runs = require "hocket.internal.run.run"
local system = require "hocket.internal.core.system"

local jobs = hocket.broker()
local call = s.call

-- A limit for the shared broker, gone at the end of the scope.
local function limited(n)
  jobs:limit("all", nil, n)
  return setmetatable({}, { __close = function() jobs:limit("all") end })
end

t.test("jobs inside jobs, twenty deep, one at a time", function()
  local limit <close> = limited(1)
  local running, most = 0, 0
  local function level(n)
    return jobs:call { run = function()
      running = running + 1
      most = math.max(most, running)
      flow.sleep(0.001)
      running = running - 1
      return n == 0 and 1 or 1 + level(n - 1)
    end }
  end
  t.equal(level(19), 20)
  t.equal(most, 1)
end)

t.test("one fiber of a job waits while another is getting the slot back", function()
  local limit <close> = limited(1)
  local result = jobs:call { run = function()
    local out = flow.all {
      function() return jobs:call { run = function() flow.sleep(0.02) return "a" end } end,
      function()
        flow.sleep(0.025)
        return jobs:call { run = function() flow.sleep(0.01) return "b" end }
      end,
      function()
        flow.sleep(0.015)
        return jobs:call { run = function() return "c" end }
      end,
    }
    return table.concat(out)
  end }
  t.equal(result, "abc")
  t.equal(jobs:counts().slots, 0)
end)

t.test("a slot that comes back while another fiber has begun to wait is given up again", function()
  local limit <close> = limited(1)
  local result = jobs:call { run = function()
    local out = flow.all {
      function() return jobs:call { run = function() flow.sleep(0.02) return "a" end } end,
      function()
        flow.sleep(0.01) -- this one gets the slot between "a" and the job that waited for it
        jobs:submit { detached = true, run = function() flow.sleep(0.04) end }
        flow.sleep(0.025)
        return jobs:call { run = function() return "b" end }
      end,
    }
    return table.concat(out)
  end }
  t.equal(result, "ab")
  t.eventually(function() return jobs:counts().slots == 0 end)
end)

t.test("ten thousand background tasks, in any order, each told once", function()
  local N, told = 10000, {}
  local run = s.run(function()
    return { text = jobs:call { run = function(job)
      local limit, left = math.random, N
      for i = 1, N do
        assert(jobs:submit { background = true, data = i, run = function() flow.sleep(limit() * 0.3) return i end })
      end
      while left > 0 do
        local ids = jobs:take(job)
        for _, id in ipairs(ids) do
          told[id] = (told[id] or 0) + 1
          left = left - 1
        end
        if #ids == 0 then flow.sleep(0.003) end
      end
      t.equal(#jobs:background(job), N)
      t.equal(#jobs:take(job), 0)
      return "all"
    end } }
  end)
  local count = 0
  for _, n in pairs(told) do
    t.equal(n, 1)
    count = count + 1
  end
  t.equal(count, N)
  t.equal(#s.events(run, "task_completed") <= N + 1, true)
end)

t.test("a result that was read is not handed out; one that is to be waited for neither", function()
  jobs:call { run = function(job)
    local a = jobs:submit { background = true, run = function() return "a" end }
    local b = jobs:submit { background = true, run = function() return "b" end }
    jobs:call { run = function() return "c" end }
    jobs:wait_for({ a, b }, "all")
    t.equal(jobs:result(a), "a")
    t.same(jobs:take(job), { b })
    t.equal(jobs:result(b), "b") -- for ever
    t.equal(jobs:result(a), "a")
    return true
  end }
end)

t.test("retries are told of the error before; some errors are final", function()
  local seen = {}
  local value = jobs:call { retries = 2, backoff = 0, run = function(job)
    seen[#seen + 1] = job.last_error or "-"
    if job.attempt < 3 then return nil, { code = "io", message = "wrong " .. job.attempt } end
    return "right"
  end }
  t.equal(value, "right")
  t.same(seen, { "-", "wrong 1", "wrong 2" })
  local n = 0
  t.fails("auth", "no key", jobs:call { retries = 5, backoff = 0, run = function()
    n = n + 1
    return nil, { code = "auth", message = "no key", no_retry = true }
  end })
  t.equal(n, 1)
  for retryable, attempts in pairs { [true] = 3, [false] = 1 } do
    n = 0
    t.fails("io", "gone", jobs:call { retries = 2, backoff = 0, run = function()
      n = n + 1
      return nil, { code = "io", message = "gone", retryable = retryable }
    end })
    t.equal(n, attempts)
  end
end)

t.test("hocket.broker is the one that all agents share; with options it is one of its own", function()
  t.equal(hocket.broker(), hocket.broker())
  local own = hocket.broker { max_jobs = 1 }
  t.ok(own ~= hocket.broker())
  local first = assert(own:submit { run = function() flow.sleep(0.01) end })
  t.fails("limit", "", own:submit { run = function() end })
  own:wait(first)
  own:close()
  t.raises("unknown option 'colour'", hocket.broker, { colour = 1 })
end)

t.test("a deadline, a raise, a limit, a circle", function()
  t.fails("timeout", "", jobs:call { deadline = 0.02, run = function() flow.sleep(5) end })
  t.fails("script", "oops", jobs:call { run = function() error "oops" end })
  t.fails("invalid", "a -> ", jobs:submit_all { { name = "a", needs = { "b" }, run = print }, { name = "b", needs = { "a" }, run = print } })
  t.fails("not_found", "nobody", jobs:submit_all { { name = "a", needs = { "nobody" }, run = print } })
  t.raises("unknown field 'retry' in a job", function() jobs:submit { run = print, retry = 1 } end)
end)

t.test("every field of a job is known, and is what it has to be", function()
  local first = jobs:submit { run = function() return 1 end }
  local whole = {
    agent = "one", background = false, backoff = 0, backoff_max = 1, budget = {}, context = {}, data = { 1 }, deadline = 5, keeps = {},
    deps = { first }, detached = true, emit = function() end, group = "g", name = "n", needs = {}, on_dependency = "fail",
    op = "o1", priority = 1, provider = "p", retries = 1, scope = fiber.self(), trigger = "call",
    run = function(job) return job.data[1] + job.attempt end,
  }
  t.equal(jobs:call(whole), 2)
  local wrong = {
    agent = 1, backoff = -1, deadline = "x", deps = "x", emit = 1, group = 1, keeps = 1, name = 1, needs = 1, on_dependency = "x", op = 1,
    parent = t, priority = 101, provider = 1, retries = 0.5, run = 1, scope = 1, trigger = 1, [1] = 1,
  }
  for name, value in pairs(wrong) do
    local spec = { run = print, [name] = value }
    if name ~= "parent" then t.raises(tostring(name), function() jobs:submit(spec) end) end
  end
  t.raises("job expected", function() jobs:submit { run = print, parent = io.stdout } end)
  t.equal(jobs:counts().pending, 0)
end)

t.test("a job takes what a script puts into it, and keeps what is its own", function()
  jobs:call { data = "d", run = function(job)
    job.mine = { 1 }
    t.equal(job.mine[1], 1)
    t.equal(job.nothing, nil)
    t.equal(job.broker, jobs)
    t.equal(job.data, "d")
    t.raises("'id' cannot be changed", function() job.id = 1 end)
    t.equal(jobs:call { run = function(inner) return inner.parent == job and inner.parent.mine[1] end }, 1)
    return true
  end }
end)

t.test("what is kept of a value is what is asked for, or as text where JSON cannot hold it", function()
  local broken = setmetatable({}, { __index = function() error "no such member" end, __name = "broken" })
  local kept = {
    { { "a", "c", "z" }, { a = 1, b = 2, c = "x" }, '{"a":1,"c":"x"}' }, { { "a" }, "all of it", '"all of it"' }, { { "a" }, { a = print }, '"table' },
    { { "text" }, { text = "t", other = print }, '{"text":"t"}' }, { {}, { a = 1 }, "{}" },
    { { "a" }, broken, '"broken' },
  }
  for _, case in ipairs(kept) do
    local id = jobs:submit { keeps = case[1], run = function() return case[2] end }
    t.equal(jobs:wait(id), case[2])
    t.equal(jobs:poll(id).result:sub(1, #case[3]), case[3])
  end
  local id = jobs:submit { run = function() return print end }
  t.equal(jobs:wait(id), print)
  t.has(jobs:poll(id).result, "function")
  t.equal(jobs:forget(id), true)
  t.fails("not_found", "there is no task", jobs:result(id))
  t.fails("timeout", "has not ended in time", jobs:wait(jobs:submit { run = function() flow.sleep(0.05) end }, 0.01))
end)

t.test("who waits for what has ended keeps the slot", function()
  local limit <close> = limited(1)
  local order = {}
  jobs:call { run = function()
    local early = jobs:submit { run = function() return "early" end }
    jobs:wait(early)
    local later = jobs:submit { run = function() order[#order + 1] = "later" end }
    t.equal(jobs:wait(early), "early")
    order[#order + 1] = "went on"
    jobs:wait(later)
    return true
  end }
  t.same(order, { "went on", "later" })
end)

t.test("an event stream has all to the end, also when the job is forgotten at once", function()
  local id, types = jobs:submit { run = function(job) job:progress "half" return 1 end }, {}
  local reader = flow.spawn(function()
    for event in jobs:stream(id) do types[#types + 1] = event.type end
  end)
  flow.yield()
  jobs:wait(id)
  jobs:forget(id)
  reader:wait(1)
  t.equal(types[#types], "completed")
  t.equal(jobs:job(id), nil)
  for _ in jobs:stream(id) do error "nobody knows it any more" end
  local told = {}
  jobs:call { emit = function(type, payload) told[#told + 1] = type .. " " .. tostring(payload.result) end, run = function() return "r" end }
  t.eventually(function() return #told == 3 end)
  t.equal(told[3], 'task_completed r')
end)

t.test("a broker of one's own is closed; jobs that are held outlive it", function()
  local own, held = broker.new { max_running = 1 }, nil
  own:submit { run = function(job) held = job flow.sleep(30) end }
  local waiting = own:submit { run = function() error "it must not start" end }
  flow.sleep(0.005)
  own:close()
  t.equal(own:poll(waiting).status, "cancelled")
  flow.sleep(0.005)
  own = nil
  collectgarbage()
  collectgarbage()
  held:progress "too late"
  t.equal(held.over, true)
  t.equal(type(held.broker), "userdata")
  t.raises("cannot be closed", function() jobs:close() end)
end)

t.test("a job that cannot be started fails, and those behind it start", function()
  s.run(function()
    local run = runs.current()
    local broken = setmetatable({ journal = run.journal, accounts = run.accounts }, { __index = function(_, key) error("no " .. key) end })
    for _ = 1, 3 do
      t.fails("script", "no scope", jobs:call { context = { run = broken }, retries = 2, backoff = 0, run = function() error "it must not start" end })
      t.equal(jobs:call { run = function() return "goes on" end }, "goes on")
    end
    t.equal(jobs:counts().slots, 0)
    return { text = "" }
  end)
end)

t.test("a person is waited for without a slot", function()
  local limit <close> = limited(1)
  local asker, answer
  local id = jobs:submit { run = function()
    return jobs:aside(function()
      asker = fiber.self()
      while not answer do fiber.park() end
      return answer
    end)
  end }
  t.eventually(function() return asker end)
  t.equal(jobs:call { run = function() return "meanwhile" end }, "meanwhile")
  answer = "yes"
  asker:wake()
  t.equal(jobs:wait(id), "yes")
end)

t.test("cancelling a job ends what it started, all the way down", function()
  local ended = 0
  local function sleeper()
    local note <close> = setmetatable({}, { __close = function() ended = ended + 1 end })
    flow.sleep(30)
  end
  local id = jobs:submit { run = function()
    local inner = jobs:submit { run = function()
      jobs:submit { background = true, run = sleeper }
      sleeper()
    end }
    jobs:wait(inner)
  end }
  flow.sleep(0.02)
  t.equal(jobs:cancel(id), true)
  t.eventually(function() return ended == 2 end)
  t.fails("cancelled", "cancelled", jobs:result(id))
  t.equal(jobs:counts().slots, 0)
end)

t.test("a listener that raises does not stop the others", function()
  local id = jobs:submit { run = function() return 1 end, emit = function() error "no" end }
  t.equal(jobs:wait(id), 1)
  t.equal(jobs:call { run = function() return 2 end }, 2)
end)

t.test("cancel_all is for the run that one is in, and for all where one is told so", function()
  local function nap() flow.sleep(30) end
  local other = jobs:submit { run = nap }
  s.run(function()
    local ids = { jobs:submit { run = nap }, jobs:submit { run = nap } }
    t.equal(jobs:cancel_all(), 2)
    t.equal(jobs:poll(ids[1]).status, "cancelled")
    return { text = "" }
  end)
  t.equal(jobs:poll(other).final, false)
  t.ok(jobs:cancel_all(0) >= 1)
  t.equal(jobs:poll(other).status, "cancelled")
end)

t.test("the end of a run ends its jobs; what it knew is dropped", function()
  local id
  local run = s.run(function()
    id = jobs:submit { run = function() flow.sleep(30) end }
    flow.sleep(0.01)
    return { text = "" }
  end)
  t.equal(#s.events(run, "task_cancelled"), 1)
  t.equal(jobs:poll(id), nil)
  t.equal(jobs:job(id), nil)
end)

t.test("events show texts short, whole in characters, under the name that fits how it ended", function()
  local long = ("ä"):rep(1500)
  local run = s.run(function()
    jobs:call { agent = "one", op = "o9", run = function() return { text = long } end, keeps = { "text" } }
    jobs:call { run = function(job)
      job:progress "half \"done\"\n"
      return nil, { code = "script", message = "broken", no_retry = true }
    end }
    return { text = "" }
  end)
  local completed, failed = s.events(run, "task_completed")[1], s.events(run, "task_failed")[1]
  t.equal(completed.agent, "one")
  t.equal(completed.op, "o9")
  t.equal(math.type(completed.task), "integer")
  t.equal(completed.result, ("ä"):rep(999) .. "…")
  t.equal(failed.error, "broken")
  t.equal(s.events(run, "task_progress")[1].message, "half \"done\"\n")
  t.equal(s.events(run, "task_running")[1].message, nil)
end)

t.test("whether a job has ended, also one that nobody knows", function()
  s.run(function()
    local id = jobs:submit { run = function() flow.sleep(0.01) return 1 end }
    t.equal(jobs:has_ended(id), false)
    jobs:wait(id)
    t.equal(jobs:has_ended(id), true)
    jobs:forget(id)
    t.equal(jobs:has_ended(id), true)
    return { text = "" }
  end)
end)

-- ---- What cannot end is refused -----------------------------------------------------------------

t.test("a limit under which nothing would ever start is refused with words", function()
  local own = broker.new()
  for _, case in ipairs { { 0, "at least 1" }, { -1, "at least 1" }, { 1.5, "whole number" }, { "many", "whole number" }, { math.huge, "whole number" } } do
    for _, kind in ipairs { "agent", "provider", "group", "all" } do
      t.raises(case[2], function() own:limit(kind, "a", case[1]) end)
    end
  end
  for _, name in ipairs { "max_running", "max_jobs" } do
    t.raises(name, function() broker.new { [name] = 0 } end)
    t.raises(name, function() broker.new { [name] = -1 } end)
    t.raises(name, function() broker.new { [name] = 2.5 } end)
  end
  t.equal(own:call { agent = "a", run = function() return "still open" end }, "still open")
  own:limit("agent", "a", 1)
  own:limit("agent", "a", nil)
  own:close()
end)

t.test("a broker that is closed takes no job, also from what still ends in it", function()
  local own, late = broker.new(), nil
  own:submit { run = function()
    local closing <close> = setmetatable({}, { __close = function()
      late = table.pack(own:submit { run = print })
    end })
    flow.sleep(30)
  end }
  flow.sleep(0.005)
  own:close()
  t.fails("closed", "closed", own:submit { run = print })
  t.fails("closed", "closed", own:submit_all { { run = print } })
  t.fails("closed", "closed", own:call { run = print })
  t.eventually(function() return late end)
  t.fails("closed", "closed", table.unpack(late, 1, 2))
  own:close()
end)

t.test("misuse is reported with the script's line", function()
  for _, wrong in ipairs { function() local made = broker { nosuch = 1 } return made end, function() local made = broker.new(7) return made end, function() for _ in jobs:stream "x" do end end } do
    local ok, err = pcall(wrong)
    t.equal(ok, false)
    t.matches(err, "test_broker.lua:%d+: ")
  end
end)

-- Submits n jobs, of which the i-th calls wait(ids, i). The errors of all, and their ids.
local function ring(n, wait)
  local ids, errors = {}, {}
  for i = 1, n do
    ids[i] = assert(jobs:submit { run = function()
      flow.yield()
      local value, err = wait(ids, i)
      if value == nil then errors[i] = err end
      return value == nil and "refused" or value
    end })
  end
  t.equal(jobs:wait_for(ids, "all", 2), true, "they wait for each other, and for ever")
  return errors, ids
end

-- Whoever began to wait last was refused, and nobody else. Returns its number.
local function one_refused(errors)
  local i, err = next(errors)
  t.fails("invalid", "in a ring", nil, err)
  t.equal(next(errors, i), nil)
  return i, err.message
end

t.test("jobs that wait for each other in a ring are told so at once", function()
  for _, n in ipairs { 1, 2, 3, 20 } do
    local errors, ids = ring(n, function(all, i) return jobs:wait(all[i % n + 1]) end)
    local i, message = one_refused(errors)
    t.has(message, ("task %d -> task %d"):format(ids[i], ids[i % n + 1]))
    t.matches(message, ("-> task %d$"):format(ids[i]))
    for _, id in ipairs(ids) do t.equal(jobs:poll(id).status, "completed") end -- none was cancelled for it
  end
end)

t.test("a ring is one also through several jobs, dependencies, and fibers that wait for each other", function()
  one_refused((ring(2, function(all, i) return jobs:wait_for({ all[i % 2 + 1] }, "any") end)))
  one_refused((ring(3, function(all, i)
    if i == 3 then return "done" end
    return jobs:wait_for({ all[3], all[i % 2 + 1] }, i == 1 and "all" or "failed")
  end)))
  one_refused((ring(2, function(all, i)
    local values, whys = flow.all { function() return jobs:wait(all[i % 2 + 1]) end, function() flow.sleep(0.01) return 1 end }
    return values[1], whys[1]
  end)))
  one_refused((ring(2, function(all, i)
    local child = flow.spawn(function() return jobs:wait(all[i % 2 + 1]) end)
    return child:wait()
  end)))
  -- a child that comes after a job that comes after its parent, which waits for it
  local before
  t.fails("invalid", "in a ring", jobs:call { run = function(job)
    before = jobs:submit { detached = true, deps = { job.id }, run = function() return 1 end }
    local child = jobs:submit { deps = { before }, run = function() return 2 end }
    return jobs:wait(child)
  end })
end)

-- Ends what would wait for ever, for the sake of the test.
local function in_time(fn)
  return (flow.timeout(2, fn)) or "never"
end

-- Submits a job to each of these brokers, of which the i-th calls wait(broker, id, i) for the next one. What was refused, and what came of the jobs.
local function ring_of(brokers, wait)
  local ids, refused, n = {}, {}, #brokers
  for i = 1, n do
    ids[i] = assert(brokers[i]:submit { run = function()
      flow.yield()
      local ok, value, err = pcall(wait, brokers[i % n + 1], ids[i % n + 1], i)
      local wrong = not ok and value or err
      if wrong then refused[#refused + 1] = ("%s %s"):format(wrong.code, wrong.message) end
      return value and ok and value or "went on"
    end })
  end
  local said = in_time(function()
    local all = {}
    for i = 1, n do all[i] = tostring(brokers[i]:wait(ids[i])) end
    return table.concat(all, "; ")
  end)
  return said, refused
end

local function read_all(own, id)
  for _ in own:stream(id) do end
  return "read"
end

-- Whoever began to wait last was refused, and all have ended.
local function one_is_refused(brokers, wait)
  local said, refused = ring_of(brokers, wait)
  t.equal(#refused, 1, said)
  t.has(refused[1], "invalid tasks cannot wait for each other in a ring")
end

t.test("jobs of several brokers do not wait for each other in a ring", function()
  local one, other, third = broker.new(), broker.new { max_running = 1 }, broker.new()
  local function wait(own, id) return own:wait(id) end
  one_is_refused({ one, other }, wait)
  one_is_refused({ one, other, third }, wait)
  one_is_refused({ one, jobs, one, other }, wait)
  one_is_refused({ one, other }, function(own, id) return own:call { deps = { id }, run = function() return "after" end } end)
  t.equal(ring_of({ one, other }, function(own, id, i) return i == 1 and own:wait(id) or "first" end), "first; first")
  local said, refused = ring_of({ one, other }, function(own, id, i) return own:wait(id, i == 1 and 0.02 or nil) end)
  t.equal(said, "went on; went on")
  t.matches(table.concat(refused, "; "), "^timeout task %d+ has not ended in time$")
  for _, own in ipairs { one, other, third } do own:close() end
end)

t.test("jobs do not wait for each other's events in a ring", function()
  local one, other = broker.new(), broker.new()
  one_is_refused({ jobs }, read_all)
  one_is_refused({ jobs, jobs }, read_all)
  one_is_refused({ one, other }, read_all)
  for first = 1, 2 do
    local function read_or_wait(own, id, i)
      if i == first then return read_all(own, id) end
      return own:wait(id)
    end
    one_is_refused({ one, other }, read_or_wait)
    one_is_refused({ one, one, one }, read_or_wait)
  end
  for _, own in ipairs { one, other } do own:close() end
end)

t.test("who reads what another job's fiber reports waits in no ring", function()
  -- a fiber beside the one that waits reports, and the reader has enough
  local said, refused = ring_of({ jobs, jobs }, function(own, id, i)
    if i == 2 then
      flow.spawn(function(job)
        flow.sleep(0.02)
        job:progress "half"
      end, broker.job())
      return own:wait(id)
    end
    for event in own:stream(id) do
      if event.payload == "half" then return "enough" end
    end
  end)
  t.equal(said, "enough; enough", refused[1])
  -- so does a job below it
  for first = 1, 2 do
    t.equal(in_time(function()
      return (jobs:call { run = function(job)
        local reader = jobs:submit { run = function()
          if first == 2 then flow.sleep(0.01) end
          for event in jobs:stream(job.id) do
            if event.payload == "half" then return "enough" end
          end
        end }
        jobs:submit { run = function()
          flow.sleep(0.02)
          job:progress "half"
        end }
        if first == 1 then flow.yield() end
        return jobs:wait(reader)
      end })
    end), "enough")
  end
  -- but not the reader, which waits
  t.has(in_time(function()
    return jobs:call { run = function(job)
      local _, err = jobs:wait(jobs:submit { run = function() return read_all(jobs, job.id) end })
      return err.message
    end }
  end), "in a ring")
end)

t.test("what only looks like a ring is none", function()
  -- a wait that ends by itself
  local errors = ring(2, function(all, i) return jobs:wait(all[i % 2 + 1], i == 2 and 0.02 or nil) end)
  t.equal(errors[2].code, "timeout")
  -- one that another fiber of the job may make superfluous
  errors = ring(2, function(all, i)
    if i == 2 then return jobs:wait(all[1]) end
    local _, value = flow.race { function() return jobs:wait(all[2]) end, function() flow.sleep(0.02) return "raced" end }
    return value
  end)
  t.equal(next(errors), nil)
  errors = ring(2, function(all, i)
    if i == 2 then return jobs:wait(all[1]) end
    return flow.timeout(0.02, function() return jobs:wait(all[2]) end) or "late"
  end)
  t.equal(next(errors), nil)
  -- one that nobody waits for
  errors = ring(2, function(all, i)
    if i == 2 then return jobs:wait(all[1]) end
    flow.spawn(function() jobs:wait(all[2]) end)
    flow.sleep(0.02)
    return "done"
  end)
  t.equal(next(errors), nil)
  -- any of two, of which one ends
  errors = ring(3, function(all, i)
    if i == 1 then return jobs:wait_for({ all[2], all[3] }, "any") end
    if i == 2 then return jobs:wait(all[1]) end
    flow.sleep(0.02)
    return "done"
  end)
  t.equal(next(errors), nil)
  -- a diamond
  errors = ring(4, function(all, i)
    if i == 4 then return "bottom" end
    return jobs:wait_for(i == 1 and { all[2], all[3] } or { all[4] }, "all")
  end)
  t.equal(next(errors), nil)
end)

t.test("a wait for too many, or for none that is known, leaves them as they are", function()
  local id = jobs:submit { run = function() flow.sleep(0.02) return "went on" end }
  local ids = {}
  for i = 1, 10001 do ids[i] = id end
  t.fails("limit", "10000 jobs in a wait", jobs:wait_for(ids))
  t.fails("not_found", "", jobs:wait_for { id, 999999999 })
  t.raises("1 to 1000 jobs", function() jobs:submit_all {} end)
  local specs = {}
  for i = 1, 1001 do specs[i] = { run = print } end
  t.raises("1 to 1000 jobs", function() jobs:submit_all(specs) end)
  t.equal(jobs:wait(id), "went on")
end)

t.test("a job that submits its successor does so for ever", function()
  local function chain(extra, runs)
    local links, first, seen = 0, nil, nil
    local function link(job)
      links = links + 1
      first = first or job
      seen = runs.current()
      if links == 2500 then return true end
      local spec = { run = link }
      for key, value in pairs(extra(first)) do spec[key] = value end
      assert(jobs:submit(spec))
      return true
    end
    assert(jobs:submit { run = link })
    t.eventually(function() return links == 2500 end)
    return seen
  end
  t.equal(chain(function() return { detached = true } end, runs), nil)
  s.run(function()
    t.equal(chain(function() return { detached = true } end, runs), runs.current()) -- it stays in its run
    return { text = "" }
  end)
end)

t.test("a thousand jobs inside of each other; more is refused when the broker is made", function()
  local own = broker.new { max_depth = 1000 }
  local function level(n)
    return own:call { run = function() return n == 0 and 1 or 1 + level(n - 1) end }
  end
  t.equal(level(999), 1000)
  t.raises("max_depth", function() broker.new { max_depth = 1001 } end)
  own:close()
end)

t.test("what one comes after may have failed", function()
  local order = {}
  local ids = assert(jobs:submit_all {
    { name = "a", retries = 1, backoff = 0, run = function() order[#order + 1] = "a" return nil, { code = "io", message = "no" } end },
    { name = "b", after = { "a" }, run = function() order[#order + 1] = "b" return true end },
    { name = "c", needs = { "a" }, after = { "b" }, run = print },
  })
  jobs:wait_for(ids)
  t.same(order, { "a", "a", "b" })
  t.equal(jobs:poll(ids[3]).status, "skipped")
  t.raises("after", function() jobs:submit { after = "a", run = print } end)
  t.fails("not_found", "nobody", jobs:submit_all { { after = { "nobody" }, run = print } })
end)

-- ---- Cancelling at every point --------------------------------------------------------------------

local function team(defs)
  local all = { a = { description = "A" }, b = { description = "B" } }
  for name, def in pairs(defs or {}) do all[name] = def end
  return s.team(all)
end

local function plan(mode, ...)
  local tasks = {}
  for i, depends_on in ipairs { ... } do
    tasks[i] = { id = "t" .. i, specialist = i % 2 == 0 and "a" or "b", description = "Do " .. i, depends_on = json.array(depends_on) }
  end
  return { type = "task", tasks = tasks, execution_mode = mode }
end

local lead = { description = "Leads", agents = { "a", "b" } }

-- What the model says, by agent and turn; a little late, so that every turn is a point of its own.
local function play(lines)
  s.reply = function(r)
    local one = lines[r.model] and lines[r.model][r.turn] or "from " .. r.model
    if type(one) == "string" then one = { text = one } end
    return { text = one.text, calls = one.calls, status = one.status, error = one.error, latency = 0.002 }
  end
end

local function submit(name) return call("submit_task", { agent_name = name, prompt = "P" }) end
local function delegate(name) return call("delegate", { agent_name = name, prompt = "P" }) end

local workflows = {
  ["one agent"] = function() play {} return hocket.run(team().a, "Go") end,
  ["an agent with a slow tool"] = function()
    play { a = { { calls = { call "nap", call "nap" } } } }
    return hocket.run(team { a = { description = "A", tools = { hocket.tool {
      name = "nap", description = "Nap", run = function() flow.sleep(0.004) end } } } }.a, "Go")
  end,
  ["two delegations side by side"] = function()
    play { lead = { { calls = { delegate "a", delegate "b" } } } }
    return hocket.run(team { lead = lead }.lead, "Go")
  end,
  ["background tasks"] = function()
    play { lead = { { calls = { submit "a", submit "b" } }, { calls = { call "wait_tasks" } } } }
    return hocket.run(team { lead = lead }.lead, "Go")
  end,
  ["an answer that hears its tasks out"] = function()
    play { lead = { { calls = { submit "a" } }, "early" } }
    return hocket.run(team { lead = lead }.lead, "Go")
  end,
  ["delegation of delegation"] = function()
    play { top = { { calls = { call("delegate", { agent_name = "lead", prompt = "P" }) } } }, lead = { { calls = { delegate "a" } } } }
    return hocket.run(team { lead = lead, top = { description = "T", agents = { "lead", "a", "b" } } }.top, "Go")
  end,
  ["a plan side by side"] = function()
    play {}
    return hocket.patterns.coordinator.run(plan("parallel", {}, {}, { "t1", "t2" }, {}), { team = team() })
  end,
  ["a plan one by one"] = function()
    play {}
    return hocket.patterns.coordinator.run(plan("sequential", {}, {}, {}), { team = team() })
  end,
  ["a plan with a failing branch and retries"] = function()
    play { b = { { status = 400, error = "broken" } } }
    return hocket.patterns.coordinator.run(plan("parallel", {}, {}, { "t1" }), { team = team(), backoff = 0.002, retries = 1 })
  end,
  ["a planner that asks"] = function()
    play { planner = { '{"type":"task","clarification_needed":true,"questions":["?"],"tasks":[]}', json.encode(plan("parallel", {}, { "t1" })) } }
    local all = team { planner = { description = "Plans" } }
    return hocket.patterns.planner.run { request = "Go", team = all }
  end,
  ["jobs of a script"] = function()
    local texts = flow.map({ 1, 2, 3 }, function(i)
      return jobs:call { run = function() flow.sleep(0.002 * i) return jobs:call { run = function() return tostring(i) end } end }
    end)
    return { text = table.concat(texts) }
  end,
  ["an agent with programs"] = function()
    local ran = 0
    play { a = { { calls = { call "sleeper", call "sleeper" } } } }
    local reply, err = hocket.run(team { a = { description = "A", tools = { hocket.tool { name = "sleeper", description = "Sleeps", run = function()
      local result = assert(process.run { argv = { "/bin/sleep", "0.02" }, cwd = "/tmp", sandbox = "limits", grace = 0.1 })
      if result.code == 0 then ran = ran + 1 end
    end } } } }.a, "Go")
    t.equal(ran, 2, "programs that ran")
    return reply, err
  end,
}

local options = { on_question = function() flow.sleep(0.002) return "this" end }
local ends = { task_completed = true, task_failed = true, task_cancelled = true, task_skipped = true }

-- Every task that was submitted has exactly one end; nothing is left in the broker.
local function check_ends(run, name, k)
  local begun, ended, last = {}, {}, nil
  for _, event in ipairs(s.events(run)) do
    if event.type == "task_pending" then begun[event.task] = true end
    if ends[event.type] then ended[event.task] = (ended[event.task] or 0) + 1 end
    last = event
  end
  for id in pairs(begun) do t.equal(ended[id], 1, ("%s, cancelled after event %d: ends of task %d"):format(name, k, id)) end
  t.equal(last.type, "workflow_finished")
  t.equal(jobs:counts().slots, 0)
  for state, n in pairs(jobs:counts(run.number)) do t.equal(state == "slots" and 0 or n, 0) end
end

-- Runs it and cancels it when its fibers have gone on k times: each place where one of them waits is passed
-- so. Returns whether it was still under way, and why its run failed, if it did.
local function cancel_after(work, name, k)
  local run, err
  local one = fiber.detach(function()
    _, _, err = s.run(function(made)
      run = made
      return work()
    end, options)
  end)
  local last, own = system.open().steps + k, 0
  repeat
    flow.yield()
    own = own + 1 -- this fiber's steps are none of its
  until run and (system.open().steps - own >= last or run.journal:finished())
  local in_time = not run.journal:finished()
  if in_time then
    one:cancel()
    one:join()
  else
    one:wait() -- what the test itself has to say is raised here
  end
  check_ends(run, name, k)
  return in_time, err
end

-- At the first place, the second, up to the end; how many there were.
local function cancel_everywhere(work, name)
  for k = 1, 3000 do
    local in_time, err = cancel_after(work, name, k)
    if not in_time then
      t.equal(err, nil, name .. ", which nobody cancelled")
      return k
    end
  end
  error(name .. " does not end")
end

local function lua_bytes()
  collectgarbage()
  collectgarbage()
  return collectgarbage "count" * 1024
end

for name, work in pairs(workflows) do
  t.test("cancelled at every point: " .. name, function()
    local before = system.open()
    local places = cancel_everywhere(work, name)
    t.ok(places > 5, "too few places to say anything: " .. places)
    t.equal(t.left_over(before), nil)
    local function grown()
      local bytes = lua_bytes()
      cancel_everywhere(work, name)
      t.equal(t.left_over(before), nil)
      return lua_bytes() - bytes
    end
    local more = grown()
    if more >= 20000 then more = grown() end -- a table that needed twice the room needs it once; what is lost is lost each time
    t.ok(more < 20000, ("%s: %d bytes more after the same again"):format(name, more))
  end)
end

t.test("an answer that is too long to be kept is refused in words of its own", function()
  local answer = { text = ("x"):rep(17 << 20) }
  local err = t.fails("limit", "", jobs:call { run = function() return answer end })
  t.equal(err.message, "the answer of 17.0 MiB is longer than what can be kept of one (16 MiB)")
end)

t.test("an error that is too long to be kept ends its job as well", function()
  local long = ("x"):rep(17 << 20)
  t.fails("limit", "too long to be kept", jobs:call { retries = 3, run = function() return nil, { code = "io", message = long } end })
end)

t.test("texts are cut between characters", function()
  local shorten = require "hocket.internal.base.truncate"
  t.equal(shorten("abc", 3), "abc")
  t.equal(shorten("abcd", 3), "abc")
  t.equal(shorten("a\u{1F600}b", 4, "…"), "a…")
  t.equal(shorten("a\u{1F600}b", 5, "…"), "a\u{1F600}…")
  t.equal(shorten(("\x80"):rep(10), 3), "")
end)

return t.finish()
