--- What scripts see in place of Lua's own, in a run that is kept or whose folder was asked about. Modules are read as all files of the run
--- are, and belong to the run: it resumes with the modules of its beginning.
---
---     require "prices" ── loaded by the program, or of hocket's own ──> that
---                             └─ beside the target, in package.path ──> read once in all lives of the run
---
--- In a run of a folder that was asked about they load what was trusted (loaded_code.lua).
local loaded_code = require "hocket.internal.base.lazy" "hocket.internal.runner.loaded_code"
local misuse = require "hocket.internal.base.misuse"
local runs = require "hocket.internal.run.run"
local script = require "hocket.internal.base.script"
local sources = require "hocket.internal.base.sources"

local kept_scripts = {}

-- The file of a module, and its text.
local function find(self, name)
  for _, file in ipairs(script.module_files(name)) do
    local path = self.dir .. "/" .. file
    local text = sources.read(path)
    if text then return path, text end
  end
  local as_path = name:gsub("%.", "/"):gsub("%%", "%%%%")
  local templates = rawget(self.package, "path")
  if type(templates) ~= "string" then error("'package.path' must be a string", 3) end
  for template in templates:gmatch "[^;]+" do
    for _, ending in ipairs(template:find "%.lua$" and script.endings() or {}) do
      local path = template:gsub("lua$", ending):gsub("%?", as_path)
      local text = sources.read(path)
      if text then return path, text end
    end
  end
end

-- What the run has of a module stands in its own package.loaded: what is taken out there is loaded anew.
local function enter(self, name, chunk, from)
  local loaded = self.loaded
  loaded[name] = true -- a circle of modules sees that it is under way
  local ok, value = pcall(chunk, name, from)
  if not ok then
    loaded[name] = nil
    error(value, 0)
  end
  if value ~= nil then loaded[name] = value end
  if loaded[name] == nil then loaded[name] = true end
  return loaded[name], from
end

local function compile(self, text, path, env)
  if self.run.bound_code then
    local ok, wrong = loaded_code.may_load(self.run, path, text)
    if not ok then return nil, wrong end
  end
  return script.compile(text, path, env)
end

local function load_module(self, name, path, text)
  local chunk, wrong = compile(self, text, path, self.env)
  if not chunk then error(wrong, 0) end
  return enter(self, name, chunk, path)
end

local function is_of_the_program(name)
  return type(name) ~= "string" or name:find "^hocket%f[.%z]" or package.loaded[name] ~= nil or package.preload[name] ~= nil
end

-- In C, or by a searcher of the program's, which look where the script says; or it says where there is none.
local function theirs(self, name)
  local path, cpath = package.path, package.cpath
  package.path, package.cpath = self.package.path, self.package.cpath
  local closing <close> = setmetatable({}, { __close = function() package.path, package.cpath = path, cpath end })
  local value, from = misuse.called("require", require, name)
  self.loaded[name] = value
  return value, from
end

local function own_require(self)
  local loaded, preload = self.loaded, self.preload
  return function(name)
    if loaded[name] ~= nil then return loaded[name] end
    local loader = rawget(preload, name)
    if loader then return enter(self, name, loader, ":preload:") end
    if is_of_the_program(name) then return theirs(self, name) end
    local path, text = find(self, name)
    if not path and self.run.bound_code then
      local ok, wrong = loaded_code.may_find(self.run, name, self.package)
      if not ok then error(wrong, 0) end
    end
    if not path then return theirs(self, name) end
    return load_module(self, name, path, text)
  end
end

-- What is needed for a run's own `package`: what a script changes there is its run's.
local function own_modules(run, dir)
  local self = { run = run, dir = dir, loaded = {}, preload = setmetatable({}, { __index = package.preload }) }
  for name, value in next, package.loaded do self.loaded[name] = value end
  self.package = setmetatable({ loaded = self.loaded, preload = self.preload, path = package.path, cpath = package.cpath }, { __index = package })
  return self
end

local function own_loadfile(self)
  return function(path, mode, ...)
    if type(path) ~= "string" then return loadfile(path, mode, ...) end
    local text, err = sources.read(path)
    if not text then return nil, err.message end
    return compile(self, text, path, select("#", ...) > 0 and (...) or self.env)
  end
end

--- The globals of a run's scripts, made once for each folder: its modules are found there.
---@param run hocket.Run
---@param dir string Where the target is; or a workflow that an agent names.
---@return table env
function kept_scripts.env(run, dir)
  run.script_envs = run.script_envs or {}
  if run.script_envs[dir] then return run.script_envs[dir] end
  local self = own_modules(run, dir)
  local loaded = own_loadfile(self)
  self.env = setmetatable({
    require = own_require(self), package = self.package,
    loadfile = loaded,
    dofile = function(path)
      local chunk, wrong = loaded(path)
      if not chunk then error(wrong, 2) end
      return chunk()
    end,
  }, { __index = _G })
  run.script_envs[dir] = self.env
  return self.env
end

--- Has a run's scripts load what was looked at, also the ones that are loaded without globals of their own (the scripted model).
---@param run hocket.Run
---@param codes hocket.Code[]
function kept_scripts.bind(run, codes)
  if not loaded_code.note(run, codes) then return end
  script.set_env(function()
    local here = runs.current()
    return here and here.bound_code and here.target.dir and kept_scripts.env(here, here.target.dir) or nil
  end)
end

return kept_scripts
