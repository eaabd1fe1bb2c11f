--- Addresses that a stranger names: a model, a page, an MCP server, a client. Whatever fetches such a one asks here, so that no
--- address is taken by one caller and refused by another.
---
---     read        what an address of the web is at all: http or https, no user name, no control characters
---     request     fetches: public addresses alone, whatever a name resolves to; redirects within the same place alone
---     of_server   one that a server names, such as its authorization server: https, or http on this machine's loopback; not
---                 public only where the server itself is, or where the operator has named the host (HOCKET_WEB_ALLOW)
---
--- That an address is public is checked where it is connected to (net/address.h); what is read here of a host's name only
--- ever lets through what a person has named.
local failed = require("hocket.internal.core.system").error
local http = require "hocket.http"
local system = require "hocket.internal.core.system"
local web = require "hocket.internal.core.web"

local check = {}

local MAX_REDIRECTS = 3

---@class hocket.Address
---@field url string As it is going to be asked for.
---@field scheme string
---@field host string
---@field port string
---@field not_public? boolean A person has named this host, or the server that names it is where it is.

--- Reads an address.
---@param reference any
---@param base? string
---@return hocket.Address?
---@return string? wrong
function check.read(reference, base)
  if type(reference) ~= "string" then return nil, "that is no address of the web" end
  if reference:find "[%c\127]" then return nil, "an address has no control characters" end
  local address, err = web.resolve(reference, base)
  if not address then return nil, err.message end
  if address.scheme ~= "http" and address.scheme ~= "https" then
    return nil, ("only http and https can be fetched, not %s"):format(address.scheme)
  elseif address.user then
    return nil, "an address with a user name cannot be fetched"
  end
  return address
end

--- Whether the operator has named its host: HOCKET_WEB_ALLOW=wiki.local,10.0.0.7:8080
---@param address hocket.Address
function check.is_named(address)
  local host = address.host:lower()
  for one in (system.getenv "HOCKET_WEB_ALLOW" or ""):lower():gmatch "[^,%s]+" do
    if one == host or one == host .. ":" .. address.port then return true end
  end
  return false
end

--- The same place, or the same over TLS. What was allowed is one place: another is another question.
---@param from hocket.Address
---@param to hocket.Address
function check.is_same_place(from, to)
  if from.host:lower() ~= to.host:lower() then return false end
  return from.scheme == to.scheme and from.port == to.port or from.port == "80" and to.port == "443" and to.scheme == "https"
end

local function is_loopback(host)
  return host == "localhost" or host:find "^127%.%d+%.%d+%.%d+$" ~= nil or host == "[::1]"
end

local function is_private(host)
  local second = tonumber(host:match "^172%.(%d+)%.%d+%.%d+$")
  return is_loopback(host) or host:find "^10%.%d+%.%d+%.%d+$" ~= nil or host:find "^192%.168%.%d+%.%d+$" ~= nil or second ~= nil and second >= 16 and second <= 31
    or host:find "^%[f[cd]%x%x:" ~= nil
end

--- Reads an address that a server names.
---@param reference any
---@param server string The server's own address, which a person has named.
---@param what string What it is for, in an error.
---@return hocket.Address?
---@return hocket.Error?
function check.of_server(reference, server, what)
  local own = assert(web.resolve(server))
  local address, wrong = check.read(reference)
  if not address then return nil, failed { code = "denied", message = ("%s names '%s' as %s: %s"):format(own.host, tostring(reference):sub(1, 200), what, wrong) } end
  local host = address.host:lower()
  if address.scheme ~= "https" and not is_loopback(host) then
    return nil, failed { code = "denied", message = ("%s names %s as %s: it has to be https"):format(own.host, address.url, what) }
  end
  local here = own.host:lower()
  address.not_public = host == here or is_private(here) and is_private(host) or nil
  if not address.not_public and (is_loopback(host) or web.is_public(host) == false) and not check.is_named(address) then
    return nil, failed { code = "denied", message = ("%s names %s as %s: that is no public address (HOCKET_WEB_ALLOW=%s allows it)"):format(own.host, address.url, what, host) }
  end
  return address
end

local redirects = { [301] = true, [302] = true, [303] = true, [307] = true, [308] = true }

--- Where an answer leads to; nil where it leads nowhere.
---@param answer {status: integer, headers: table<string, string>}
---@return string?
function check.location(answer)
  return redirects[answer.status] and answer.headers.location or nil
end

--- Makes one request; no redirect is followed.
---@async
---@param address hocket.Address
---@param spec table As of hocket.http.request, without the address.
---@return table? answer
---@return hocket.Error?
function check.send(address, spec)
  spec.url, spec.redirects, spec.public = address.url, nil, not address.not_public and not check.is_named(address)
  local answer, err = http.request(spec)
  if not answer and err.code == "denied" then
    return nil, failed { code = "denied", message = ("%s is no public address, and was not allowed. Nothing was sent to it."):format(address.host) }
  end
  return answer, err
end

--- Gets what is at an address, also over redirects within the same place.
---@async
---@param address hocket.Address
---@param spec table
---@return table? answer
---@return hocket.Error?
function check.get(address, spec)
  for _ = 0, MAX_REDIRECTS do
    local answer, err = check.send(address, spec)
    local location = answer and check.location(answer)
    if not location then return answer, err end
    local next_one, wrong = check.read(location, address.url)
    if not next_one then return nil, failed { code = "denied", message = ("%s leads to what is not followed: %s"):format(address.url, wrong) } end
    if not check.is_same_place(address, next_one) then
      return nil, failed { code = "denied", message = ("%s leads to another place, %s, which is not followed"):format(address.url, next_one.host) }
    end
    next_one.not_public = address.not_public
    address = next_one
  end
  return nil, failed { code = "denied", message = ("%s leads on and on"):format(address.url) }
end

return check
