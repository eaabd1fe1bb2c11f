--- The files that a program is made of: agents, what they include, scripts and their modules. A run of a
--- target that is watched reads them from its generation, and so does what validates a new one; any
--- other reads what is on disk. Loaders read by way of this; what a run works on is `hocket.fs`'s.
---
---     sources.read(path) ──> a view is current, and covers the path? ──> its text
---                                     └─ no ──> hocket.fs
---
--- What a run has written itself is read from disk: it would not find its own work otherwise. A run that is kept reads what it
--- has read before from its own files (kept_sources); one that came from elsewhere what has travelled with it (carried).
local bundle_files = require "hocket.internal.base.sources.bundle"
local fiber = require "hocket.internal.core.fiber"
local fs = require "hocket.internal.core.fs"
local kept = require "hocket.internal.core.kept"
local kept_sources = require "hocket.internal.base.sources.kept"
local system = require "hocket.internal.core.system"

local sources = {}

local outside -- the view that holds where no fiber is

local function current_run()
  local context = fiber.context()
  return context and context.run
end

local function current()
  local context = fiber.context()
  if not context then return outside end
  if context.sources then return context.sources end
  local made = context.run and context.run.generation
  return made and made.view, context.run
end

-- The view that answers for a path, and the path in it.
local function covering(path)
  local view, run = current()
  local rel = view and view:inside(path)
  if rel and not (run and run.wrote and run.wrote[rel]) then return view, rel end
end

--- Calls fn(...) with a view for everything that it loads.
---@param view hocket.View
---@return any ...
function sources.within(view, fn, ...)
  local inside = fiber.self() ~= nil
  local before = outside
  if inside then before = fiber.context() end
  local function set(value)
    if inside then fiber.set_context(value) else outside = value end
  end
  local closing <close> = setmetatable({}, { __close = function() set(before) end })
  set(inside and setmetatable({ sources = view }, { __index = before or nil }) or view)
  return (function(...) return ... end)(fn(...)) -- no tail call: closing comes after it
end

-- What has travelled with the run and answers for a path, and the path in it.
local function brought(path)
  local self = bundle_files.here()
  local abs = self and self:inside(path)
  if not abs then return nil end
  local run = current_run()
  if not (run and run.wrote and run.wrote[abs]) then return self, abs end
end

-- What answers now.
local now = {}

function now.read(path, max)
  local view, rel = covering(path)
  if view then return view:read(rel, path, max) end
  return fs.read(path, max)
end

function now.info(path)
  local view, rel = covering(path)
  if view then return view:info(rel) end
  return fs.info(path)
end

-- Without what the next life of a run would find changed.
local function lasting_info(path)
  local info, err = now.info(path)
  return info and { kind = info.kind, size = info.size }, err
end

