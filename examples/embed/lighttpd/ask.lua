-- lighttpd with mod_magnet: the body of a POST is a question for a team. hocket works in the server's own Lua 5.4. mod_magnet
-- waits for the script, and so do the worker's other requests: for answers that take long give it more
-- workers (server.max-worker), each of which has a host of its own.
--
--   server.modules += ( "mod_magnet" )
--   magnet.attract-raw-url-to = ( "/path/ask.lua" )      (TEAM=path/to/agents in the environment)
local hocket = require "hocket"
local team = lighty.r.req_env["TEAM"] or os.getenv "TEAM"

if not lighty.r.req_body.collect then return 0 end -- called again when all of it is there
local question = lighty.r.req_body.get or ""
if question == "" then
  lighty.r.resp_body.set "what is the question?\n"
  return 400
end
local result, err = hocket.host:run(team, question, { timeout = 60 })
lighty.r.resp_header["content-type"] = "text/plain; charset=utf-8"
lighty.r.resp_body.set((result and result.text or err.message) .. "\n")
return result and 200 or 502
