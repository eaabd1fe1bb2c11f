--- A message about a key of an agent's file, with its place: "file:line:column: what". The file is read again for it.
local problem = require "hocket.internal.agents.problem"
local read = require "hocket.internal.agents.read"
local sources = require "hocket.internal.base.sources"

---@param def hocket.Agent
---@param pointer string "/mcp/0"
---@param message string
---@return string
return function(def, pointer, message)
  local text = type(def.file) == "string" and sources.read(def.file, read.LIMIT)
  if not text then return ("%s: %s"):format(def.file or def.name, message) end
  local _, _, places = read.text(text, def.file, nil, def.theirs and def.theirs.format)
  local line, column = problem.place(places or {}, pointer)
  return ("%s:%d:%d: %s"):format(def.file, line, column, message)
end
