--- hooks.lua of a project: Lua of its folder, which a person trusts before it runs (trust.lua). A run loads it once, at its beginning, and
--- continues with what it had then.
local check = require "hocket.internal.base.lazy" "hocket.internal.runner.hooks.check"
local hooks = require "hocket.internal.run.hooks"
local kept_scripts = require "hocket.internal.runner.kept_scripts"
local place = require "hocket.internal.runner.hooks.place"
local sources = require "hocket.internal.base.sources"
local trust = require "hocket.internal.base.lazy" "hocket.internal.runner.trust"

local project_hooks = {}

local function wrong(path, message)
  return nil, { code = "agent", message = message:find(path, 1, true) and message or ("%s: %s"):format(path, message) }
end

-- In a run whose files are watched the modules are those of its generation.
local function run_chunk(run, path, dir)
  local made = run.generation
  local env = made and made.env_of(dir) or kept_scripts.env(run, dir)
  local chunk, failed = env.loadfile(path, nil, env)
  if not chunk then error({ code = "agent", message = failed }, 0) end
  return chunk()
end

--- The hooks in what a hooks.lua has returned.
---@param path string
---@param text string
---@param value any
---@return table<string, hocket.Hook[]>? by_point
---@return hocket.Error? With `file` and `line`.
function project_hooks.read(path, text, value)
  local by_point, misfit, at = hooks.read(value, path)
  if by_point then return by_point end
  local line = check.line(text, at)
  return nil, { code = "agent", message = ("%s:%d: %s"):format(path, line, misfit), file = path, line = line }
end

--- Loads the hooks of a run's project, if it has some.
---@async
---@param run hocket.Run
---@param dir string Where its target is.
---@return true? ok
---@return hocket.Error?
function project_hooks.load(run, dir)
  local path, folder = place(dir)
  if not path then return true end
  local text, err = sources.read(path)
  if not text then return nil, err end
  local admitted, refused = trust.admit_module(run, path, folder, text)
  if not admitted then return nil, refused end
  local ok, value = hooks.in_time(hooks.SECONDS, function() return run_chunk(run, path, folder) end)
  if not ok then return wrong(path, value) end
  local by_point, misfit = project_hooks.read(path, text, value)
  if not by_point then return nil, misfit end
  if run.generation then run.generation.hooked[dir] = true end
  if next(by_point) then hooks.of(run):add(by_point) end
  return true
end

return project_hooks
