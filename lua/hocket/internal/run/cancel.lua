--- Ends a run of the store for good, wherever it is, with the ones that it asked for (their `caller` is this run).
---
---     somebody has it   ──> a message, which that process hears within a second; at its end that looks once more for what it asked for
---     nobody            ──> it is taken, and cancelled there and then; one that has ended meanwhile stays as it is
local ended = require "hocket.internal.run.ended"
local json = require "hocket.json"
local origin = require "hocket.internal.run.origin"
local store = require "hocket.internal.core.store"
local system = require "hocket.internal.core.system"

local cancel = {}

local OPEN = { "queued", "running", "waiting", "parked" }

-- What stands in the place of a result, for whoever waits for one.
local function result_of(id)
  return json.encode { run = id, ok = false, text = "", finish = "cancelled", error = { code = "cancelled", message = "cancelled" } }
end

local function tell(id)
  local ok, err = origin.put(id, "cancel", '{"wish":"cancel"}')
  if ok or err.code == "exists" then return "told" end
  return nil, err
end

-- What became of it: cancelled, told, or the state that it has ended in since it was found.
local function end_one(id)
  local row, err = store.take(id)
  if not row then
    if err.code == "state" then return tell(id) end
    return nil, err
  end
  local has_ended, ok = ended.states[row.state]
  if has_ended then ok, err = store.finish(id, row.fence) else ok, err = store.finish(id, row.fence, "cancelled", row.pool and result_of(id) or nil) end
  if not ok then return nil, err end
  return has_ended and row.state or "cancelled", nil, has_ended
end

local end_run

-- Whether it is an agent's call, as against a run that a script has submitted.
local function is_call(row)
  local options = row.options and row.options:find('"call":', 1, true) and json.decode(row.options)
  return type(options) == "table" and type(options.call) == "table"
end

-- The ones that it asked for; newest first, a page at a time.
local function end_called(id, depth, calls_alone)
  local before
  repeat
    local page, more = store.runs { caller = id, states = OPEN, before = before }
    if not page then return nil, more end
    for _, row in ipairs(page) do
      local ok, err
      if not calls_alone or is_call(row) then ok, err = end_run(row.id, depth + 1) else ok = true end
      if not ok and err.code ~= "state" and err.code ~= "not_found" then return nil, err end
      before = row.id
    end
  until not more
  return true
end

--- Calls of calls are as deep as agents may be.
local DEPTH = 64

end_run = function(id, depth)
  local row, err = store.find(id)
  if not row then return nil, err end
  local how, has_ended = row.state, ended.states[row.state]
  if not has_ended then
    how, err, has_ended = end_one(id)
    if not how then return nil, err end
  end
  if depth < DEPTH then
    local ok, failed = end_called(id, depth)
    if not ok then return nil, failed end
  end
  if has_ended then return nil, system.error { code = "state", message = ("run %s has ended: it is %s"):format(id, how) }, how end
  return how
end

---@async
---@param id string Whole.
---@return "told"|"cancelled"? how
---@return hocket.Error? err `state`: it has ended. What it asked for is cancelled all the same.
---@return string? state In which it has ended.
function cancel.run(id)
  return end_run(id, 0)
end

--- Ends the ones that a run asked for, which has ended, or is about to.
---@async
---@param id string Whole.
---@return boolean? done
---@return hocket.Error?
function cancel.called(id)
  return end_called(id, 0)
end

--- Ends the calls of a run's agents, for one that fails and has no process that would. What a script has submitted goes on, as when
--- the script fails.
---@async
---@param id string Whole.
---@return boolean? done
---@return hocket.Error?
function cancel.calls(id)
  return end_called(id, 0, true)
end

return cancel
