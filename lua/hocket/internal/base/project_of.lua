--- The folder of a project whose other programs' agents are in a hidden folder of it, as .claude/agents; nil: there is no such folder in the path.
---@param dir string
---@return string?
return function(dir)
  local before = ("/" .. dir .. "/"):match "^(.-)/%.%w+/agents?/"
  return before and (before == "" and "." or before:sub(2))
end
