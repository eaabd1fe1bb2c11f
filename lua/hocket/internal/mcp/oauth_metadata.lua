--- What a protected server and its authorization server say of themselves (RFC 9728, RFC 8414, OpenID Connect Discovery).
local address_check = require "hocket.internal.base.http.address_check"
local json = require "hocket.json"
local failed = require("hocket.internal.core.system").error

local metadata = {}

local MAX, TIMEOUT = 1 << 20, 20

local function split(url)
  local origin, path = url:match "^(https?://[^/?#]+)([^?#]*)"
  return origin, path and path:gsub("/+$", "") or ""
end

-- What stands at an address that a server names, or that follows from one.
local function get(url, by, version)
  local address, refused = address_check.of_server(url, by, "a place of metadata")
  if not address then return nil, refused end
  local answer, err = address_check.get(address, { timeout = TIMEOUT, max_body = MAX, headers = { accept = "application/json", ["mcp-protocol-version"] = version } })
  if not answer then return nil, err end
  if answer.status ~= 200 then return nil, failed { code = "http", http_status = answer.status, message = ("%s: HTTP %d"):format(url, answer.status) } end
  local value = json.decode(answer.body)
  if type(value) ~= "table" then return nil, failed { code = "server", message = ("%s: is no JSON object"):format(url) } end
  return value
end

local function first_of(urls, by, version, check)
  local last
  for _, url in ipairs(urls) do
    local value, err = get(url, by, version)
    local ok, wrong = value ~= nil, err
    if value and check then ok, wrong = check(value, url) end
    if ok then return value end
    if value and wrong then return nil, wrong end
    last = err
  end
  return nil, last
end

--- The parts of a WWW-Authenticate header for the scheme Bearer.
---@param header? string
---@return table<string, string>
function metadata.challenge(header)
  local parts = {}
  local bearer = (header or ""):match "[Bb][Ee][Aa][Rr][Ee][Rr]%s+(.*)$" or ""
  for name, value in bearer:gmatch '([%w_]+)%s*=%s*"([^"]*)"' do parts[name:lower()] = value end
  for name, value in bearer:gmatch "([%w_]+)%s*=%s*([^%s,\"]+)" do parts[name:lower()] = parts[name:lower()] or value end
  return parts
end

-- The same place, or one above it.
local function covers(resource, url)
  local a, a_path = split(resource)
  local b, b_path = split(url)
  if not a or a:lower() ~= (b or ""):lower() then return false end
  return a_path == b_path or b_path:sub(1, #a_path + 1) == a_path .. "/" or a_path == ""
end

--- What the server is a resource of. nil without an error: it does not say (servers of 2025-03-26).
---@async
---@param url string The server's.
---@param said? string The address that it named when it refused.
---@param version? string
---@return {resource: string, authorization_servers: string[], scopes_supported?: string[]}?
---@return hocket.Error?
function metadata.resource(url, said, version)
  local origin, path = split(url)
  local urls = said and { said } or { origin .. "/.well-known/oauth-protected-resource" .. path, origin .. "/.well-known/oauth-protected-resource" }
  local value, err = first_of(urls, url, version)
  if not value then
    if err and err.code == "http" then return nil end
    return nil, err
  end
  if type(value.resource) ~= "string" or not covers(value.resource, url) then
    return nil, failed { code = "auth", message = ("%s says that it protects %s, which is another server"):format(url, tostring(value.resource)) }
  end
  return value
end

-- The document has to be of that issuer, exactly: otherwise another server speaks in its name.
local function of_issuer(issuer)
  return function(value, url)
    if value.issuer == issuer then return true end
    return nil, failed { code = "auth", message = ("%s is of the issuer %s, and not of %s"):format(url, tostring(value.issuer), issuer) }
  end
end

--- What an authorization server can.
---@async
---@param issuer string
---@param by string The server that names it.
---@return table? metadata
---@return hocket.Error?
function metadata.server(issuer, by)
  local address, refused = address_check.of_server(issuer, by, "its authorization server")
  if not address then return nil, refused end
  local origin, path = split(issuer)
  if not origin then return nil, failed { code = "auth", message = ("'%s' is no address of an authorization server"):format(issuer) } end
  local urls = path == "" and { origin .. "/.well-known/oauth-authorization-server", origin .. "/.well-known/openid-configuration" } or {
    origin .. "/.well-known/oauth-authorization-server" .. path, origin .. "/.well-known/openid-configuration" .. path,
    origin .. path .. "/.well-known/openid-configuration",
  }
  return first_of(urls, by, nil, of_issuer(issuer))
end

--- The same of a server of 2025-03-26, which is its own: what it says, or the places that were fixed then.
---@async
---@param url string
---@return table metadata
function metadata.own(url)
  local origin = split(url)
  local value = get(origin .. "/.well-known/oauth-authorization-server", url)
  if value then
    value.issuer = value.issuer or origin
    return value
  end
  return { issuer = origin, authorization_endpoint = origin .. "/authorize", token_endpoint = origin .. "/token",
    registration_endpoint = origin .. "/register", code_challenge_methods_supported = { "S256" }, guessed = true }
end

return metadata