-- What a run has written beside what its view has.
local function with_written(names, run, rel)
  local seen, list = {}, table.move(names, 1, #names, 1, {})
  for _, name in ipairs(names) do seen[name] = true end
  for path in pairs(run.wrote) do
    local below = rel == "" and path or system.below(path, rel)
    local first = below and (below:match "^[^/]+/" or below)
    if first and not seen[first] then
      seen[first] = true
      list[#list + 1] = first
    end
  end
  table.sort(list)
  return list
end

function now.list(path)
  local view, run = current()
  local rel = view and view:inside(path)
  if not rel then return fs.list(path) end
  local names, err = view:list(rel, path)
  if names and run and run.wrote then return with_written(names, run, rel) end
  return names, err
end

function now.real(path)
  local view, rel = covering(path)
  if view then return view:real(rel) end
  return fs.real(path)
end

--- As fs.read.
---@param path string
---@param max? integer
---@return string? text
---@return hocket.Error?
function sources.read(path, max)
  local with, abs = brought(path)
  if with then return with:read(abs, path, max) end
  if not kept.here() then return now.read(path, max) end
  local text, err
  local function ask() text, err = kept_sources.answer("read", path, now.read, max) end
  -- who asks for more may have had it
  local over = max and kept_sources.once(("over %d %s"):format(max, path), function()
    ask()
    return err and err.code == "limit" and "" or nil
  end)
  if not max then ask() end
  if over or text and max and #text > max then
    return nil, system.error { code = "limit", message = ("%s is larger than %d bytes"):format(path, max) }
  end
  return text, err
end

--- As fs.info, without the time.
---@param path string
---@return {kind: string, size: integer}? info
---@return hocket.Error?
function sources.info(path)
  local with, abs = brought(path)
  if with then return with:info(abs) end
  if not kept.here() then return now.info(path) end
  return kept_sources.answer("info", path, lasting_info)
end

--- As fs.list, of the files that count. Raises where the process has no descriptor left: what is in the folder is not known then.
---@param path string
---@return string[]? names
---@return hocket.Error?
function sources.list(path)
  local with, abs = brought(path)
  if with then return with:list(abs, path) end
  local names, err
  if kept.here() then names, err = kept_sources.answer("list", path, now.list) else names, err = now.list(path) end
  if not names and err.retryable then error(err, 0) end
  return names, err
end

--- As fs.real.
---@param path string
---@return string? real
function sources.real(path)
  local with, abs = brought(path)
  if with then return with:real(abs) end
  if not kept.here() then return now.real(path) end
  return (kept_sources.answer("real", path, now.real))
end

-- Variables that permit something: a bundle that came with a run does not say them, nor does what is stored of a run that has not begun.
local permitting = { HOCKET_APPROVE = true, HOCKET_WEB_ALLOW = true }

--- Removes such variables from the files of a run of which nothing was done: somebody else has put them there.
---@param fed table<string, string> By the names that the store has.
function sources.forget_permissions(fed)
  for name in pairs(fed) do
    if permitting[name:match "^%d+ variable (.*)$"] then fed[name] = nil end
  end
end

--- As system.getenv, for what decides how a run goes on, and is no secret.
---@param name string
---@param passing? boolean Of a run that workers do it is not remembered: nothing is decided yet, and another worker may have it.
---@return string? value
function sources.variable(name, passing)
  local with = bundle_files.here()
  if with and with.variables[name] and not permitting[name] then return with.variables[name] end
  if not kept.here() or with and passing and not kept_sources.knows("variable", name) then return system.getenv(name) end
  return (kept_sources.answer("variable", name, system.getenv))
end

--- A table that lives as long as a file's text stays the same, for what follows from the text alone;
--- nil where nobody could tell when it changes.
---@param path string
---@return table? memo
function sources.memo(path)
  local with, abs = brought(path)
  if with then return with:memo(abs) end
  local view, rel = covering(path)
  return view and view:memo(rel)
end

--- The text that the running run's generation has for a path, for scripts that read files beside them.
---@param path string
---@return string? text nil: it is to be read from disk
function sources.text(path)
  local run = current_run()
  if not run or not run.generation or run.programs then return nil end
  local view, rel = covering(path)
  return view and view.texts[rel]
end

--- The text that has travelled with the running run for a path, for scripts that read files beside them.
---@param path string
---@return string? text
function sources.travelled(path)
  local with, abs = brought(path)
  return with and with.texts[abs]
end

--- Notes that the running run has written a file.
---@param path string
function sources.wrote(path)
  local run = current_run()
  local view = run and (bundle_files.here() or run.generation and run.generation.view)
  local rel = view and view:inside(path)
  if not rel then return end
  run:log("wrote", rel)
end

--- What `ask(path)` returns; of a run that is kept once in all lives of it (kept_sources).
---@param kind string
---@param path string
---@param ask fun(path: string): any, hocket.Error?
---@return any value
---@return hocket.Error?
function sources.answer(kind, path, ask)
  if not kept.here() then return ask(path) end
  return kept_sources.answer(kind, path, ask)
end

--- From here on a run that is kept asks anew for what it has read: it, or somebody, may have changed it.
sources.stale = kept_sources.stale

--- Notes that the running run has let a program run, which may have written anything.
function sources.ran()
  local run = current_run()
  if run and not run.programs then run:log "ran" end
end

return sources
