--- The operation `watch`: keeps a target at its newest good state until it is cancelled. Runs that are
--- started with the same path meanwhile begin with that state.
local fiber = require "hocket.internal.core.fiber"
local live = require "hocket.live"

---@async
---@param args {path: string}
---@param journal userdata
return function(args, journal)
  fiber.rest() -- loading took its time
  local alive, problem = live.open(args.path)
  if not alive then return nil, problem end
  local closing <close> = setmetatable({}, { __close = function() alive:close() end })
  local first = alive:current()
  journal:generation(first.number)
  journal:append("agent_watch", { path = args.path, hash = first.hash })
  alive:watch(function(event)
    local type = event.type
    if event.generation then journal:generation(event.generation) end
    event.type, event.generation = nil, nil
    journal:append(type, event)
  end)
end
