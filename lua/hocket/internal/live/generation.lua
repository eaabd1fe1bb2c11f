--- A generation: one state of a directory with agents, prompts and Lua modules, read at once, validated,
--- and never changed afterwards. A run that began with it keeps it, and reads from it.
---
---     files ──stage──> a view ──validate──> target, modules ──> generation
---                                 │
---                                 └─ anything wrong: a problem with file and line
---
--- Modules beside the agents are loaded anew for each generation: `require` in its scripts looks there
--- first, and keeps what it has loaded to itself.
local caught = require "hocket.internal.base.caught"
local fiber = require "hocket.internal.core.fiber"
local hooks_place = require "hocket.internal.runner.hooks.place"
local kept = require "hocket.internal.core.kept"
local problems = require "hocket.internal.agents.problem"
local project_hooks = require "hocket.internal.base.lazy" "hocket.internal.runner.hooks.load"
local process = require "hocket.process"
local validate = require "hocket.internal.runner.validate"
local references = require "hocket.internal.live.references"
local required = require "hocket.internal.base.lazy" "hocket.internal.runner.required"
local script = require "hocket.internal.base.script"
local sources = require "hocket.internal.base.sources"
local sorted_keys = require "hocket.internal.base.sorted_keys"
local targets = require "hocket.internal.runner.target"
local trust = require "hocket.internal.base.lazy" "hocket.internal.runner.trust"
local scripts_fs = require "hocket.fs"

local generation = {}

--- Seconds that a module may take to load, with the ones that it requires.
local LOAD_SECONDS = 1

-- ---- What scripts read ----------------------------------------------------------------------

-- What is raised is the caller's fault, and has his place.
local function passed(ok, ...)
  if not ok then error((...), caught.no_memory((...)) and 0 or 2) end
  return ...
end

-- A text beside a script is part of the generation, until the run itself has changed it.
local plain = { read = scripts_fs.read, write = scripts_fs.write, run = process.run }

