--- Compiles a script's text. A mark of its encoding and a first line for the shell are passed over, as `lua` does;
--- compiled Lua is refused, since it can crash any interpreter.

local caught = require "hocket.internal.base.caught"

---@param text string
---@param path string For messages.
---@param env? table The script's globals, when not the state's.
---@return function? chunk
---@return string? wrong "file:line: what"
return function(text, path, env)
  if text:byte() == 27 then return nil, path .. ":1: this is compiled Lua: give the script's source" end
  local chunk, wrong = load(text:gsub("^\239\187\191", "", 1):gsub("^#![^\n]*", "", 1), "@" .. path, "t", env or _G)
  if not chunk and caught.no_memory(wrong) then error(wrong, 0) end
  return chunk, wrong
end
