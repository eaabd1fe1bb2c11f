--- That a worker is there: an item of the store, written again and again as long as it lives.
---
---     start ──> item {host, pid, place, start, since_ms, pools, runs, version}, due in a minute ──> again, every 20 s
---       │         draining()  it takes nothing more, and says so at once
---       └─ stop() ──> no item. A worker that is killed leaves one behind: it is lost, when it is overdue, or
---                          for who sees that the process is gone.
---
--- What it has at hand is not in it: those are the runs whose rows say so. When it was heard of is what the store says of the item; when that
--- is due is by the worker's own clock, for those of an earlier version that look at it.
local fiber = require "hocket.internal.core.fiber"
local json = require "hocket.json"
local store = require "hocket.internal.core.store"
local system = require "hocket.internal.core.system"

local announced = {}

--- Seconds between two times, after which one silent is lost, and for which one that was lost is shown.
local BEAT, SILENT, SHOWN = 20, 60, 3600
--- Seconds that the end may take: the store may be away.
local FAREWELL = 1

---@class hocket.Announced
local Announced = {}
Announced.__index = Announced

local function put(self)
  return store.item_put { kind = "worker", id = self.id, expected = -1, json = json.encode(self.told), due_ms = math.floor((system.wall() + SILENT) * 1000) }
end

-- The ones that were lost long ago: by the store's clock, as this process's may be hours off, and theirs, too.
local function sweep()
  for _, one in ipairs(store.items "worker" or {}) do
    if one.at_ms + (SILENT + SHOWN) * 1000 < one.now_ms then store.item_del("worker", one.id, one.version) end
  end
end

-- While the store is away others say so; here it is tried again at the next time.
local function tell(self)
  local swept
  while true do
    put(self)
    if not swept or fiber.now() > swept + SHOWN then
      sweep()
      swept = fiber.now()
    end
    fiber.sleep(BEAT)
  end
end

--- It takes no more runs.
function Announced:draining()
  self.told.draining = true
  self.fiber:cancel()
  self.fiber = fiber.spawn(tell, self)
  self.fiber:serve()
end

--- It is no more there.
---@async
function Announced:stop()
  self.fiber:cancel()
  local leaving = fiber.spawn(store.item_del, "worker", self.id)
  leaving:serve()
  local due = fiber.now() + FAREWELL
  while leaving:status() ~= "done" and fiber.now() < due do fiber.sleep(0.01) end
  leaving:cancel()
end

--- From now on, until it is stopped or the running fiber ends.
---@async
---@param options {pools: string[], runs: integer} runs: how many it does at once.
---@return hocket.Announced
function announced.start(options)
  local host, pid, place, start = store.process()
  local since = math.floor(system.wall() * 1000)
  local self = setmetatable({ id = ("%s %d %d"):format(host, pid, since) }, Announced)
  self.told = { host = host, pid = pid, place = place, start = start, since_ms = since, pools = json.array(options.pools), runs = options.runs, version = system.version() }
  self.fiber = fiber.spawn(tell, self)
  self.fiber:serve()
  return self
end

return announced
