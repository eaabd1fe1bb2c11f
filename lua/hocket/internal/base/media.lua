--- What is given to a model beside words: pictures, recordings, documents (PDF), and files of text. What a file is its content
--- says, never its name.
---
---     { "What is this?", media }  ──split──>  "What is this?", { media }  ──part──>  {"image":{"mime":…,"data":…}}
---
--- Who makes one hands bytes around, as they are; base64 of them is made when they go into a conversation.
local fence = require "hocket.internal.base.lazy" "hocket.fence"
local fs = require "hocket.fs"
local system = require "hocket.internal.core.system"
local failed = system.error

local media = {}

--- Bytes of one, of all in one message (with base64, a message has 32 MiB at most), and of a text.
local ONE, ALL, TEXT = 20 * 1024 * 1024, 22 * 1024 * 1024, 1024 * 1024

---@class hocket.Media
---@field kind "image"|"audio"|"video"|"file"|"text"
---@field mime string
---@field data string Its bytes; "" of a picture by its address.
---@field url? string Where the provider gets it.
---@field name? string Of its file.
local Media = {}
Media.__index = Media
Media.__name = "hocket.Media"

local words = { image = "picture", audio = "recording", video = "video", file = "document", text = "text" }

--- "picture", "recording", "video", "document", "text".
---@param kind string
---@return string
function media.word(kind)
  return words[kind]
end

