--- The folder that a run's tools work in: its option `workdir`, else the current directory.
local files = require "hocket.core.files"
local fs = require "hocket.fs"

local workdir = {}

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

--- The files of a team that are below the root: nobody is to change the agents that are at work.
---@param run hocket.Run
---@param team table<string, hocket.Agent>
---@return string[]
function workdir.protected(run, team)
  local list, root = {}, workdir.root(run)
  if not root then return list end
  for _, def in pairs(team) do
    local real = type(def.file) == "string" and fs.real(def.file)
    local path = real and root:path(real)
    if path then list[#list + 1] = path end
  end
  return list
end

return workdir
