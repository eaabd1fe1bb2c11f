--- The keys of an agent's front matter, for `hocket check --help`.
local agents = require "hocket.agent"

local function line_of(key)
  local more = {}
  if key.unit then more[#more + 1] = key.unit end
  if key.default then more[#more + 1] = "default " .. key.default end
  return ("  %-24s %s\n  %-24s   %s%s"):format(key.name, key.doc, "", key.kind,
    #more > 0 and (" (%s)"):format(table.concat(more, "; ")) or "")
end

return function()
  local result, lines = { groups = agents.keys() }, {}
  for _, group in ipairs(result.groups) do
    lines[#lines + 1] = group.title
    for _, key in ipairs(group.keys) do lines[#lines + 1] = line_of(key) end
    lines[#lines + 1] = ""
  end
  result.text = table.concat(lines, "\n")
  return result
end
