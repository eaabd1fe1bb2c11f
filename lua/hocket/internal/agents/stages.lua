--- Whether what one stage of a chain answers is what the next one takes: the `output` of an agent against the `input` of the one that it hands
--- on to. Only what is certain is an error: a value that the one may give and the other never takes. An answer without `output` promises
--- nothing, and is checked when it is there (session/contract.lua).
local json = require "hocket.json"
local problem = require "hocket.internal.agents.problem"
local sorted_keys = require "hocket.internal.base.sorted_keys"

local stages = {}

--- Schemas inside of each other that are compared.
local DEEPEST = 16

-- Words beyond which nothing is certain.
local open_words = { "$ref", "anyOf", "oneOf", "allOf", "not", "if", "const", "$dynamicRef" }

local function is_plain(schema)
  if type(schema) ~= "table" then return false end
  for _, word in ipairs(open_words) do
    if schema[word] ~= nil then return false end
  end
  return true
end

local function types_of(schema)
  if schema.type == nil then return nil end
  local set = {}
  for _, name in ipairs(type(schema.type) == "table" and schema.type or { schema.type }) do set[name] = true end
  return set
end

-- The first type of `given` that `taken` has not: an integer is a number.
local function foreign_type(given, taken)
  for _, name in ipairs(sorted_keys(given)) do
    if not taken[name] and not (name == "integer" and taken.number) then return name end
  end
end

local misfit

local function misfit_of_properties(given, taken, at, depth)
  local mine, theirs, has = given.properties or {}, taken.properties or {}, {}
  for _, name in ipairs(given.required or {}) do has[name] = true end
  for _, name in ipairs(taken.required or {}) do
    if not has[name] then return ("%s/%s is required there, and %s here"):format(at, name, mine[name] == nil and "not promised" or "optional") end
  end
  for _, name in ipairs(sorted_keys(mine)) do
    if theirs[name] == nil and taken.additionalProperties == false then return ("%s/%s is not taken there"):format(at, name) end
    local why = theirs[name] ~= nil and misfit(mine[name], theirs[name], ("%s/%s"):format(at, name), depth + 1)
    if why then return why end
  end
end

local function misfit_of_words(given, taken, at)
  if not taken.enum then return nil end
  if not given.enum then return ("%s may be any value here, and there only one of %s"):format(at, json.encode(taken.enum)) end
  local known = {}
  for _, value in ipairs(taken.enum) do known[json.encode(value)] = true end
  for _, value in ipairs(given.enum) do
    if not known[json.encode(value)] then return ("%s may be %s, which is not taken there"):format(at, json.encode(value)) end
  end
end

function misfit(given, taken, at, depth)
  if depth > DEEPEST or not is_plain(given) or not is_plain(taken) then return nil end
  local mine, theirs = types_of(given), types_of(taken)
  local foreign = mine and theirs and foreign_type(mine, theirs)
  if foreign then return ("%s may be of the type %s, and has to be %s there"):format(at == "" and "the value" or at, foreign, table.concat(sorted_keys(theirs), " or ")) end
  local why = misfit_of_words(given, taken, at == "" and "the value" or at)
  if why then return why end
  if mine and mine.object then why = misfit_of_properties(given, taken, at, depth) end
  if not why and mine and mine.array and given.items ~= nil and taken.items ~= nil then why = misfit(given.items, taken.items, at .. "/items", depth + 1) end
  return why
end

-- A text is always taken by an agent that takes texts, whatever else it takes.
local function takes_text(schema)
  local types = is_plain(schema) and types_of(schema)
  return not types or types.string
end

--- Why values of one schema are not always values of another; nil: nothing is known against it.
---@param given table
---@param taken table
---@return string?
function stages.misfit(given, taken)
  return misfit(given, taken, "", 1)
end

local function where(def, places, key)
  local line, column = problem.place(places or {}, key)
  return ("%s:%d:%d"):format(def.file or def.name, line, column), line, column
end

-- Who speaks last in an agent's place.
local function speakers(def, defs, seen)
  if seen[def] then return {} end
  seen[def] = true
  local list = {}
  local function add(name)
    local other = rawget(defs, name)
    for _, one in ipairs(other and speakers(other, defs, seen) or {}) do list[#list + 1] = one end
  end
  if def.router then
    for _, name in ipairs(def.agents) do add(name) end
    if def.fallback then add(def.fallback) end
  else
    list[1] = def
  end
  return list
end

local function why_not(from, to, pass)
  if pass == "response" then return from.output and stages.misfit(from.output, to.input) end
  if pass == "conversation" or pass == "summary" then return ("'pass: %s' gives a text, which is not taken there"):format(pass) end
end

local function check(from, to, one, places, problems)
  local why = why_not(from, to, one.pass)
  if not why then return end
  local _, line, column = where(from, places[from.name], from.output and one.pass == "response" and "/output" or "/handoff")
  local there = where(to, places[to.name], "/input")
  problems[#problems + 1] = problem.new(from.file, line, column, "incompatible",
    ("what %s hands on to %s is not what that takes (input, %s): %s"):format(from.name, to.name, there, why))
end

--- Checks what an agent hands on, with both places in the error.
---@param def hocket.Agent With `handoff`.
---@param defs table<string, hocket.Agent>
---@param places table<string, table<string, integer[]>>
---@param problems hocket.Problem[] Gets what is wrong.
function stages.check(def, defs, places, problems)
  local handoff = def.handoff
  if type(handoff) == "string" then handoff = { agent = handoff, pass = "response" } end
  for _, one in ipairs(handoff.agent and { handoff } or handoff) do
    local to = rawget(defs, one.agent)
    if to and to.input and not takes_text(to.input) then
      for _, from in ipairs(speakers(def, defs, {})) do check(from, to, one, places, problems) end
    end
  end
end

return stages
