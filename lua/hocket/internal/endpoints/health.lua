--- For the ones who look after the process: is it there (/healthz), does it take work (/readyz).
local fiber = require "hocket.internal.core.fiber"
local store = require "hocket.internal.core.store"

--- Seconds for which what is known of the store holds: anybody may ask, as often as he likes.
local KNOWN = 1
--- No run has it.
local NOBODY = ("0"):rep(26)

--- Whether the store answers, asked by one at a time; meanwhile others hear what is known. One that cannot be used at all, and is done
--- without, is not away.
local function look(known)
  if known.asking or known.at and fiber.now() < known.at + KNOWN then return known.away end
  known.asking = true
  local over <close> = setmetatable({}, { __close = function() known.asking = nil end })
  local _, err = store.find(NOBODY)
  known.away, known.at = err ~= nil and err.retryable == true, fiber.now()
  return known.away
end

return function(server)
  local known = {}
  local headers = { ["content-type"] = "text/plain", ["cache-control"] = "no-store" }
  server:make_public "/healthz"
  server:make_public "/readyz"
  server.router:on("GET", "/healthz", function(_, response) response:send(200, "ok\n", headers) end)
  server.router:on("GET", "/readyz", function(_, response)
    local store_wrong = store.broken() and "its store cannot be used any more\n" or server.desk.kept and look(known) and "the store is away\n"
    local wrong = server.desk.closing and "ending\n" or store_wrong
    response:send(wrong and 503 or 200, wrong or "ready\n", headers)
  end)
end
