-- Microseconds of CPU for submit -> start -> complete of an empty job through Lua, with events off and on;
-- and of submitting and running 100,000 that queue.
--
--   hocket run bench/scripts/broker.lua
local hocket = require "hocket"
local fiber = require "hocket.internal.core.fiber"
local runner = require "hocket.internal.runner.run_agent"
local runs = require "hocket.internal.run.run"

local ROUNDS, BATCH, QUEUED = 30000, 500, 100000

local function empty() return true end

-- One after the other, each waited for.
local function each(jobs)
  local start = os.clock()
  for _ = 1, ROUNDS do assert(jobs:call { run = empty }) end
  return (os.clock() - start) / ROUNDS * 1e6
end

-- Many at once: what a job costs when the dispatcher is not woken for each.
local function batches(jobs)
  local start = os.clock()
  for _ = 1, ROUNDS // BATCH do
    local ids = {}
    for i = 1, BATCH do ids[i] = assert(jobs:submit { run = empty }) end
    assert(jobs:wait_for(ids, "all"))
  end
  return (os.clock() - start) / (ROUNDS // BATCH * BATCH) * 1e6
end

local function queued(jobs)
  jobs:limit("all", nil, 100)
  local last
  local start = os.clock()
  for _ = 1, QUEUED do last = assert(jobs:submit { run = empty }) end
  local submitted = os.clock()
  assert(jobs:wait_for({ last }, "all"))
  local done = os.clock()
  return (submitted - start) / QUEUED * 1e6, (done - submitted) / QUEUED * 1e6
end

local function in_run(fn)
  local result
  fiber.detach(function()
    runner.workflow(runs.new {}, "", function()
      result = table.pack(fn(hocket.broker()))
      return { text = "" }
    end)
  end):wait()
  return table.unpack(result)
end

local function outside(fn)
  return fiber.detach(function() return fn(hocket.broker.new()) end):wait()
end

-- One line of JSON, when it is asked for.
if (...) == "json" then
  local submitted, done = outside(queued)
  print(('{"off":%.3f,"on":%.3f,"batch":%.3f,"submit":%.3f,"done":%.3f}'):format(outside(each), in_run(each), outside(batches), submitted, done))
  return
end

print(("one at a time   events off %6.1f us   on %6.1f us"):format(outside(each), in_run(each)))
print(("in batches      events off %6.1f us   on %6.1f us"):format(outside(batches), in_run(batches)))
print(("%d queued   submit %6.1f us   start and complete %6.1f us"):format(QUEUED, outside(queued)))
