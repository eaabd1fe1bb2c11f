--- Bytes that stay the same, as clients ask for them: not again where they have them (ETag), a part (Range), packed (gzip).
---
---     return content.send(request, response, { bytes = text, gzip = packed, type = "text/css", etag = hash })
---
--- What is packed was packed by whoever made it: nothing is compressed here.
local content = {}

---@class hocket.Content
---@field bytes? string nil: there is only the packed form, which goes to all clients that do not refuse it.
---@field gzip? string The same, packed.
---@field type string
---@field etag string Letters and digits that are others when the bytes are.
---@field cache? string Of the header Cache-Control; "no-cache" otherwise: it is asked each time whether it has changed.
---@field headers? table<string, string>

-- Whether one of the tags in a header is this; a weak one is as good for that.
local function lists(header, tag)
  if not header then return false end
  if header:match "^%s*%*%s*$" then return true end
  for one in header:gmatch '"([^"]*)"' do
    if one == tag then return true end
  end
  return false
end

-- Whether a client takes gzip: it says so, and does not say that it is worth nothing.
local function takes_gzip(header)
  for word, rest in (header or ""):lower():gmatch "([%w*-]+)([^,]*)" do
    if word == "gzip" or word == "x-gzip" then return tonumber(rest:match "q=([%d.]+)" or 1) > 0 end
  end
  return false
end

-- Whether a client says that it takes some, and gzip is none of them: who says nothing takes any (RFC 9110, 12.5.3).
local function refuses_gzip(header)
  if not header then return false end
  local all = header:lower():match "%*([^,]*)"
  return not takes_gzip(header) and not (all and tonumber(all:match "q=([%d.]+)" or 1) > 0 and not header:lower():find "gzip")
end

-- First and last byte of a single range, counted from 0. nil: it is to be ignored; false: there are none of them.
local function read_range(header, size)
  local from, to = (header or ""):match "^bytes=(%d*)%-(%d*)$"
  if not from or from == "" and to == "" or #from > 15 or #to > 15 then return nil end
  if from == "" then
    local n = tonumber(to)
    if n == 0 or size == 0 then return false end
    return math.max(0, size - n), size - 1
  end
  from, to = tonumber(from), tonumber(to ~= "" and to or size - 1)
  if to < from and header:match "%-%d" then return nil end
  if from >= size then return false end
  return from, math.min(to, size - 1)
end

--- Answers with them.
---@param request hocket.Request
---@param response hocket.Response
---@param what hocket.Content
---@return boolean?
---@return hocket.Error?
function content.send(request, response, what)
  local packed = what.gzip and takes_gzip(request.headers["accept-encoding"]) and not request.headers.range
  if not what.bytes then packed = not refuses_gzip(request.headers["accept-encoding"]) end
  local tag = packed and what.etag .. "-gzip" or what.etag
  local headers = { etag = '"' .. tag .. '"', ["cache-control"] = what.cache or "no-cache", ["x-content-type-options"] = "nosniff", ["accept-ranges"] = what.bytes and "bytes" or "none" }
  for name, value in pairs(what.headers or {}) do headers[name] = value end
  if what.gzip then headers.vary = "Accept-Encoding" end
  if lists(request.headers["if-none-match"], tag) then return response:send(304, "", headers) end
  headers["content-type"] = what.type
  if packed then
    headers["content-encoding"] = "gzip"
    return response:send(200, what.gzip, headers)
  elseif not what.bytes then
    return response:fail({ code = "unsupported", status = 406, message = "this is there packed with gzip alone, which Accept-Encoding refuses" }, { vary = "Accept-Encoding" })
  end
  local wanted = request.headers["if-range"]
  local from, to
  if request.method == "GET" and (not wanted or wanted == headers.etag) then from, to = read_range(request.headers.range, #what.bytes) end
  if from == false then
    headers["content-range"] = ("bytes */%d"):format(#what.bytes)
    return response:send(416, "", headers)
  elseif from then
    headers["content-range"] = ("bytes %d-%d/%d"):format(from, to, #what.bytes)
    return response:send(206, what.bytes:sub(from + 1, to + 1), headers)
  end
  return response:send(200, what.bytes, headers)
end

return content
