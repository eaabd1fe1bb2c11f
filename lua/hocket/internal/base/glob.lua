--- Names with wildcards: `*` for any letters, `?` for one.

---@param glob string
---@return fun(name: string): boolean fits
return function(glob)
  local pattern = "^" .. glob:gsub("[^%w*?]", "%%%0"):gsub("[*?]", { ["*"] = ".*", ["?"] = "." }) .. "$"
  return function(name) return name:find(pattern) ~= nil end
end
