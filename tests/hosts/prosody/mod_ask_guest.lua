-- The guest of prosody.sh: asks the inn three times at once, reloads the inn's module, and asks again.
local st = require "util.stanza"
local timer = require "util.timer"
local modulemanager = require "core.modulemanager"
local heard, ticks, left = 0, 0, false

-- Counts how often the host is turned in two seconds in which nobody wants anything.
local function watch_idleness(on_end)
  local host, pumps = require("hocket").host, 0
  local pump = host.pump
  host.pump = function(...)
    pumps = pumps + 1
    return pump(...)
  end
  timer.add_task(2, function()
    module:log("info", "pumped while idle: %d", pumps)
    on_end()
  end)
end

local function ask(id)
  module:send(st.message({ to = "inn.localhost", from = "guest.localhost", id = id, type = "chat" }, "Is there a room?"))
end

local function tick()
  ticks = ticks + 1
  return not left and 0.02 or nil
end

module:hook("message/host", function(event)
  module:log("info", "the inn says: %s", event.stanza:get_child_text("body") or event.stanza)
  heard = heard + 1
  if heard == 3 then
    timer.add_task(0.1, function()
      assert(modulemanager.reload("inn.localhost", "ask"))
      ask "again"
    end)
  elseif heard == 4 then
    left = true
    module:log("info", "ticks meanwhile: %d", ticks)
    module:log("info", "the guest leaves")
    timer.add_task(0.3, function()
      watch_idleness(function() prosody.shutdown("well") end)
    end)
  end
  return true
end)

module:hook_global("server-started", function()
  timer.add_task(0.02, tick)
  for i = 1, 3 do ask("question" .. i) end
end)
