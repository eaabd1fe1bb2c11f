--- What a value of a case has to be. Each check says with its place what is wrong, and goes on: one look at the list of
--- problems mends the file.
---
---     local c = check.new(file, places, line)
---     check.object(c, value, "/0", { name = check.text(200), repeat = check.integer(1, 1000) })
local fs = require "hocket.internal.core.fs"
local json = require "hocket.json"
local problem = require "hocket.internal.agents.problem"
local sorted_keys = require "hocket.internal.base.sorted_keys"

local check = {}

---@class hocket.EvalContext
---@field file string
---@field problems hocket.Problem[]
local Context = {}
Context.__index = Context

--- `line`: where a document without places stands (a line of JSONL).
---@param file string
---@param places? table<string, integer[]>
---@param line? integer
---@param problems? hocket.Problem[] Gets what is wrong.
---@return hocket.EvalContext
function check.new(file, places, line, problems)
  return setmetatable({ file = file, places = places or {}, line = line or 1, problems = problems or {} }, Context)
end

--- Line and column of a value, or of what is around it.
---@param pointer string
---@return integer line
---@return integer column
function Context:place(pointer)
  while pointer ~= "" do
    local at = self.places[pointer]
    if at then return at[1], at[2] end
    pointer = pointer:gsub("^#", ""):match "^(.*)/[^/]*$" or ""
  end
  return self.line, 1
end

