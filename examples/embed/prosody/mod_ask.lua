-- Prosody: a component whose every message is answered by a team.
--
--   Component "inn.example.org" "ask"
--     ask_team = "/path/to/agents"
--
-- hocket works in Prosody's own Lua and loop: its descriptor is watched like a socket, and a message that is being
-- answered holds nobody up. A reload of the module closes the host and opens another.
--
--- @hocket.modules util.stanza, util.timer, net.server
--- @hocket.globals module
local hocket = require "hocket"
local st = require "util.stanza"
local timer = require "util.timer"
local server = require "net.server"

local team = module:get_option_string("ask_team")
local host = hocket.host
local watched, due, open = nil, nil, true

local function tend()
  if not open then return end
  host:pump(5)
  if due then timer.stop(due) end
  local ms = host:timeout()
  due = ms and timer.add_task(ms / 1000, tend) or nil
end

watched = server.watchfd(host:fd(), tend)

module:hook("message/host", function(event)
  local stanza = event.stanza
  local body = stanza:get_child_text("body")
  if not body or stanza.attr.type == "error" then return end
  hocket.start(team, body, {
    on_done = function(result, err)
      if not open then return end
      local reply = result and st.reply(stanza):tag("body"):text(result.text)
        or st.error_reply(stanza, "wait", "internal-server-error", err.message)
      module:send(reply)
    end,
  })
  tend()
  return true
end)

function module.unload()
  open = false
  if due then timer.stop(due) end
  watched:close()
  host:close()
end
