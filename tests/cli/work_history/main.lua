-- A run of which each call leaves a line behind, in a file outside of all that is kept: who has called what. What must not
-- be done twice is there at most once, whatever becomes of the process; what may is there at least once.
local hocket = require "hocket"
local no, witness = (...):match "^(%d+) (.+)$"

-- Whoever finds the file WITNESS.die takes it away, and ends with all that it does.
local function leave(line)
  local f <close> = assert(io.open(witness, "a"))
  assert(f:write(no, " ", line, "\n")) -- one write, behind what others have written
  f:flush()
  if os.rename(witness .. ".die", witness .. ".died") then os.execute "kill -9 $PPID" end
end

-- Where the process may be ended.
local function rest(seconds) hocket.flow.sleep(seconds) end

local parameters = { type = "object", properties = { n = { type = "integer" } }, required = { "n" } }
local pay = hocket.tool { name = "pay", description = "Pays.", parameters = parameters, run = function(args)
  leave("once tool" .. args.n)
  rest(0.1)
  return "paid " .. args.n
end }
local look = hocket.tool { name = "look", description = "Looks.", parameters = parameters, idempotent = true, run = function(args)
  leave("again look" .. args.n)
  rest(0.1)
  return "seen " .. args.n
end }

local said = {}
for i = 1, 3 do
  local paid, err = hocket.step("pay" .. i, function()
    leave("once step" .. i)
    rest(0.1)
    return "paid"
  end)
  said[i] = ("step%d=%s"):format(i, paid or err.code)
  rest(0.25)
end
local answer = assert(hocket.run(hocket.agent { name = "clerk", description = "Pays.", prompt = "You pay, and look at it.", tools = { pay, look } }, "Pay"))
assert(hocket.step("end", function() leave "again end" return true end, { idempotent = true }))
return table.concat(said, " ") .. " " .. answer.text
