--- Ends a run of the store for good, wherever it is, with those that it asked for (their `caller` is this run).
---
---     somebody has it   ──> a message, which that process hears within a second
---     nobody            ──> it is taken, and cancelled there and then
local json = require "hocket.json"
local store = require "hocket.internal.core.store"
local system = require "hocket.internal.core.system"

local OPEN = { "queued", "running", "waiting", "parked" }

-- What stands in the place of a result, for whoever waits for one.
local function result_of(id)
  return json.encode { run = id, ok = false, text = "", finish = "cancelled", error = { code = "cancelled", message = "cancelled" } }
end

local function tell(id)
  local ok, err = store.message(id, { id = "cancel", json = json.encode { wish = "cancel" } })
  if ok or err.code == "exists" then return "told" end
  return nil, err
end

local function end_one(id)
  local row, err = store.take(id)
  if not row then
    if err.code == "state" then return tell(id) end
    return nil, err
  end
  local ok
  ok, err = store.finish(id, row.fence, "cancelled", row.pool and result_of(id) or nil)
  if not ok then return nil, err end
  return "cancelled"
end

local cancel

-- Those that it asked for; newest first, a page at a time.
local function end_called(id, depth)
  local before
  repeat
    local page, more = store.runs { caller = id, states = OPEN, before = before }
    if not page then return nil, more end
    for _, row in ipairs(page) do
      local ok, err = cancel(row.id, depth + 1)
      if not ok and err.code ~= "state" and err.code ~= "not_found" then return nil, err end
      before = row.id
    end
  until not more
  return true
end

--- Calls of calls are as deep as agents may be.
local DEPTH = 64

cancel = function(id, depth)
  local row, err = store.find(id)
  if not row then return nil, err end
  local over = row.state == "done" or row.state == "failed" or row.state == "cancelled"
  local how
  if not over then
    how, err = end_one(id)
    if not how then return nil, err end
  end
  local ok
  ok, err = depth >= DEPTH or end_called(id, depth)
  if not ok then return nil, err end
  if over then return nil, system.error { code = "state", message = ("run %s has ended: it is %s"):format(id, row.state) } end
  return how
end

---@async
---@param id string Whole.
---@return "told"|"cancelled"? how
---@return hocket.Error? err `state`: it has ended. What it asked for is cancelled all the same.
return function(id)
  return cancel(id, 0)
end
