-- A conversation that asks back: the concierge asks for how many a table has to be, and books only
-- with leave.
--
--   hocket chat examples/chat/chat.lua
--   hocket run examples/chat/chat.lua "A table for tonight, for two"
local hocket = require "hocket"

local here = debug.getinfo(1, "S").source:match "^@(.*)/" or "."
local team = hocket.agents(here .. "/agents")

local tables = { { place = "window", seats = 2 }, { place = "garden", seats = 4 }, { place = "long table", seats = 10 } }

local find_table = hocket.tool {
  name = "find_table", description = "The tables that are free tonight and large enough.",
  parameters = { type = "object", required = { "people" }, properties = { people = { type = "integer", minimum = 1 } } },
  effects = { "read" },
  run = function(args)
    local free = {}
    for _, one in ipairs(tables) do
      if not one.booked and one.seats >= args.people then free[#free + 1] = one.place end
    end
    return #free > 0 and table.concat(free, ", ") or "no table is free"
  end,
}

local book_table = hocket.tool {
  name = "book_table", description = "Books a table for tonight.",
  parameters = { type = "object", required = { "place", "time" }, properties = { place = { type = "string" }, time = { type = "string" } } },
  effects = { "elsewhere" }, -- so it needs approval
  run = function(args)
    for _, one in ipairs(tables) do
      if one.place == args.place and not one.booked then
        one.booked = args.time
        return ("booked: %s at %s"):format(one.place, args.time)
      end
    end
    return nil, ("there is no free table '%s'"):format(args.place)
  end,
}

local talk = hocket.conversation(team.concierge, { tools = { find_table, book_table } })

return {
  agents = team,
  chat = function(text) return talk:send(text) end,
  close = function() talk:close() end,
}
