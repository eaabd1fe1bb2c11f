--- Where the hooks of a project stand (load.lua): most have none.
local kept = require "hocket.internal.core.kept"
local kept_sources = require "hocket.internal.base.sources.kept"
local project_of = require "hocket.internal.base.lazy" "hocket.internal.base.project_of"
local sources = require "hocket.internal.base.sources"

local NAME = "hooks.lua"

--- Folders of a project that have its agents, its workflows and its plans: the hooks stand above them.
local inner = { agents = true, workflows = true, plans = true }

-- A run that began before anybody looked for hooks has none.
local function is_there(path)
  if kept.is_replay() and not kept_sources.knows("info", path) then return false end
  local info = sources.info(path)
  return info ~= nil and info.kind ~= "directory"
end

local function name_of(dir)
  local name = dir:match "([^/]+)/*$"
  if name ~= "." and name ~= ".." then return name end
  return (sources.real(dir) or ""):match "([^/]+)$"
end

--- The hooks of the project that a folder belongs to: in it, or above it where it is its folder of agents, workflows or plans.
---@param dir string
---@param has? fun(path: string): boolean Whether there is a file; default: as the run reads files.
---@return string? path
---@return string? folder
return function(dir, has)
  has = has or is_there
  if has(dir .. "/" .. NAME) then return dir .. "/" .. NAME, dir end
  local project = dir:find("%.%w") and project_of(dir)
  if project and has(project .. "/" .. NAME) then return project .. "/" .. NAME, project end
  if not inner[name_of(dir)] then return nil end
  local above = dir:match "^(.+)/[^/.][^/]*/*$" or dir:find "^[^/.][^/]*/*$" and "." or dir .. "/.."
  if has(above .. "/" .. NAME) then return above .. "/" .. NAME, above end
end
