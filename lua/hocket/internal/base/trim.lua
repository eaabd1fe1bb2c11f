--- Texts without the blanks around them, in linear time. "^%s*(.-)%s*$" and "%s+$" take quadratic time where many blanks stand inside of a text, and
--- models, clients and pages may write such texts: 200 KB of them stop the whole host for minutes.
local trim = {}

---@param text string
---@return string
function trim.right(text)
  return text:match "^.*%S" or ""
end

---@param text string
---@return string
function trim.both(text)
  return text:match "%S.*%S" or text:match "%S" or ""
end

return trim
