-- Checks of steps. hocket calls these functions before a step counts as done.
local checks = {}

-- The builder has looked at the ground.
function checks.plot(about)
  if about.text:find "slope" or about.text:find "level" then return true end
  return nil, "the report does not say whether the plot is level or on a slope"
end

return checks
