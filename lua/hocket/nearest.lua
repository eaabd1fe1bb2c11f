--- The known word that somebody probably meant.
local function distance(a, b)
  local row = {}
  for j = 0, #b do row[j] = j end
  for i = 1, #a do
    local diagonal = row[0]
    row[0] = i
    for j = 1, #b do
      local cost = a:byte(i) == b:byte(j) and 0 or 1
      local value = math.min(row[j] + 1, row[j - 1] + 1, diagonal + cost)
      diagonal, row[j] = row[j], value
    end
  end
  return row[#b]
end

--- The word of `words` that is nearest to `word`, when it is near enough to be a slip.
---@param word string
---@param words string[]
---@return string?
local function nearest(word, words)
  local best, best_distance
  if #word > 64 then return nil end
  for _, candidate in ipairs(words) do
    local d = distance(word:lower(), candidate:lower())
    if not best or d < best_distance then best, best_distance = candidate, d end
  end
  if best and best_distance <= math.max(1, math.min(3, #word // 2)) then return best end
  return nil
end

return nearest
