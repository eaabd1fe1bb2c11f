-- A conversation that is longer than its model's window: results behind handles, summaries, and one that is read back.
local hocket = require "hocket"
local words = (" word"):rep(60)
local look = hocket.tool { name = "look", description = "Looks.", effects = { "read" },
  parameters = { type = "object", properties = { n = { type = "integer" } } },
  run = function(args) return ("the %d. thing\n"):format(args.n):rep(200) end }
local agent = hocket.agent { name = "talker", prompt = "You talk.", tools = { look }, context = { window = 3000 } }
local chat <close> = assert(hocket.conversation(agent))
local lines = {}

for i = 1, 30 do
  local said = i % 5 == 0 and ('call look {"n":%d}\nthen\ncall search_result {"text":"%d. thing"}\nsay %d looked'):format(i, i // 2 * 2, i)
    or ("say %d heard%s\nanything"):format(i, words)
  lines[#lines + 1] = assert(chat:send(said)).text
end
assert(chat:compact())
lines[#lines + 1] = assert(chat:send 'call read_result {"id":"fold2"}\nsay the end').text
assert(#chat.history < 20, #chat.history)
return table.concat(lines, "|") .. #chat.history
