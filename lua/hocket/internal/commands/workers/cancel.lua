--- `hocket cancel`: ends a run for good, whoever has it, and what it has asked others for.
local cancel = require "hocket.internal.run.cancel"
local fiber = require "hocket.internal.core.fiber"
local stored = require "hocket.internal.commands.stored"

--- Seconds that a process that has it is given to say so; seconds between two looks.
local PATIENCE, AGAIN = 5, 0.1

---@async
---@param args {id: string}
return function(args)
  local row, err = stored.find(args.id)
  if not row then return nil, err end
  local how
  how, err = cancel.run(row.id)
  if not how then return nil, err end
  local due = fiber.now() + PATIENCE
  while how == "told" and fiber.now() < due do
    fiber.sleep(AGAIN)
    row, err = stored.find(row.id)
    if not row then return nil, err end
    if row.state == "done" or row.state == "failed" or row.state == "cancelled" then how = row.state end
  end
  return { id = row.id, state = how == "told" and stored.state(row) or how, told = how == "told" or nil }
end
