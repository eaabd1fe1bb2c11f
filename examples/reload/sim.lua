-- The scripted model of the inn. It takes its time, so that a file can change while it answers.
return function(request)
  if request.system:find "waiter" then return "If you please: " .. request.last.text end
  if request.turn == 1 then return { calls = { { name = "menu", arguments = {} } }, latency = 0.5 } end
  local manner = request.system:match "You speak (%a+)" or "somehow"
  return { text = ("(%s) There is %s."):format(manner, request.last.text), latency = 0.5 }
end
