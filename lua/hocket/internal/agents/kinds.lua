--- The types of the front matter's values. A kind says in words what it expects, takes a value or not by
--- its form, and reads it: what comes out is in one form, whichever way it was written.
---
---     kind = { text = "a whole number", takes = function(value, ctx) … end,
---              read = function(value, ctx, pointer) … return normalised end }
---
--- `ctx:say(pointer, message, code?)` notes a problem at a value's place.
local caught = require "hocket.internal.base.caught"
local core_document = require "hocket.internal.core.document"
local document = require "hocket.internal.base.lazy" "hocket.document"
local json = require "hocket.json"
local problem = require "hocket.internal.agents.problem"
local providers = require "hocket.providers"
local schema = require "hocket.schema"
local sorted_keys = require "hocket.internal.base.sorted_keys"

local kinds = {}

---@class hocket.Kind
---@field text string What is expected, for messages and tables.
---@field example? string
---@field takes fun(value: any, ctx: table): boolean Whether the value has the form.
---@field read fun(value: any, ctx: table, pointer: string): any The value, after it was checked.
---@field json? table The form as a JSON Schema, for editors; absent: anything. It takes everything that `read` takes, and perhaps more.
---@field fields? table[] Of a map: what it may hold, each {name, kind, default?, doc}.

-- What somebody wrote, in a few words.
local function shown(value)
  if value == json.null then return "nothing" end
  if type(value) == "table" then return json.is_array(value) and "a list" or "names with values" end
  if type(value) == "string" then return #value > 40 and "a text" or value == "" and "an empty text" or ("'%s'"):format(value) end
  return tostring(value)
end

--- Reads a value of a kind, or says that it has the wrong form.
---@param kind hocket.Kind
function kinds.read(kind, value, ctx, pointer)
  if kind.takes(value, ctx) then return kind.read(value, ctx, pointer) end
  ctx:say(pointer, ("must be %s%s, not %s"):format(kind.text, kind.example and ", as in " .. kind.example or "", shown(value)))
end

-- A kind of scalars, with a check that returns what is wrong.
local function scalar(text, takes, json_schema, check, normalise)
  return { text = text, takes = takes, json = json_schema, read = function(value, ctx, pointer)
    local wrong = check and check(value)
    if wrong then ctx:say(pointer, wrong) end
    return normalise and normalise(value) or value
  end }
end

local function is_text(v) return type(v) == "string" and v ~= "" end

local function range(low, high)
  if low and high then return (" from %s to %s"):format(low, high) end
  return low and (" from %s on"):format(low) or ""
end

local function within(low, high)
  return function(v)
    if low and high and not (v >= low and v <= high) then return ("must be between %s and %s, not %s"):format(low, high, v) end
    if low and not (v >= low) then return ("must be at least %s, not %s"):format(low, v) end
  end
end

-- ---- As JSON Schema ----------------------------------------------------------------------------

local a_text = { type = "string", minLength = 1 }

-- A member of a map, with what is said of it.
local function of_field(field)
  local one = {}
  for name, value in pairs(field.kind.json or {}) do one[name] = value end
  one.description = field.unit and ("%s (%s)"):format(field.doc, field.unit) or field.doc
  if type(field.default) ~= "table" then one.default = field.default end
  return one
end

