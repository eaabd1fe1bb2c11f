-- Waits for a person beside other things, as its input says.
local hocket = require "hocket"
local flow = hocket.flow
local writer = hocket.agent { name = "writer", prompt = "You write." }
local ways = {}

function ways.work()
  local both = flow.map({ "work", "ask" }, function(what)
    if what == "ask" then return assert(hocket.ask "Shall I?") end
    return assert(hocket.run(writer, "say the work is done slowly")).text
  end)
  return table.concat(both, ", ")
end

function ways.job()
  local jobs, tries = hocket.broker(), 0
  assert(jobs:submit { retries = 2, backoff = 0.05, run = function()
    tries = tries + 1
    if tries < 3 then return nil, { code = "io", message = "not yet" } end
    hocket.events.emit("done", { text = "the job is done" })
    return "done"
  end })
  return assert(hocket.ask "Well?")
end

function ways.time()
  hocket.sleep_until(os.time() + 2)
  return "in time"
end

function ways.signal()
  hocket.ask "Shall I count?"
  local n, last = 0, nil
  for _ = 1, 1000 do
    local message = assert(hocket.signal "go")
    n, last = n + 1, message.a[2]
  end
  return n .. " messages, " .. (last == hocket.json.null and "null" or "not null")
end

return ways[(...)]()
