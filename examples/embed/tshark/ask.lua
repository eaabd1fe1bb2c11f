-- Wireshark and tshark: at the end of a capture a team says what it was. hocket works beside the program's Lua.
--
--   tshark -r capture.pcap -q -X lua_script:ask.lua      (TEAM=path/to/agents in the environment)
local hocket = require "hocket"
local tap, seen = Listener.new "frame", {}

function tap.packet(pinfo)
  local name = tostring(pinfo.cols.protocol)
  seen[name] = (seen[name] or 0) + 1
end

function tap.reset() seen = {} end

function tap.draw()
  local lines = {}
  for name, count in pairs(seen) do lines[#lines + 1] = name .. ": " .. count end
  table.sort(lines)
  local result, err = hocket.run(os.getenv "TEAM", "Packets by protocol:\n" .. table.concat(lines, "\n"), { timeout = 60 })
  print(result and result.text or err.message)
end
