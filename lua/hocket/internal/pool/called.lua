--- Whose call a run is: its row says so (`caller`). A fork has the log of its parent, and a copy in another store has that of the run that was
--- copied; but the calls in it are the other's, which alone is told what comes of them. Who waits there for one looks at the row, and says
--- to the run that it waits for nothing.
local fiber = require "hocket.internal.core.fiber"
local patient = require "hocket.internal.pool.retry"
local store = require "hocket.internal.core.store"
local system = require "hocket.internal.core.system"

local called = {}

--- Seconds between two attempts to say something to a run whose log is not used up yet.
local AGAIN = 0.001

--- Whether there is a run `id`, and `caller` has called it.
---@async
---@param id string
---@param caller string
---@return boolean? is_so
---@return hocket.Error?
function called.by(id, caller)
  local row, err = patient(store.find, id)
  if row then return row.caller == caller end
  if err.code == "not_found" then return false end
  return nil, err
end

local function watch(self, run, id, caller, name, value)
  local is_so, err = called.by(id, caller)
  if is_so == nil then system.log("warn", ("run %s: whose call %s is cannot be read: %s"):format(run.id, id, err.message)) end
  if is_so ~= false then return end
  while not self.over and not run.journal:finished() do
    local ok, wrong = run:signal(name, value)
    if ok or wrong.code ~= "state" then return end
    fiber.sleep(AGAIN)
  end
end

--- Says `value` to the run under `name`, once its log is used up, if `id` is no call of `caller`: until the handle is closed.
--- Nothing of the looking is in its log, only what was said.
---@param run hocket.Run
---@param id string
---@param caller string
---@param name string
---@param value any Data.
---@return table handle To be closed.
function called.watch(run, id, caller, name, value)
  local self = {}
  local at_work = fiber.outside(watch, self, run, id, caller, name, value)
  at_work:serve()
  return setmetatable(self, { __close = function()
    self.over = true
    at_work:cancel()
  end })
end

return called
