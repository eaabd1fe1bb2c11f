-- What same.lua and bridge.lua begin with: a way to test, and a scripted model that says what it hears, or calls the
-- tool that it has. Written for all Luas.
local hocket = require "hocket"
local host = hocket.host
local scene = { ran = 0 }

function scene.test(name, fn)
  local ok, err = xpcall(fn, debug.traceback)
  if not ok then
    io.stderr:write(("FAILED %s: %s\n"):format(name, tostring(err)))
    os.exit(1)
  end
  scene.ran = scene.ran + 1
end

function scene.pump_until(check)
  local due = os.time() + 10
  while not check() do
    host:pump(1)
    assert(os.time() < due, "not in time")
  end
end

local model = assert(host:load("model.lua", [[
  local hocket = require "hocket"
  local served = hocket.sim.serve { reply = function(q)
    if q.last.text == "slowly" then hocket.flow.sleep(0.2) end
    if q.last.text == "never" then hocket.flow.sleep(1000) end
    if q.tools.look and q.last.role == "user" then
      return { calls = { { name = "look", arguments = { place = q.last.text } } } }
    end
    return "heard: " .. q.last.text
  end }
  hocket.provider("own", { protocol = "openai_chat", base = served.base })
  hocket.events.emit("ready")
  hocket.flow.sleep(1000)
]]))

-- Starts the model as a run of its own, which is returned: "own/m" is its name from then on.
function scene.serve()
  local served
  local server = host:start(model, "", { on_event = function(event) served = served or event.type == "ready" end })
  while not served do host:wait() end
  return server
end

return scene
