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

local values = {}
for i = 1, #letters do values[letters:byte(i)] = i - 1 end

--- The bytes that a text stands for; nil where it is none.
---@param text string
---@return string?
function base64.decode(text)
  local body = text:match "^([%w+/]*)=?=?$"
  if not body or #text % 4 ~= 0 or #body % 4 == 1 then return nil end
  local parts = {}
  for i = 1, #body, 4 do
    local a, b, c, d = body:byte(i, i + 3)
    local bits = values[a] << 18 | values[b] << 12 | (c and values[c] or 0) << 6 | (d and values[d] or 0)
    parts[#parts + 1] = string.char(bits >> 16, bits >> 8 & 255, bits & 255):sub(1, d and 3 or c and 2 or 1)
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
