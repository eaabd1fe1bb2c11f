--- Jobs of the broker side by side, that end with whoever started them.
---
---     local batch <close> = together.start(specs)
---     batch:wait()                        -- holds no slot meanwhile
---     batch[1].value, batch[1].err
local broker = require "hocket.broker"

local together = {}

---@class hocket.Batch In the order of the specs: {id, ended, value, err}.
local Batch = {}
Batch.__index = Batch

--- Submits jobs, all or none.
---@param specs table[] As for Broker:submit_all.
---@return hocket.Batch?
---@return hocket.Error?
function together.start(specs)
  local jobs = broker.shared()
  local ids, err = jobs:submit_all(specs)
  if not ids then return nil, err end
  local batch = setmetatable({ jobs = jobs }, Batch)
  for i, id in ipairs(ids) do batch[i] = { id = id } end
  return batch
end

-- What has ended since the last time; `on_end` returns true to stop.
local function collect(self, on_end)
  local stop = false
  for i, one in ipairs(self) do
    if not one.ended and self.jobs:has_ended(one.id) then
      one.ended, one.value, one.err = true, self.jobs:result(one.id)
      self.jobs:forget(one.id)
      if on_end and on_end(i, one) then stop = true end
    end
  end
  return stop
end

--- The ids of the jobs that still run.
---@return integer[]
function Batch:open()
  local ids = {}
  for _, one in ipairs(self) do
    if not one.ended then ids[#ids + 1] = one.id end
  end
  return ids
end

--- Waits until all have ended, or until `on_end(i, one)`, which is told of each, returns true.
---@async
---@param seconds? number
---@param on_end? fun(i: integer, one: table): boolean?
---@return boolean? ended false when the time is over
---@return hocket.Error?
function Batch:wait(seconds, on_end)
  local open = self:open()
  while #open > 0 do
    local ended, err = self.jobs:wait_for(open, on_end and "any" or "all", seconds)
    if ended == nil then return nil, err end
    if collect(self, on_end) then return true end
    if not ended then return false end
    open = self:open()
  end
  return true
end

--- Cancels what still runs.
function Batch:close()
  for _, id in ipairs(self:open()) do self.jobs:cancel(id) end
  collect(self)
end
Batch.__close = Batch.close

return together
