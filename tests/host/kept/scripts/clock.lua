-- Waits for clocks in loops, and says how often it read them; the input says how long, in seconds.
local hocket = require "hocket"
local flow = hocket.flow
local seconds = tonumber((...)) or 0.05
local writer = hocket.agent { name = "writer", prompt = "You write." }
local reads = 0

local function until_come(clock)
  local due = clock() + seconds
  repeat reads = reads + 1 until clock() >= due
end

local function compute()
  local from = flow.now()
  while flow.now() - from < seconds do
    for _ = 1, 1000 do reads = reads + 0 end
  end
end

until_come(os.clock)
hocket.events.emit("note", { text = os.date("!%H:%M:%S") })
until_come(flow.now)
assert(hocket.run(writer, "say " .. (seconds > 0.01 and "more" or "less")))
local jobs = hocket.broker()
local job = assert(jobs:submit { run = function() compute() return "computed" end })
assert(jobs:wait(job))
local took = jobs:poll(job).seconds
local both = flow.map({ "a", "b" }, function(name)
  flow.sleep(0.001)
  until_come(flow.now)
  hocket.events.emit("note", { text = name .. " " .. os.time() })
  return name
end)
return ("%d reads, %s s, %.3f of %.3f, %s"):format(reads, took > seconds / 2 and "some" or took, flow.now(), hocket.this_run():tree().seconds, table.concat(both))
