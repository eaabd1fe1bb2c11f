-- Its model: so many calls of `note`, one a turn.
return function(request)
  local messages = request.messages
  local wanted = tonumber((messages[1].text .. (messages[2] and messages[2].text or "")):match "note (%d+) times") or 32
  local made = 0
  for i = #messages, 1, -1 do
    local message = messages[i]
    if message.role == "tool" then
      made = tonumber(message.text:match "noted (%d+)") or 0
      break
    end
  end
  if made < wanted then return { calls = { { name = "note", arguments = { number = made + 1 } } } } end
  return { text = "noted" }
end
