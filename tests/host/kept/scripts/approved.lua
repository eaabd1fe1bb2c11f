-- Its input: "allowed" asks for leave to post, "asked N" asks for a word, and waits for it N seconds.
local hocket = require "hocket"
local what = ...
local seconds = what:match "^asked (%S+)"
if seconds then
  local word, err = hocket.ask("Which word?", { timeout = tonumber(seconds) })
  return word or err.code
end
local post = hocket.tool { name = "post", description = "Posts.", effects = { "write" },
  parameters = { type = "object", properties = { to = { type = "integer" } } }, run = function() return "posted" end }
return assert(hocket.run(hocket.agent { name = "poster", prompt = "You post.", tools = { post } }, "call post {}\nsay said")).text
