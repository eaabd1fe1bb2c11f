-- Runs in hocket's own Lua: watches the villagers' files while the game runs. What it prints the game gets as events.
local alive = assert(require("hocket.live").open((...)))
alive:watch(function(event)
  print(event.type == "agent_reloaded" and "changed: " .. table.concat(event.changed, ", "):match "[^/]*$" or event.message)
end)
