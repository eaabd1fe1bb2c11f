--- A folder of the state directory that holds secrets, one JSON file each: nobody else may read it, and a file in it that is a link or that
--- others can read counts as none.
local admission = require "hocket.internal.base.http.admission"
local files = require "hocket.internal.core.fs"
local json = require "hocket.json"
local state_dir = require "hocket.internal.run.state_dir"
local system = require "hocket.internal.core.system"
local failure = system.failure

local private_folder = {}

--- Bytes of a file.
local MAX = 64 << 10
local NO_HASH = ("0"):rep(64)

--- The folder; nil: others may read or change it.
---@param name string
---@return string? dir
---@return boolean|hocket.Error there
function private_folder.open(name)
  local dir = state_dir()
  if not dir then return failure("not_found", "there is no home to keep tokens in: set HOME or XDG_STATE_HOME") end
  dir = dir .. "/" .. name
  local info = files.info(dir)
  if info and not info.private then return failure("denied", "%s can be read by others: chmod 700 %s", dir, dir) end
  return dir, info ~= nil
end

--- What a file holds.
---@param dir string
---@param name string
---@return table? value
---@return hocket.Error? `not_found`, `denied`, or `invalid` where it is no JSON object.
function private_folder.read(dir, name)
  local path = ("%s/%s"):format(dir, name)
  local info = files.info(path)
  if not info then return failure("not_found", "there is no %s", path) end
  if info.kind ~= "file" or not info.private or files.real(path) ~= (files.real(dir) or "") .. "/" .. name then return failure("denied", "%s is a link, or can be read by others", path) end
  local text, err = files.read(path, MAX)
  if not text then return nil, err end
  local one = json.decode(text)
  if type(one) ~= "table" then return failure("invalid", "%s cannot be read", path) end
  return one
end

--- Writes a file that is new.
---@param dir string
---@param name string
---@param value table
---@return boolean?
---@return hocket.Error?
function private_folder.add(dir, name, value)
  local ok, err = files.mkdir(dir, { private = true })
  if not ok then return nil, err end
  return files.write(("%s/%s"):format(dir, name), json.encode(value) .. "\n", { private = true, exclusive = true })
end

--- Whether a token is the one of a hash. A guess takes as long as any other, wherever it is wrong.
---@param text string
---@param hash? string
---@return boolean
function private_folder.is_same(text, hash)
  return admission.same(system.digest(text), hash or NO_HASH)
end

return private_folder
