-- Tells much beside each other, and waits now and then.
local hocket = require "hocket"
local writer = hocket.agent { name = "writer", prompt = "You write." }

local function work(word)
  for i = 1, 3 do
    hocket.flow.map({ "a", "b" }, function(part) hocket.events.emit("note", { text = word .. part .. i }) end)
    if i == 2 then assert(hocket.run(writer, "say " .. word)) end
  end
  return word
end

return table.concat(hocket.flow.map({ "one", "two", "three" }, work), " ")
