-- HAProxy: a service that answers requests with a team. Loaded with lua-load-per-thread, so that each
-- thread has a host of its own; waiting yields to HAProxy, which serves others meanwhile.
--
--   lua-prepend-path /usr/lib/x86_64-linux-gnu/lua/5.3/?.so cpath
--   lua-load-per-thread ask.lua             (TEAM=path/to/agents in the environment)
--   frontend …  http-request use-service lua.ask
local hocket = require "hocket"
local team = ... or os.getenv "TEAM"
local host

-- The workers' hosts are opened at the first request, after HAProxy has forked.
local function open()
  host = host or assert(hocket.open { thread = true })
  return host
end

local function turn()
  host:pump(1)
  core.msleep(2)
end

core.register_service("ask", "http", function(applet)
  local question = applet:receive()
  local status, text = 400, "what is the question?"
  if question ~= "" then
    local run, err = open():start(team, question)
    local result
    if run then result, err = run:await(turn) end
    status, text = result and 200 or 502, result and result.text or err.message
  end
  applet:set_status(status)
  applet:add_header("content-type", "text/plain; charset=utf-8")
  applet:add_header("content-length", tostring(#text))
  applet:add_header("x-thread", tostring(core.thread))
  applet:start_response()
  applet:send(text)
end)
