--- Runs of the store that have ended, whoever has done them.
local store = require "hocket.internal.core.store"

local ended = {}

--- The states of a run that has ended.
ended.states = { done = true, failed = true, cancelled = true }
--- The states of one that has begun and has not ended.
ended.open = { "running", "waiting", "parked" }

--- The result of a run of a pool, as whoever has ended it kept it: a file "=result FENCE" of the run's own generation. Who slept past
--- its lease keeps one, too, before it hears that it has lost the run: the one whose claim came last has ended it.
---@async
---@param id string
---@return string? text JSON. nil without an error: none was kept.
---@return hocket.Error?
function ended.result(id)
  local files, err = store.files(id)
  if not files then return nil, err end
  local text, last = nil, -1
  for _, file in ipairs(files) do
    local fence = math.tointeger(file.path:match "^=result (%d+)$")
    if fence and fence > last then text, last = file.text, fence end
  end
  return text
end

return ended
