-- Six buyers side by side, each of whom orders one part. kill.sh kills this run in the middle, and resumes it.
--
--   hocket run examples/kill/shop.lua --model sim --approve order=allow
local hocket = require "hocket"

local parts = { "bolts", "nuts", "screws", "washers", "springs", "hinges" }
local ledger = (os.getenv "SHOP" or ".") .. "/orders"

local order = hocket.tool {
  name = "order", description = "Orders a part.", effects = { "elsewhere" },
  parameters = { type = "object", required = { "part" }, properties = { part = { type = "string" } } },
  run = function(args)
    local file <close> = assert(io.open(ledger, "a"))
    assert(file:write(args.part, "\n"))
    return "ordered: " .. args.part
  end,
}

local buyer = hocket.agent { name = "buyer", prompt = "You order the part that you are asked for, once." }
local clerk = hocket.agent { name = "clerk", prompt = "You list what was ordered." }

local said = hocket.flow.map(parts, function(part)
  return assert(hocket.run(buyer, "Order " .. part, { tools = { order } })).text
end)
return hocket.run(clerk, table.concat(said, "\n"))
