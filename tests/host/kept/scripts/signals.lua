-- Messages from outside: one that is waited for, two at once, one that does not come, one that came before; and times of day.
local hocket = require "hocket"
local flow = hocket.flow

local before = os.time()
hocket.sleep_until(0)
local first = assert(hocket.signal "start")
hocket.sleep_until(os.time() + 0.05 + 1)
local slept = os.time() > before
local both = flow.map({ "a", "b" }, function(name)
  local value, err = hocket.signal(name, { timeout = name == "b" and 0.05 or nil })
  return value or err.code
end)
local run = hocket.this_run()
run:signal("own", 1)
run:signal("own", { "second" })
local own = { (hocket.signal "own"), (hocket.signal "own") }
local last = assert(hocket.signal "end")
return table.concat({ first.n, slept and "slept" or "not slept", both[1], both[2], own[1], own[2][1], last[1] }, ", ")
