--- A file of JSON in the state directory that nobody else may read: what is remembered of a person between runs.
local fs = require "hocket.fs"
local json = require "hocket.json"
local state_dir = require "hocket.internal.run.state_dir"

--- Bytes of a file that are read.
local MAX = 16 << 20

local file = {}
file.__index = file

--- Its path, where its folder is or can be made.
---@return string? path
---@return hocket.Error?
function file:make()
  local dir = state_dir()
  if not dir then return nil, { code = "not_found", message = "there is no home to keep it in: set HOME or XDG_STATE_HOME" } end
  local ok, err = fs.mkdir(dir, { private = true })
  if not ok then return nil, err end
  return dir .. "/" .. self.name
end

--- What stands in it; an empty table where there is none, or what is no JSON.
---@return table
function file:read()
  local dir = state_dir()
  local text = dir and fs.read(dir .. "/" .. self.name, MAX)
  local value = text and json.decode(text)
  return type(value) == "table" and value or {}
end

---@param value table
---@return true?
---@return hocket.Error?
function file:write(value)
  local path, err = self:make()
  if not path then return nil, err end
  return fs.write(path, json.encode(value) .. "\n", { private = true })
end

---@param name string
return function(name) return setmetatable({ name = name }, file) end
