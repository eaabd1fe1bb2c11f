--- The modules that a script requires by name: whether each is there. The script is not run.
---
---     require "lib.util"  ──> beside the script, or in a folder above it ──> package.path, package.cpath ──> missing
---
--- A module that is required inside of pcall may be missing. A script that changes `package` is not judged: its modules may lie
--- anywhere. Modules and globals that only another program has are named in a comment:
---
---     --- @hocket.modules util.stanza
---     --- @hocket.globals vim
local caught = require "hocket.internal.base.caught"
local problem = require "hocket.internal.agents.problem"
local script = require "hocket.internal.base.script"
local script_names = require "hocket.internal.runner.script_names"
local sources = require "hocket.internal.base.sources"

local required = {}

-- The words behind a mark in a script's comments.
local function noted(text, mark)
  local words = {}
  for list in text:gmatch("%-%-[ \t]*@hocket%." .. mark .. "[ \t]+([^\n]+)") do
    for word in list:gmatch "[%w_.-]+" do words[word] = true end
  end
  return words
end

local function read(text, rest)
  local names = script_names(text, rest)
  names.theirs = noted(text, "modules")
  for name in pairs(noted(text, "globals")) do names.set[name] = true end
  return names
end

--- What a script names; of a text that stays the same it is read once.
---@param path string
---@param text string
---@param rest? fun() Is called now and then.
---@return hocket.ScriptNames
function required.names(path, text, rest)
  local memo = sources.memo(path) or {}
  memo.names = memo.names or read(text, rest)
  return memo.names
end

--- The line and column of a byte of a text.
---@param text string
---@param at integer
---@return integer line
---@return integer column
function required.place(text, at)
  local before = text:sub(1, at - 1)
  local _, breaks = before:gsub("\n", "")
  local last = before:match "[^\n]*$"
  return breaks + 1, (utf8.len(last) or #last) + 1
end

-- The file of a module below one directory of the list.
local function beside(name, dirs)
  for _, dir in ipairs(dirs) do
    for _, file in ipairs(script.module_files(name)) do
      local path = dir == "" and file or dir .. "/" .. file
      if sources.info(path) then return path end
    end
  end
end

-- The file of a module where Lua looks for them, and hocket.loaders for those in other languages.
local function on_path(name)
  local as_path = name:gsub("%.", "/"):gsub("%%", "%%%%")
  for template in tostring(package.path):gmatch "[^;]+" do
    for _, ending in ipairs(template:find "%.lua$" and script.endings() or {}) do
      local path = template:gsub("lua$", ending):gsub("%?", as_path)
      if sources.info(path) then return path end
    end
  end
end

local function is_loaded(name)
  return package.loaded[name] ~= nil or package.preload[name] ~= nil
end

-- In C, where it is not loaded to be looked at; or by a searcher of the program's own.
local function is_elsewhere(name)
  if package.searchpath(name, package.cpath) or package.searchpath(name:match "^[^.]*", package.cpath) then return true end
  for i = 5, #package.searchers do
    local ok, loader = pcall(package.searchers[i], name)
    if not ok and caught.no_memory(loader) then error(loader, 0) end
    if ok and type(loader) == "function" then return true end
  end
  return false
end

--- Where a module is: its file, or true where it has none that could be read.
---@param name string
---@param dirs string[] Where it is searched for first.
---@return string|true? found
function required.find(name, dirs)
  if is_loaded(name) then return true end
  return beside(name, dirs) or on_path(name) or is_elsewhere(name) or nil
end

--- The folders in which modules of a script are looked for: its own, and those above it up to the one checked.
---@param path string The script's.
---@param root string
---@return string[]
function required.dirs(path, root)
  local dirs, dir = {}, path:match "^(.*)/[^/]*$" or "."
  while dir ~= root and #dir > #root do
    dirs[#dirs + 1] = dir
    dir = dir:match "^(.*)/[^/]*$" or root
  end
  dirs[#dirs + 1] = root
  return dirs
end

--- What is said of a module that is not there.
---@param name string
---@param path string The script that requires it.
---@param root string
---@return string
function required.missing(name, path, root)
  local dirs = required.dirs(path, root)
  return ("module '%s' not found: there is no %s.lua in %s, and none in package.path"):format(name, name:gsub("%.", "/"), #dirs > 1 and dirs[1] .. " or above it" or root)
end

--- Lua shortens a long path at its front, as in "...folder/lib/util.lua": below the root it is known again.
---@param path string As Lua's message has it.
---@param root string
---@return string
function required.whole(path, root)
  local rest = path:match "^%.%.%.(.+)$"
  for i = 1, rest and #root or 0 do
    if rest:sub(1, #root - i + 2) == root:sub(i) .. "/" then return root:sub(1, i - 1) .. rest end
  end
  return path
end

--- The same in place of the list of all files that Lua looked for; any other error as it is.
---@param text string
---@param root string
---@return string
function required.told(text, root)
  local path, line, name, looked = text:match "^([^:\n]+)(:%d+: )module '([^'\n]+)' not found:(\n.*)$"
  if not path or looked:gsub("\n\tno fi[^\n]*", "") ~= "" then return text end
  path = required.whole(path, root)
  return path .. line .. required.missing(name, path, root)
end

--- Checks that the modules that a script requires are there.
---@param path string The script's.
---@param text string
---@param root string
---@param problems hocket.Problem[] Gets what is wrong.
---@param rest? fun()
---@return string[] files Those of the modules.
function required.check(path, text, root, problems, rest)
  local names, dirs, files = required.names(path, text, rest), required.dirs(path, root), {}
  for _, one in ipairs(names.required) do
    local found = not (one.guarded or names.theirs[one.name]) and required.find(one.name, dirs)
    if type(found) == "string" then files[#files + 1] = found end
    if found == nil and not names.paths then
      local line, column = required.place(text, one.at)
      problems[#problems + 1] = problem.new(path, line, column, "module", required.missing(one.name, path, root))
    end
  end
  return files
end

return required