function Media:__tostring()
  if self.url then return ("[a %s at %s]"):format(words[self.kind], self.url) end
  return ("[a %s, %s%s, %d bytes]"):format(words[self.kind], self.name and self.name .. ", " or "", self.mime, #self.data)
end

-- ---- By content ----------------------------------------------------------------------------------

-- Where it begins, a pattern, and what that is.
local signs = {
  { 1, "^\137PNG\r\n\26\n", "image", "image/png" }, { 1, "^\255\216\255", "image", "image/jpeg" }, { 1, "^GIF8[79]a", "image", "image/gif" },
  { 1, "^RIFF....WEBP", "image", "image/webp" }, { 5, "^ftyphe[iv][cxms]", "image", "image/heic" }, { 5, "^ftypmif1", "image", "image/heif" },
  { 1, "^RIFF....WAVE", "audio", "audio/wav" }, { 1, "^ID3", "audio", "audio/mpeg" }, { 1, "^OggS", "audio", "audio/ogg" },
  { 1, "^fLaC", "audio", "audio/flac" }, { 5, "^ftypM4A", "audio", "audio/mp4" }, { 5, "^ftypqt  ", "video", "video/quicktime" },
  { 5, "^ftypisom", "video", "video/mp4" }, { 5, "^ftypiso[2-9]", "video", "video/mp4" }, { 5, "^ftypmp4[12]", "video", "video/mp4" },
  { 5, "^ftypavc1", "video", "video/mp4" }, { 5, "^ftypM4V", "video", "video/mp4" }, { 1, "^\26\69\223\163", "video", "video/webm" }, { 1, "^%%PDF%-", "file", "application/pdf" },
}

-- A frame of MPEG audio, layer III, without a tag before it.
local function is_mp3(data)
  local a, b, c = data:byte(1, 3)
  return c ~= nil and a == 0xFF and b & 0xE6 == 0xE2 and c & 0xF0 ~= 0xF0 and c & 0x0C ~= 0x0C
end

local function kind_of(data)
  for _, sign in ipairs(signs) do
    if data:sub(sign[1], sign[1] + 15):find(sign[2]) then return sign[3], sign[4] end
  end
  if is_mp3(data) then return "audio", "audio/mpeg" end
  if not data:find "[%z\1-\8\14-\26\28-\31\127]" and utf8.len(data) then return "text", "text/plain" end
end

local function named(name)
  name = name and name:match "[^/]+$"
  return name and utf8.len(name) and (name:gsub("%c", "?"):sub(1, utf8.offset(name, 120) and utf8.offset(name, 120) - 1 or -1)) or nil
end

local takes = "pictures (PNG, JPEG, GIF, WebP, HEIC), recordings (WAV, MP3, Ogg, FLAC, M4A), videos (MP4, WebM, MOV), PDF and texts in UTF-8 can be given"

--- What these bytes are; nil and an error where nobody could be shown it.
---@param data string
---@param name? string
---@return hocket.Media?
---@return hocket.Error?
function media.of(data, name)
  local kind, mime = kind_of(data)
  local most = kind == "text" and TEXT or ONE
  if data == "" or not kind then
    return nil, failed { code = "invalid", message = ("%s %s: %s"):format(name or "the data", data == "" and "is empty" or "is nothing that a model could be shown", takes) }
  elseif #data > most then
    return nil, failed { code = "limit", message = ("%s has %d bytes, and at most %d can be given"):format(name or "the data", #data, most) }
  end
  return setmetatable({ kind = kind, mime = mime, data = data, name = named(name) }, Media)
end

--- The same of a file. In a run that is kept it is read once.
---@param path string
---@return hocket.Media?
---@return hocket.Error?
function media.read(path)
  local data, err = fs.read(path, ONE)
  if not data then return nil, err end
  return media.of(data, path)
end

-- The address of a picture, which the provider gets by itself: nothing is fetched here.
local function at(url)
  if #url > 2000 or not url:find "^https://[^%s%c\"<>\\]+$" then
    return nil, failed { code = "invalid", message = "a picture's address has to be https:// and 2000 bytes at most, without blanks" }
  end
  return setmetatable({ kind = "image", mime = "image/*", data = "", url = url }, Media)
end

--- Of a path, of the address of a picture, or of bytes: { data =, name = }. `kind`: what it has to be.
---@param what string|{data: string, name?: string}
---@param kind? string
---@return hocket.Media?
---@return hocket.Error?
function media.make(what, kind)
  local is_data = type(what) == "table" and type(what.data) == "string"
  if not is_data and type(what) ~= "string" then
    error(("bad argument #1 (a path or { data = … } expected, got %s)"):format(type(what)), 3)
  end
  local one, err
  if is_data then one, err = media.of(what.data, what.name)
  elseif what:find "^https?://" then one, err = at(what)
  else one, err = media.read(what) end
  if one and kind and one.kind ~= kind then
    return nil, failed { code = "invalid", message = ("%s is no %s: it is %s"):format(is_data and one.name or is_data and "the data" or what, words[kind], one.mime) }
  end
  return one, err
end

-- ---- In lists with words ---------------------------------------------------------------------------

---@param value any
---@return boolean
function media.is(value)
  return getmetatable(value) == Media
end

--- Whether it is one of them, or a list with one of them.
---@param value any
---@return boolean
function media.is_in(value)
  if type(value) ~= "table" then return false end
  if media.is(value) then return true end
  for _, one in ipairs(value) do
    if media.is(one) then return true end
  end
  return false
end

--- A text, one of them, or a list of both: the words, and the others. nil and what is wrong.
---@param value any
---@return string? text
---@return hocket.Media[]|string list
function media.split(value)
  if type(value) == "string" then return value, {} end
  if media.is(value) then value = { value } end
  if type(value) ~= "table" then return nil, ("a text, or a list of texts, hocket.image and hocket.file expected, got %s"):format(type(value)) end
  local texts, list = {}, {}
  for i = 1, #value do
    local one = value[i]
    if type(one) == "string" then
      texts[#texts + 1] = one
    elseif media.is(one) then
      list[#list + 1] = one
    else
      return nil, ("element %d is a %s (texts, hocket.image and hocket.file expected)"):format(i, type(one))
    end
  end
  if #value == 0 then return nil, "the list is empty (texts, hocket.image and hocket.file expected)" end
  return table.concat(texts, "\n"), list
end

--- As data, for logs; and back. What is no such list is nil.
---@param value any
---@return table?
function media.pack(value)
  if not media.is_in(value) then return nil end
  local packed = {}
  for i, one in ipairs(media.is(value) and { value } or value) do
    packed[i] = media.is(one) and { kind = one.kind, mime = one.mime, data = one.data, name = one.name, url = one.url } or one
  end
  return packed
end

---@param packed table
---@return table
function media.unpack(packed)
  for _, one in ipairs(packed) do
    if type(one) == "table" then setmetatable(one, Media) end
  end
  return packed
end

-- ---- In a conversation ---------------------------------------------------------------------------------

local weights = setmetatable({}, { __mode = "k" })

--- Bytes of a conversation that are no text: nobody pays for them by the letter.
---@param history hocket.History
---@return integer
function media.weight(history)
  return weights[history] or 0
end

---@param history hocket.History
---@param bytes integer
function media.weigh(history, bytes)
  weights[history] = bytes > 0 and bytes or nil
end

--- The part of a message that it is, and the bytes in it that are no text.
---@param one hocket.Media
---@return table part
---@return integer weight
function media.part(one)
  if one.kind == "text" then return { text = fence.wrap("file", one.name or "a file", one.data) }, 0 end
  if one.url then return { image = { url = one.url } }, 0 end
  local data, kind = system.base64(one.data), one.kind == "video" and "file" or one.kind -- the form is the same
  return { [kind] = { mime = one.mime, data = data, name = one.kind == "file" and one.name or nil } }, #data
end

--- Why these are too many for one message, if they are.
---@param list hocket.Media[]
---@return hocket.Error?
function media.too_much(list)
  local bytes = 0
  for _, one in ipairs(list) do bytes = bytes + #one.data end
  if bytes <= ALL then return nil end
  return failed { code = "limit", message = ("what is given with one message has %d bytes, and may have %d"):format(bytes, ALL) }
end

return media
