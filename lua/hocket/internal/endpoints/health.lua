--- For those who look after the process: is it there (/healthz), does it take work (/readyz).
return function(server)
  server:make_public "/healthz"
  server:make_public "/readyz"
  server.router:on("GET", "/healthz", function(_, response)
    response:send(200, "ok\n", { ["content-type"] = "text/plain", ["cache-control"] = "no-store" })
  end)
  server.router:on("GET", "/readyz", function(_, response)
    local closing = server.desk.closing
    response:send(closing and 503 or 200, closing and "ending\n" or "ready\n", { ["content-type"] = "text/plain", ["cache-control"] = "no-store" })
  end)
end
