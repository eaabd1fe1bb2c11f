--- The known word that somebody probably meant.

-- How many letters were left out, put in, changed or swapped with their neighbour.
local function distance(a, b)
  local before, row = nil, {}
  for j = 0, #b do row[j] = j end
  for i = 1, #a do
    local now = { [0] = i }
    for j = 1, #b do
      local x, y = a:byte(i), b:byte(j)
      now[j] = math.min(row[j] + 1, now[j - 1] + 1, row[j - 1] + (x == y and 0 or 1))
      if before and j > 1 and x == b:byte(j - 1) and a:byte(i - 1) == y then
        now[j] = math.min(now[j], before[j - 2] + 1)
      end
    end
    before, row = row, now
  end
  return row[#b]
end

--- The word of `words` that is nearest to `word`, when it is near enough to be a slip.
---@param word string
---@param words string[]
---@return string?
local function suggest(word, words)
  if #word > 64 then return nil end
  local best, least = nil, math.min(#word - 1, math.max(1, math.min(3, #word // 3))) + 1
  for _, candidate in ipairs(words) do
    if math.abs(#candidate - #word) < least then -- by its length alone another is too far away
      local d = distance(word:lower(), candidate:lower())
      if d < least then best, least = candidate, d end
    end
  end
  return best
end

return suggest
