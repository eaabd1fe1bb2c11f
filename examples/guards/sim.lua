return function(request)
  if request.system:find "whether a request is rude" then
    return '{"objects": ' .. tostring(request.last.text:find "stupid" ~= nil) .. ', "reason": "it is rude"}'
  end
  local hours = request.system:match "open from [^.]+" or "closed"
  return ("We are %s. Pay to account 123456789, please."):format(hours)
end
