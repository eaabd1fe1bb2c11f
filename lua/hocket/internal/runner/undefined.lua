--- Names in scripts that stand for nothing: globals that nothing sets, and fields that hocket's modules do not have. A script that
--- uses them starts, and fails when it gets there: so these are warnings.
local caught = require "hocket.internal.base.caught"
local problem = require "hocket.internal.agents.problem"
local required = require "hocket.internal.runner.required"
local sorted_keys = require "hocket.internal.base.sorted_keys"

local undefined = {}

--- At most so many warnings of one script.
local TOLD = 100

-- Tables that scripts fill, so that each of their fields may be asked for.
local open_tables = { ["hocket.loaders"] = true }

--- The globals that scripts set, each for all of them, and the fields of hocket's modules, as "hocket.name".
---@param texts table<string, string> By script.
---@return table<string, boolean>
function undefined.set_by(texts, rest)
  local set = {}
  for path, text in pairs(texts) do
    for name in pairs(required.names(path, text, rest).set) do set[name] = true end
  end
  return set
end

local function warn(path, text, at, message, problems)
  local line, column = required.place(text, at)
  local one = problem.new(path, line, column, "undefined", message)
  one.severity = "warning"
  problems[#problems + 1] = one
end

local function is_global(name)
  return name == "arg" or rawget(_G, name) ~= nil
end

local function check_globals(path, text, names, set, problems)
  local said, first = {}, #problems
  for _, one in ipairs(names.read) do
    if #problems - first >= TOLD then return end
    if not (said[one.name] or set[one.name] or is_global(one.name)) then
      said[one.name] = true
      warn(path, text, one.at, ("the global '%s' is not defined: nothing gives it a value"):format(one.name), problems)
    end
  end
end

-- A module of hocket's, as a script that requires it gets it.
local function module_of(name)
  if not name:find "^hocket%f[.%z]" then return nil end
  local ok, value = pcall(require, name)
  if not ok and caught.no_memory(value) then error(value, 0) end
  return ok and type(value) == "table" and value or nil
end

local function field_of(module, name)
  local ok, value = pcall(function() return module[name] end)
  if not ok and caught.no_memory(value) then error(value, 0) end
  return ok and value or nil
end

-- The first of the names behind a module that it does not have, with what it does have.
local function missing_in(one, set)
  local module, full = module_of(one.module), one.module
  for _, name in ipairs { one.name, one.below } do
    if not module or open_tables[full] then return nil end
    local value = field_of(module, name)
    if value == nil then
      if set[("%s.%s"):format(full, name)] then return nil end
      return full, name, sorted_keys(module)
    end
    module, full = type(value) == "table" and full == "hocket" and package.loaded["hocket." .. name] == value and value or nil, full .. "." .. name
  end
end

local function check_fields(path, text, names, set, problems)
  local first = #problems
  for _, one in ipairs(names.fields) do
    if #problems - first >= TOLD then return end
    local module, name, known = missing_in(one, set)
    if module then
      warn(path, text, one.at, ("'%s' has no field '%s'%s"):format(module, name, problem.hint(name, known)), problems)
    end
  end
end

--- Adds the warnings about a script.
---@param path string
---@param text string
---@param set table<string, boolean> Of all scripts of its project.
---@param problems hocket.Problem[]
function undefined.check(path, text, set, problems, rest)
  local names = required.names(path, text, rest)
  if not names.opaque then check_globals(path, text, names, set, problems) end
  check_fields(path, text, names, set, problems)
end

return undefined
