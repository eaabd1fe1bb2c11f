--- SHA-256 as bytes, and HMAC-SHA256 (RFC 2104): a text is from somebody who knows the key.
local system = require "hocket.internal.core.system"

local digest = {}

local BLOCK = 64

--- 32 bytes, which core.system gives as digits.
---@param text string
---@return string
function digest.of(text)
  return (system.digest(text):gsub("%x%x", function(pair) return string.char(tonumber(pair, 16)) end))
end

local function padded(key, with)
  return (key:gsub(".", function(c) return string.char(c:byte() ~ with) end))
end

---@param key string Bytes.
---@param text string
---@return string mac 32 bytes.
function digest.hmac(key, text)
  if #key > BLOCK then key = digest.of(key) end
  key = key .. ("\0"):rep(BLOCK - #key)
  return digest.of(padded(key, 0x5c) .. digest.of(padded(key, 0x36) .. text))
end

return digest
