--- A run that is submitted: put into the store, to be begun by a worker.
local patient = require "hocket.internal.pool.retry"
local store = require "hocket.internal.core.store"
local submission = require "hocket.internal.runner.submission"

-- Who has no log that knows of it tries no more where the store is away: it may be there.
local function put(made, waits)
  if not waits then return store.submit(made) end
  return patient(store.submit, made)
end

---@async
---@param args hocket.Submission
---@return {id: string, text: string, pool: string}?
---@return hocket.Error?
return function(args)
  local made, err = submission.prepare(args)
  local id
  if made then id, err = put(made, args.waits) end
  if not id then return nil, err end
  return { id = id, text = id, pool = made.pool }
end
