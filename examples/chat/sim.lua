-- The scripted model of the chat example: it plays the concierge.
local function people_in(text)
  local word = text:match "%d+" or text:match "for (%a+)" or text:match "^(%a+)%.?$"
  return math.tointeger(tonumber(word)) or ({ one = 1, two = 2, three = 3, four = 4, six = 6, ten = 10 })[word and word:lower()]
end

-- The calls since the user's last words, by name: what has been done in this turn.
local function this_turn(request)
  local done, wish = {}, ""
  for _, message in ipairs(request.messages) do
    if message.role == "user" then done, wish = {}, message.text end
    for _, call in ipairs(message.calls or {}) do done[call.name] = true end
  end
  return done, wish
end

return function(request)
  local done, wish = this_turn(request)
  local last = request.last.text
  if wish:lower():find "thank" then return "You are welcome. Enjoy the evening!" end
  if done.book_table then
    if last:find "^booked" then return ("The table is %s. Shall I do anything else?"):format(last) end
    return "I have booked nothing. Tell me when you want another table."
  elseif done.find_table then
    local place = last:match "^([^,]+)"
    if not place or place == "no table is free" then return "No table is large enough tonight. I am sorry." end
    return { text = ("There is one: %s."):format(place), calls = { { name = "book_table", arguments = { place = place, time = "19:30" } } } }
  end
  local people = done.ask_user and people_in(last) or people_in(wish)
  if people then return { calls = { { name = "find_table", arguments = { people = people } } } } end
  if done.ask_user then return "Then I cannot look for one. Tell me for how many it has to be." end
  if wish:lower():find "table" then return { calls = { { name = "ask_user", arguments = { question = "For how many people?" } } } } end
  return "I book tables for tonight. For how many people, and where would you like to sit?"
end
