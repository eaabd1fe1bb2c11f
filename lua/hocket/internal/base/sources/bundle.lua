--- The files of a run that is submitted on one machine and executed on another. They belong to its generation, and replace the disk
--- for the whole program. A file that the bundle lacks does not exist for the run, even if it is on the worker's disk.
---
---     "@"                   {"cwd":"/home/ann/travel","roots":["/home/ann/travel/agents"],"variables":{…}}
---     "@/home/ann/travel/agents/guide.md"    its text
---
--- Paths are the ones of the submitting machine. Relative paths start from the folder of the submission.
local fs = require "hocket.internal.core.fs"
local fiber = require "hocket.internal.core.fiber"
local json = require "hocket.json"
local kept = require "hocket.internal.core.kept"
local system = require "hocket.internal.core.system"

local bundle_files = {}

--- What the names of such files begin with.
bundle_files.MARK = "@"

---@class hocket.Carried
---@field cwd string
---@field variables table<string, string>
local Carried = {}
Carried.__index = Carried
Carried.why = "it did not travel with the run"

local shared = setmetatable({}, { __mode = "v" }) -- by what the first row says, which has a digest of all: agents are read once for many runs

local drives = fs.is_absolute "C:/" -- on Windows

--- An absolute path without ".", "..", doubled slashes and one at the end. A drive ("C:/") and a share ("//server") stay.
---@param path string
---@return string
function bundle_files.plain(path)
  local root, parts = path:match "^%a:/" or drives and path:match "^//%f[^/]" or "/", {}
  for part in path:sub(#root + 1):gmatch "[^/]+" do
    if part == ".." then parts[#parts] = nil elseif part ~= "." then parts[#parts + 1] = part end
  end
  return root:upper() .. table.concat(parts, "/")
end

--- What the paths in a folder begin with.
---@param dir string
---@return string
function bundle_files.inside_of(dir)
  return dir:sub(-1) == "/" and dir or dir .. "/"
end

--- The path of a file that travels with a run by this name; nil: it is another file of the run.
---@param name string
---@return string?
function bundle_files.path_of(name)
  return name:match "^@(/.*)" or name:match "^@(%a:/.*)"
end

local function above(path)
  return path:match "^(.*)/[^/]*$"
end

-- The names in each folder, those of folders with a slash.
local function folders(texts, roots)
  local names, seen = {}, {}
  local function add(path, mark)
    local up, name = path:match "^(.*)/([^/]+)$"
    if not up or seen[path] then return end
    seen[path] = true
    if not names[up] then
      names[up] = {}
      add(up, "/")
    end
    table.insert(names[up], name .. mark)
  end
  for path in pairs(texts) do add(path, "") end
  for _, root in ipairs(roots) do
    names[root] = names[root] or {}
    add(root, "/")
  end
  for _, list in pairs(names) do table.sort(list) end
  return names
end

-- Of the files that a run was given; nil: nothing travels with it.
local function of_files(fed)
  local head = fed and fed[bundle_files.MARK]
  local said = head and json.decode(head)
  if type(said) ~= "table" then return nil end
  if shared[head] then return shared[head] end
  local self = setmetatable({ cwd = said.cwd, roots = said.roots, variables = said.variables or {}, texts = {}, memos = {} }, Carried)
  for name, text in pairs(fed) do
    local path = bundle_files.path_of(name)
    if path then self.texts[path] = text end
  end
  self.names = folders(self.texts, self.roots)
  shared[head] = self
  return self
end

--- What travels with the run whose code runs; nil: nothing.
---@return hocket.Carried?
function bundle_files.here()
  local own = kept.here()
  if own then
    if own.carried == nil then own.carried = of_files(kept.fed()) or false end
    return own.carried or nil
  end
  local context = fiber.context() -- of an effect, which is outside of the run
  return type(context) == "table" and context.run and context.run.carried or nil
end

--- The path on the machine that it came from; nil: it is none of the program's, and means this machine.
---@param path string
---@return string?
function Carried:inside(path)
  if path:sub(1, 7) == "buffer:" then return nil end
  local relative = not fs.is_absolute(path)
  local abs = bundle_files.plain(relative and self.cwd .. "/" .. path or path)
  if relative or self.texts[abs] or system.below(abs, self.cwd) then return abs end
  for _, root in ipairs(self.roots) do
    if system.below(abs, root) or above(abs) == above(root) then return abs end
  end
end

local function missing(files, path)
  return nil, { code = "not_found", message = ("cannot read %s: %s"):format(path, files.why) }
end

--- As sources.read, of a path that `inside` gave; `path` is for messages. Also for a view (live/view.lua).
function Carried:read(abs, path, max)
  local text = self.texts[abs]
  if text and max and #text > max then return nil, { code = "limit", message = ("%s is larger than %d bytes"):format(path, max) } end
  if text then return text end
  if self.errors and self.errors[abs] then return nil, self.errors[abs] end
  return missing(self, path)
end

function Carried:info(abs)
  if self.texts[abs] then return { kind = "file", size = #self.texts[abs] } end
  if self.names[abs] or abs == self.cwd then return { kind = "directory", size = 0 } end
end

function Carried:list(abs, path)
  if self.names[abs] then return self.names[abs] end
  if abs == self.cwd then return {} end
  return missing(self, path)
end

function Carried:real(abs)
  return self:info(abs) and abs or nil
end

--- A table for what follows from a file's text alone.
function Carried:memo(abs)
  if not self.texts[abs] then return nil end
  self.memos[abs] = self.memos[abs] or {}
  return self.memos[abs]
end

bundle_files.read, bundle_files.memo = Carried.read, Carried.memo

--- A path from the root on, meant from `cwd`; links in it stay.
---@param path string
---@param cwd string
---@return string
function bundle_files.absolute(path, cwd)
  return bundle_files.plain(fs.is_absolute(path) and path or cwd .. "/" .. path)
end

return bundle_files
