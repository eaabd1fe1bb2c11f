local script = dofile(debug.getinfo(1, "S").source:match "^@(.*)/[^/]*/[^/]*$" .. "/scripts/sim.lua")

return function(request)
  if request.system:find "You judge" then return '{"objects": false, "reason": "fine"}' end
  return script(request)
end
