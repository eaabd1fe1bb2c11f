--- Jobs of the broker side by side, that end with whoever started them: see Broker:batch.
local batch = {}

---@class hocket.Batch In the order of the specs: `batch[1].value`, `.err`, `.id`, `.ended`.
local Batch = {}
Batch.__index = Batch

---@internal
---@param jobs hocket.Broker
---@param specs table[]
---@return hocket.Batch?
---@return hocket.Error?
function batch.start(jobs, specs)
  local ids, err = jobs:submit_all(specs)
  if not ids then return nil, err end
  for i = 1, #ids do ids[i] = { id = ids[i], ended = false } end
  ids.jobs = jobs
  return setmetatable(ids, Batch)
end

-- What has ended since the last time; `on_failure` returns true to stop.
local function collect(self, on_failure)
  local stop = false
  for i = 1, #self do
    local one = self[i]
    if not one.ended then
      one.ended, one.value, one.err = self.jobs:reap(one.id)
      if one.err and on_failure and on_failure(i, one) then stop = true end
    end
  end
  return stop
end

--- The ids of the jobs that still run.
---@return integer[]
---@internal
function Batch:open()
  local ids = {}
  for i = 1, #self do
    if not self[i].ended then ids[#ids + 1] = self[i].id end
  end
  return ids
end

--- Waits, without a slot, until all have ended, or until `on_failure(i, one)`, which learns of each that fails, returns true.
---@async
---@param seconds? number
---@param on_failure? fun(i: integer, one: table): boolean?
---@return boolean? ended false when the time is over
---@return hocket.Error?
function Batch:wait(seconds, on_failure)
  local open = self:open()
  while #open > 0 do
    local ended, err = self.jobs:wait_for(open, on_failure and "failed" or "all", seconds)
    if ended == nil then return nil, err end
    if collect(self, on_failure) then return true end
    if not ended then return false end
    open = self:open()
  end
  return true
end

--- Cancels what still runs; the running fiber ends after it.
function Batch:close()
  for _, id in ipairs(self:open()) do self.jobs:cancel_own(id) end
  collect(self)
end
Batch.__close = Batch.close

return batch
