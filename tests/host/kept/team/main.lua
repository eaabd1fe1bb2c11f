-- Two facilitators with their specialists side by side, each with a board and a document of its own, as tools of one agent's script;
-- and a conversation that goes on behind them.
local hocket = require "hocket"
local here = debug.getinfo(1, "S").source:match "^@(.*)/tests/"
local team = hocket.agents(here .. "/examples/travel/agents")

local function plan(wish)
  local board, doc = hocket.board { limit = 20 }, hocket.document { { "day", "integer" }, { "time_slot", { "general", "morning" } } }
  local reply = assert(hocket.run(team.facilitator, wish, { board = board, document = doc }))
  return reply.text .. ("\n(%d tasks)"):format(#board:tasks())
end

local plans = hocket.flow.map({ "A day in Porto", "A day in Faro" }, plan)
local guide = hocket.agent { name = "guide", prompt = "You remember." }
local talk <close> = assert(hocket.conversation(guide))
local first, second = talk:send "Hello", talk:send "And now?"
return table.concat({ plans[1], plans[2], first.text, second.text }, "\n---\n")
