--- The folder that one run of a case works in: its own, with copies of the case's files, and gone behind it.
local files = require "hocket.internal.core.files"
local fs = require "hocket.internal.core.fs"
local material = require "hocket.internal.eval.material"
local system = require "hocket.internal.core.system"

local workspace = {}

---@class hocket.EvalFolder
---@field dir string
---@field root userdata
local Folder = {}
Folder.__index = Folder

local function copy(self, case)
  for _, one in ipairs(case.fixture) do
    local path = self.dir .. "/" .. one.to
    local ok, err
    if one.folder then
      ok, err = fs.mkdir(path)
    else
      local bytes
      bytes, err = material.read(case.dir, one.from)
      if bytes then ok, err = fs.write(path, bytes, { executable = one.executable }) end
    end
    if not ok then return nil, err end
  end
  return true
end

local function write(self, texts)
  for path, text in pairs(texts) do
    local inside, err = self.root:path(path)
    local ok = nil
    if inside then ok, err = self.root:write(inside, text) end
    if not ok then return nil, err end
  end
  return true
end

local function fill(self, case)
  if case.fixture then return copy(self, case) end
  if type(case.spec.files) == "table" then return write(self, case.spec.files) end
  return true
end

--- Makes one below `base`, for a case. To be closed.
---@async
---@param base string A folder that nobody else can write to.
---@param case hocket.EvalCase
---@return hocket.EvalFolder?
---@return hocket.Error?
function workspace.make(base, case)
  local name = system.token(12)
  local self = setmetatable({ base = base, name = name, dir = base .. "/" .. name }, Folder)
  local ok, err = fs.mkdir(self.dir)
  if ok then self.root, err = files.root(self.dir) end
  if self.root then ok, err = fill(self, case) else ok = nil end
  if ok then return self end
  self:close()
  return nil, err
end

--- What a file of it holds.
---@async
---@param path string
---@param max integer
---@return string? text
---@return hocket.Error?
function Folder:read(path, max)
  local inside, err = self.root:path(path)
  if not inside then return nil, err end
  local got, wrong = self.root:read(inside, { raw = true, lines = 0, max = max })
  return got and got.bytes, wrong
end

--- Takes it away, unless it is to stay.
---@async
function Folder:close()
  if self.closed or self.stays then return end
  self.closed = true
  local base = files.root(self.base)
  local ok, err = nil, nil
  if base then ok, err = base:remove(self.name) end
  if not ok and err and err.code ~= "not_found" then system.log("warn", ("%s is left: %s"):format(self.dir, err.message)) end
end
Folder.__close = Folder.close

return workspace
