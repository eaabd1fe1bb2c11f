--- HMAC-SHA256 (RFC 2104): a text is from somebody who knows the key.
local system = require "hocket.internal.core.system"

local BLOCK = 64

local function bytes(hex)
  return (hex:gsub("%x%x", function(pair) return string.char(tonumber(pair, 16)) end))
end

local function padded(key, with)
  return (key:gsub(".", function(c) return string.char(c:byte() ~ with) end))
end

---@param key string Bytes.
---@param text string
---@return string mac 32 bytes.
return function(key, text)
  if #key > BLOCK then key = bytes(system.digest(key)) end
  key = key .. ("\0"):rep(BLOCK - #key)
  return bytes(system.digest(padded(key, 0x5c) .. bytes(system.digest(padded(key, 0x36) .. text))))
end
