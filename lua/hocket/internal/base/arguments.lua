--- Arguments of public functions: what is wrong with one is raised with the line of the script, whatever of ours stands between.
---
---     arguments.check("patterns.router.run", 2, "table", targets)    bad argument #2 to 'patterns.router.run' (table expected, got nil)
---
---     local check = arguments.of("fence.wrap", "string", "string", "string")    all arguments of a function, in one call
---     check(kind, label, text)
local core = require "hocket.internal.core.arguments"

local arguments = {}

-- Kinds of tables, by a field that each has, and what people call them.
local objects = { agent = { "name", "an agent" }, step = { "op", "an agent at work" }, state = { "count_tasks", "the state of a plan" } }

-- For each wanted type: whether a value fits, or fields of which a table of that kind has at least one. Each text is read once, because
-- agents are called through many such functions.
local known = {}

local function read(wanted)
  local fits = { ["nil"] = wanted:byte(-1) == 63 }
  for one in wanted:gmatch "%a+" do
    if objects[one] then
      fits.table = fits.table or {}
      if fits.table ~= true then table.insert(fits.table, objects[one][1]) end
    elseif one == "integer" then
      fits.number = fits.number or "integer"
    elseif one == "callable" then
      fits["function"], fits.table = true, true
    else
      fits[one] = true
    end
  end
  known[wanted] = fits
  return fits
end

local function has_one(value, fields)
  for i = 1, #fields do -- ipairs would cost a call at each step, at each call of a public function
    if value[fields[i]] ~= nil then return true end
  end
end

local function fail(name, n, wanted, value, words)
  words = words or wanted:gsub("%?$", ""):gsub("|", " or "):gsub("%a+", function(word) return objects[word] and objects[word][2] end)
  require("hocket.internal.base.misuse").raise(("bad argument #%d to '%s' (%s expected, got %s)"):format(n, name, words, value == nil and "no value" or type(value)))
end

--- Raises unless an argument is of a kind: a type's name, "agent", "step", "state", or several with `|` between; `?` behind: or nil.
---@param name string The function, as scripts know it.
---@param n integer
---@param wanted string
---@param value any
---@param words? string What is expected, where the kinds alone do not say it.
local function check(name, n, wanted, value, words)
  local kind = type(value)
  if kind == wanted then return end
  local fits = (known[wanted] or read(wanted))[kind]
  if fits == true then return end
  if fits and (kind == "table" and has_one(value, fits) or kind == "number" and math.type(value) == fits) then return end
  fail(name, n, wanted, value, words)
end
arguments.check = check

--- The check of all arguments of a function that each call of an agent passes.
---@param name string The function, as scripts know it.
---@param ... string What is wanted of each argument.
---@return fun(...: any) check Of the arguments.
function arguments.of(name, ...)
  local kinds = { ... }
  for i, wanted in ipairs(kinds) do kinds[i] = known[wanted] or read(wanted) end
  return core.of(check, name, kinds, ...)
end

--- What `known` has, by name, for the options of a table and of those behind it: bits, in one number; `unknown` for the others.
arguments.bits = core.bits

return arguments