function scripts_fs.read(path, max)
  local text = type(path) == "string" and sources.text(path)
  if text and (max == nil or math.type(max) == "integer" and #text <= max) then return text end
  return passed(pcall(plain.read, path, max))
end

local function written(path, ok, done, err)
  if ok and done then sources.wrote(path) end
  return ok, done, err
end

function scripts_fs.write(path, ...)
  return passed(written(path, pcall(plain.write, path, ...)))
end

function process.run(...)
  sources.ran()
  return passed(pcall(plain.run, ...))
end

-- ---- Modules ---------------------------------------------------------------------------------------

-- Calls fn, for LOAD_SECONDS at most with everything that it loads in turn: a module that never ends must not
-- take the host along. Neither a pcall of the module's nor a coroutine gets round that. Where a debugger's hook is set it
-- stays, and may take its time.
local function in_time(self, file, fn, ...)
  if self.hook or debug.gethook() then return pcall(fn, ...) end
  local until_then = fiber.real_now() + LOAD_SECONDS
  local function hook()
    if self.hook ~= hook then return debug.sethook() end -- in a coroutine that is there for longer
    if not self.expired and fiber.real_now() <= until_then then return end
    self.expired = self.expired or { code = "timeout", message = ("%s:1: loading took more than %g seconds"):format(file, LOAD_SECONDS) }
    error(self.expired, 0)
  end
  local co = coroutine.running()
  self.hook = hook
  debug.sethook(co, hook, "", 100000)
  local result = table.pack(pcall(fn, ...))
  debug.sethook(co)
  local expired = self.expired
  self.hook, self.expired = nil, nil
  if expired then return false, expired end
  return table.unpack(result, 1, result.n)
end

-- What a generation's scripts see in place of Lua's own.
local function own_globals(self)
  local function checked(...)
    if self.expired then error(self.expired, 0) end
    return ...
  end
  local function create(fn)
    local co = coroutine.create(fn)
    if self.hook then debug.sethook(co, self.hook, "", 100000) end
    return co
  end
  local function continue(ok, ...)
    if not ok then error((...), 0) end
    return ...
  end
  local function loaded(file, mode, ...)
    if type(file) ~= "string" then return loadfile(file, mode, ...) end
    local text, err = sources.read(file)
    if not text then return nil, err.message end
    return script.compile(text, file, select("#", ...) > 0 and (...) or self.env)
  end
  return {
    require = self.require,
    loadfile = loaded,
    dofile = function(file)
      local chunk, wrong = loaded(file)
      if not chunk then error(wrong, 2) end
      return chunk()
    end,
    pcall = function(...) return checked(pcall(...)) end,
    xpcall = function(...) return checked(xpcall(...)) end,
    coroutine = setmetatable({
      create = create,
      wrap = function(fn)
        local co = create(fn)
        return function(...) return continue(coroutine.resume(co, ...)) end
      end,
    }, { __index = coroutine }),
  }
end

-- The file of a module, as it is found from a directory of the view on ("" or "sub/").
local function find_module(self, name, from)
  for _, file in ipairs(script.module_files(name)) do
    for _, dir in ipairs { from, "" } do
      if self.view.texts[dir .. file] then return dir .. file end
    end
  end
end

local function load_module(self, name, file)
  local path = self.view:shown(file)
  local chunk, wrong = script.compile(self.view.texts[file], path, self.env)
  if not chunk then error(wrong, 0) end
  self.modules[file] = true -- a circle of modules sees that it is under way
  local ok, value = in_time(self, path, chunk, name, path)
  if not ok then
    self.modules[file] = nil
    error(value, 0)
  end
  if value ~= nil then self.modules[file] = value end
  return self.modules[file]
end

-- What stands below the directory on disk, and not in the generation, is not there.
local function elsewhere(self, name)
  local file = type(name) == "string" and package.searchpath(name, package.path)
  if file and self.view:inside(file) and file:find "%.lua$" then
    error(("module '%s' not found: %s is no part of generation %s"):format(name, file, self.number or "that is being made"), 3)
  end
  return require(name)
end

local function own_require(self, from)
  return function(name)
    local file = type(name) == "string" and find_module(self, name, from)
    if not file then return elsewhere(self, name) end
    if kept.here() then sources.read(self.view:shown(file)) end -- which the run continues with in another process
    if self.modules[file] ~= nil then return self.modules[file] end
    return load_module(self, name, file)
  end
end

-- The globals of scripts in other folders than its own, made once for each.
local function envs_of(self)
  local envs = {}
  return function(folder)
    local rel = self.view:inside(folder .. "/hooks.lua")
    local from = rel and rel:match "^(.*/)[^/]*$" or ""
    envs[from] = envs[from] or setmetatable({ require = own_require(self, from) }, { __index = self.env })
    return envs[from]
  end
end

-- ---- Loading --------------------------------------------------------------------------------------------

-- Whatever was raised or returned, as an error with file, line and reason.
local function as_problem(self, err)
  if caught.no_memory(err) then return caught.error(err) end
  if type(err) == "table" and err.file then return err end
  local message = type(err) == "table" and (err.message or err.code) or tostring(err)
  local file, line = message:match "^([^\n:]+):(%d+)"
  file = file and required.whole(file, self.view.dir)
  return { code = type(err) == "table" and err.code or "agent", message = message, file = file, line = line and math.tointeger(line) }
end

-- A plan beside what was named is left out where it is wrong: whoever runs it by its path reads what is wrong with it.
local function leave_out(self, one)
  if self.left_out[one.file] then return end
  self.left_out[one.file] = true
  self.left_out[#self.left_out + 1] = ("%s; the plan is left out until you mend it (hocket check %s)"):format(problems.explain { one }, one.file)
end

-- Of an agent's file that agent has to be well, and the ones that it names; of anything else everything that is there, but for plans.
local function check_state(self, before)
  local whole = self.path == self.view.dir or script.is(self.path)
  local found = validate.path(whole and self.view.dir or self.path, { any_start = true, options = self.options, any_folder = not self.here, scripts = 0, problems = {}, teams = {} })
  for _, team in ipairs(found.teams) do self.teams[team.path] = team.defs end
  references.check_gone(self.view, before and before.teams or {}, self.teams, found.problems)
  local wrong = {}
  for _, one in ipairs(found.problems) do
    if one.severity == "error" and whole and one.code == "plan" then
      leave_out(self, one)
    elseif one.severity == "error" then
      wrong[#wrong + 1] = one
    end
  end
  if wrong[1] then error({ code = "agent", message = problems.explain(wrong), file = wrong[1].file, line = wrong[1].line }, 0) end
end

-- A module that the last generation has loaded and that is gone: not while a script may require it.
local function check_gone(self, file, name)
  if self.view.texts[file] or find_module(self, name, "") then return end
  local rel, line = references.requires(self.view, name)
  if not rel then return end
  error({ code = "agent", file = self.view:shown(rel), line = line,
    message = ("%s:%d: the module '%s' is gone, and may be required here: its file was %s"):format(self.view:shown(rel), line, name, self.view:shown(file)) }, 0)
end

-- Loads the hooks of a project as a run would, to see that they are some.
local function prove_hooks(self, path, folder)
  local env = self.env_of(folder)
  local chunk, wrong = env.loadfile(path, nil, env)
  if not chunk then error(wrong, 0) end
  local ok, value = in_time(self, path, chunk)
  if not ok then error(value, 0) end
  local by_point, misfit = project_hooks.read(path, sources.read(path) or "", value)
  if not by_point then error(misfit, 0) end
end

-- Folders of targets: of runs that have loaded hooks, and of runs to come.
local function folders_of_runs(self)
  local dirs = { [self.view.dir] = true, [self.target and self.target.dir or self.view.dir] = true }
  for dir in pairs(self.teams) do dirs[dir] = true end
  for dir in pairs(self.hooked) do dirs[dir] = true end
  return sorted_keys(dirs)
end

-- New runs have the hooks of this generation. Hooks that no run has loaded yet are loaded where a run would ask nobody; those of a mod never.
local function take_over_hooks(self)
  local seen, given = {}, not self.options.mod and trust.is_given(self.options.trust)
  for _, dir in ipairs(folders_of_runs(self)) do
    local path, folder = hooks_place(dir)
    local may = path and not seen[path] and (self.hooked[dir] or trust.may_load(path, folder, sources.read(path) or "", given))
    if may then
      seen[path] = true
      prove_hooks(self, path, folder)
    end
  end
end

-- The modules that the last generation has loaded are in use: this one has to be able to take over.
-- A module that has `on_reload` is given the `state` of the one before it.
local function take_over(self, before)
  local files = {}
  for file in pairs(before.modules) do files[#files + 1] = file end
  table.sort(files)
  for _, file in ipairs(files) do
    local name = file:gsub("%.%w+$", ""):gsub("/init$", ""):gsub("/", ".")
    check_gone(self, file, name)
    local there = self.view.texts[file]
    local module = there and (self.modules[file] ~= nil and self.modules[file] or load_module(self, name, file))
    local old = before.modules[file]
    if type(module) == "table" and type(module.on_reload) == "function" then
      local ok, wrong = in_time(self, self.view:shown(file), module.on_reload, type(old) == "table" and old.state or nil)
      if not ok then error(wrong, 0) end
    end
  end
  for dir in pairs(before.hooked) do self.hooked[dir] = true end
  take_over_hooks(self)
end

---@class hocket.Generation
---@field path string What was asked for.
---@field number integer
---@field hash string Of the content.
---@field target? {kind: string, path: string, dir: string, agent?: hocket.Agent} nil: several agents, of which none begins
---@field no_target? hocket.Error
---@field left_out table<integer|string, string|boolean> Plans that it does not have: what is wrong with each; true by file.
---@field package options table Of its runs, as far as they are known: `model` and `models` go before the agents' own.
---@field package view hocket.View
---@field package modules table<string, any> By file.
---@field package teams table<string, table<string, hocket.Agent>> By directory: the ones that were validated.
---@field package targets table<string, table> Below its directory, by path: the ones that were asked for.
---@field package require fun(name: string): any
---@field package env table The globals of its scripts.
---@field env_of fun(folder: string): table Those of the hooks in a folder, whose modules are beside them.
---@field hooked table<string, true> Folders of targets whose runs have loaded hooks.

local function build(self, before)
  check_state(self, before)
  local target, err = targets.find(self.path, self.teams)
  if target then
    target.generation = self
  elseif not (type(err) == "table" and err.several) then
    error(err, 0)
  end
  self.target, self.no_target = target, err -- agents that are valid, and of which none begins: each is a target of its own
  if before then take_over(self, before) end
  return self
end

--- Proves a view. Either all of it is valid, or there is no generation.
---@param path string What `hocket run` takes: a script, an agent, a directory.
---@param view hocket.View
---@param before? hocket.Generation Its modules' state is handed on.
---@param opts {here?: boolean, options: table} As for live.open.
---@return hocket.Generation? made Without a number yet.
---@return {code: string, message: string, file?: string, line?: integer}? problem
function generation.load(path, view, before, opts)
  local self = { path = path, here = opts.here, options = opts.options, hash = view.hash, view = view, modules = {}, targets = {}, teams = {}, hooked = {}, left_out = {} }
  self.require = own_require(self, "")
  self.env = setmetatable(own_globals(self), { __index = _G })
  self.env_of = envs_of(self)
  local ok, made = pcall(sources.within, view, build, self, before)
  if ok then return made end
  if fiber.cancelled() then error(made, 0) end
  return nil, as_problem(self, made)
end

--- A target below the generation's directory, in the state that it has there.
---@param self hocket.Generation
---@param path string
---@return table? target
---@return hocket.Error?
function generation.target(self, path)
  local rel = self.view:inside(path)
  if self.view:inside(self.path) == rel then return self.target, self.no_target end
  if self.targets[path] then return self.targets[path] end
  local ok, found, err = pcall(sources.within, self.view, targets.find, path)
  if not ok then return nil, as_problem(self, found) end
  if not found then return nil, err end
  local dir = self.view:inside(found.dir) or ""
  found.generation = self
  if dir ~= "" then found.env = setmetatable({ require = own_require(self, dir .. "/") }, { __index = self.env }) end
  self.targets[path] = found
  return found
end

return generation
