--- What the scripts of a run that is kept see in place of Lua's own: modules are read as all files of the run are, and are the
--- run's own, so that it goes on with those that it began with.
---
---     require "prices" ── loaded by the program, or of hocket's own ──> that
---                             └─ beside the target, in package.path ──> read once in all lives of the run
local misuse = require "hocket.internal.base.misuse"
local script = require "hocket.internal.base.script"
local sources = require "hocket.internal.base.sources"

local kept_scripts = {}

-- The file of a module, and its text.
local function find(name, dir)
  for _, file in ipairs(script.module_files(name)) do
    local path = dir .. "/" .. file
    local text = sources.read(path)
    if text then return path, text end
  end
  local as_path = name:gsub("%.", "/"):gsub("%%", "%%%%")
  for template in package.path:gmatch "[^;]+" do
    for _, ending in ipairs(template:find "%.lua$" and script.endings() or {}) do
      local path = template:gsub("lua$", ending):gsub("%?", as_path)
      local text = sources.read(path)
      if text then return path, text end
    end
  end
end

local function load_module(self, name, path, text)
  local chunk, wrong = script.compile(text, path, self.env)
  if not chunk then error(wrong, 0) end
  self.modules[name] = true -- a circle of modules sees that it is under way
  local ok, value = pcall(chunk, name, path)
  if not ok then
    self.modules[name] = nil
    error(value, 0)
  end
  if value ~= nil then self.modules[name] = value end
  return self.modules[name], path
end

local function is_of_the_program(name)
  return type(name) ~= "string" or name:find "^hocket%f[.%z]" or package.loaded[name] ~= nil or package.preload[name] ~= nil
end

local function theirs(name)
  return misuse.called("require", require, name)
end

local function own_require(self)
  return function(name)
    if is_of_the_program(name) then return theirs(name) end
    if self.modules[name] ~= nil then return self.modules[name] end
    local path, text = find(name, self.dir)
    if not path then return theirs(name) end -- in C, or by a searcher of the program's; or it says where it is not
    return load_module(self, name, path, text)
  end
end

local function own_loadfile(self)
  return function(path, mode, ...)
    if type(path) ~= "string" then return loadfile(path, mode, ...) end
    local text, err = sources.read(path)
    if not text then return nil, err.message end
    return script.compile(text, path, select("#", ...) > 0 and (...) or self.env)
  end
end

--- The globals of a run's scripts, made once for each run.
---@param run hocket.Run
---@param dir string Where the target is.
---@return table env
function kept_scripts.env(run, dir)
  if run.script_env then return run.script_env end
  local self = { dir = dir, modules = {} }
  local loaded = own_loadfile(self)
  self.env = setmetatable({
    require = own_require(self),
    loadfile = loaded,
    dofile = function(path)
      local chunk, wrong = loaded(path)
      if not chunk then error(wrong, 2) end
      return chunk()
    end,
  }, { __index = _G })
  run.script_env = self.env
  return self.env
end

return kept_scripts
