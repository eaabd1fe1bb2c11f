--- The folder that a run's tools work in: its option `workdir`, else the current directory.
local files = require "hocket.internal.core.files"
local fs = require "hocket.fs"

local workdir = {}

--- What a directory's run begins with, and the scripted model beside it.
local SCRIPTS = { "main.lua", "sim.lua" }

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

--- Where a team lives, as far as that is below the root: nobody is to change the agents that are at work,
--- add one, or leave a script beside them that would run the next time. Of agents that lie in the root itself
--- only the files are meant: the rest there is work.
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
  for _, def in pairs(team) do
    if type(def.file) == "string" then protect(def.file, def.file:match "^(.*)/[^/]*$" or ".") end
  end
  if run.target then
    protect(run.target.path, run.target.dir)
    if fs.real(run.target.dir) == root:dir() then
      for _, name in ipairs(SCRIPTS) do add(name) end -- also where there is none yet
    end
  end
  return list
end

return workdir
