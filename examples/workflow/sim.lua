-- The agents without a model: the reviewer finds two things in each file, of which the sceptic believes one.
local json = require "hocket.json"

return function(request)
  if request.system:find "You doubt" then
    local asked = json.decode(request.last.text)
    return json.encode { real = not asked.finding:find "Perhaps" }
  end
  local file = request.messages[1].text:match "file (%S+)" or "notes.txt"
  return json.encode { file = file, findings = { "The last line has no end.", "Perhaps the title is too long." } }
end
