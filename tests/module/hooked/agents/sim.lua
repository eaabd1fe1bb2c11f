return function(request)
  if request.last.role == "user" and request.last.text:find "^look" then
    return { calls = { { name = "look", arguments = { place = request.last.text:match "^look (%S+)" } } } }
  end
  return "heard: " .. request.last.text
end
