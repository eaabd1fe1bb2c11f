-- Errors that reach a script: each prints as its message.
local hocket = require "hocket"
local t = require "harness"

local function check(name, value, err)
  t.equal(value, nil, name)
  t.equal(type(err), "table", name)
  t.equal(tostring(err), ("%s: %s"):format(err.code, err.message), name)
end

t.test("errors of the world print as code and message", function()
  local scripted = hocket.agent { name = "scripted", prompt = "x", model = "nobody/none" }
  check("run", hocket.run(scripted, "hi"))
  check("timeout", hocket.flow.timeout(0.001, function() hocket.flow.sleep(5) end))
  check("any", hocket.flow.any {})
  check("resolve", require("hocket.model").resolve "nobody/none")
  check("read", hocket.fs.read "/no/such/file")
  check("decode", hocket.json.decode "{")
end)

return t.finish()
