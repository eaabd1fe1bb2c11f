--- Text that a person is to judge: nothing in it is invisible, or changes how the rest looks.
---
--- A model writes the arguments of the call that a person allows. Control characters, direction marks, invisible
--- letters, odd blanks and look-alike letters could show one thing and mean another. Here they become the escapes
--- of JSON: \u001b, \u202e, \u200b, \u00a0, \u0430.
local json = require "hocket.json"

local sanitize = {}

-- First and last of ranges: C1 controls, odd blanks, soft hyphen, no-width and direction marks, fillers, the empty
-- Braille cell. Also odd hyphens, dots, slashes and colons, variation selectors, interlinear marks, full-width and
-- mathematical letters, private use, tags.
local hidden = {
  { 0x00, 0x1F }, { 0x7F, 0xA0 }, { 0xAD, 0xAD }, { 0x34F, 0x34F }, { 0x37E, 0x37E }, { 0x589, 0x589 }, { 0x5C3, 0x5C3 }, { 0x61C, 0x61C },
  { 0x115F, 0x1160 }, { 0x1680, 0x1680 }, { 0x17B4, 0x17B5 }, { 0x180B, 0x180F }, { 0x2000, 0x2012 }, { 0x2024, 0x2024 }, { 0x2028, 0x202F },
  { 0x2043, 0x2044 }, { 0x205F, 0x206F }, { 0x2212, 0x2212 }, { 0x2215, 0x2216 }, { 0x2223, 0x2223 }, { 0x2236, 0x2236 }, { 0x223C, 0x223C },
  { 0x2800, 0x2800 }, { 0x29F5, 0x29F9 }, { 0x3000, 0x3000 }, { 0x3164, 0x3164 }, { 0xA789, 0xA789 }, { 0xE000, 0xF8FF }, { 0xFE00, 0xFE0F },
  { 0xFE50, 0xFE6F }, { 0xFEFF, 0xFEFF }, { 0xFF01, 0xFF5E }, { 0xFFA0, 0xFFA0 }, { 0xFFF0, 0xFFFB }, { 0x1D173, 0x1D17A },
  { 0x1D400, 0x1D7FF }, { 0xE0000, 0xE0FFF }, { 0xF0000, 0x10FFFF },
}

local function is_hidden(code)
  for _, range in ipairs(hidden) do
    if code <= range[2] then return code >= range[1] end
  end
  return false
end

local function escaped(code)
  if code < 0x10000 then return ("\\u%04x"):format(code) end
  code = code - 0x10000
  return ("\\u%04x\\u%04x"):format(0xD800 + (code >> 10), 0xDC00 + (code & 0x3FF))
end

local function escape(char)
  local code = utf8.codepoint(char)
  return is_hidden(code) and escaped(code) or nil
end

-- ---- Letters that look like others -----------------------------------------------------------

-- Scripts with letters that a Latin one is taken for: first and last, and the ones that are.
local scripts = {
  { 0x370, 0x3FF, "ΑΒΕΖΗΙΚΜΝΟΡΤΥΧαγικνορτυχϲϳ" },
  { 0x400, 0x52F, "АВЕЅІЈКМНОРСТУХЬЮабгеѕіјкопрсухьһԁԛԝѵӏг" },
  { 0x530, 0x58F, "ՍՏՕոսօցհյզ" },
}
for _, script in ipairs(scripts) do
  local alike = {}
  for _, code in utf8.codes(script[3]) do alike[code] = true end
  script[3] = alike
end

local function script_of(code)
  for _, script in ipairs(scripts) do
    if code >= script[1] and code <= script[2] then return script end
  end
end

-- Scripts in which a text has nothing but letters that look Latin: nobody writes so.
local function lookalike_scripts(text)
  local seen = {}
  for _, code in utf8.codes(text) do
    local script = code >= 0x370 and code <= 0x58F and script_of(code)
    if script then
      if not script[3][code] then seen[script] = "real" else seen[script] = seen[script] or "lookalike" end
    end
  end
  return seen
end

-- A word that mixes Latin letters with those of such a script, or is all of lookalikes.
local function escape_word(word, seen)
  local is_mixed = word:find "%a" ~= nil
  return (word:gsub("[\xCD-\xD6][\x80-\xBF]", function(char)
    local code = utf8.codepoint(char)
    local script = script_of(code)
    return script and (is_mixed or seen[script] == "lookalike") and escaped(code) or nil
  end))
end

local function escape_lookalikes(text)
  local seen = lookalike_scripts(text)
  if not next(seen) then return text end
  return (text:gsub("(\\*)([%w\x80-\xF4]+)", function(slashes, word)
    local escape_ends = #slashes % 2 == 0 and 0 or word:sub(1, 1) == "u" and 5 or 1 -- the \n before a word is none of it
    return slashes .. word:sub(1, escape_ends) .. escape_word(word:sub(escape_ends + 1), seen)
  end))
end

--- JSON text with what cannot be seen escaped: the same value, which can be looked at.
---@param text string JSON
---@return string
function sanitize.json(text)
  if not text:find "[\x7F-\xFF]" then return text end -- JSON cannot hold the other controls
  if not utf8.len(text) then return (text:gsub("[\x7F-\xFF]", function(byte) return ("\\u%04x"):format(byte:byte()) end)) end
  return escape_lookalikes((text:gsub("[\x7F\xC2-\xF4][\x80-\xBF]*", escape)))
end

--- The same for a line of plain text: control characters go as well.
---@param text string
---@return string
function sanitize.text(text)
  return sanitize.json((text:gsub("%c", function(c) return ("\\u%04x"):format(c:byte()) end)))
end

--- The same for a text of several lines.
---@param text string
---@return string
function sanitize.lines(text)
  return (text:gsub("[^\n]+", sanitize.text))
end

-- What nobody sees, or what turns the rest: C1 controls, marks of direction, letters of no width, tags.
local bare = { "[%z\1-\8\11-\31\127]", "\194[\128-\159]", "\u{061C}", "\226\128[\139-\143\168-\174]", "\226\129[\160-\175]", "\u{FEFF}", "\243\160[\128-\191][\128-\191]" }

--- A stranger's text without them, for a model: line ends and tabs stay.
---@param text string
---@return string
function sanitize.bare(text)
  for _, pattern in ipairs(bare) do text = text:gsub(pattern, "") end
  return text
end

--- A value as such a text: members sorted, each once, as the tool is going to see them.
---@param value any What JSON can hold.
---@return string
function sanitize.encode(value)
  return sanitize.json(json.encode(value))
end

return sanitize
