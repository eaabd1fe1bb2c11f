-- The fishmonger without a model: what it knows it has from its notes alone.
local fence = require "hocket.fence"

local function said(request)
  for i = #request.messages, 1, -1 do
    if request.messages[i].role == "user" then return request.messages[i].text end
  end
end

return function(request)
  local last, text = request.messages[#request.messages], said(request)
  local name, likes = text:match "I am (%a+)", text:match "I like (%a+)"
  if last.role == "tool" and last.name == "memory_write" then return ("Good to meet you, %s. Fresh %s, as you like it?"):format(name, likes) end
  if last.role == "tool" then
    local known, fish = fence.inside(last.text):match "player is called (%a+) and likes (%a+)"
    return known and ("You are %s, who likes %s. The usual?"):format(known, fish) or "I have not seen you before."
  end
  if name and likes then
    return { calls = { { name = "memory_write", arguments = { text = ("The player is called %s and likes %s."):format(name, likes) } } } }
  end
  return { calls = { { name = "memory_search", arguments = { query = "player name likes" } } } }
end
