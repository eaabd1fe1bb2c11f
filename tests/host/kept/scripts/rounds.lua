-- A loop with checkpoints: each round asks an agent, a person and the world, and draws a number. Its input says how many. What it
-- changes of the run itself (an option, labels of what was read, who has failed, jobs) holds in the rounds behind it, too.
local hocket = require "hocket"
local rounds = math.tointeger((...):match "%d+")
local read = hocket.tool { name = "read", description = "Reads a page.", parameters = { type = "object" }, effects = { "fetch" }, taints = "web",
  run = function() return "a page" end }
local send = hocket.tool { name = "send", description = "Sends.", parameters = { type = "object" }, effects = { "send" }, idempotent = true,
  run = function() return "sent" end }
local writer = hocket.agent { name = "writer", prompt = "You write." }
local reader = hocket.agent { name = "reader", prompt = "You read.", tools = { read } }
local sender = hocket.agent { name = "sender", prompt = "You send.", tools = { send } }
local lost = hocket.agent { name = "lost", prompt = "You err." }
local before = assert(hocket.run(writer, "say before")).text

local function ask_all(round)
  local job = assert(hocket.broker():submit { retries = 1, backoff = 0.02, run = function(job)
    return job.attempt > 1 and "tried" or error "not at once"
  end })
  hocket.broker():wait(job)
  hocket.orchestrate.call(writer, "say in a job", { trigger = "check" })
  if round == 1 then
    assert(hocket.run(reader, "call read {}\nsay read"))
    assert(hocket.this_run():change { max_turns = 7 })
    hocket.orchestrate.call(lost, "call a {}\nthen\ncall b {}\nthen\ncall c {}\nthen\ncall d {}", { trigger = "check" })
  end
  return assert(hocket.run(sender, "call send {}\nsay sent")).text
end

if (...):find "early" then hocket.checkpoint { round = 2 } end
local state = hocket.checkpoint() or { round = 1, words = {}, before = before }
while state.round <= rounds do
  if (...):find "open" and state.round == 2 then hocket.flow.spawn(function() hocket.run(writer, "say open never") end) end
  local both = hocket.flow.map({ "a", "b" }, function(word)
    return assert(hocket.run(writer, ("say %s%d"):format(word, state.round))).text
  end)
  local answer = assert(hocket.ask("Round " .. state.round .. "?"))
  local stamp = hocket.step("stamp", function() return "stamp" .. state.round end, { idempotent = true })
  local sent = ask_all(state.round)
  state.words[#state.words + 1] = table.concat({ both[1], both[2], answer, stamp, sent, tostring(math.random(1000)), state.before,
    hocket.this_run().options.max_turns or "none" }, " ")
  state.round = state.round + 1
  if (...):find "closure" then state.fn = print end
  hocket.checkpoint(state)
end
return table.concat(state.words, "\n") .. "\n" .. hocket.this_run():usage().calls .. " calls"