--- The fields of a map as the JSON Schema of an object, in their order.
---@param fields table[]
---@return table
function kinds.json_of(fields)
  local members, needed = {}, nil
  for _, field in ipairs(fields) do
    members[#members + 1] = { field.name, of_field(field) }
    if field.also then members[#members + 1] = { field.also, of_field(field) } end
    if field.needed and not field.also then
      needed = needed or {}
      needed[#needed + 1] = field.name
    end
  end
  return { type = "object", properties = json.object(members), required = needed, additionalProperties = false }
end

-- ---- Scalars ------------------------------------------------------------------------------

kinds.text = scalar("a text", is_text, a_text)
kinds.boolean = scalar("true or false", function(v) return type(v) == "boolean" end, { type = "boolean" })

function kinds.integer(low, high)
  return scalar("a whole number" .. range(low, high), function(v) return math.type(v) == "integer" end,
    { type = "integer", minimum = low, maximum = high }, within(low, high))
end

function kinds.number(low, high)
  return scalar("a number" .. range(low, high), function(v) return type(v) == "number" end,
    { type = "number", minimum = low, maximum = high }, within(low, high))
end

-- "call_" and the name have to fit into the 64 characters of a tool's name.
function kinds.wrong_name(v)
  if not v:find "^[%a_][%w_-]*$" or #v > 59 then
    return "must be a letter or _ followed by letters, digits, _ or -, 59 characters at most"
  end
end

kinds.name = scalar("a text", is_text, { type = "string", pattern = "^[A-Za-z_][A-Za-z0-9_-]*$", maxLength = 59 }, kinds.wrong_name)
kinds.agent = scalar("an agent's name", is_text, a_text)
kinds.model = scalar("a model's name", is_text, a_text, function(v)
  if not v:find "^[%w_-]+/%S+$" and v ~= "sim" and not providers.of_model(v) then
    return ("must be 'provider/model', as in openai/gpt-6.1-terra, not '%s'"):format(v)
  end
end)

--- One word of the list `words`; `also` maps further spellings to them.
---@param words string[]
---@param also? table<string, string>
function kinds.word(words, also)
  local known = {}
  for _, word in ipairs(words) do known[word] = word end
  for spelling, word in pairs(also or {}) do known[spelling] = word end
  return scalar(table.concat(words, ", ", 1, #words - 1) .. " or " .. words[#words], is_text, { enum = sorted_keys(known) }, function(v)
    if not known[v] then
      return ("must be %s or %s, not '%s'"):format(table.concat(words, ", ", 1, #words - 1), words[#words], v)
    end
  end, function(v) return known[v] end)
end

-- ---- Lists and alternatives ---------------------------------------------------------------------

local function is_list(v, ctx)
  return type(v) == "table" and (json.is_array(v) or ctx.from_lua and next(v) == nil)
end

local function is_map(v, ctx)
  return type(v) == "table" and (not json.is_array(v) or ctx.from_lua and next(v) == nil)
end

--- A list of one kind. When it is `unique` a value counts once, and there is a warning.
---@param of hocket.Kind
---@param opts {text: string, example?: string, least?: integer, unique?: boolean}
function kinds.list(of, opts)
  return { text = opts.text, example = opts.example, takes = is_list,
    json = { type = "array", items = of.json, minItems = opts.least }, read = function(value, ctx, pointer)
    local list, seen = {}, {}
    if #value < (opts.least or 0) then ctx:say(pointer, ("must name at least %d"):format(opts.least)) end
    for i, item in ipairs(value) do
      local at = pointer .. "/" .. i - 1
      if opts.unique and seen[item] then
        ctx:warn(at, ("names '%s' a second time"):format(tostring(item)))
      else
        list[#list + 1] = kinds.read(of, item, ctx, at)
        if #list < i then ctx:same_place(pointer .. "/" .. #list - 1, at) end -- what counts twice is gone, and the rest moves up
      end
      seen[item] = true
    end
    return list
  end }
end

--- The first of several kinds that takes the value.
---@param ... hocket.Kind
function kinds.either(...)
  local all, texts, forms = { ... }, {}, {}
  for i, kind in ipairs(all) do texts[i], forms[i] = kind.text, kind.json or json.object {} end
  return {
    json = { anyOf = forms },
    text = table.concat(texts, ", or "), example = all[#all].example,
    takes = function(value, ctx)
      for _, kind in ipairs(all) do
        if kind.takes(value, ctx) then return true end
      end
      return false
    end,
    read = function(value, ctx, pointer)
      for _, kind in ipairs(all) do
        if kind.takes(value, ctx) then return kind.read(value, ctx, pointer) end
      end
    end,
  }
end

--- A kind whose value is changed after it was read: `change(value, ctx, pointer)`.
---@param kind hocket.Kind
function kinds.with(kind, change)
  local copy = {}
  for k, v in pairs(kind) do copy[k] = v end
  copy.read = function(value, ctx, pointer) return change(kind.read(value, ctx, pointer), ctx, pointer) end
  return copy
end

-- ---- Maps ------------------------------------------------------------------------------------

local function names_of(fields)
  local names = {}
  for i, field in ipairs(fields) do names[i] = field.name end
  table.sort(names)
  return names
end

local by_key = setmetatable({}, { __mode = "k" }) -- fields -> by their names, and by other spellings of them

-- The fields that keys stand for.
local function index_of(fields)
  local index = by_key[fields]
  if not index then
    index = {}
    for _, field in ipairs(fields) do
      index[field.name] = field
      if field.also then index[field.also] = field end
    end
    by_key[fields] = index
  end
  return index
end

local function escaped(key)
  local text = tostring(key)
  return text:find "[~/]" and text:gsub("~", "~0"):gsub("/", "~1") or text
end

--- Reads the members of a map by a table of fields: unknown ones are problems, missing ones get
--- their defaults.
---@param fields {name: string, kind: hocket.Kind, default?: any, also?: string, needed?: boolean}[]
---@param out table
function kinds.read_fields(fields, value, ctx, pointer, out)
  local index = index_of(fields)
  for _, key in ipairs(sorted_keys(value)) do
    local item, field = value[key], index[key]
    local at = pointer .. "/" .. escaped(key)
    if not field then
      ctx:say("#" .. at, ("unknown key '%s'%s"):format(tostring(key), problem.hint(tostring(key), names_of(fields))), "unknown_key")
    elseif out[field.name] ~= nil then
      ctx:say(at, ("says the same as '%s'"):format(field.name == key and field.also or field.name))
    else
      out[field.name] = kinds.read(field.kind, item, ctx, at)
    end
  end
  return out
end

--- A map with named members. Defaults are filled in.
---@param fields table[]
---@param text string
---@param example? string
function kinds.map(fields, text, example)
  return { text = text, example = example, fields = fields, json = kinds.json_of(fields), takes = is_map, read = function(value, ctx, pointer)
    local out = kinds.read_fields(fields, value, ctx, pointer, {})
    for _, field in ipairs(fields) do
      if out[field.name] == nil and value[field.name] == nil then
        if field.needed then ctx:say(pointer, ("needs '%s'"):format(field.name)) end
        out[field.name] = type(field.default) == "table" and table.move(field.default, 1, #field.default, 1, {}) or field.default
      end
    end
    return out
  end }
end

--- Names with texts, numbers or true and false. A name without a value is kept in `ctx.wanted`: it is to be
--- given later.
kinds.variables = {
  text = "names with values, one a line", takes = is_map,
  json = { type = "object", propertyNames = { pattern = "^[A-Za-z0-9_]+$" }, additionalProperties = { type = { "string", "number", "boolean", "null" } } }, read = function(value, ctx, pointer)
    local out = {}
    for _, name in ipairs(sorted_keys(value)) do
      local item, at = value[name], ("%s/%s"):format(pointer, tostring(name))
      if type(name) ~= "string" or not name:find "^[%w_]+$" then
        ctx:say("#" .. at, ("'%s' is no name for a variable: letters, digits and _ only"):format(tostring(name)), "value")
      elseif item == json.null then
        ctx.wanted[#ctx.wanted + 1] = name
      elseif type(item) == "table" then
        ctx:say(at, "must be a text, a number, true or false: variables are names with values")
      else
        out[name] = item
      end
    end
    return out
  end,
}

-- ---- Schemas, documents ------------------------------------------------------------------------

kinds.schema = { text = "a JSON Schema", example = "{type: object, properties: …}", takes = is_map, json = { type = "object" },
  read = function(value, ctx, pointer)
    local compiled, err = schema.compile(value)
    if compiled then return value end
    local where, what = err.message:match "^at (/%S*): (.*)$"
    ctx:say(pointer .. (where or ""), ("is no JSON Schema: %s"):format(what or err.message), "schema", pointer)
    return value
  end }

kinds.document = { text = "a list of dimensions", example = "[{day: integer}, {part: [morning, evening]}]",
  takes = function(v) return type(v) == "table" end, json = { type = { "array", "object" } },
  read = function(value, ctx, pointer)
    local dimensions, wrong = document.from_list(value)
    if not dimensions then
      ctx:say(pointer, "is no document: " .. wrong)
      return value
    end
    local ok, err = pcall(core_document.new, dimensions)
    if not ok then
      err = caught.error(err)
      if err.code == "no_memory" then error(err, 0) end
      ctx:say(pointer, "is no document: " .. err.message)
    end
    return value
  end }

return kinds
