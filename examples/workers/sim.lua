-- The scripted model of the workers example: it says what one could say of any city.
return function(request)
  local city = request.messages[#request.messages].text:match "days in ([^\n]+)" or "the city"
  return ("%s in two days: the old town first, on foot. Then the river, and the market before noon."):format(city)
end
