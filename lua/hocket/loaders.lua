--- Loads scripts in other languages that compile to Lua: one function for each file name ending.
---
---     local hocket = require "hocket"
---     function hocket.loaders.shout(text, name)          -- x.shout: what it holds is said loudly
---       if text == "" then return nil, name .. ":1: there is nothing to shout" end
---       return ("return %q"):format(text:upper())
---     end
---
--- A loader receives the text and the file's name, and returns Lua source. Its lines should match the lines of the text,
--- since messages name them. If they do not, the loader also returns a function from a line of the Lua to a line of the
--- text. For a mistake it returns nil and "name:line: what is wrong". Main scripts, modules for `require` and watched
--- files may then have this ending; scripts of mods must be Lua.
---
--- Fennel (`fnl`) and Teal (`tl`) work if `require "fennel"`, or `require "tl"`, finds the compiler.
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
