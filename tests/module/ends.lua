-- The state is closed with all kinds of things under way: each in a process of its own, which has to end well.
local tmpname = dofile((arg[0]:match "^(.*)[/\\]" or ".") .. "/temp.lua")
local cases = {
  nothing = [[require "hocket"]],
  idle = [[local h = require "hocket" h.run(h.agent { name = "a", prompt = "p", model = "sim" }, "x")]],
  model_call = [[
    local h = require "hocket"
    local served
    require "hocket.internal.core.fiber".run(function()
      served = h.sim.serve { reply = function() h.flow.sleep(1000) end }
    end)
    h.provider("own", { protocol = "openai_chat", base = served.base })
    local a = h.agent { name = "a", prompt = "p", model = "own/m" }
    for i = 1, 20 do h.start(a, "x") end
    for i = 1, 100 do h.host:pump(1) end]],
  not_begun = [[local h = require "hocket" h.start(h.agent { name = "a", prompt = "p", model = "sim" }, "x")]],
  exit = [[local h = require "hocket" h.start(h.agent { name = "a", prompt = "p", model = "sim" }, "x")
    h.host:pump(1) os.exit(0, true)]],
  exit_inside = [[local h = require "hocket"
    h.run(h.agent { name = "a", prompt = "p", model = "sim" }, "x", { on_event = function() os.exit(0, true) end })]],
  closed = [[local h = require "hocket" h.host:close() os.exit(0, true)]],
  collected = [[local h = require "hocket" h = nil package.loaded.hocket = nil collectgarbage() collectgarbage()
    require("hocket").run(require("hocket").agent { name = "a", prompt = "p", model = "sim" }, "x")]],
}
local command = "timeout 20 lua5.4 %s"
if package.config:sub(1, 1) == "\\" then command = '"' .. arg[-1]:gsub("/", "\\") .. '" %s' end -- another shell
local names = {}
for name in pairs(cases) do names[#names + 1] = name end
table.sort(names)
for _, name in ipairs(names) do
  local path = tmpname()
  local file = assert(io.open(path, "w"))
  file:write(cases[name])
  file:close()
  local ok, how, code = os.execute((command):format(path))
  os.remove(path)
  assert(ok, ("%s: ended by %s %s"):format(name, how, code))
end
print(#names .. " passed")
