-- The scripted model of the desk example: it plays the desk and the ones behind it.
local function framed(text, kind)
  return text:match(("<%s%%-%%w+ of=\"[^\"]*\">\n(.-)\n</%s%%-"):format(kind, kind))
end

local function hand(agent, reason, response)
  return { calls = { { name = "handoff_to", arguments = { agent = agent, reason = reason, response = response } } } }
end

local function desk(request)
  local text = request.last.text:lower()
  local names = table.concat(request.tools.handoff_to.parameters.properties.agent.enum, " ")
  if text:find "open" then return { text = "We are open from Monday to Saturday, 9 to 18." } end
  if text:find "person" then return hand("human", "a person is wanted", "The customer wants a person.") end
  if text:find "broken" and names:find "claims" then return hand("claims", "it is broken", "The customer says that it arrived broken.") end
  if text:find "broken" then return { text = "Please tell me the number of your order." } end
  return hand("orders", "it is about an order", "The customer asks about an order.")
end

return function(request)
  if request.system:find("You are the desk", 1, true) then return desk(request) end
  if request.system:find("You sum up", 1, true) then return { text = "Claim granted: the customer gets the whole price back." } end
  if request.system:find("You decide about claims", 1, true) then return { text = "You get the whole price back. " .. (framed(request.last.text, "response") or "") } end
  if request.system:find("You answer questions about orders", 1, true) then return { text = "Your parcel is on its way. It arrives tomorrow." } end
  local told = framed(request.last.text, "summary")
  return { text = told and "Dear customer, I have looked at it myself. " .. told or "Dear customer, this is Rosa. How can I help?" }
end
