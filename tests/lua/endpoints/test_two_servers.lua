-- Several doors of one program: each learns how its own runs end, also when another one is closed meanwhile.
local acp_client = require "acp_client"
local flow = require "hocket.flow"
local hocket = require "hocket"
local serving = require "serving"
local t = require "harness"

hocket.broker()
local sim = assert(hocket.sim.serve { reply = function(asked) return "to " .. asked.last.text end })
hocket.provider("several", { protocol = "openai_chat", base = sim.base })
local options = { model = "several/m", trust = true }

local function project()
  local dir = t.dir()
  dir:write("agents/a.md", "---\nname: a\ndescription: An agent\n---\nYou.")
  return dir
end

local function chat(server, text)
  local status, got = server:post("/v1/chat/completions", { model = "a", messages = { { role = "user", content = text } } })
  t.same(status, 200)
  t.same(got.choices[1].message.content, "to " .. text)
end

t.test("two servers answer side by side, and one goes on when the other is closed", function()
  local dir <close> = project()
  local first <close> = serving.open(dir.path .. "/agents", options)
  for round = 1, 3 do
    local second <close> = serving.open(dir.path .. "/agents", options)
    flow.map({ first, second }, function(server, n)
      for i = 1, 5 do chat(server, ("%d.%d.%d"):format(round, n, i)) end
    end)
  end
  chat(first, "alone")
end)

t.test("the server that was opened first is closed first", function()
  local dir <close> = project()
  local second
  do
    local first <close> = serving.open(dir.path .. "/agents", options)
    second = serving.open(dir.path .. "/agents", options)
    chat(first, "one")
    chat(second, "two")
  end
  local closed <close> = second
  chat(second, "three")
end)

t.test("an editor's door beside a server", function()
  local dir <close> = project()
  local server <close> = serving.open(dir.path .. "/agents", options)
  for _ = 1, 2 do
    local client <close> = acp_client.open { target = dir.path .. "/agents/a.md", options = options }
    client:session(dir.path)
    client:prompt "go"
    t.same(client:text(), "to go")
    chat(server, "beside it")
  end
  chat(server, "alone")
end)

return t.finish()
