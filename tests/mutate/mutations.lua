--- The places of a source where a small mistake can be made, and the mistakes.
local mutations = {}

-- Replaces everything that is no code by blanks, so that offsets and lines stay.
local function blank(text)
  return (text:gsub("[^\n]", " "))
end

-- C: comments, texts, characters, what is for the preprocessor.
local function code_of_c(text)
  local out, at = {}, 1
  local function skip(last)
    out[#out + 1] = blank(text:sub(at, last))
    at = last + 1
  end
  while at <= #text do
    local c, two = text:sub(at, at), text:sub(at, at + 1)
    if two == "/*" then
      skip(select(2, text:find("*/", at + 2, true)) or #text)
    elseif two == "//" then
      skip((text:find("\n", at, true) or #text + 1) - 1)
    elseif c == '"' or c == "'" then
      local last = at + 1
      while last <= #text and text:sub(last, last) ~= c do last = last + (text:sub(last, last) == "\\" and 2 or 1) end
      skip(last)
    elseif c == "#" and text:sub(1, at - 1):match "[^\n]*$":find "^%s*$" then
      local last = at
      repeat last = (text:find("\n", last + 1, true) or #text + 1) until text:sub(last - 1, last - 1) ~= "\\"
      skip(last - 1)
    else
      out[#out + 1] = c
      at = at + 1
    end
  end
  return table.concat(out)
end

-- Lua: comments and texts, long ones too.
local function code_of_lua(text)
  local out, at = {}, 1
  local function skip(last)
    out[#out + 1] = blank(text:sub(at, last))
    at = last + 1
  end
  while at <= #text do
    local c = text:sub(at, at)
    local comment = text:match("^%-%-()", at)
    local equals = text:match("^%[(=*)%[", comment or at)
    if equals and (comment or c == "[") then
      skip(select(2, text:find("]" .. equals .. "]", at, true)) or #text)
    elseif comment then
      skip((text:find("\n", at, true) or #text + 1) - 1)
    elseif c == '"' or c == "'" then
      local last = at + 1
      while last <= #text and text:sub(last, last) ~= c do last = last + (text:sub(last, last) == "\\" and 2 or 1) end
      skip(last)
    else
      out[#out + 1] = c
      at = at + 1
    end
  end
  return table.concat(out)
end

-- ---- Mistakes ---------------------------------------------------------------------------------------

-- Pattern (its first capture is where the text begins, the second what it is), and what comes in its place.
local both = {
  { "[^<>=~!%-]()(<=) ", "<" }, { "[^<>=~!%-]()(>=) ", ">" }, { " ()(<) ", "<=" }, { " ()(>) ", ">=" },
  { " ()(%+) [%w(]", "-" }, { " ()(%-) [%w(]", "+" },
  { "%f[%w_]()(true)%f[^%w_]", "false" }, { "%f[%w_]()(false)%f[^%w_]", "true" },
  { "%f[%w_.]()(%d%d?)%f[^%w_.]", function(n) return tostring(math.tointeger(n) + 1) end }, -- larger ones are mostly limits
}
local for_c = {
  { "()(==)", "!=" }, { "()(!=)", "==" }, { "()(&&)", "||" }, { "()(||)", "&&" },
  { "[(&|=] ?()(!)[%w_(]", "" },
  { "\n +()([%w_]+%([^;\n]*%);)\n", "(void) 0;" },
  { "\n +()(break;)\n", ";" },
}
local for_lua = {
  { "()(==)", "~=" }, { "()(~=)", "==" }, { "%f[%w]()(and)%f[%W]", "or" }, { "%f[%w]()(or)%f[%W]", "and" },
  { "%f[%w]()(not )", "" },
  { "\n +()([%w_.:]+%([^\n]*%))\n", "" },
}

-- Texts are blanks in the code, so calls with texts in them are found too; what stands there is the source's.
local function collect(path, text, code, rules, list)
  for _, rule in ipairs(rules) do
    local from = 1
    while true do
      local first, _, at, found = code:find(rule[1], from)
      if not first then break end
      from = at + #found
      local old = text:sub(at, from - 1)
      local _, line = text:sub(1, at):gsub("\n", "")
      local _, opened = found:gsub("%(", "")
      local _, closed = found:gsub("%)", "")
      if opened == closed then list[#list + 1] = {
        path = path, at = at, old = old, line = line + 1,
        new = type(rule[2]) == "function" and rule[2](old) or rule[2],
        context = text:sub(1, at - 1):match "[^\n]*$" .. text:match("[^\n]*", at),
      } end
    end
  end
end

--- Appends all mutations of a source to a list: {path, at, old, new, line, context}.
---@param path string
---@param text string
---@param list table[]
function mutations.find(path, text, list)
  local is_lua = path:find "%.lua$" ~= nil
  local code = is_lua and code_of_lua(text) or code_of_c(text)
  assert(#code == #text, path)
  collect(path, text, code, both, list)
  collect(path, text, code, is_lua and for_lua or for_c, list)
end

return mutations
