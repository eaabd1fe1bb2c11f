-- The scripted model of these villagers: it lets them live without a key. It keeps what it is told, plans a way, and speaks
-- as its prompt says.
return function(request)
  local said = request.messages[1].text
  if request.turn == 1 then
    return { calls = {
      { name = "remember", arguments = { text = "The traveller said: " .. said } },
      { name = "plan", arguments = { places = { "well", "market" } } },
    }, latency = 0.05 }
  end
  local manner = request.system:match "You speak (%a+)" or "somehow"
  local _, known = request.system:gsub("The traveller said", "")
  return { text = ("%s: good day! I remember %d things of you."):format(manner, known), latency = 0.05, pause = 0.01 }
end
