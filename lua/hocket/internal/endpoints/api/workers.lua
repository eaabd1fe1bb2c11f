--- /api/workers and /api/pools: who works for the store, what lies in its pools, and what waits for whom.
local fiber = require "hocket.internal.core.fiber"
local json = require "hocket.json"
local list_workers = require "hocket.internal.commands.workers.list"

local api_workers = {}

--- So many seconds one answer is good for, and so many times as long as it took: it is made of all runs that have not ended, and
--- pages ask for it again and again.
local GOOD, TIMES = 1, 10

local function nothing() return { workers = json.array {}, pools = json.array {}, blocked = json.array {}, more = false } end

-- Who comes meanwhile has the same answer.
local function take_turn(self)
  while self.busy do fiber.sleep(0.01) end
  self.busy = true
  return setmetatable({}, { __close = function() self.busy = false end })
end

local function look(self)
  if not self.server.desk.kept then return nothing() end
  local turn <close> = take_turn(self)
  if self.told and fiber.now() < self.good then return self.told end
  local began = fiber.now()
  local told, err = list_workers()
  if not told then return nil, err end
  self.told, self.good = told, fiber.now() + math.max(GOOD, TIMES * (fiber.now() - began))
  return told
end

---@param server hocket.EndpointServer
function api_workers.add(server)
  local self = { server = server }
  local function on(path, pick)
    server.router:on("GET", path, function(_, response)
      local told, err = look(self)
      if not told then return response:fail(err) end
      return response:json(200, pick(told))
    end)
  end
  on("/api/pools", function(told) return { pools = told.pools } end)
  on("/api/workers", function(told) return { workers = told.workers, blocked = told.blocked, more = told.more } end)
end

return api_workers
