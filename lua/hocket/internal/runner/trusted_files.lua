--- Which files a folder had when a person trusted it: so that the next question says what has changed since.
---
---     STATE/trusted/DIGEST.json    the digest of each file by its name, for the digest that `trust` has of the folder
---
--- It decides nothing: where it is missing or wrong, all files are shown.
local fs = require "hocket.internal.core.fs"
local json = require "hocket.json"
local sorted_keys = require "hocket.internal.base.sorted_keys"
local state_dir = require "hocket.internal.run.state_dir"

local trusted_files = {}

--- Bytes of one: 1000 names.
local MAX = 8 << 20

local function path_of(digest)
  local dir = state_dir()
  return dir and digest:find "^%x+$" and ("%s/trusted/%s.json"):format(dir, digest), dir
end

--- Keeps the files of a folder, and forgets those of what was trusted before.
---@param digest string
---@param files table<string, string>
---@param before? string
function trusted_files.keep(digest, files, before)
  local path, dir = path_of(digest)
  if not path or not fs.mkdir(dir .. "/trusted", { private = true }) then return end
  if before and before ~= digest then os.remove((path_of(before))) end
  fs.write(path, json.encode(files) .. "\n", { private = true })
end

local function add(lines, word, names)
  for _, name in ipairs(names) do lines[#lines + 1] = ("%s: %s"):format(word, name) end
end

--- What is other than it was, a line for each file, changed ones first; nil: nobody knows.
---@param before string The digest that was trusted.
---@param files table<string, string>
---@return string[]? lines
---@return integer as_before
function trusted_files.since(before, files)
  local path = path_of(before)
  local was = json.decode(path and fs.read(path, MAX) or "")
  if type(was) ~= "table" then return nil, 0 end
  local changed, new, gone, same = {}, {}, {}, 0
  for _, name in ipairs(sorted_keys(files)) do
    if was[name] == nil then new[#new + 1] = name
    elseif was[name] ~= files[name] then changed[#changed + 1] = name
    else same = same + 1 end
  end
  for _, name in ipairs(sorted_keys(was)) do
    if files[name] == nil then gone[#gone + 1] = name end
  end
  local lines = {}
  add(lines, "changed", changed)
  add(lines, "new", new)
  add(lines, "gone", gone)
  return lines, same
end

return trusted_files
