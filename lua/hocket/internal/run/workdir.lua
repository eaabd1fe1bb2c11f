--- The folder that a run's tools work in: its option `workdir`, else the current directory.
local files = require "hocket.internal.core.files"
local fs = require "hocket.internal.core.fs"
local machine_policy = require "hocket.internal.models.machine_policy"
local script = require "hocket.internal.base.script"
local sorted_keys = require "hocket.internal.base.sorted_keys"
local state_dir = require "hocket.internal.run.state_dir"
local system = require "hocket.internal.core.system"

local workdir = {}

--- Bytes of a repository's configuration that are checked.
local MAX_CONFIG = 256 * 1024

--- What a directory's run begins with, and the scripted model beside it.
local SCRIPTS = { "main", "sim" }

--- The root of a run, opened once.
---@param run hocket.Run
---@return hocket.Root?
---@return hocket.Error?
function workdir.root(run)
  if not run.root then
    local root, err = files.root(run.options.workdir or ".")
    if not root then return nil, { code = err.code, message = ("the folder to work in: %s"):format(err.message) } end
    run.root = root
  end
  return run.root
end

-- A path of the host as one below the root; nil: elsewhere, or the root itself.
local function below(root, path)
  local real = type(path) == "string" and fs.real(path)
  local inside = real and root:path(real)
  return inside ~= "." and inside or nil
end

-- A repository may keep its hooks, and parts of its configuration, in files like any other.
local function configured(root)
  local text = fs.read(root:dir() .. "/.git/config", MAX_CONFIG) or ""
  local list = {}
  for key, value in text:gmatch "\n?%s*([%a]+)%s*=%s*([^\n]+)" do
    key, value = key:lower(), value:match '^"?(.-)"?%s*$'
    local from = key == "hookspath" and "" or key == "path" and ".git/"
    local path = from and root:path(fs.is_absolute(value) and value or from .. value)
    if path and path ~= "." then list[#list + 1] = path end
  end
  return list
end

-- Of a run in somebody's home: what is remembered there is the person's word (which folders are trusted).
local function remembered(root)
  local dir = state_dir()
  local inside = dir and root:path(dir)
  return inside and inside ~= "." and inside or nil
end

--- Protects further files, beside the names that are protected everywhere. The folder of a team below the root: no tool may
--- change the agents at work, add one, or leave a script beside them that would run the next time. If agents lie
--- in the root itself, only their files are protected: the rest there is work. Also the programs that git is
--- configured to run, and the skills of agents.
---@param run hocket.Run
---@param team table<string, hocket.Agent>
---@return string[]
function workdir.protected(run, team)
  local list, seen, root = {}, {}, workdir.root(run)
  if not root then return list end
  local function add(path)
    if path and not seen[path] then
      seen[path], list[#list + 1] = true, path
    end
  end
  local function protect(file, dir)
    add(below(root, dir) or below(root, file))
  end
  for _, name in ipairs(sorted_keys(team)) do
    local def = team[name]
    if type(def.file) == "string" then protect(def.file, def.file:match "^(.*)/[^/]*$" or ".") end
  end
  if run.target then
    protect(run.target.path, run.target.dir)
    if fs.real(run.target.dir) == root:dir() then
      for _, name in ipairs(SCRIPTS) do -- also where there is none yet
        for _, ending in ipairs(script.endings()) do add(name .. "." .. ending) end
      end
    end
  end
  for _, path in ipairs(configured(root)) do add(path) end
  for _, dir in ipairs(sorted_keys(run.guarded or {})) do add(below(root, dir)) end
  add(remembered(root))
  return list
end

--- Protected places below the root that the operator lets be changed: HOCKET_SANDBOX_WRITE names each by its path.
---@param run hocket.Run
---@return string[]
function workdir.granted(run)
  local list, root = {}, workdir.root(run)
  for _, path in ipairs(root and machine_policy.opened(system.getenv "HOCKET_SANDBOX_WRITE", run, fs.real) or {}) do
    local inside = root:path(path)
    if inside and inside ~= "." then list[#list + 1] = inside end
  end
  return list
end

return workdir
