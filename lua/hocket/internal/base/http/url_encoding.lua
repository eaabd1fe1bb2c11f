--- Names and values as they stand in addresses and forms (application/x-www-form-urlencoded).
local url_encoding = {}

---@param text string
---@return string
function url_encoding.escape(text)
  return (text:gsub("[^%w%-%._~]", function(c) return ("%%%02X"):format(c:byte()) end))
end

--- What stands in an address as it was before it was escaped.
---@param text string
---@return string
function url_encoding.unescape(text)
  return (text:gsub("%%(%x%x)", function(hex) return string.char(tonumber(hex, 16)) end))
end

local function plain(text)
  return url_encoding.unescape((text:gsub("+", " ")))
end

--- Those of a list of pairs that have a value.
---@param pairs_ {[1]: string, [2]: string?}[]
---@return string
function url_encoding.write(pairs_)
  local parts = {}
  for _, pair in ipairs(pairs_) do
    if pair[2] ~= nil then parts[#parts + 1] = url_encoding.escape(pair[1]) .. "=" .. url_encoding.escape(pair[2]) end
  end
  return table.concat(parts, "&")
end

--- The values by name; of several the first, or the last.
---@param text string
---@param last? boolean
---@return table<string, string>
function url_encoding.read(text, last)
  local values = {}
  for part in text:gmatch "[^&]+" do
    local name, value = part:match "^([^=]*)=?(.*)$"
    name = plain(name)
    if last or values[name] == nil then values[name] = plain(value) end
  end
  return values
end

return url_encoding
