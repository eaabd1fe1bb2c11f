-- A planner breaks a request down, a coordinator has the tasks done: two side by side, one that needs
-- the first, and a branch that fails, whose dependent is skipped while the rest is done.
--
--   hocket run examples/plan/plan.lua "What does a garden party for 20 cost, and what do we have?"
local hocket = require "hocket"

local request = ...
if not request or request == "" then request = "What does a garden party for 20 cost, and what do we have?" end

local price_list = hocket.tool {
  name = "price_list", description = "The price list.", idempotent = true, -- a run that goes on may ask again
  run = function()
    hocket.flow.sleep(0.1)
    return "bread 3.20, cheese 14.00, lemonade 2.50, paper lanterns 9.00"
  end,
}
local storehouse = hocket.tool {
  name = "storehouse", description = "What is in the storehouse.", idempotent = true,
  run = function() return nil, { code = "connect", message = "the storehouse does not answer" } end,
}

local here = debug.getinfo(1, "S").source:match "^@(.*)/" or "."
local team = hocket.agents(here .. "/agents")

local reply, err = hocket.patterns.planner.run {
  request = request, team = team, tools = { prices = { price_list }, stock = { storehouse } },
  retries = 1, backoff = 0.05,
}
if not reply then return nil, err end

local lines = {}
for _, task in ipairs(reply.tasks or {}) do
  lines[#lines + 1] = ("%s (%s): %s after %d attempt%s"):format(task.id, task.specialist, task.status, task.attempts, task.attempts == 1 and "" or "s")
end
return ("%s\n\n---\n%s\n"):format(reply.text, table.concat(lines, "\n"))
