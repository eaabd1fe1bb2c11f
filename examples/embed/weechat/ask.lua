-- WeeChat: /ask TEXT, and a team answers in the buffer while one goes on chatting. hocket works beside WeeChat's Lua; a
-- timer turns it while something is under way, and nothing runs otherwise.
--
--   /lua load ask.lua        (TEAM=path/to/agents in the environment)
weechat.register("ask", "hocket", "1", "MIT", "asks a team of agents", "", "")
local hocket = require "hocket"
local host, hook = hocket.host, nil

function ask_turn()
  if not host:pump(2) and hook then
    weechat.unhook(hook)
    hook = nil
  end
  return weechat.WEECHAT_RC_OK
end

function ask_command(_, buffer, text)
  local run, err = hocket.start(os.getenv "TEAM", text, {
    timeout = 60,
    on_done = function(result, failed) weechat.print(buffer, "ask\t" .. (result and result.text or failed.message)) end,
  })
  if not run then weechat.print(buffer, "ask\t" .. err.message) end
  hook = hook or weechat.hook_timer(20, 0, 0, "ask_turn", "")
  return weechat.WEECHAT_RC_OK
end

weechat.hook_command("ask", "asks a team of agents", "TEXT", "", "", "ask_command", "")
