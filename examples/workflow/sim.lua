-- The agents without a model: the critic wants a word, the reviewer finds two things in each file, of which the sceptic believes one.
local json = require "hocket.json"

return function(request)
  if request.system:find "You are a critic" then
    local met = request.last.text:find("Monday", 1, true) ~= nil and request.last.text:find("We are sorry", 1, true) ~= nil
    return json.encode { met = met, missing = met and "" or "say that you are sorry" }
  end
  if request.system:find "You write short" then
    return request.last.text:find "sorry" and "We are sorry: the pool is closed on Monday." or "The pool is closed on Monday."
  end
  if request.system:find "You doubt" then
    local asked = json.decode(request.last.text)
    return json.encode { real = not asked.finding:find "Perhaps" }
  end
  local file = request.messages[1].text:match "file (%S+)" or "notes.txt"
  return json.encode { file = file, findings = { "The last line has no end.", "Perhaps the title is too long." } }
end
