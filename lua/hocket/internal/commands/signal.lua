--- `hocket signal`: what a run that waits for something outside is told. It is in the store until the run takes it; signals
--- of one name are taken in the order in which they came.
local json = require "hocket.json"
local messages = require "hocket.internal.run.messages"
local store = require "hocket.internal.core.store"
local stored = require "hocket.internal.commands.stored"
local system = require "hocket.internal.core.system"

local MAX_VALUE = 1024 * 1024

local ended = { done = true, failed = true, cancelled = true }

---@async
---@param args {id: string, name: string, value?: any} value: anything that JSON can say.
return function(args)
  local row, err = stored.find(args.id)
  if not row then return nil, err end
  local fits, unfit = messages.check_name(args.name) -- as the run does that is going to take it
  if not fits then return nil, unfit end
  if not utf8.len(args.name) then return stored.failure("invalid", "a signal's name is UTF-8") end
  if ended[row.state] then return stored.failure("state", "run %s has ended (%s): nothing waits for a signal", row.id, row.state) end
  local said = json.encode { wish = "signal", name = args.name, value = args.value == nil and json.null or args.value }
  if #said > MAX_VALUE then return stored.failure("limit", "a signal's value has at most %d bytes", MAX_VALUE) end
  local ok, wrong = store.message(row.id, { id = "signal " .. system.run_id(), json = said })
  if not ok then return nil, wrong end
  return { id = row.id, name = args.name, state = stored.state(row), owner = row.owner, pool = row.pool }
end
