--- Prompts: text with `{{name}}` places, filled in one pass, so that what is put in is never
--- looked at again. `\{{` stands for two braces that are meant as such.
local suggest = require "hocket.internal.base.lazy" "hocket.internal.base.suggest"
local trim = require "hocket.internal.base.trim"

local prompt = {}

--- Bytes of what may be meant as a place; places without a value that one prompt reports.
local NAME, TOLD = 200, 100

-- Cuts a text into pieces: plain ones, and places with their names. Each position is checked once,
-- however many braces there are.
local function cut(text, plain, place)
  local from, at = 1, 1
  while true do
    local open = text:find("{{", at, true)
    if not open then break end
    local name, stop = text:match("^{{%s*([%w_]+)%s*}}()", open)
    if open > 1 and text:sub(open - 1, open - 1) == "\\" then
      if open > from then plain(text:sub(from, open - 2)) end
      from, at = open, open + 2
    elseif name then
      if open > from then plain(text:sub(from, open - 1)) end
      place(name, open)
      from, at = stop, stop
    else
      at = open + 1
    end
  end
  plain(text:sub(from))
end

local function breaks_in(text, from, to)
  local _, breaks = text:sub(from, to):gsub("\n", "")
  return breaks
end

--- The file and line of a position, in a text whose parts may stand in several files.
---@param text string
---@param at integer
---@param origin {file?: string, line?: integer, parts?: table}
---@return string file
---@return integer line
function prompt.locate(text, at, origin)
  local file, line, from = origin.file or "prompt", origin.line or 1, 1
  for _, part in ipairs(origin.parts or {}) do
    if part.at > at then break end
    file, line, from = part.file, part.line, part.at
  end
  return file, line + breaks_in(text, from, at - 1)
end

--- The names that a text asks for, in order, each once.
---@param text string
---@return string[] names
function prompt.names(text)
  local names, seen = {}, {}
  cut(text, function() end, function(name)
    if not seen[name] then
      seen[name] = true
      names[#names + 1] = name
    end
  end)
  return names
end

--- What looks like a place and is none, so that it stays as it is: `{{user-name}}`, `{{Include style.md}}`.
---@param text string
---@return {at: integer, text: string}[]
function prompt.no_places(text)
  local list = {}
  for at, inside, stop in text:gmatch "(){{(%s*[%a_][^{}]*)}}()" do
    inside = trim.both(inside)
    local meant = text:sub(at - 1, at - 1) == "\\" and at > 1 or #inside > NAME or inside:find("\n", 1, true)
    if not meant and not inside:find "^[%w_]+$" and inside:find "^[%w_.%-]+%s*[%w_./%-]*$" then
      list[#list + 1] = { at = at, text = text:sub(at, stop - 1) }
    end
  end
  return list
end

-- That a place has no value, with the place and without.
local function missing_error(text, name, at, values, origin)
  local known = {}
  for other in pairs(values) do known[#known + 1] = other end
  table.sort(known)
  local file, line = prompt.locate(text, at, origin or {})
  local near = suggest(name, known)
  local what = ("the variable '%s' has no value: %sgive it with `variables:` or --set %s=…"):format(name, near and ("did you mean '%s'? Or "):format(near) or "", name)
  return { code = "agent", file = file, line = line, what = what, message = ("%s:%d: %s"):format(file, line, what) }
end

--- The places that have no value, each name once: the first hundred.
---@param text string
---@param values table<string, string|number|boolean>
---@param origin? table As for prompt.fill.
---@return {file: string, line: integer, what: string}[]
function prompt.missing(text, values, origin)
  local list, seen = {}, {}
  cut(text, function() end, function(name, at)
    if values[name] == nil and not seen[name] and #list < TOLD then list[#list + 1] = missing_error(text, name, at, values, origin) end
    seen[name] = true
  end)
  return list
end

--- Fills the places. A place without a value is an error that says its line.
---@param text string
---@param values table<string, string|number|boolean>
---@param origin? {file?: string, line?: integer, parts?: {at: integer, file: string, line: integer}[]} Where the text's first line stands; of a text from several files, where each part of it begins.
---@return string? text
---@return hocket.Error?
function prompt.fill(text, values, origin)
  local pieces, missing = {}, nil
  cut(text, function(piece) pieces[#pieces + 1] = piece end, function(name, at)
    local value = values[name]
    if value == nil then missing = missing or { name, at } end
    pieces[#pieces + 1] = tostring(value)
  end)
  if missing then return nil, missing_error(text, missing[1], missing[2], values, origin) end
  return table.concat(pieces)
end

return prompt
