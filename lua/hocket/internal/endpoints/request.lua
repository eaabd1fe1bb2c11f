--- One request, as handlers see it. All of it is a stranger's.
local url_encoding = require "hocket.internal.base.http.url_encoding"
local json = require "hocket.json"

local request = {}

---@class hocket.Request
---@field id integer
---@field method string
---@field path string Without its query, as sent.
---@field query table<string, string> Of several values with one name the last.
---@field params table<string, string> What stands in the path where the router has a name.
---@field headers table<string, string> Names in lower case.
---@field body string
local Request = {}
Request.__index = Request

---@param http table As the server in C gives it.
---@return hocket.Request
function request.new(http)
  local path, query = http.path:match "^([^?]*)%??(.*)$"
  http.target, http.path, http.query, http.params = http.path, path, query ~= "" and url_encoding.read(query, true) or {}, {}
  return setmetatable(http, Request)
end

--- The body, which has to be JSON and to say so: a page of another origin cannot send that unasked.
---@return table? object
---@return hocket.Error? `media_type`, or `parse` where it is no JSON object.
function Request:json()
  local kind = (self.headers["content-type"] or ""):lower()
  if not (kind:find "^application/json" or kind:find "^application/[%w.-]+%+json") then
    return nil, { code = "media_type", message = "the body has to be JSON, with Content-Type: application/json" }
  end
  local value, err = json.decode(self.body, true)
  if value == nil then return nil, { code = "parse", message = "the body is no JSON: " .. err.message } end
  if type(value) ~= "table" or json.is_array(value) then return nil, { code = "parse", message = "the body has to be one JSON object" } end
  return value
end

return request
