--- What a script's own text can reach beside agents: programs, the web, files. By effects, as tools have them.
local bind = require "hocket.internal.base.script.bind"

local reach = {}

-- Globals and their fields; `false`: every other field.
local libraries = {
  os = { execute = { "run" }, remove = { "write" }, rename = { "write" }, tmpname = { "write" }, [false] = {} },
  io = { popen = { "run" }, write = {}, read = {}, stdout = {}, stderr = {}, [false] = { "read", "write" } },
}

local modules = {
  ["hocket.process"] = { "run" }, ["hocket.http"] = { "fetch", "send" }, ["hocket.fs"] = { "read", "write" },
}

local function add(found, effects)
  for _, effect in ipairs(effects) do found[effect] = true end
end

local function library_of(node)
  node = bind.meant(node)
  return node.kind == "name" and not node.binding and libraries[node.name] or nil
end

--- Adds what a resolved tree can reach.
---@param tree table[]
---@param found table<string, true> By effect.
function reach.add(tree, found)
  bind.each(tree, function(node)
    local library = node.kind == "index" and library_of(node.object)
    if library then
      local known, name = bind.constant(node.key)
      if known then
        add(found, library[name] or library[false])
        return true
      end
    end
    library = node.kind == "name" and not node.binding and libraries[node.name]
    for _, effects in pairs(library or {}) do add(found, effects) end -- passed on as a whole
    add(found, modules[bind.module(node)] or {})
  end)
end

return reach
