--- Functions of the project that agents' files name: "module.function", of a module beside the agent's file. A file of an agent never
--- holds Lua; what it names is code of the folder, which a person trusts before it runs (runner/trust.lua).
local problem = require "hocket.internal.agents.problem"
local script = require "hocket.internal.base.script"
local sources = require "hocket.internal.base.sources"

local functions = {}

--- The module and the function of a name; nil: it is no such name.
---@param name any
---@return string? module
---@return string? member
function functions.split(name)
  if type(name) ~= "string" or not name:find "^[%w_.-]+$" or name:find("..", 1, true) then return nil end
  return name:match "^([%a_][%w_.-]*)%.([%a_][%w_]*)$"
end

--- A name of a function, or in Lua the function.
functions.kind = { text = "module.function", example = "handoffs.shorten", json = { type = "string", pattern = "^[A-Za-z_][A-Za-z0-9_.-]*\\.[A-Za-z_][A-Za-z0-9_]*$" },
  takes = function(value, ctx) return type(value) == "string" or ctx.from_lua and type(value) == "function" end,
  read = function(value, ctx, pointer)
    if type(value) == "string" and not functions.split(value) then
      ctx:say(pointer, ("must be module.function, as in handoffs.shorten, not '%s'"):format(value))
    end
    return value
  end }

--- The functions that an agent's file names, with the place of each.
---@param def hocket.Agent
---@return {name: string, pointer: string}[]
function functions.of(def)
  local list, handoff, goal = {}, def.handoff, def["until"]
  if goal and functions.split(goal["function"]) then list[1] = { name = goal["function"], pointer = "/until/function" } end
  for _, side in ipairs(def.guards and { "input", "output" } or {}) do
    for i, one in ipairs(def.guards[side] or {}) do
      if functions.split(one["function"]) then list[#list + 1] = { name = one["function"], pointer = ("/guards/%s/%d/function"):format(side, i - 1) } end
    end
  end
  if type(handoff) ~= "table" then return list end
  local many = handoff.agent == nil
  for i, one in ipairs(many and handoff or { handoff }) do
    for _, key in ipairs { "pass", "available" } do
      if functions.split(one[key]) then list[#list + 1] = { name = one[key], pointer = ("/handoff%s/%s"):format(many and "/" .. i - 1 or "", key) } end
    end
  end
  return list
end

--- Where the module of a function is: beside the agent's file.
---@param def hocket.Agent
---@param name string
---@return string? path
---@return string dir
function functions.file(def, name)
  local dir = def.file and def.file:match "^(.*)/[^/]*$" or "."
  for _, file in ipairs(script.module_files((functions.split(name)))) do
    local path = dir .. "/" .. file
    if sources.info(path) then return path, dir end
  end
  return nil, dir
end

--- Checks that the modules are there. Nothing of them is run.
---@param def hocket.Agent
---@param places table<string, integer[]>
---@param problems hocket.Problem[] Gets what is wrong.
function functions.check(def, places, problems)
  for _, one in ipairs(functions.of(def)) do
    local found, dir = functions.file(def, one.name)
    if not found then
      local line, column = problem.place(places, one.pointer)
      local module = functions.split(one.name)
      problems[#problems + 1] = problem.new(def.file, line, column, "module",
        ("module '%s' not found: there is no %s.lua in %s"):format(module, module:gsub("%.", "/"), dir))
    end
  end
end

return functions
