-- A project with hooks of each point and guards of both kinds. What they decide depends on how long the file of letters is by then, and each
-- writes a line there: who is asked again after its decision was logged is seen, and so is another decision.
local hocket = require "hocket"
local path = ...
_G.letters_of_hooks = path -- for hooks.lua

local function append(text)
  local file <close> = assert(io.open(path, "a"))
  file:write(text, "\n")
  return "written"
end

local function tool(name)
  local properties = { what = { type = "string" }, mark = { type = "integer" } }
  return hocket.tool { name = name, description = name, parameters = { type = "object", properties = properties }, run = function(args)
    hocket.flow.sleep(0.005)
    return append(name .. " " .. args.what)
  end }
end

local here = debug.getinfo(1, "S").source:match "^@(.*)/[^/]*$"
local tools = { tool "post", tool "peek", tool "shred" }
local reply = assert(hocket.run(hocket.agents(here .. "/agents").clerk, [[
call post {"what": "plain a"}
call peek {"what": "box"}
then
call shred {"what": "all"}
call post {"what": "plain d"}
say All is posted.]], { tools = tools }))

local talker = hocket.agent { name = "talker", prompt = "You talk.", context = { window = 4000, at = 0.5, keep = 0.1 } }
local talk <close> = assert(hocket.conversation(talker))
local last
for i = 1, 3 do last = talk:send(("number %d "):format(i) .. ("word "):rep(700)) end
local sealed = hocket.step("seal", function() return append "post seal" end) and "sealed" or "sealed"
return ("%s %s %d"):format(reply.text, sealed, #last.text > 0 and 3 or 0)
