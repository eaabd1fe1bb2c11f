--- /api/workers and /api/pools: who works for the store, what lies in its pools, and what waits for whom.
local fiber = require "hocket.internal.core.fiber"
local json = require "hocket.json"
local list_workers = require "hocket.internal.commands.workers"

local api_workers = {}

--- So many seconds one answer is good for: it is made of all runs that have not ended, and pages ask for it again and again.
local GOOD = 1

local function nothing() return { workers = json.array {}, pools = json.array {}, blocked = json.array {}, more = false } end

local function look(self)
  if not self.server.desk.kept then return nothing() end
  if self.told and fiber.now() < self.at + GOOD then return self.told end
  local told, err = list_workers()
  if not told then return nil, err end
  self.told, self.at = told, fiber.now()
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
