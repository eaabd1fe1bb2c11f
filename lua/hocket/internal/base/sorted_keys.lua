--- The keys of a table, sorted. The order of `pairs` differs between processes, since it depends on addresses. Code that wakes, asks,
--- emits or writes in that order would do something else in a replay.
local function by_text(a, b)
  return tostring(a) < tostring(b)
end

---@param map table Its keys are texts, numbers or booleans.
---@return any[]
return function(map)
  local list, texts = {}, true
  for key in pairs(map) do
    list[#list + 1] = key
    texts = texts and type(key) == "string"
  end
  table.sort(list, not texts and by_text or nil)
  return list
end
