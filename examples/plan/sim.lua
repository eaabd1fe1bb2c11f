-- The scripted model of the plan example: it plays the planner and the three specialists.
local json = require "hocket.json"

local plan = json.encode {
  type = "task", execution_mode = "parallel",
  tasks = {
    { id = "prices", specialist = "prices", description = "Look up bread, cheese, lemonade and lanterns", active_form = "Looking up prices", context = "A garden party for 20" },
    { id = "stock", specialist = "stock", description = "See which lanterns and benches we have", active_form = "Looking into the storehouse" },
    { id = "total", specialist = "sums", description = "Add up the party for 20", active_form = "Adding up", context = "4 breads, 2 cheeses, 20 lemonades, 3 lanterns", depends_on = { "prices" } },
    { id = "missing", specialist = "sums", description = "Work out which lanterns and benches are missing", active_form = "Comparing", depends_on = json.array { "stock" } },
  },
}

local function specialist(request)
  if request.system:find("storehouse", 1, true) then
    if request.last.role == "user" then return { calls = { { name = "storehouse" } } } end
    return { text = "FAILED: the storehouse does not answer." }
  elseif request.tools.price_list then
    if request.last.role == "user" then return { calls = { { name = "price_list" } } } end
    return { text = "Found all four: " .. request.last.text }
  end
  local bread, cheese, lemonade, lantern = request.last.text:match "bread ([%d.]+), cheese ([%d.]+), lemonade ([%d.]+), paper lanterns ([%d.]+)"
  if not bread then return { text = "There are no figures to add up." } end
  return { text = ("4 breads, 2 cheeses, 20 lemonades and 3 lanterns make %.2f."):format(4 * bread + 2 * cheese + 20 * lemonade + 3 * lantern) }
end

return function(request)
  if request.system:find("You plan; you never do the work yourself", 1, true) then
    if request.last.text:lower():find "^%s*hello" then return '{"type":"conversation","response":"Hello! Tell me what to plan."}' end
    return { text = plan, latency = 0.1 }
  end
  return specialist(request)
end
