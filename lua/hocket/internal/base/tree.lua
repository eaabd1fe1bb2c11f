--- Files below a directory. Hidden ones are left out, if not wanted; a directory that can be reached in several
--- ways, by links, is looked into once, so that no link makes it endless.
local fiber = require "hocket.internal.core.fiber"
local sources = require "hocket.internal.base.sources"

local tree = {}

--- Directories below each other; where all has to be seen, and how many of them then.
local DEPTH, ALL_DEPTH, ALL_FOLDERS = 32, 128, 20000
--- Names after which others have their turn.
local SLICE = 20

local function join(dir, name)
  return (dir == "/" and "" or dir) .. "/" .. name
end

local function walk(dir, visit, depth, seen)
  local real = sources.real(dir) or dir
  if seen[real] or depth > DEPTH and not seen.all then return true end
  if depth > ALL_DEPTH then
    return nil, { code = "limit", message = ("more than %d folders deep, nobody can look at that: %s"):format(ALL_DEPTH, dir) }
  end
  seen[real] = true
  if seen.all then
    if seen.all == 0 then return nil, { code = "limit", message = ("more than %d folders, nobody can look at them: name the script that is to run"):format(ALL_FOLDERS) } end
    seen.all = seen.all - 1
  end
  local names, err = sources.list(dir)
  if not names and depth > 0 and err.code == "not_found" then return true end -- gone since it was seen
  -- Nothing in it can be opened either; where names can, without a list of them, it is an error.
  if not names and depth > 0 and seen.all and err.code == "denied" and not sources.info(join(dir, ".")) then return true end
  if not names then return nil, err end
  local files, dirs = {}, {}
  for i, name in ipairs(names) do
    if i % SLICE == 0 then fiber.rest() end
    if seen.all or name:sub(1, 1) ~= "." then
      if name:sub(-1) == "/" then dirs[#dirs + 1] = join(dir, name:sub(1, -2)) else files[#files + 1] = join(dir, name) end
    end
  end
  if visit(dir, files) == false then return true end
  for _, below in ipairs(dirs) do
    local ok, failed = walk(below, visit, depth + 1, seen)
    if not ok then return nil, failed end
  end
  return true
end

--- Calls visit(dir, files) for a directory and those below it, in order; false from it leaves out what
--- lies below.
---@param dir string
---@param visit fun(dir: string, files: string[]): boolean?
---@return true? ok
---@return hocket.Error?
function tree.walk(dir, visit)
  return walk(dir, visit, 0, {})
end

--- Some of the files below a directory.
---@param dir string
---@param wanted string|fun(path: string): boolean An ending, or what says whether it is one of them.
---@param all? boolean Hidden ones as well; what lies too deep to be looked at is an error ("limit").
---@return string[]? files
---@return hocket.Error?
function tree.files(dir, wanted, all)
  local out = {}
  local is_wanted = type(wanted) == "function" and wanted or function(file) return file:sub(-#wanted) == wanted end
  local ok, err = walk(dir, function(_, files)
    for i, file in ipairs(files) do
      if i % SLICE == 0 then fiber.rest() end
      if is_wanted(file) then out[#out + 1] = file end
    end
  end, 0, { all = all and ALL_FOLDERS or nil })
  if not ok then return nil, err end
  return out
end

return tree
