--- Agents that can be changed while they are at work: the newest good generation of a directory, and
--- the last ones before it.
---
---     a file changes ──> debounce ──> stage ──> prove ──> swap ──> agent_reloaded
---                                              │
---                                              └─ wrong ──> the last good one stays ──> agent_reload_failed
---
--- Runs keep the generation that they began with; new ones take the newest.
local fiber = require "hocket.internal.core.fiber"
local fs = require "hocket.fs"
local generation = require "hocket.internal.base.lazy" "hocket.internal.live.generation"
local json = require "hocket.json"
local targets = require "hocket.internal.runner.target"
local watches = require "hocket.internal.core.watch"

local live = {}

--- Seconds of quiet after a change before the files are read: editors write in several steps.
local QUIET = 0.05
--- Seconds after which they are read although changes go on.
local PATIENCE = 0.5
--- Generations that are kept, the newest included.
local KEPT = 8

---@class hocket.Live
---@field path string
---@field kept hocket.Generation[] The newest last.
local Live = {}
Live.__index = Live

local by_path = {}

--- What is live at a path, or nil.
---@param path string
---@return hocket.Live?
function live.at(path)
  return by_path[fs.real(path) or path]
end

targets.set_watched(function(path)
  local alive = live.at(path)
  return alive and alive:current().target
end)

--- Loads a directory, an agent or a script, to be changed from now on. A second time for the same path
--- gives the same.
---@param path string
---@return hocket.Live?
---@return hocket.Error? problem With `file` and `line`.
function live.open(path)
  local key = fs.real(path) or path
  if by_path[key] then return by_path[key] end
  local first, problem = generation.load(path, 1)
  if not first then return nil, problem end
  local self = setmetatable({ path = path, key = key, kept = { first }, last = 1, seen = first.hash, failed = false }, Live)
  by_path[key] = self
  return self
end

--- The newest good generation: what a new run begins with.
---@return hocket.Generation
function Live:current()
  return self.kept[#self.kept]
end

local function keep(self, made)
  self.last = made.number
  self.kept[#self.kept + 1] = made
  if #self.kept > KEPT then table.remove(self.kept, 1) end
end

--- Looks at the files. Content that was looked at before, good or not, is not looked at again. A change that could
--- not be taken and was undone is told as well: with nothing in `changed`, and the generation that stayed.
---@return {type: "agent_reloaded"|"agent_reload_failed", [string]: any}? event nil when nothing changed.
function Live:check()
  local before = self:current()
  local shot = generation.snapshot(self.path)
  if shot and shot.hash == self.seen then return nil end
  self.seen = shot and shot.hash
  if shot and shot.hash == before.hash then -- changed back
    if not self.failed then return nil end
    self.failed = false
    return { type = "agent_reloaded", path = self.path, generation = before.number, hash = before.hash, changed = json.array {} }
  end
  local made, problem = generation.load(self.path, self.last + 1, before)
  self.failed = not made
  if not made then
    return { type = "agent_reload_failed", path = self.path, generation = before.number, file = problem.file, line = problem.line,
      code = problem.code, message = problem.message }
  end
  self.seen = made.hash
  keep(self, made)
  return { type = "agent_reloaded", path = self.path, generation = made.number, hash = made.hash,
    changed = generation.changes(before.snapshot, made.snapshot) }
end

--- Goes back to an earlier generation, which becomes the newest under a number of its own. It stays
--- until a file changes again.
---@param n? integer How many generations back; 1.
---@return hocket.Generation?
---@return hocket.Error?
function Live:rollback(n)
  n = n or 1
  local from = math.type(n) == "integer" and n >= 1 and self.kept[#self.kept - n]
  if not from then
    return nil, { code = "not_found", message = ("there is no generation %s before the newest one: %d are kept"):format(tostring(n), #self.kept) }
  end
  local copy = {}
  for key, value in pairs(from) do copy[key] = value end
  copy.number = self.last + 1
  copy.target = setmetatable({ generation = copy }, { __index = from.target })
  keep(self, copy)
  return copy
end

local function add_all(watch, dirs, known)
  for _, dir in ipairs(dirs) do
    local ok, err = watch:add(dir)
    if not ok and err.code ~= "not_found" and not known[dir] then return nil, err end
    known[dir] = true
  end
  return true
end

-- Waits until nothing has changed for a moment, but not for ever.
local function settle(watch)
  local until_then = fiber.now() + PATIENCE
  while fiber.now() < until_then and watch:wait(QUIET) do end
end

--- Watches until the running fiber is cancelled: `tell(event)` is told of every new generation and of
--- every one that could not be. Directories that appear are watched as well.
---@async
---@param tell fun(event: table)
---@return nil
---@return hocket.Error? Why it cannot be watched.
function Live:watch(tell)
  local watch <close>, err = watches.new()
  if not watch then return nil, err end
  local known = {}
  while true do
    local shot = generation.snapshot(self.path)
    local ok, failed = add_all(watch, shot and shot.dirs or {}, known)
    if not ok then return nil, failed end
    local event = self:check()
    if event then tell(event) end
    watch:wait()
    settle(watch)
  end
end

--- Forgets it: a later open begins anew.
function Live:close()
  by_path[self.key] = nil
end

return live
