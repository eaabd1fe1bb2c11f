--- Operations on targets that are watched: whose files are read again when they change.
local fiber = require "hocket.internal.core.fiber"
local live = require "hocket.live"

local commands = {}

--- Keeps a target at its newest good state until it is cancelled. Runs that are started with the same path meanwhile begin
--- with that state.
---@async
---@param args {path: string, options?: table} options: of its runs.
---@param journal userdata
function commands.watch(args, journal)
  fiber.rest() -- loading took its time
  local alive, problem = live.open(args.path, { options = args.options })
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

--- New runs of a watched target begin with an earlier generation again.
---@param args {path: string, n?: integer}
function commands.rollback(args)
  local alive = live.at(args.path)
  if not alive then return nil, { code = "not_found", message = ("%s is not watched"):format(tostring(args.path)) } end
  local now, err = alive:rollback(args.n)
  if not now then return nil, err end
  return { text = "", generation = now.number, hash = now.hash }
end

return commands
