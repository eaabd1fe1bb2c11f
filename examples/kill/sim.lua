-- The scripted model of the shop. It notes each call in $SHOP/asked and each answer in $SHOP/answered. The last three
-- buyers get their first answer once $SHOP/go is there: so long they are in flight.
local flow = require "hocket.flow"

local held = { washers = true, springs = true, hinges = true }
local shop = os.getenv "SHOP"

local function note(name, line)
  local file <close> = shop and io.open(shop .. "/" .. name, "a")
  if file then file:write(line, "\n") end
end

local function may_go()
  if not shop then return true end
  local file <close> = io.open(shop .. "/go")
  return file ~= nil
end

local function answer(request, part)
  if not part then return { text = "Ordered:\n" .. request.last.text } end
  if request.turn == 1 then
    while held[part] and not may_go() do flow.sleep(0.02) end
    return { calls = { { name = "order", arguments = { part = part } } } }
  end
  return { text = "I have " .. request.last.text }
end

return function(request)
  local part = request.messages[1].text:match "^Order (%a+)$"
  local call = ("%s %d"):format(part or "clerk", request.turn)
  note("asked", call)
  local made = answer(request, part)
  note("answered", call)
  return made
end
