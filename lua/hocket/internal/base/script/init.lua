--- Files of scripts: Lua, and whatever hocket.loaders make Lua of.
local compile = require "hocket.internal.base.script.compile"
local loaders = require "hocket.internal.base.lazy" "hocket.loaders"
local sources = require "hocket.internal.base.sources"

local script = {}

local has_run = {} -- paths in other languages that were compiled to run: their folder was trusted then

local function ending_of(path)
  return path:match "^[^\n]*%.([%w_]+)$"
end

--- The endings of scripts, Lua's first, then by name.
---@return string[]
function script.endings()
  local list = {}
  for name, fn in next, (require "hocket.loaders") do
    if type(name) == "string" and name:find "^[%w_]+$" and type(fn) == "function" and name ~= "lua" and name ~= "md" then list[#list + 1] = name end
  end
  table.sort(list)
  table.insert(list, 1, "lua")
  return list
end

--- Whether a file is a script, by its ending.
---@param path string
---@return boolean
function script.is(path)
  if path:sub(-4) == ".lua" then return true end -- asked of each file of large folders
  if path:sub(-3) == ".md" then return false end
  local ending = ending_of(path)
  return ending ~= nil and type(loaders[ending]) == "function"
end

--- Whether it is Lua.
---@param path string
---@return boolean
function script.is_lua(path)
  return ending_of(path) == "lua"
end

--- Whether a file of another language was compiled to run: compiling may run what the file says (macros).
---@param path string
---@return boolean
function script.has_run(path)
  return has_run[path] or false
end

-- A message about the Lua that a loader made, as one about the text.
local function mapped(wrong, path, line_of)
  if type(line_of) ~= "function" then return wrong end
  local line, what = wrong:match ":(%d+): (.*)$"
  local ok, own = pcall(line_of, math.tointeger(line) or 1)
  return ("%s:%s: %s"):format(path, ok and tostring(own) or "1", what or wrong)
end

-- What a loader makes of a text. It is somebody's code, and may raise.
local function translated(loader, text, path)
  local ok, lua, more = pcall(loader, text, path)
  if not ok then return nil, ("%s:1: the loader raised: %s"):format(path, tostring(lua)) end
  if lua == nil then
    more = tostring(more or "it cannot be compiled")
    return nil, more:find(":%d+: ") and more or ("%s:1: %s"):format(path, more)
  end
  if type(lua) ~= "string" then return nil, ("%s:1: the loader gave a %s, and no Lua source"):format(path, type(lua)) end
  return lua, more
end

-- Whether a text may run in the run whose code runs: whoever knows runs of others hands it in.
local guard = function() return true end

--- Hands in who decides that.
---@param fn fun(path: string, text: string): true?, string?
function script.set_guard(fn)
  guard = fn
end

--- Says whether a text may run in the run whose code runs.
---@param path string
---@param text string
---@return true? admitted
---@return string? wrong
function script.may_run(path, text)
  return guard(path, text)
end

-- The globals of a script for which nobody names any; nil: the state's.
local own_env = function() return nil end

--- Hands in who knows those of the run whose code runs.
---@param fn fun(): table?
function script.set_env(fn)
  own_env = fn
end

--- Compiles a script's text by its file's ending.
---@param text string
---@param path string For messages, and for the ending.
---@param env? table
---@return function? chunk
---@return string? wrong "file:line: what"
function script.compile(text, path, env)
  local admitted, refused = guard(path, text)
  if not admitted then return nil, refused end
  env = env or own_env()
  local ending = ending_of(path)
  local loader = ending and ending ~= "lua" and ending ~= "md" and loaders[ending]
  if type(loader) ~= "function" then return compile(text, path, env) end
  local lua, more = translated(loader, text, path)
  if not lua then return nil, more end
  local chunk, wrong = compile(lua, path, env)
  if not chunk then return nil, mapped(wrong, path, more) end
  has_run[path] = true
  return chunk
end

--- The main script of a directory, or another one found by its name alone.
---@param dir string
---@param name string "main"
---@return string? path
function script.find(dir, name)
  for _, ending in ipairs(script.endings()) do
    local path = ("%s/%s.%s"):format(dir, name, ending)
    if sources.info(path) then return path end
  end
end

--- Where a module may be, below a directory: "a.b" -> a/b.lua, a/b/init.lua, a/b.fnl …
---@param name string
---@return string[]
function script.module_files(name)
  local list, path = {}, name:gsub("%.", "/")
  for _, ending in ipairs(script.endings()) do
    list[#list + 1] = ("%s.%s"):format(path, ending)
    list[#list + 1] = ("%s/init.%s"):format(path, ending)
  end
  return list
end

-- The file of a module in another language, beside where Lua is searched for.
local function search(name)
  local looked = {}
  for template in package.path:gmatch "[^;]+" do
    for _, ending in ipairs(template:find "%.lua$" and script.endings() or {}) do
      local file = ending ~= "lua" and template:gsub("lua$", ending):gsub("%?", (name:gsub("%%", "%%%%"):gsub("%.", "/")))
      local text = file and sources.read(file)
      if text then return file, text end
      if file then looked[#looked + 1] = ("no file '%s'"):format(file) end
    end
  end
  return nil, table.concat(looked, "\n\t")
end

local function searcher(name)
  local file, text = search(name)
  if not file then return text end
  local chunk, wrong = script.compile(text, file)
  if not chunk then error(wrong, 0) end
  return chunk, file
end

--- Lets `require` find modules in other languages, after those in Lua.
function script.let_require()
  for _, one in ipairs(package.searchers) do
    if one == searcher then return end
  end
  table.insert(package.searchers, searcher)
end

return script
