-- The scripted model of these workflows: it makes the calls that its instructions name, one turn after the other, and answers with what
-- they are to say. "call NAME {…}" is a call of a turn, "then" begins the next turn, "say TEXT" is the answer.
local json = require "hocket.json"

local function plan_of(text)
  local turns, answer = { {} }, nil
  for line in text:gmatch "[^\n]+" do
    local name, arguments = line:match "^call ([%w_-]+) (.*)$"
    if name then
      table.insert(turns[#turns], { name = name, arguments = json.decode(arguments) })
    elseif line == "then" then
      turns[#turns + 1] = {}
    else
      answer = line:match "^say (.*)$" or answer
    end
  end
  if #turns[#turns] == 0 then turns[#turns] = nil end
  return turns, answer
end

-- Answers since the last words of a user.
local function turns_made(request)
  local n, words = 0, ""
  for _, message in ipairs(request.messages) do
    if message.role == "user" then n, words = 0, message.text end
    if message.role == "assistant" then n = n + 1 end
  end
  return n, words
end

return function(request)
  local made, words = turns_made(request)
  local turns, answer = plan_of(words)
  if words:find "is going to be taken out" then return "summed up: " .. #request.messages end
  if words:find "slowly" then return { text = answer or words, latency = 0.05 } end
  if words:find "never" then return { text = "late", latency = 30 } end
  if turns[made + 1] then return { calls = turns[made + 1] } end
  return { text = answer or "said: " .. words }
end