--- Says what is wrong at a place. Returns nil.
---@param pointer string
---@param message string
function Context:say(pointer, message, ...)
  local line, column = self:place(pointer)
  self.problems[#self.problems + 1] = problem.new(self.file, line, column, "value", message:format(...))
end

-- "/3/expect/calls/0/tool" as people say it, without the case's own number: expect.calls[1].tool.
local function label(pointer)
  local name = pointer:gsub("^/cases", ""):gsub("^/%d+", ""):gsub("^/", "")
  name = name:gsub("/(%d+)%f[/\0]", function(i) return ("[%d]"):format(i + 1) end):gsub("/", ".")
  return (name:gsub("~1", "/"):gsub("~0", "~"))
end

function Context:wrong(pointer, expected, value)
  local got = value == json.null and "null" or type(value)
  if type(value) == "string" then got = ("'%s'"):format(value:sub(1, 40):gsub("%c", " ")) elseif type(value) == "number" then got = tostring(value) end
  if type(value) == "table" and json.is_array(value) then got = "a list" elseif type(value) == "table" then got = "an object" end
  self:say(pointer, "'%s': %s expected, got %s", label(pointer), expected, got)
end

---@param pointer string
---@param key string|integer A name, or a place in a list from 1.
---@return string
function check.below(pointer, key)
  if type(key) == "number" then return ("%s/%d"):format(pointer, key - 1) end
  return ("%s/%s"):format(pointer, (key:gsub("~", "~0"):gsub("/", "~1")))
end

-- ---- As JSON Schema -------------------------------------------------------------------------------

local forms = setmetatable({}, { __mode = "k" }) -- by check

--- Says what a check takes, as a JSON Schema that takes no less.
---@generic T
---@param one T
---@param form table
---@return T one
function check.takes(one, form)
  forms[one] = form
  return one
end

--- The JSON Schema of a check; of one that says nothing, of anything.
---@param one function
---@return table
function check.form(one)
  return forms[one] or json.object {}
end

--- The JSON Schema of an object with these members.
---@param keys table<string, function>
---@return table
function check.form_of(keys)
  local members = {}
  for name, one in pairs(keys) do members[name] = check.form(one) end
  return { type = "object", properties = members, additionalProperties = false }
end

-- ---- Single values --------------------------------------------------------------------------------

--- A text of at most so many bytes; `line`: on one line, without what a terminal obeys.
function check.text(max, line)
  return check.takes(function(c, value, pointer)
    if type(value) ~= "string" or value == "" then return c:wrong(pointer, "a text", value) end
    if #value > max then return c:say(pointer, "'%s': a text of at most %d bytes expected, this has %d", label(pointer), max, #value) end
    if value:find "\0" or line and value:find "%c" then return c:say(pointer, "'%s' must not contain control characters", label(pointer)) end
  end, { type = "string", minLength = 1 })
end

function check.boolean(c, value, pointer)
  if type(value) ~= "boolean" then c:wrong(pointer, "true or false", value) end
end

function check.integer(low, high)
  return check.takes(function(c, value, pointer)
    if math.type(value) ~= "integer" or value < low or value > high then c:wrong(pointer, ("a whole number from %d to %d"):format(low, high), value) end
  end, { type = "integer", minimum = low, maximum = high })
end

function check.number(low, high)
  return check.takes(function(c, value, pointer)
    if type(value) ~= "number" or not (value >= low and value <= high) then c:wrong(pointer, ("a number from %g to %g"):format(low, high), value) end
  end, { type = "number", minimum = low, maximum = high })
end

function check.any() end

--- A name of a file below the folder of the cases: nothing leads out of it.
---@param path any
---@return boolean
function check.is_inside(path)
  if type(path) ~= "string" or path == "" or path:find "%c" or fs.is_absolute(path) or #path > 1000 then return false end
  for part in path:gmatch "[^/]+" do
    if part == ".." then return false end
  end
  return path:find "[^/.]" ~= nil or path == "."
end

function check.path(c, value, pointer)
  if not check.is_inside(value) then c:wrong(pointer, "a path below the folder of this file, without '..',", value) end
end

--- A regular expression as JSON Schema has them.
function check.pattern(c, value, pointer)
  if type(value) ~= "string" or value == "" then return c:wrong(pointer, "a regular expression", value) end
  local made, err = require("hocket.schema").compile { type = "string", pattern = value }
  if not made then c:say(pointer, "'%s': %s", label(pointer), (err.message:gsub("^at /pattern: ", ""))) end
end

function check.schema(c, value, pointer)
  local made, err = require("hocket.schema").compile(value)
  if not made then c:say(pointer, "'%s' is no JSON Schema: %s", label(pointer), err.message) end
end

function check.one_of(words)
  return check.takes(function(c, value, pointer)
    for _, word in ipairs(words) do
      if value == word then return end
    end
    c:wrong(pointer, "one of " .. table.concat(words, ", "), value)
  end, { enum = words })
end

-- ---- Values of values -----------------------------------------------------------------------------

local function is_object(value)
  return type(value) == "table" and not (json.is_array(value) and (#value > 0 or next(value) == nil and getmetatable(value)))
end

--- A list; of at most so many.
function check.list(of, max)
  return check.takes(function(c, value, pointer)
    if type(value) ~= "table" or not json.is_array(value) then return c:wrong(pointer, "a list", value) end
    if #value > max then return c:say(pointer, "'%s': a list of at most %d expected, this has %d", label(pointer), max, #value) end
    for i, one in ipairs(value) do of(c, one, check.below(pointer, i)) end
  end, { type = "array", items = check.form(of), maxItems = max })
end

--- One, or a list of them.
function check.some(of, max)
  local list = check.list(of, max)
  return check.takes(function(c, value, pointer)
    if type(value) == "table" and json.is_array(value) then return list(c, value, pointer) end
    of(c, value, pointer)
  end, { anyOf = { check.form(of), check.form(list) } })
end

--- An object whose names are anything.
function check.map(of, max, name)
  return check.takes(function(c, value, pointer)
    if not is_object(value) then return c:wrong(pointer, "an object", value) end
    local n = 0
    for key, one in pairs(value) do
      n = n + 1
      if name then name(c, key, "#" .. check.below(pointer, key)) end
      of(c, one, check.below(pointer, key))
    end
    if n > max then c:say(pointer, "'%s': an object of at most %d members expected, this has %d", label(pointer), max, n) end
  end, { type = "object", additionalProperties = check.form(of), maxProperties = max })
end

--- An object with these members and no others.
---@param keys table<string, fun(c: hocket.EvalContext, value: any, pointer: string)>
function check.object(c, value, pointer, keys)
  if not is_object(value) then return c:wrong(pointer, "an object", value) end
  for name, one in pairs(value) do
    local at = check.below(pointer, tostring(name))
    if keys[name] then
      keys[name](c, one, at)
    else
      c:say("#" .. at, "unknown key '%s'%s", tostring(name):sub(1, 60), problem.hint(tostring(name), sorted_keys(keys)))
    end
  end
end

function check.an_object(keys)
  return check.takes(function(c, value, pointer) check.object(c, value, pointer, keys) end, check.form_of(keys))
end

--- A text, or an object with these members.
function check.text_or_object(text, keys)
  return check.takes(function(c, value, pointer)
    if type(value) == "string" then return text(c, value, pointer) end
    check.object(c, value, pointer, keys)
  end, { anyOf = { check.form(text), check.form_of(keys) } })
end

check.is_object = is_object
for name, form in pairs { boolean = { type = "boolean" }, path = { type = "string", minLength = 1 }, pattern = { type = "string", format = "regex" },
  schema = { type = "object" } } do check.takes(check[name], form) end

return check
