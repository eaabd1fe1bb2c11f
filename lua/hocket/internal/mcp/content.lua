--- A tool's result as text for a model.
local base64 = require "hocket.internal.base.base64"
local json = require "hocket.json"
local media = require "hocket.internal.base.media"

local content = {}

--- Characters of base64 of one picture that a model is shown, and how many of them of one result.
local MOST, SEVERAL = 28 * 1024 * 1024, 16

-- Escapes of terminals and what cannot be seen are nobody's words.
local function clean(text)
  if not utf8.len(text) then text = text:gsub("[\128-\255]", "?") end
  return (text:gsub("\27%[[%d;?]*%a", ""):gsub("[%z\1-\8\11\12\14-\31\127]", ""))
end

local function size_of(data)
  return type(data) == "string" and #data * 3 // 4 or 0
end

local function resource(one)
  local of = type(one.resource) == "table" and one.resource or {}
  if type(of.text) == "string" then return ("%s:\n%s"):format(tostring(of.uri), clean(of.text)) end
  return ("[%s: %s, %d bytes, which cannot be shown as text]"):format(tostring(of.uri), tostring(of.mimeType or "data"), size_of(of.blob))
end

local shown = {
  text = function(one) return clean(tostring(one.text or "")) end,
  image = function(one) return ("[an image, %s, %d bytes, which cannot be shown as text]"):format(tostring(one.mimeType), size_of(one.data)) end,
  audio = function(one) return ("[a recording, %s, %d bytes, which cannot be shown as text]"):format(tostring(one.mimeType), size_of(one.data)) end,
  resource = resource,
  resource_link = function(one) return ("[%s: %s]"):format(tostring(one.name or "a resource"), tostring(one.uri)) end,
}

local data_of = {
  image = function(one) return one.data end,
  audio = function(one) return one.data end,
  resource = function(one) return type(one.resource) == "table" and one.resource.blob, type(one.resource) == "table" and one.resource.uri end,
}

-- What a model can be shown that is no text, by its content: what the server says of it counts for nothing.
local function medium(one)
  local of = type(one) == "table" and data_of[one.type]
  local data, uri = nil, nil
  if of then data, uri = of(one) end
  local bytes = type(data) == "string" and #data <= MOST and base64.decode(data)
  local made = bytes and media.of(bytes, type(uri) == "string" and uri or nil)
  return made and made.kind ~= "text" and made or nil
end

--- The same with pictures, recordings and documents among it, for a model.
---@param result {content: table[], structuredContent?: any}
---@return string|table
function content.of(result)
  local list, rest = {}, {}
  for _, one in ipairs(result.content) do
    local made = #list < SEVERAL and medium(one)
    if made then list[#list + 1] = made else rest[#rest + 1] = one end
  end
  local text = content.text { content = rest, structuredContent = #list == 0 and result.structuredContent or nil }
  return #list > 0 and { text, table.unpack(list) } or text
end

--- What a server's answer to a call says. Structured content stands there once: where text says the same, as text.
---@param result {content: table[], structuredContent?: any}
---@return string
function content.text(result)
  local parts = {}
  for _, one in ipairs(result.content) do
    local show = type(one) == "table" and shown[one.type]
    parts[#parts + 1] = show and show(one) or ("[%s, which we do not know]"):format(type(one) == "table" and tostring(one.type) or "something")
  end
  if #parts == 0 and result.structuredContent ~= nil then return json.encode(result.structuredContent) end
  return table.concat(parts, "\n")
end

return content
