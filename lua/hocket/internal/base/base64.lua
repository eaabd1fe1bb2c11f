--- Base64 (RFC 4648).
local system = require "hocket.internal.core.system"

local base64 = {}

---@param text string
---@return string
base64.encode = system.base64

--- nil: that is none.
---@param text string
---@return string? bytes
base64.decode = system.unbase64

--- The form for addresses, without padding.
---@param text string
---@return string
function base64.url(text)
  return (base64.encode(text):gsub("[+/=]", { ["+"] = "-", ["/"] = "_", ["="] = "" }))
end

return base64
