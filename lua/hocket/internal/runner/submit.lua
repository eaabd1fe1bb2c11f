--- A run that is submitted: put into the store, to be begun by a worker.
local store = require "hocket.internal.core.store"
local submission = require "hocket.internal.runner.submission"

---@async
---@param args hocket.Submission
---@return {id: string, text: string, pool: string}?
---@return hocket.Error?
return function(args)
  local made, err = submission.prepare(args)
  local id
  if made then id, err = store.submit(made) end
  if not id then return nil, err end
  return { id = id, text = id, pool = made.pool }
end
