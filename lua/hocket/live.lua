--- Live agents: reloads a directory when its files change, and keeps its last valid generations.
---
---     local hocket = require "hocket"
---     local fs, live = require "hocket.fs", require "hocket.live"
---     assert(fs.mkdir "village" and fs.write("village/smith.md", "---\nname: smith\n---\nYou are a smith."))
---     local village = assert(live.open "village")
---     assert(fs.write("village/smith.md", "---\nname: smith\n---\nYou are a smith, and sing."))
---     print(village:check().type, village:current().number)
---     print(hocket.run(village:current().target.agent, "Good day!").text)
---
---     a file changes ──> debounce ──> stage ──> validate ──> swap ──> agent_reloaded
---                                              │
---                                              └─ invalid ──> the last valid generation stays ──> agent_reload_failed
---
--- A run keeps its generation until it ends. A new run gets the newest one.
local arguments = require("hocket.internal.base.arguments").check
local caught = require "hocket.internal.base.caught"
local effects = require "hocket.internal.base.effects"
local fiber = require "hocket.internal.core.fiber"
local fs = require "hocket.internal.core.fs"
local json = require "hocket.json"
local runs = require "hocket.internal.run.run"
local stages = require "hocket.internal.live.stage"
local targets = require "hocket.internal.runner.target"
local views = require "hocket.internal.live.view"
local wake_all = require "hocket.internal.base.wake_all"
local watches = require "hocket.internal.core.watch"
local failed = require("hocket.internal.core.system").error
-- everything that proves a state, which is needed when the files have been read
local generation = require "hocket.internal.base.lazy" "hocket.internal.live.generation"

local live = {}

--- Seconds of quiet after a change before the files are read: editors write in several steps.
local QUIET = 0.05
--- Seconds after which they are read although changes go on.
local PATIENCE = 0.5
--- Seconds between two looks where nobody tells of changes.
live.SLOW = 2
--- Generations that are kept, the newest included.
local KEPT = 8
--- Files that change while they are validated are read again, so often.
local TRIES = 5

---@class hocket.Live
---@field path string
---@field kept hocket.Generation[] The newest is the last.
local Live = {}
Live.__index = Live

local by_path = {}

-- The directory that a target stands for: what it is in, when it is a file.
local function directory_of(path)
  local info = fs.info(path)
  if info and info.kind == "directory" or not info and not path:find "%.%w+$" then return path end
  return path:match "^(.*)/[^/]*$" or "."
end

local function trimmed(path)
  return (path:gsub("(.)/+$", "%1"))
end

