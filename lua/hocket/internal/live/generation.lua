--- A generation: one state of a directory with agents, prompts and Lua modules, read at once, proven,
--- and never changed afterwards. A run that began with it keeps it.
---
---     files ──snapshot──> texts and a hash ──load──> target, modules ──prove──> generation
---                                                        │
---                                                        └─ anything wrong: a problem with file and line
---
--- Modules beside the agents are loaded anew for each generation: `require` in its scripts looks there
--- first, and keeps what it has loaded to itself.
local compile = require "hocket.internal.base.compile"
local fiber = require "hocket.internal.core.fiber"
local fs = require "hocket.fs"
local system = require "hocket.internal.core.system"
local targets = require "hocket.internal.runner.target"
local tree = require "hocket.internal.base.tree"

local generation = {}

--- Seconds that a module may take to load, with those that it requires.
local LOAD_SECONDS = 1
--- Bytes of a file that counts.
local FILE_LIMIT = 1 << 20
--- Files that change while they are read are read again, so often.
local TRIES = 5

-- ---- Files -----------------------------------------------------------------------------------

local endings = { md = true, lua = true, json = true, txt = true, yaml = true, yml = true, tmpl = true }

-- What editors leave beside the file that is being edited.
local function counts(path)
  local name = path:match "[^/]+$"
  return endings[name:match "%.(%w+)$"] and not name:find "^[.#]" and not name:find "~$"
end

---@class hocket.Snapshot
---@field texts table<string, string> By path.
---@field dirs string[]
---@field hash string

