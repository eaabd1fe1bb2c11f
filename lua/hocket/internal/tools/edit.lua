local trim = require "hocket.internal.base.trim"
--- Exact replacement of a piece of text, with errors that tell a model how to go on.
local edit = {}

local function count(text, piece)
  local n, at, places = 0, 1, {}
  while true do
    local from, to = text:find(piece, at, true)
    if not from then return n, places end
    n = n + 1
    if n <= 5 then
      local _, lines = text:sub(1, from - 1):gsub("\n", "")
      places[n] = lines + 1
    end
    at = to + 1
  end
end

local function replace_plain(text, old, new)
  local parts, at = {}, 1
  while true do
    local from, to = text:find(old, at, true)
    if not from then break end
    parts[#parts + 1] = text:sub(at, from - 1)
    parts[#parts + 1] = new
    at = to + 1
  end
  parts[#parts + 1] = text:sub(at)
  return table.concat(parts)
end

-- The lines that look like the first one of what was not found.
local function near(text, old)
  local first = old:match "[^\n]*%S[^\n]*"
  first = first and trim.both(first)
  if not first then return "" end
  local lines, number = {}, 0
  for line in (text .. "\n"):gmatch "([^\n]*)\n" do
    number = number + 1
    if #lines < 3 and line:find(first, 1, true) then lines[#lines + 1] = ("line %d"):format(number) end
  end
  if #lines == 0 then return "" end
  return (" Its first line stands in %s: blanks, or what follows, differ."):format(table.concat(lines, ", "))
end

--- Replaces `old`, which has to occur exactly once unless `all` is given. In a file with lines ending in
--- CR LF the texts may have LF alone.
---@param text string
---@param old string
---@param new string
---@param all? boolean
---@return string? text
---@return integer|string count Or why not, for a model.
function edit.replace(text, old, new, all)
  if old == "" then return nil, "old_text is empty: give the piece that is to be replaced" end
  if old == new then return nil, "old_text and new_text are the same: nothing would change" end
  local n, lines = count(text, old)
  if n == 0 and text:find("\r\n", 1, true) and old:find("\n", 1, true) and not old:find("\r", 1, true) then
    old, new = old:gsub("\n", "\r\n"), new:gsub("\r?\n", "\r\n")
    n, lines = count(text, old)
  end
  if n == 0 then
    return nil, "old_text does not occur in it. It has to be the same to the letter, with blanks and line ends; read the file again and copy the piece." .. near(text, old)
  elseif n > 1 and not all then
    return nil, ("old_text occurs %d times (lines %s%s). Give more of what is around the one that is meant, or set replace_all.")
      :format(n, table.concat(lines, ", "), n > #lines and ", …" or "")
  end
  return replace_plain(text, old, new), n
end

return edit
