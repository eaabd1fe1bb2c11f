--- Shortening texts between characters, never within one.

--- The beginning of a text, of at most `max` bytes; `mark` (… or nothing) follows what was cut.
---@param text string
---@param max integer
---@param mark? string
---@return string
return function(text, max, mark)
  if #text <= max then return text end
  return text:sub(1, utf8.offset(text, 0, max + 1) - 1) .. (mark or "")
end
