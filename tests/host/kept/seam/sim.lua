-- Looks, then posts and puts, then puts once more. Each time that it is asked it names another number.
return function(request)
  torture "model"
  local results, who = 0, ""
  for _, message in ipairs(request.messages) do
    if message.role == "tool" then results = results + 1 end
    if message.role == "user" then who = message.text end
  end
  local function put() return { name = "put", arguments = { chance = torture "chance" } } end
  if results == 0 then return { calls = { { name = "look", arguments = {} }, { name = "post", arguments = { what = who } }, put() }, latency = 0.005 } end
  if results == 3 then return { calls = { put() } } end
  return "through"
end
