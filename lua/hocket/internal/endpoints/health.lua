--- For those who look after the process: is it there (/healthz), does it take work (/readyz).
local store = require "hocket.internal.core.store"

return function(server)
  server:make_public "/healthz"
  server:make_public "/readyz"
  server.router:on("GET", "/healthz", function(_, response)
    response:send(200, "ok\n", { ["content-type"] = "text/plain", ["cache-control"] = "no-store" })
  end)
  server.router:on("GET", "/readyz", function(_, response)
    local why_not = server.desk.closing and "ending\n" or store.broken() and "its store cannot be used any more\n"
    response:send(why_not and 503 or 200, why_not or "ready\n", { ["content-type"] = "text/plain", ["cache-control"] = "no-store" })
  end)
end
