-- Pays twice, and looks after each time.
return function(request)
  local results = 0
  for _, message in ipairs(request.messages) do
    if message.role == "tool" then results = results + 1 end
  end
  if results >= 4 then return "Paid: " .. request.last.text end
  local name = results % 2 == 0 and "pay" or "look"
  return { calls = { { name = name, arguments = { n = results // 2 + 1 } } } }
end
