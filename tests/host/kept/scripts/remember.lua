-- Rounds that all ask the same, with a checkpoint behind each: of the world, of a person, of whoever sends messages. Its input: the rounds,
-- and a word for what is done here.
local hocket = require "hocket"
local rounds, word = (...):match "^(%d+) (.*)$"
hocket.step("before", function() return word end)
local state = hocket.checkpoint() or { round = 1, words = {} }
while state.round <= math.tointeger(rounds) do
  local day = hocket.step("day", function() return word .. state.round end, { idempotent = true })
  if state.round > 3 then hocket.this_run():signal("go", "s" .. state.round) end -- nobody else does
  local answer, message = assert(hocket.ask "On?"), assert(hocket.signal "go")
  state.words[state.round] = table.concat({ day, answer, message }, " ")
  state.round = state.round + 1
  hocket.checkpoint(state)
end
return table.concat(state.words, ", ")
