-- Plays the smith of engine.c, who counts to twelve. A call that was under way when the process was ended is not made again.
return function(request)
  assert(request.system:find("You count.\nBe brief.\nAlways.", 1, true), request.system)
  if request.turn <= 12 then return { calls = { { name = "count", arguments = { n = request.turn } } }, latency = 0.02 } end
  local unknown = 0
  for _, message in ipairs(request.messages) do
    if message.text:find("not known whether this was done", 1, true) then unknown = unknown + 1 end
  end
  return { text = "counted" .. (unknown > 0 and (", " .. unknown .. " unknown") or "") }
end
