--- What lies beside a file of cases and belongs to them: fixtures, attachments, checks, schemas. Cases may be a stranger's: nothing
--- outside of the folder of their file is read, whatever a path or a link says.
local files = require "hocket.internal.core.files"
local system = require "hocket.internal.core.system"
local failure = system.failure

local material = {}

--- Files of a fixture, bytes of all of them, folders below each other.
local MAX_FILES, MAX_BYTES, MAX_DEPTH = 2000, 64 << 20, 32

local roots = setmetatable({}, { __mode = "v" }) -- by folder

local function root_of(dir)
  local root, err = roots[dir], nil
  if not root then root, err = files.root(dir) end
  roots[dir] = root
  return root, err
end

--- The bytes of a file.
---@async
---@param dir string
---@param path string Below it.
---@param max? integer
---@return string? bytes
---@return hocket.Error?
function material.read(dir, path, max)
  local root, err = root_of(dir)
  if not root then return nil, err end
  local inside, wrong = root:path(path)
  if not inside then return nil, wrong end
  local got, failed = root:read(inside, { raw = true, lines = 0, max = max or MAX_BYTES })
  if not got then return nil, failed end
  return got.bytes, nil, got.mode
end

local walk

local function take(found, root, from, to, one, depth)
  if one.kind == "directory" then return walk(found, root, from, to, depth + 1) end
  if one.kind ~= "file" then return failure("invalid", "%s is %s: a fixture has files and folders alone", from, one.kind == "link" and "a symbolic link" or "no file") end
  found.bytes = found.bytes + one.size
  if #found >= MAX_FILES or found.bytes > MAX_BYTES then
    return failure("limit", "a fixture of at most %d files and %d MB is copied for each run: this has more", MAX_FILES, MAX_BYTES >> 20)
  end
  found[#found + 1] = { from = from, to = to, executable = one.mode & 73 ~= 0 }
  return true
end

-- Folders stand before what is in them.
function walk(found, root, from, to, depth)
  if depth > MAX_DEPTH then return failure("limit", "%s: folders more than %d deep", from, MAX_DEPTH) end
  local list, err = root:list(from)
  if not list then return nil, err end
  if to ~= "" then found[#found + 1] = { to = to, folder = true } end
  table.sort(list, function(a, b) return a.name < b.name end)
  for _, one in ipairs(list) do
    local ok, wrong = take(found, root, from == "." and one.name or from .. "/" .. one.name, to == "" and one.name or to .. "/" .. one.name, one, depth)
    if not ok then return nil, wrong end
  end
  return true
end

--- What a folder of fixtures has.
---@async
---@param dir string
---@param path string
---@return {from: string, to: string, folder?: boolean, executable?: boolean}[]? entries
---@return hocket.Error?
function material.list(dir, path)
  local root, err = root_of(dir)
  if not root then return nil, err end
  local inside, wrong = root:path(path)
  if not inside then return nil, wrong end
  local found = { bytes = 0 }
  local ok, failed = walk(found, root, inside, "", 0)
  if not ok then return nil, failed end
  return found
end

--- What tells a folder of fixtures from another one.
---@async
---@param dir string
---@param entries table[]
---@return string? digest
---@return hocket.Error?
function material.digest(dir, entries)
  local parts = {}
  for i, one in ipairs(entries) do
    local bytes, err = "", nil
    if not one.folder then bytes, err = material.read(dir, one.from) end
    if not bytes then return nil, err end
    parts[i] = ("%s\0%s\0%s"):format(one.to, one.folder and "folder" or one.executable and "x" or "-", system.digest(bytes))
  end
  return system.digest(table.concat(parts, "\n"))
end

return material
