--- A server asks the person something in the middle of a call: through the questions of the run that has made it.
local address_check = require "hocket.internal.base.http.address_check"
local ask = require "hocket.ask"
local fiber = require "hocket.internal.core.fiber"
local json = require "hocket.json"
local runs = require "hocket.internal.run.run"
local sanitize = require "hocket.internal.base.sanitize"
local schema = require "hocket.schema"
local sorted_keys = require "hocket.internal.base.sorted_keys"
local trim = require "hocket.internal.base.trim"

local elicit = {}

-- The run that a question belongs to. In the modern protocol the answer to a call contains it. A legacy server only
-- sends it, so the run is known only while a single call is under way.
local function context_of(entry)
  if runs.current() then return fiber.context() end
  local only
  for _, context in pairs(entry.calls) do
    if only and only.run ~= context.run then return nil end
    only = context
  end
  return only
end

--- Times that a value is asked for which does not fit.
local TRIES = 3

-- The words of a choice: plain ones, or constants with titles; of a list of choices those of its elements.
local function choices_of(field)
  if type(field.enum) == "table" then return field.enum end
  local words = {}
  for i, one in ipairs(type(field.oneOf) == "table" and field.oneOf or type(field.anyOf) == "table" and field.anyOf or {}) do
    words[i] = type(one) == "table" and one.const or nil
  end
  return #words > 0 and words or nil
end

local function as_kind(text, field)
  local kind = field.type
  if kind == "boolean" then
    local verdict = ask.verdict(text)
    if verdict == "yes" then return true elseif verdict == "no" then return false end
    return nil, "yes or no is expected"
  elseif kind == "integer" or kind == "number" then
    local number = tonumber(text)
    if number and kind == "integer" then number = math.tointeger(number) end
    if number then return number end
    return nil, kind == "integer" and "a whole number is expected" or "a number is expected"
  elseif kind == "array" then
    local list = json.array {}
    for word in text:gmatch "[^,]+" do list[#list + 1] = trim.both(word) end
    return list
  end
  return text
end

-- The value that an answer stands for; nil and what is wrong with it.
local function read_value(text, field)
  local value, wrong = as_kind(text, field)
  if value == nil then return nil, wrong end
  local compiled = schema.compile(field)
  local ok, why = true, nil
  if compiled then ok, why = compiled:check(value, "it does not fit") end
  if ok then return value end
  local words = choices_of(field)
  return nil, words and "one of these is expected: " .. table.concat(words, ", ") or why
end

local function question_for(entry, params, name, field, wrong)
  local about = field.description or field.title or name
  local words = choices_of(type(field.items) == "table" and field.items or field)
  local hint = words and (" (%s%s)"):format(field.type == "array" and "some of " or "", table.concat(words, ", ")) or field.type == "boolean" and " (yes or no)" or ""
  local default = field.default ~= nil and field.default ~= json.null and (" [%s]"):format(type(field.default) == "table" and json.encode(field.default) or tostring(field.default)) or ""
  return sanitize.text(("%s asks: %s — %s%s%s%s"):format(entry.name, params.message or "", about, hint, default, wrong and (" — %s"):format(wrong) or ""))
end

-- One field's value; nil where it is left out. false and why: nobody answers, or what is answered does not fit.
local function ask_field(entry, params, name, field, is_required)
  local wrong
  for _ = 1, TRIES do
    local answer = ask.ask(question_for(entry, params, name, field, wrong))
    if not answer then return false, "cancel" end
    if answer:find "%S" then
      local value
      value, wrong = read_value(answer, field)
      if value ~= nil then return true, value end
    elseif field.default ~= nil then
      return true, field.default
    elseif not is_required then
      return true, nil
    else
      wrong = "it has to be answered"
    end
  end
  return false, "cancel"
end

local function names_of(params)
  local form = type(params.requestedSchema) == "table" and params.requestedSchema or {}
  local properties, required = type(form.properties) == "table" and form.properties or {}, {}
  for _, name in ipairs(type(form.required) == "table" and form.required or {}) do required[name] = true end
  return sorted_keys(properties), properties, required
end

local function fill(entry, params)
  local names, properties, required = names_of(params)
  local content = {}
  if #names == 0 then
    local answer = ask.ask(sanitize.text(("%s asks: %s (yes or no)"):format(entry.name, params.message or "")), { kind = "approval" })
    if not answer then return { action = "cancel" } end
    return ask.verdict(answer) == "yes" and { action = "accept", content = json.decode "{}" } or { action = "decline" }
  end
  for _, name in ipairs(names) do
    local field = type(properties[name]) == "table" and properties[name] or {}
    local answered, value = ask_field(entry, params, name, field, required[name])
    if not answered then return { action = value } end
    content[name] = value
  end
  return { action = "accept", content = next(content) and content or json.decode "{}" }
end

-- Never opened by us: the person sees all of the address, and says when it is done.
local function visit(entry, params)
  if not address_check.read(params.url) then return { action = "decline" } end
  local answer = ask.ask(sanitize.text(("%s asks you to open this address: %s — %s (yes when it is done, no to refuse)"):format(
    entry.name, tostring(params.url), params.message or "")), { kind = "approval" })
  if not answer then return { action = "cancel" } end
  return { action = ask.verdict(answer) == "yes" and "accept" or "decline" }
end

--- Calls fn in the run whose call is under way at a server; nothing where none is, or several are.
---@async
---@param entry hocket.McpEntry
---@param fn fun(): any, any
---@return any result
---@return any
function elicit.within(entry, fn)
  local context, before = context_of(entry), fiber.context()
  if not context then return nil end
  local closing <close> = setmetatable({}, { __close = function() fiber.set_context(before) end })
  fiber.set_context(context)
  return fn()
end

--- The run whose call is under way at a server, and its agent's name; nil where none is, or several are.
---@param entry hocket.McpEntry
---@return hocket.Run?
---@return string? agent
---@return string? operation
function elicit.caller(entry)
  local context = context_of(entry)
  local step = context and context.step
  return context and context.run, step and step.def and step.def.name, step and step.op
end

--- Answers a server's question.
---@async
---@param entry hocket.McpEntry
---@param params table
---@return table
function elicit.ask(entry, params)
  return elicit.within(entry, function()
    if params.mode == "url" then return visit(entry, params) end
    return fill(entry, params)
  end) or { action = "cancel" }
end

return elicit