--- Returns all live paths.
---@return hocket.Live[]
function live.all()
  local list = {}
  for _, one in pairs(by_path) do list[#list + 1] = one end
  table.sort(list, function(a, b) return a.key < b.key end)
  return list
end

--- Returns the live object of a path, or nil.
---@param path string
---@return hocket.Live?
function live.at(path)
  arguments("live.at", 1, "string", path)
  local abs = views.absolute(path)
  if by_path[abs] then return by_path[abs] end
  local real = fs.real(path)
  for _, one in pairs(real and by_path or {}) do
    if fs.real(one.path) == real then return one end
  end
end

--- Returns the live object of a path, or of the nearest directory above it.
---@param path string
---@return hocket.Live?
function live.covering(path)
  arguments("live.covering", 1, "string", path)
  local exact, nearest = live.at(path), nil
  if exact then return exact end
  for _, one in pairs(by_path) do
    local view = one:current().view
    local rel = one.path == view.dir and view:inside(path)
    if rel and (not nearest or #rel < nearest.below) then nearest = { one = one, below = #rel } end
  end
  return nearest and nearest.one
end

-- ---- Looking -------------------------------------------------------------------------------------

-- One at a time. Who is in no fiber cannot wait for another.
local function enter(self)
  while self.busy do
    if not fiber.self() then return false end
    self.waiting[#self.waiting + 1] = fiber.self()
    fiber.park()
  end
  self.busy = true
  return true
end

local function leave(self)
  self.busy = false
  wake_all(self.waiting)
end

-- The generation of what the files say now: of a moment at which none of them changed.
local function load(self, before)
  for _ = 1, TRIES do
    local view = self.stage.view
    fiber.rest()
    local made, problem = generation.load(self.path, view, before, self)
    local ok, err = self.stage:look()
    if not ok then return nil, err end
    if self.stage.view.hash == view.hash then return made, problem end
  end
  return nil, { code = "state", message = ("%s: it changes faster than it can be read"):format(self.path) }
end

local function keep(self, made)
  self.last = self.last + 1
  made.number = self.last
  self.kept[#self.kept + 1] = made
  if #self.kept > KEPT then table.remove(self.kept, 1) end
end

function targets.newest(path)
  local alive = live.covering(path)
  if alive then return alive:target(path) end
end

-- A run that is kept reads its files as they were at first, which is what a watch is not for.
local function warn_if_kept(path)
  local run = effects.here() and runs.current()
  if not run then return end
  run:emit("warning", { message = ("%s is watched by a run that is kept, which goes on with the files that it began with: run this script with --store off"):format(path) })
end

--- Loads a directory, an agent or a script, and reloads it from now on. A second call for the same path returns the same
--- object.
---@param path string
---@param options? {here?: boolean, options?: table} here: its runs work in the current folder, so the skills that its agents name have to be there. options: those of its runs, as far as you know them; their `model` and `models` replace the agents' own, which may then be unknown. Where their `trust` asks nobody, a changed hooks.lua is loaded before a run does.
---@return hocket.Live?
---@return hocket.Error? problem With `file` and `line`.
function live.open(path, options)
  arguments("live.open", 1, "string", path)
  arguments("live.open", 2, "table?", options)
  path = trimmed(path)
  local known = live.at(path)
  if known then return known end
  local self = setmetatable({ path = path, key = views.absolute(path), stage = stages.new(directory_of(path)), kept = {}, last = 0, here = options and options.here == true, options = options and options.options or { trust = false },
    waiting = {}, failed = false }, Live)
  local ok, err = self.stage:look()
  if not ok then return nil, err end
  local first, problem = load(self)
  if not first then return nil, problem end
  if live.at(path) then return live.at(path) end -- somebody else was faster
  warn_if_kept(path)
  keep(self, first)
  self.seen = first.hash
  by_path[self.key] = self
  return self
end

--- The newest valid generation. A new run starts with it.
---@return hocket.Generation
function Live:current()
  return self.kept[#self.kept]
end

--- Finds the target of a path in the newest valid generation.
---@param path string
---@return {kind: string, path: string, dir: string, agent?: hocket.Agent, generation: hocket.Generation}?
---@return hocket.Error?
function Live:target(path)
  local now = self:current()
  if live.at(path) == self then return now.target, now.no_target end
  return generation.target(now, path)
end

-- That memory or descriptors are out says nothing of the files: they are checked again.
local function passes(problem)
  return caught.no_memory(problem) or problem.retryable == true
end

-- What is tried again is reported once.
local function failed_event(self, problem)
  local again, before = passes(problem) and problem.message or nil, self.again
  self.failed, self.again = true, again
  if again and again == before then return nil end
  return { type = "agent_reload_failed", path = self.path, generation = self:current().number, file = problem.file, line = problem.line,
    code = problem.code, message = problem.message }
end

-- What is on disk was not looked at before.
local function take(self)
  local before = self:current()
  local made, problem = load(self, before)
  self.seen = self.stage.view.hash
  if not made then return failed_event(self, problem) end
  self.failed, self.again = false, nil
  keep(self, made)
  return { type = "agent_reloaded", path = self.path, generation = made.number, hash = made.hash,
    changed = json.array(before.view:changes(made.view)) }
end

--- Checks the files for changes. It skips content that it has checked before. It also reports a change that was invalid
--- and has been undone: `changed` is empty, and the generation is the same.
---@return {type: "agent_reloaded"|"agent_reload_failed", [string]: any}? event nil: nothing has changed; outside a fiber also: another check is in progress.
function Live:check()
  if not enter(self) then return nil end
  local closing <close> = setmetatable({}, { __close = function() leave(self) end })
  local ok, err = self.stage:look()
  local seen = ok and self.stage.view.hash or err and err.message
  if not seen or seen == self.seen and not self.again then return nil end
  local before = self:current()
  if ok and seen ~= before.hash then return take(self) end -- who is cancelled in there has seen nothing
  self.seen = seen
  if not ok then return failed_event(self, err) end
  if not self.failed then return nil end
  self.failed, self.again = false, nil -- changed back, or there is memory again
  return { type = "agent_reloaded", path = self.path, generation = before.number, hash = before.hash, changed = json.array {} }
end

--- Returns to an earlier generation, which becomes the newest under a new number. It stays until a file changes again.
---@param n? integer How many generations back. Default: 1.
---@return hocket.Generation?
---@return hocket.Error?
function Live:rollback(n)
  n = n or 1
  local from = math.type(n) == "integer" and n >= 1 and self.kept[#self.kept - n]
  if not from then
    return nil, failed { code = "not_found", message = ("there is no generation %s before the newest one: %d are kept"):format(tostring(n), #self.kept) }
  end
  local copy = {}
  for key, value in pairs(from) do copy[key] = value end
  copy.targets = {}
  copy.target = from.target and setmetatable({ generation = copy }, { __index = from.target })
  keep(self, copy)
  return copy
end

-- ---- Watching ------------------------------------------------------------------------------------

-- What tells of changes, and why it does not tell of all of them. Either may be nil.
local function start_watching()
  local watch, err = watches.new()
  if watch then return watch end
  return nil, err.message
end

-- Watches what is not watched yet. Whether there was any, and what could not be.
local function add_all(watch, dirs, known)
  local some, wrong, now = false, nil, {}
  for _, dir in ipairs(dirs) do
    local ok, err = watch:add(dir)
    if not ok and err.code ~= "not_found" then wrong = wrong or err.message end
    some, now[dir] = some or not known[dir], true
  end
  return some, wrong, now
end

-- Waits until nothing has changed for a moment, but not for ever.
local function settle(watch)
  local until_then = fiber.now() + PATIENCE
  while fiber.now() < until_then and watch:wait(QUIET) do end
end

local function wait_for_change(watch, slow)
  if not watch then return fiber.sleep(live.SLOW) end
  if watch:wait(slow and live.SLOW or nil) then settle(watch) end
end

local function slowly(self, why)
  return { type = "warning", message = ("%s: %s: it is looked at every %g seconds"):format(self.path, why, live.SLOW) }
end

-- Plans that a generation has left out, each told once.
local function tell_left_out(self, told, tell)
  local now = {}
  for _, message in ipairs(self:current().left_out) do
    now[message] = true
    if not told[message] then tell { type = "warning", message = message } end
  end
  return now
end

-- As check, which may find no memory to work with: then it is tried again, unless there is none even to say so.
local function look(self)
  local ok, event = pcall(self.check, self)
  if ok then return event end
  if fiber.cancelled() or not caught.no_memory(event) then error(event, 0) end
  return failed_event(self, caught.error(event))
end

--- Watches until the running fiber is cancelled. It calls `tell(event)` for each new generation and for each invalid
--- change. It also watches new directories and the targets of links. If the system cannot report changes (too many directories, a
--- network file system), it checks the files every two seconds, and a `warning` reports this once.
---@async
---@param tell fun(event: table)
function Live:watch(tell)
  local watch <close>, why = start_watching()
  local known, warned, left_out = {}, false, {}
  while true do
    local event = look(self)
    if event then tell(event) end
    left_out = tell_left_out(self, left_out, tell)
    local dirs, told = self.stage:places()
    local some, wrong = false, nil
    if watch then some, wrong, known = add_all(watch, dirs, known) end
    why = why or wrong or not told and "its file system does not tell of all changes" or nil
    if why and not warned then tell(slowly(self, why)) end
    warned = warned or why ~= nil
    if not some then wait_for_change(watch, why ~= nil or self.again ~= nil) end -- what is watched only now may have changed before
  end
end

--- Closes the live object. A later `open` loads the files again.
function Live:close()
  by_path[self.key] = nil
end

return live
