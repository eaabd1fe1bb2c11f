--- The keys of a table, sorted. The order of `pairs` is another one in each process, since texts and tables lie there by chance: what
--- is woken, asked, told or put into a text in that order is not the same in a replay.
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
