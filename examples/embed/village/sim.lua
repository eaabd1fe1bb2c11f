-- The scripted model of the village: it plays the innkeeper, the cook and the ostler.
local function innkeeper(request)
  if request.turn == 1 then
    local calls = {
      { name = "delegate", arguments = { agent_name = "cook", prompt = "What is in the pot?" } },
      { name = "delegate", arguments = { agent_name = "ostler", prompt = "Is there room in the stable?" } },
    }
    if request.tools.look_around then calls[3] = { name = "look_around", arguments = { place = "square" } } end
    return { calls = calls, latency = 0.03 }
  end
  local heard = { "Welcome!" }
  for _, message in ipairs(request.messages) do
    if message.role == "tool" then
      for _, known in ipairs { "Fish stew tonight.", "Two stalls are free." } do
        if message.text:find(known, 1, true) then heard[#heard + 1] = known end
      end
      local seen = message.text:match "You see (.-)$"
      if seen then heard[#heard + 1] = "And out there: " .. seen end
    end
  end
  return { text = table.concat(heard, " "), latency = 0.03, pause = 0.01, fragment = 8 }
end

return function(request)
  if request.tools.delegate then return innkeeper(request) end
  if request.system:find("You cook", 1, true) then return { text = "Fish stew tonight.", latency = 0.05 } end
  return { text = "Two stalls are free.", latency = 0.08 }
end
