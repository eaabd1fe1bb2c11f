--- Base64 (RFC 4648).
local base64 = {}

local letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

local function letter(value)
  return letters:sub(value + 1, value + 1)
end

---@param text string
---@return string
function base64.encode(text)
  local parts = {}
  for i = 1, #text, 3 do
    local a, b, c = text:byte(i, i + 2)
    local bits = a << 16 | (b or 0) << 8 | (c or 0)
    parts[#parts + 1] = letter(bits >> 18) .. letter(bits >> 12 & 63) .. (b and letter(bits >> 6 & 63) or "=") .. (c and letter(bits & 63) or "=")
  end
  return table.concat(parts)
end

--- The form for addresses, without padding.
---@param text string
---@return string
function base64.url(text)
  return (base64.encode(text):gsub("[+/=]", { ["+"] = "-", ["/"] = "_", ["="] = "" }))
end

return base64
