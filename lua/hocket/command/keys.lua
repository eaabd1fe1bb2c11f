--- The keys of an agent's head, for `hocket check --help`.
local agents = require "hocket.agent"

return function()
  local result, lines = { keys = agents.keys() }, {}
  for i, key in ipairs(result.keys) do
    lines[i] = ("  %-16s %s"):format(key.name, key.kind)
  end
  result.text = table.concat(lines, "\n")
  return result
end
