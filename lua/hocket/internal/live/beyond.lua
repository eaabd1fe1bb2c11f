--- The files of a program that stand above its folder: the hooks of its project, with the modules beside them that they require by name.
--- A generation has them as it has its own files, so that a broken one of them is refused and those before it stay.
local fs = require "hocket.internal.core.fs"
local place = require "hocket.internal.runner.hooks.place"
local required = require "hocket.internal.base.lazy" "hocket.internal.runner.required"
local script = require "hocket.internal.base.script"
local sources = require "hocket.internal.base.sources"
local system = require "hocket.internal.core.system"

local beyond = {}

--- Files, and bytes of each.
local MAX_FILES, MAX_BYTES = 200, 1 << 20

---@class hocket.Beyond
---@field texts table<string, string> By their whole paths.
---@field spelled table<string, string> The paths in messages, by whole path. Where none has a text: it is known that there is no such file.
---@field folder? string Where the hooks are.
---@field hash string

-- A view that has nothing: what is on disk is asked for, whoever asks.
local disk = { inside = function() end }

local function read(path)
  local info = fs.info(path)
  if not info or info.kind == "directory" then return nil end
  return fs.read(path, MAX_BYTES) or nil
end

-- The texts of modules that a script names, and of the ones that they name.
local function add_modules(self, whole, path, text)
  for _, one in ipairs(required.names(path, text).required) do
    for _, file in ipairs(script.module_files(one.name)) do
      local below = self.folder .. "/" .. file
      local abs = whole(below)
      local found = not self.spelled[abs] and self.count < MAX_FILES and read(below)
      if found then
        self.spelled[abs], self.texts[abs], self.count = below, found, self.count + 1
        add_modules(self, whole, below, found)
      end
    end
  end
end

local function hash_of(texts)
  local names, parts = {}, {}
  for abs in pairs(texts) do names[#names + 1] = abs end
  table.sort(names)
  for i, abs in ipairs(names) do parts[i] = abs .. "\0" .. texts[abs] end
  return names[1] and system.digest(table.concat(parts, "\0")) or ""
end

local function look(dir, whole, inside)
  local self = { texts = {}, spelled = {}, count = 0 }
  local path, folder = place(dir, function(one)
    if inside(one) then return fs.info(one) ~= nil end
    self.spelled[whole(one)] = one
    return read(one) ~= nil
  end)
  if path and not inside(path) then
    self.folder, self.texts[whole(path)] = folder, read(path)
    add_modules(self, whole, path, self.texts[whole(path)] or "")
  end
  self.hash = hash_of(self.texts)
  return self
end

--- What stands above a folder now.
---@param dir string
---@param whole fun(path: string): string The path from the root on.
---@param inside fun(path: string): boolean Whether a path is in the folder.
---@return hocket.Beyond
function beyond.look(dir, whole, inside)
  return sources.within(disk, look, dir, whole, inside)
end

return beyond
