--- A value as JSON whose members are sorted everywhere: two that say the same are the same text, in whatever order each says it.
local json = require "hocket.json"

---@param value any
---@return string
return function(value)
  return json.encode((json.decode(json.encode(value))))
end
