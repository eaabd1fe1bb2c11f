-- What every guest wants to eat, and a menu of that. A plan as any other: hocket run examples/embed/feast/workflows/feast.lua '{"guests": ["Ana"]}'
local workflow = require "hocket.workflow"

return workflow {
  description = "Asks the guests, and plans a menu",
  input = { type = "object", required = { "guests" }, properties = { guests = { type = "array", maxItems = 12, items = { type = "string" } } } },
  output = { type = "object", required = { "menu" }, properties = { menu = { type = "string" } } },
  run = function(input)
    workflow.phase("ask", #input.guests)
    local wishes, errors = workflow.map(input.guests, function(guest)
      local wish, err = workflow.agent { prompt = "You are a guest of the inn. Say in three words what you want to eat.", input = guest }
      if wish then workflow.report(guest .. ": " .. wish) end
      return wish, err
    end, { limit = 1 })
    local failed = next(errors)
    if failed then return nil, errors[failed] end
    workflow.phase "menu"
    local menu, err = workflow.agent { prompt = "You are the cook. Make one menu of the wishes.", input = table.concat(wishes, "; ") }
    if not menu then return nil, err end
    return { menu = menu }
  end,
}
