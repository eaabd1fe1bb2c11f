-- What the shop's handoffs go by.
local rules = {}

--- Claims need the number of an order.
function rules.has_number(about)
  return about.request:find "%d%d%d%d" ~= nil
end

--- The department for claims gets the number and what the desk has found out, and none of the customer's words.
function rules.facts(about)
  return ("Order %s. %s"):format(about.request:match "%d%d%d%d", about.response)
end

return rules
