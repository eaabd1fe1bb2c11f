--- What a server answers, as texts, pictures, recordings and documents for a model; and what a tool of ours returns, as such an answer.
local json = require "hocket.json"
local media = require "hocket.internal.base.media"
local system = require "hocket.internal.core.system"

local content = {}

--- Characters of base64 of one picture that a model is shown, and how many of them of one result.
local MOST, SEVERAL = 28 * 1024 * 1024, 16

-- Escapes of terminals and what cannot be seen are nobody's words.
local function clean(text)
  if not utf8.len(text) then text = text:gsub("[\128-\255]", "?") end
  return (text:gsub("\27%[[%d;?]*%a", ""):gsub("[%z\1-\8\11\12\14-\31\127]", ""))
end

local function word(value, otherwise)
  return type(value) == "string" and value or otherwise
end

local function size_of(data)
  return type(data) == "string" and #data * 3 // 4 or 0
end

local data_of = {
  image = function(one) return one.data end,
  audio = function(one) return one.data end,
  resource = function(one) return type(one.resource) == "table" and one.resource.blob, type(one.resource) == "table" and one.resource.uri end,
}

-- What a model can be shown, by its content: what the server says of it counts for nothing. `as_text`: a text, else something that is none.
local function medium(one, as_text)
  local of = type(one) == "table" and data_of[one.type]
  local data, uri = nil, nil
  if of then data, uri = of(one) end
  local bytes = type(data) == "string" and #data <= MOST and system.unbase64(data)
  local made = bytes and media.of(bytes, type(uri) == "string" and uri or nil)
  return made and (made.kind == "text") == (as_text or false) and made or nil
end

local function resource(one)
  local of = type(one.resource) == "table" and one.resource or {}
  if type(of.text) == "string" then return ("%s:\n%s"):format(word(of.uri, "a resource"), of.text) end
  local read = medium(one, true)
  if read then return ("%s:\n%s"):format(word(of.uri, "a resource"), read.data) end
  return ("[%s: %s, %d bytes, which cannot be shown as text]"):format(word(of.uri, "a resource"), word(of.mimeType, "data"), size_of(of.blob))
end

local shown = {
  text = function(one) return word(one.text, "") end,
  image = function(one) return ("[an image, %s, %d bytes, which cannot be shown as text]"):format(word(one.mimeType, "of an unknown kind"), size_of(one.data)) end,
  audio = function(one) return ("[a recording, %s, %d bytes, which cannot be shown as text]"):format(word(one.mimeType, "of an unknown kind"), size_of(one.data)) end,
  resource = resource,
  resource_link = function(one) return ("[%s: %s]"):format(word(one.name, "a resource"), word(one.uri, "without an address")) end,
}

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
    parts[#parts + 1] = show and clean(show(one)) or ("[%s, which we do not know]"):format(type(one) == "table" and tostring(one.type) or "something")
  end
  if #parts == 0 and result.structuredContent ~= nil then return json.encode(result.structuredContent) end
  return table.concat(parts, "\n")
end

--- The same of any list of parts, with what is to be said of each.
---@param parts table[]
---@param say? fun(i: integer, text: string): string
---@return string|table
function content.of_parts(parts, say)
  local list, lines = {}, {}
  for i, one in ipairs(parts) do
    local made = #list < SEVERAL and medium(one)
    local text = made and ("[a %s]"):format(media.word(made.kind)) or content.text { content = { one } }
    if made then list[#list + 1] = made end
    lines[i] = say and say(i, text) or text
  end
  local text = table.concat(lines, "\n\n")
  return #list > 0 and { text, table.unpack(list) } or text
end

-- ---- Of ours ---------------------------------------------------------------------------------

local function address_of(one)
  return "hocket://result/" .. (one.name or media.word(one.kind)):gsub("[^%w%._~-]", function(c) return ("%%%02X"):format(c:byte()) end)
end

-- Recordings came with 2025-03-26.
local function part_of(one, version)
  if one.kind == "image" or one.kind == "audio" and version ~= "2024-11-05" then return { type = one.kind, mimeType = one.mime, data = system.base64(one.data) } end
  local text = one.kind == "text" and one.data or nil
  return { type = "resource", resource = { uri = address_of(one), mimeType = one.mime, text = text, blob = not text and system.base64(one.data) or nil } }
end

--- What a tool returned that is more than a text, as parts of an answer; nil where there is nothing of the kind in it.
---@param value any A text, hocket.image, hocket.file, or a list of them.
---@param version? string Of the protocol.
---@return table[]? parts
---@return hocket.Error?
function content.parts(value, version)
  if not media.is_in(value) then return nil end
  local text, list = media.split(value)
  local wrong = not text and { code = "invalid", message = list } or media.too_much(list)
  if wrong then return nil, wrong end
  local parts = json.array {}
  if text ~= "" then parts[1] = { type = "text", text = text } end
  for _, one in ipairs(list) do parts[#parts + 1] = part_of(one, version) end
  return parts
end

return content
