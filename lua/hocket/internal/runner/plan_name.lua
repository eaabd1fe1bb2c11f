--- Whether a path can be a plan's: what its text says decides. A module of its own, since each file of a watched folder is asked for.
---@param path string
---@return boolean
return function(path)
  local tail = path:sub(-5)
  return tail:sub(-3) == ".md" or tail == ".yaml" or tail:sub(-4) == ".yml"
end
