--- Text that a person is to judge: nothing in it is invisible, or changes how the rest looks.
---
--- A model writes the arguments of the call that a person allows. With controls, marks that turn
--- the direction of writing or letters of no width it could show one thing and mean another; here
--- they stand as the escapes of JSON: \u001b, \u202e, \u200b.
local json = require "hocket.json"

local sanitize = {}

-- First and last of ranges: C1 controls, soft hyphen, no-width and direction marks, fillers,
-- variation selectors, interlinear marks, tags.
local hidden = {
  { 0x00, 0x1F }, { 0x7F, 0x9F }, { 0xAD, 0xAD }, { 0x34F, 0x34F }, { 0x61C, 0x61C }, { 0x115F, 0x1160 }, { 0x17B4, 0x17B5 },
  { 0x180B, 0x180F }, { 0x200B, 0x200F }, { 0x2028, 0x202E }, { 0x2060, 0x206F }, { 0x3164, 0x3164 }, { 0xFE00, 0xFE0F },
  { 0xFEFF, 0xFEFF }, { 0xFFA0, 0xFFA0 }, { 0xFFF0, 0xFFFB }, { 0x1D173, 0x1D17A }, { 0xE0000, 0xE0FFF },
}

local function is_hidden(code)
  for _, range in ipairs(hidden) do
    if code <= range[2] then return code >= range[1] end
  end
  return false
end

local function escape(char)
  local code = utf8.codepoint(char)
  if not is_hidden(code) then return nil end
  if code < 0x10000 then return ("\\u%04x"):format(code) end
  code = code - 0x10000
  return ("\\u%04x\\u%04x"):format(0xD800 + (code >> 10), 0xDC00 + (code & 0x3FF))
end

--- JSON text with what cannot be seen escaped: the same value, which can be looked at.
---@param text string JSON
---@return string
function sanitize.json(text)
  if not text:find "[\x7F-\xFF]" then return text end -- JSON cannot hold the other controls
  if not utf8.len(text) then return (text:gsub("[\x7F-\xFF]", function(byte) return ("\\u%04x"):format(byte:byte()) end)) end
  return (text:gsub("[\x7F\xC2-\xF4][\x80-\xBF]*", escape))
end

--- A value as such a text: members sorted, each once, as the tool is going to see them.
---@param value any What JSON can hold.
---@return string
function sanitize.encode(value)
  return sanitize.json(json.encode(value))
end

return sanitize
