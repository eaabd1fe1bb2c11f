--- Reads `hocket help --json` and prepares it for man pages and completions.
---
---     "FILE|off"               -> { words = {"off"}, sources = {"file"} }
---     "show NAME | rm NAME"    -> { words = {"show", "rm"}, after = { show = {{any}}, rm = {{any}} } }
local described = {}

-- What a shell can offer in the place of a name in a usage or of a value.
local sources = {
  AGENT = "agent", DIR = "dir", FILE = "file", ID = "run", PATH = "file", PROVIDER = "provider", RUN = "run",
  ["P/M"] = "model", ["SCRIPT.lua"] = "file", TARGET = "target",
}

---@class hocket.manual.Value
---@field words string[]
---@field sources string[] "file", "dir", "run", "agent", "target", "model", "provider"

--- What stands for a value's name, such as "P/M" or "once|skip|all".
---@param name string
---@return hocket.manual.Value
function described.value(name)
  local value = { words = {}, sources = {} }
  for part in name:gsub("^%[[A-Z]+=%]", ""):gmatch "[^|]+" do
    if sources[part] then
      value.sources[#value.sources + 1] = sources[part]
    elseif part:find "^[a-z-]+$" then
      value.words[#value.words + 1] = part
    end
  end
  return value
end

-- "list | show NAME [ID…]" at its bars, but not at those in brackets.
local function alternatives(usage)
  local list, depth, from = {}, 0, 1
  for at, c in usage:gmatch "()([%[%]|])" do
    depth = depth + (c == "[" and 1 or c == "]" and -1 or 0)
    if c == "|" and depth == 0 and usage:sub(at - 1, at + 1) == " | " then
      list[#list + 1], from = usage:sub(from, at - 2), at + 2
    end
  end
  list[#list + 1] = usage:sub(from)
  return list
end

-- "ID [QUESTION TEXT… | …]" as its words: those of an option, and what stands in their place, are left out.
local function places(alternative)
  local list = {}
  for word in alternative:gsub("%[%-%-[^%]]*%]", ""):gmatch "%S+" do
    if word == "|" or word:find "^%-" then break end
    local name, repeats = word:gsub("[%[%]]", ""):gsub("…", "")
    list[#list + 1] = { name = name, value = described.value(name), repeats = repeats > 0 }
  end
  return list
end

--- What a command's usage asks for, word by word.
---@return {words: string[], after: table<string, table[]>, places: table[]} # With words: the first is one of them, and `after` has what follows each.
function described.usage(usage)
  local found = { words = {}, after = {}, places = {} }
  for _, alternative in ipairs(alternatives(usage)) do
    local list = places(alternative)
    local first = list[1]
    if first and first.name:find "^[a-z]+$" then
      found.words[#found.words + 1] = first.name
      found.after[first.name] = table.move(list, 2, #list, 1, {})
    elseif first and #found.places == 0 then
      found.places = list
    end
  end
  return found
end

--- How an option is written: its letter first, where it has one.
---@return string[]
function described.spellings(option)
  local long = "--" .. option.name
  return option.letter and { "-" .. option.letter, long } or { long }
end

--- The beginning of a help text, in one line.
---@param text string
function described.short(text)
  local line = text:gsub("%s+", " ")
  if utf8.len(line) <= 76 then return line end
  return line:sub(1, utf8.offset(line, 77) - 1):gsub("[%s,;:(]+%S*$", "") .. "…"
end

return described