--- Reads all that counts below a path.
---@param path string A directory, or a file, which stands for the directory that it is in.
---@return hocket.Snapshot? snapshot
---@return hocket.Error?
function generation.snapshot(path)
  local info = fs.info(path)
  if not info and not path:find "%.%w+$" then -- a directory that is gone: it comes back where it was
    return { texts = {}, dirs = { path:match "^(.+)/[^/]+/*$" or path:find "^/" and "/" or "." }, dir = path, hash = "gone" }
  end
  local dir = info and info.kind == "directory" and path or path:match "^(.*)/[^/]*$" or "."
  local shot, parts = { texts = {}, dirs = {}, dir = dir }, {}
  local ok, err = tree.walk(dir, function(at, files)
    shot.dirs[#shot.dirs + 1] = at
    for _, file in ipairs(files) do
      local text = counts(file) and fs.read(file, FILE_LIMIT)
      if text then
        shot.texts[file] = text
        parts[#parts + 1] = ("%s\0%d\0%s"):format(file, #text, system.hash(text))
      end
    end
  end)
  if not ok then return nil, err end
  table.sort(parts)
  shot.hash = system.hash(table.concat(parts, "\n"))
  return shot
end

--- The files that differ between two snapshots, sorted: "+path" new, "-path" gone, "path" changed.
---@param before hocket.Snapshot
---@param after hocket.Snapshot
---@return string[]
function generation.changes(before, after)
  local list = {}
  for path, text in pairs(after.texts) do
    if not before.texts[path] then list[#list + 1] = "+" .. path elseif before.texts[path] ~= text then list[#list + 1] = path end
  end
  for path in pairs(before.texts) do
    if not after.texts[path] then list[#list + 1] = "-" .. path end
  end
  table.sort(list, function(a, b) return a:gsub("^[+-]", "") < b:gsub("^[+-]", "") end)
  return list
end

-- ---- Modules ---------------------------------------------------------------------------------------

-- Calls fn, for LOAD_SECONDS at most with all that it loads in turn: a module that never ends must not
-- take the host along. Neither a pcall of the module's nor a coroutine gets round that.
local function in_time(self, file, fn, ...)
  if self.hook then return pcall(fn, ...) end
  local until_then = fiber.now() + LOAD_SECONDS
  local function hook()
    if self.hook ~= hook then return debug.sethook() end -- in a coroutine that is there for longer
    if not self.expired and fiber.now() <= until_then then return end
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
  return {
    require = self.require,
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

local function find_module(self, name)
  local path = self.snapshot.dir .. "/" .. name:gsub("%.", "/")
  for _, file in ipairs { path .. ".lua", path .. "/init.lua" } do
    if self.snapshot.texts[file] then return file end
  end
end

local function load_module(self, name, file)
  local chunk, wrong = compile(self.snapshot.texts[file], file, self.env)
  if not chunk then error(wrong, 0) end
  self.modules[name] = true -- a circle of modules sees that it is under way
  local ok, value = in_time(self, file, chunk, name, file)
  if not ok then
    self.modules[name] = nil
    error(value, 0)
  end
  if value ~= nil then self.modules[name] = value end
  return self.modules[name]
end

local function own_require(self)
  return function(name)
    if self.modules[name] ~= nil then return self.modules[name] end
    local file = type(name) == "string" and find_module(self, name)
    if not file then return require(name) end
    return load_module(self, name, file)
  end
end

-- ---- Loading --------------------------------------------------------------------------------------------

-- Whatever was raised or returned, as an error with file, line and reason.
local function as_problem(err)
  local message = type(err) == "table" and (err.message or err.code) or tostring(err)
  local file, line = message:match "^([^\n:]+):(%d+)"
  return { code = type(err) == "table" and err.code or "agent", message = message, file = file, line = line and math.tointeger(line) }
end

local function compile_all(self)
  for path, text in pairs(self.snapshot.texts) do
    if path:find "%.lua$" then
      local chunk, wrong = compile(text, path, self.env)
      if not chunk then error(wrong, 0) end
    end
  end
end

-- The modules that the last generation has loaded are in use: this one has to be able to take over.
-- A module that has `on_reload` is given the `state` of the one before it.
local function take_over(self, before)
  local names = {}
  for name in pairs(before.modules) do names[#names + 1] = name end
  table.sort(names)
  for _, name in ipairs(names) do
    local file = find_module(self, name)
    local module = file and (self.modules[name] ~= nil and self.modules[name] or load_module(self, name, file))
    local old = before.modules[name]
    if type(module) == "table" and type(module.on_reload) == "function" then
      local ok, wrong = in_time(self, file, module.on_reload, type(old) == "table" and old.state or nil)
      if not ok then error(wrong, 0) end
    end
  end
end

---@class hocket.Generation
---@field path string What was asked for.
---@field number integer
---@field hash string Of the content.
---@field target {kind: string, path: string, dir: string, agent?: hocket.Agent}
---@field snapshot hocket.Snapshot
---@field modules table<string, any>
---@field require fun(name: string): any
---@field env table The globals of its scripts.

local function build(path, shot, number, before)
  local self = { path = path, number = number, hash = shot.hash, snapshot = shot, modules = {} }
  self.require = own_require(self)
  self.env = setmetatable(own_globals(self), { __index = _G })
  compile_all(self)
  local target, err = targets.find(path)
  if not target then error(err, 0) end
  target.generation = self
  self.target = target
  if before then take_over(self, before) end
  return self
end

--- Reads and proves what stands there now. Either all of it is well, or there is no generation.
---@param path string What `hocket run` takes: a script, an agent, a directory.
---@param number integer
---@param before? hocket.Generation Its modules' state is handed on.
---@return hocket.Generation? made
---@return {code: string, message: string, file?: string, line?: integer}? problem
function generation.load(path, number, before)
  for _ = 1, TRIES do
    local shot, err = generation.snapshot(path)
    if not shot then return nil, as_problem(err) end
    local ok, made = pcall(build, path, shot, number, before)
    local now = generation.snapshot(path)
    if now and now.hash == shot.hash then
      if ok then return made end
      return nil, as_problem(made)
    end
  end
  return nil, { code = "state", message = ("%s: it changes faster than it can be read"):format(path) }
end

return generation
