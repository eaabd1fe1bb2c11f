-- A loop with checkpoints: each round asks an agent, a person and the world, and draws a number. Its input says how many.
local hocket = require "hocket"
local rounds = math.tointeger((...):match "%d+")
local writer = hocket.agent { name = "writer", prompt = "You write." }
local before = assert(hocket.run(writer, "say before")).text

if (...):find "early" then hocket.checkpoint { round = 2 } end
local state = hocket.checkpoint() or { round = 1, words = {}, before = before }
while state.round <= rounds do
  if (...):find "open" and state.round == 2 then hocket.flow.spawn(function() hocket.run(writer, "say open slowly") end) end
  local both = hocket.flow.map({ "a", "b" }, function(word)
    return assert(hocket.run(writer, ("say %s%d"):format(word, state.round))).text
  end)
  local answer = assert(hocket.ask("Round " .. state.round .. "?"))
  local stamp = hocket.step("stamp", function() return "stamp" .. state.round end, { idempotent = true })
  state.words[#state.words + 1] = table.concat({ both[1], both[2], answer, stamp, tostring(math.random(1000)), state.before }, " ")
  state.round = state.round + 1
  if (...):find "closure" then state.fn = print end
  hocket.checkpoint(state)
end
return table.concat(state.words, "\n") .. "\n" .. hocket.this_run():usage().calls .. " calls"
