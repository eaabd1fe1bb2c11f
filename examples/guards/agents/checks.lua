-- The guards that clerk.md names. A text that is returned is an objection.
local checks = {}

function checks.on_topic(about)
  if about.text:lower():find "password" then return "the clerk is not asked for passwords" end
end

function checks.no_numbers(about)
  if about.text:find "%d%d%d%d%d%d%d%d" then return "the answer has the number of an account" end
end

return checks
