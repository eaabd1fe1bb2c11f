--- What is expected of a text: of an answer, or of a file.
local json = require "hocket.json"
local people = require "hocket.internal.eval.people"
local schema = require "hocket.schema"
local trim = require "hocket.internal.base.trim"
local truncate = require "hocket.internal.base.truncate"

local text_checks = {}

--- Bytes of what is shown of a text.
local SHOWN = 300

---@class hocket.EvalFailure
---@field expect string Which expectation: "contains", "files out.txt contains".
---@field expected string
---@field got string

--- The beginning of a text or value, for people.
---@param value any
---@return string
function text_checks.short(value)
  local text = type(value) == "string" and value or json.encode(value)
  return truncate(text, SHOWN, "…")
end
local short = text_checks.short

local function each(list, fn)
  for _, one in ipairs(type(list) == "table" and list or { list }) do fn(one) end
end

--- Whether a value has everything that another one says: members of objects, lists element by element.
---@param wanted any
---@param got any
---@param at? string
---@return boolean same
---@return string? where
function text_checks.has(wanted, got, at)
  at = at or ""
  if type(wanted) ~= "table" or wanted == json.null then return wanted == got, at end
  if type(got) ~= "table" then return false, at end
  if json.is_array(wanted) and next(wanted) ~= nil or getmetatable(wanted) and #wanted == 0 and json.is_array(wanted) then
    if not json.is_array(got) or #got ~= #wanted then return false, at end
  end
  for key, value in pairs(wanted) do
    local same, where = text_checks.has(value, got[key], at .. "/" .. tostring(math.type(key) == "integer" and key - 1 or key))
    if not same then return false, where end
  end
  return true
end

local function at_pointer(value, where)
  for key in where:gmatch "/([^/]*)" do
    if type(value) ~= "table" then return nil end
    local named = value[key]
    if named == nil and tonumber(key) then named = value[tonumber(key) + 1] end
    value = named
  end
  return value
end

-- Where it differs, and what is there.
local function differs(where, got)
  local value = at_pointer(got, where)
  return ("%s%s"):format(where ~= "" and "at " .. where .. ": " or "", value == nil and "nothing" or short(value))
end

local checks = {}

function checks.text(add, wanted, text)
  if trim.both(wanted) ~= trim.both(text) then add("text", short(wanted), short(text)) end
end

function checks.contains(add, wanted, text)
  each(wanted, function(one)
    if not text:find(one, 1, true) then add("contains", short(one), short(text)) end
  end)
end

-- What stands around a place, for people.
local function around(text, from, to)
  local first = math.max(1, utf8.offset(text, 0, math.max(1, from - 60)) or from)
  return (first > 1 and "…" or "") .. truncate(text:sub(first), to - first + 61, "…")
end

checks["not"] = function(add, wanted, text)
  each(wanted, function(one)
    local from, to = text:find(one, 1, true)
    if from then add("not", short(one), around(text, from, to)) end
  end)
end

function checks.pattern(add, wanted, text)
  each(wanted, function(one)
    if not people.matches(one, text) then add("pattern", short(one), short(text)) end
  end)
end

function checks.not_pattern(add, wanted, text)
  each(wanted, function(one)
    if people.matches(one, text) then add("not_pattern", short(one), short(text)) end
  end)
end

function checks.schema(add, _, text, made)
  local value, why = made:read(text, "it does not fit")
  if value == nil then add("schema", "JSON that fits the schema", why and short(why) or "no JSON in: " .. short(text)) end
end

function checks.json(add, wanted, text)
  local got, why = json.find(text)
  if got == nil and why then return add("json", short(wanted), "no JSON in: " .. short(text)) end
  local same, where = text_checks.has(wanted, got)
  if not same then add("json", ("%s%s"):format(where ~= "" and "at " .. where .. ": " or "", short(at_pointer(wanted, where))), differs(where, got)) end
end

local order = { "text", "contains", "not", "pattern", "not_pattern", "schema", "json" }

--- Checks a text; `add(which, expected, got)` hears what is not as expected.
---@param add fun(which: string, expected: string, got: string)
---@param expect table
---@param text string
---@param schemas table<table, hocket.Schema>
function text_checks.run(add, expect, text, schemas)
  for _, name in ipairs(order) do
    if expect[name] ~= nil then checks[name](add, expect[name], text, name == "schema" and (schemas[expect] or assert(schema.compile(expect.schema)))) end
  end
end

return text_checks
