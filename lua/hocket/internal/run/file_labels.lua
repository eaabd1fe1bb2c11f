--- Whose words may stand in a file: what a conversation with a stranger's text writes carries its labels to whoever
--- reads it later, in this process. Else a page that one agent has read would come to the next as a note of the project's.
---
--- Of a program nobody knows what it wrote: its labels are those of the whole folder from then on.
local fiber = require "hocket.internal.core.fiber"
local labels = require "hocket.internal.base.labels"
local system = require "hocket.internal.core.system"

local file_labels = {}

--- Files that are known by name; past that their labels are the whole folder's.
local MAX_FILES = 10000

local roots = {} -- by the root's path: { files = {path -> bits}, count, all = bits of any of them, folder = bits of whatever is there }

local function of_dir(dir)
  roots[dir] = roots[dir] or { files = {}, count = 0, all = 0, folder = 0 }
  return roots[dir]
end

local changes = {}

function changes.wrote(dir, path, bits)
  local known = of_dir(dir)
  if bits == 0 and not known.files[path] then return end
  if not known.files[path] then known.count = known.count + 1 end
  known.files[path] = (known.files[path] or 0) | bits
  known.all = known.all | bits
  if known.count > MAX_FILES then
    known.folder = known.folder | known.all
    known.files, known.count = {}, 0
  end
end

function changes.moved(dir, from, to, bits)
  local known, below = of_dir(dir), {}
  for path, had in pairs(known.files) do
    if system.below(path, from) then below[to .. path:sub(#from + 1)] = had end
  end
  for path, had in pairs(below) do changes.wrote(dir, path, had) end
  changes.wrote(dir, to, bits)
end

function changes.wrote_anywhere(dir, bits)
  local known = of_dir(dir)
  known.folder, known.all = known.folder | bits, known.all | bits
end

--- Makes a change: see hocket.internal.run.changes.
---@param what "wrote"|"moved"|"wrote_anywhere"
---@param dir string
---@param ... any
---@internal
function file_labels.change(what, dir, ...)
  changes[what](dir, ...)
end

-- What changes nothing is not told.
local function change(what, dir, ...)
  local context = fiber.context()
  local run = type(context) == "table" and context.run
  if not run or not run.here then return changes[what](dir, ...) end
  run:log("files", what, dir, ...)
end

--- A conversation has written a file.
---@param root hocket.Root
---@param path string
---@param bits integer Its labels.
function file_labels.wrote(root, path, bits)
  local dir = root:dir()
  bits = bits & labels.STRANGE
  if bits ~= 0 or roots[dir] and roots[dir].files[path] then change("wrote", dir, path, bits) end
end

--- A conversation has moved a file, or a folder with all in it.
---@param root hocket.Root
---@param from string
---@param to string
---@param bits integer
function file_labels.moved(root, from, to, bits)
  local dir = root:dir()
  bits = bits & labels.STRANGE
  if bits ~= 0 or roots[dir] and roots[dir].all ~= 0 then change("moved", dir, from, to, bits) end
end

--- A program may have written anywhere.
---@param root hocket.Root
---@param bits integer
function file_labels.wrote_anywhere(root, bits)
  bits = bits & labels.STRANGE
  if bits ~= 0 then change("wrote_anywhere", root:dir(), bits) end
end

--- The labels of a file, and of the ones that lie below it.
---@param root hocket.Root
---@param path string
---@return integer bits
function file_labels.of(root, path)
  local known = roots[root:dir()]
  if not known or known.all == 0 then return 0 end
  if path == "." then return known.all end
  local bits = known.folder | (known.files[path] or 0)
  for other, had in pairs(known.files) do
    if other ~= path and system.below(other, path) then bits = bits | had end
  end
  return bits
end

--- Everything that is known of a root, as data; nil: nothing is.
---@param root hocket.Root
---@return table?
function file_labels.all(root)
  local known = roots[root:dir()]
  return known and known.all ~= 0 and { files = known.files, folder = known.folder } or nil
end

--- Adds what another process knew of it.
---@param root hocket.Root
---@param known table
function file_labels.add(root, known)
  for path, bits in pairs(known.files) do file_labels.wrote(root, path, bits) end
  file_labels.wrote_anywhere(root, known.folder)
end

return file_labels
