--- Lua's source text, cut into tokens: for what looks at scripts without running them.
local lua_text = {}

local keywords = {}
for word in ("and break do else elseif end false for function goto if in local nil not or repeat return then true until while"):gmatch "%a+" do
  keywords[word] = true
end

--- The place behind a comment or a string that begins at `at`; nil: none begins there.
---@param text string
---@param at integer
---@return integer? behind
function lua_text.skip(text, at)
  local dashes = text:match("^%-%-", at) and 2 or 0
  local level = text:match("^%[(=*)%[", at + dashes)
  if level then
    local _, stop = text:find("]" .. level .. "]", at + dashes, true)
    return (stop or #text) + 1
  end
  if dashes > 0 then return (text:find("[\n\r]", at) or #text) + 1 end
  local quote = text:match("^[\"']", at)
  if not quote then return nil end
  local stop = at + 1
  while stop <= #text do
    local byte = text:sub(stop, stop)
    if byte == quote or byte == "\n" then break end
    stop = stop + (byte == "\\" and 2 or 1)
  end
  return stop + 1
end

local function token_at(text, at)
  local word = text:match("^[%a_][%w_]*", at)
  if word then return keywords[word] and "keyword" or "name", word, at + #word end
  if text:find("^%.?%d", at) then
    local number = text:match("^0[xX][%x.]*[pP][+-]?%x*", at) or text:match("^0[xX][%x.]*", at) or text:match("^[%d.]+[eE][+-]?%d+", at) or text:match("^[%d.]+", at)
    return "number", number, at + #number
  end
  local behind = lua_text.skip(text, at)
  if behind then return "string", text:sub(at, behind - 1), behind end
  local mark = text:match("^%.%.%.?", at) or text:match("^::", at) or text:match("^[=~<>]=", at) or text:sub(at, at)
  return "mark", mark, at + #mark
end

--- The tokens of a text that compiles: kind (`name`, `keyword`, `string`, `number`, `mark`), words and place of each, in three lists.
---@param text string
---@param rest? fun() Is called now and then.
---@return {kinds: string[], words: string[], places: integer[]}
function lua_text.tokens(text, rest)
  local kinds, words, places, n = {}, {}, {}, 0
  local at = text:match "^\239\187\191()" or 1
  at = text:match("^#![^\n]*()", at) or at
  while true do
    at = text:match("^%s*()", at)
    if at > #text then return { kinds = kinds, words = words, places = places } end
    if text:find("^%-%-", at) then
      at = lua_text.skip(text, at)
    else
      n = n + 1
      places[n] = at
      kinds[n], words[n], at = token_at(text, at)
      if rest and n % 2000 == 0 then rest() end
    end
  end
end

--- What a string token stands for, where that can be seen at once: nil where it has escapes.
---@param word string
---@return string?
function lua_text.value(word)
  return word:match "^[\"']([^\\]*)[\"']$" or word:match "^%[=*%[(.-)%]=*%]$"
end

return lua_text
