--- A server asks the person something in the middle of a call: through the questions of the run that has made it.
local ask = require "hocket.ask"
local fiber = require "hocket.internal.core.fiber"
local json = require "hocket.json"
local runs = require "hocket.internal.run.run"
local sanitize = require "hocket.internal.base.sanitize"

local elicit = {}

-- The run that is meant: of the modern era whoever calls asks; before, a server says no more than that it asks, and only
-- where one call is under way it is known whose question this is.
local function context_of(entry)
  if runs.current() then return fiber.context() end
  local only
  for _, context in pairs(entry.calls) do
    if only and only.run ~= context.run then return nil end
    only = context
  end
  return only
end

local function read_value(text, field)
  local kind = field.type
  if kind == "boolean" then
    local verdict = ask.verdict(text)
    if verdict == "yes" then return true elseif verdict == "no" then return false end
    return nil, "yes or no"
  elseif kind == "integer" or kind == "number" then
    local number = tonumber(text)
    if number and (kind == "number" or math.type(number) == "integer") then return number end
    return nil, kind == "integer" and "a whole number" or "a number"
  end
  local words = field.enum or {}
  for _, word in ipairs(words) do
    if word == text then return text end
  end
  if #words > 0 then return nil, "one of " .. table.concat(words, ", ") end
  return text
end

local function question_for(entry, params, name, field)
  local about = field.description or field.title or name
  local hint = field.enum and " (" .. table.concat(field.enum, ", ") .. ")" or field.type == "boolean" and " (yes or no)" or ""
  local default = field.default ~= nil and field.default ~= json.null and (" [%s]"):format(tostring(field.default)) or ""
  return sanitize.text(("%s asks: %s — %s%s%s"):format(entry.name, params.message or "", about, hint, default))
end

local function fill(entry, params)
  local properties = type(params.requestedSchema) == "table" and params.requestedSchema.properties or {}
  local names, content = {}, {}
  for name in pairs(type(properties) == "table" and properties or {}) do names[#names + 1] = name end
  table.sort(names)
  if #names == 0 then
    local answer = ask.ask(sanitize.text(("%s asks: %s (yes or no)"):format(entry.name, params.message or "")), { kind = "approval" })
    if not answer then return { action = "cancel" } end
    return ask.verdict(answer) == "yes" and { action = "accept", content = content } or { action = "decline" }
  end
  for _, name in ipairs(names) do
    local field = type(properties[name]) == "table" and properties[name] or {}
    local answer = ask.ask(question_for(entry, params, name, field))
    if not answer then return { action = "cancel" } end
    if answer:find "^%s*$" and field.default ~= nil then
      content[name] = field.default
    elseif not answer:find "^%s*$" then
      local value, wanted = read_value(answer, field)
      if value == nil then return { action = "decline" }, wanted end
      content[name] = value
    end
  end
  return { action = "accept", content = content }
end

-- Never opened by us: the person sees all of the address, and says when it is done.
local function visit(entry, params)
  local answer = ask.ask(sanitize.text(("%s asks you to open this address: %s — %s (yes when it is done, no to refuse)"):format(
    entry.name, tostring(params.url), params.message or "")), { kind = "approval" })
  if not answer then return { action = "cancel" } end
  return { action = ask.verdict(answer) == "yes" and "accept" or "decline" }
end

--- Answers a server's question.
---@async
---@param entry hocket.McpEntry
---@param params table
---@return table
function elicit.ask(entry, params)
  local context, before = context_of(entry), fiber.context()
  if not context then return { action = "cancel" } end
  local closing <close> = setmetatable({}, { __close = function() fiber.set_context(before) end })
  fiber.set_context(context)
  if params.mode == "url" then return visit(entry, params) end
  return fill(entry, params)
end

return elicit
