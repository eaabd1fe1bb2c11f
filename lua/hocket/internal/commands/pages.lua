--- The operation `pages`: the documentation that is compiled into the program, as one text. A form feed and a name stand before
--- each page.
local system = require "hocket.internal.core.system"

return function()
  local text = system.asset "docs.txt"
  if not text then return nil, { code = "not_found", message = "the documentation is in the program hocket alone" } end
  return { text = text }
end
