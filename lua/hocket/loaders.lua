--- Scripts in other languages that become Lua: a function for each ending of file names.
---
---     local hocket = require "hocket"
---     function hocket.loaders.shout(text, name)          -- x.shout: what it holds is said loudly
---       if text == "" then return nil, name .. ":1: there is nothing to shout" end
---       return ("return %q"):format(text:upper())
---     end
---
--- A loader is given the text and the file's name, and returns Lua source, whose lines should be those of the text, since
--- messages name them; and where they are not, also a function from a line of the Lua to one of the text, for
--- messages about its syntax. Or it returns nil and "name:line: what is wrong". From then on main scripts, modules for
--- `require`, and what is watched may have that ending; the scripts of mods are Lua alone.
---
--- Fennel (`fnl`) and Teal (`tl`) are there: where `require "fennel"`, or `require "tl"`, finds the compiler.
local loaders = {}

-- A compiler that is a module of somebody's, as it is installed for this Lua.
local function compiler(module, name, language)
  local ok, found = pcall(require, module)
  if ok then return found end
  return nil, ("%s:1: %s is not installed for Lua 5.4: require '%s' finds no module"):format(name, language, module)
end

-- Messages of compilers have a column as well, and a picture below them.
local function one_place(message, name)
  local line, what = message:match ":(%d+):%d+:?%s*([^\n]+)"
  if not line then line, what = message:match ":(%d+):%s*([^\n]+)" end
  return ("%s:%s: %s"):format(name, line or "1", what or message:match "[^\n]*")
end

--- Fennel, by `require "fennel"`; its macros are those of the text.
---@param text string
---@param name string
---@return string? lua
---@return string? wrong
function loaders.fnl(text, name)
  local fennel, wrong = compiler("fennel", name, "Fennel")
  if not fennel then return nil, wrong end
  local compile = fennel.compileString or fennel["compile-string"]
  local ok, lua = pcall(compile, text, { filename = name, correlate = true, allowedGlobals = false })
  if not ok then return nil, one_place(tostring(lua), name) end
  return lua
end

--- Teal, by `require "tl"`.
---@param text string
---@param name string
---@return string? lua
---@return string? wrong
function loaders.tl(text, name)
  local tl, wrong = compiler("tl", name, "Teal")
  if not tl then return nil, wrong end
  local ok, lua, result = pcall(tl.gen, text)
  if not ok then return nil, one_place(tostring(lua), name) end
  local first = type(result) == "table" and result.syntax_errors and result.syntax_errors[1]
  if not lua or first then return nil, ("%s:%d: %s"):format(name, first and first.y or 1, first and first.msg or "it cannot be compiled") end
  return lua
end

return loaders
