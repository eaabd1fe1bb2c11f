--- Who is let in over HTTP: requests that name this server (Host), that come from no page of another origin (Origin), and that
--- bring the token. So a page in a browser gets here neither by a name that it has made point to this machine nor by its user's rights.
local admission = {}

local own_names = { ["localhost"] = true, ["127.0.0.1"] = true, ["[::1]"] = true }

local function without_port(host)
  return (host:lower():gsub(":%d+$", ""))
end

--- Whether a Host header, or the host of an origin, is this machine as it calls itself.
---@param host string
---@return boolean
function admission.is_own(host)
  return own_names[without_port(host)] ~= nil
end

--- Compares in a time that says nothing of where two texts differ.
---@param a string
---@param b string
---@return boolean
function admission.same(a, b)
  if #a ~= #b then return false end
  local differs = 0
  for i = 1, #a do differs = differs | (a:byte(i) ~ b:byte(i)) end
  return differs == 0
end

local function is_named(hosts, host)
  return hosts ~= nil and hosts[without_port(host)] == true
end

--- Whether this server could have served pages of the host over the scheme. A server with TLS serves none over http. A server
--- without TLS serves none over https, unless a proxy in front of it speaks TLS under another name than this machine's own.
---@param scheme string
---@param host string
---@param tls? boolean
---@return boolean
function admission.speaks(scheme, host, tls)
  if tls then return scheme == "https" end
  return scheme == "http" or not admission.is_own(host)
end

--- Whether a request names this server.
---@param headers table<string, string>
---@param hosts? table<string, true> Names beside those of this machine, in lower case.
---@return boolean
function admission.host(headers, hosts)
  local host = headers.host
  return host ~= nil and (admission.is_own(host) or is_named(hosts, host))
end

--- Whether a request comes from no page, or from one of this server's, or of a named origin.
---@param headers table<string, string>
---@param hosts? table<string, true>
---@param origins? table<string, true> As browsers write them, "https://chat.example.org".
---@return boolean
function admission.origin(headers, hosts, origins)
  local origin = headers.origin
  if not origin or origins and origins[origin:lower()] then return true end
  local scheme, host = origin:lower():match "^(https?)://(.+)$"
  return host ~= nil and (admission.is_own(host) or is_named(hosts, host)) and admission.speaks(scheme, host)
end

--- The token that a request brings: `Authorization: Bearer …`, or `X-Api-Key`.
---@param headers table<string, string>
---@return string?
function admission.brought(headers)
  local given = headers.authorization
  local kind, token = (given or ""):match "^(%a+) +(%S+)%s*$"
  if kind and kind:lower() == "bearer" then return token end
  return not given and headers["x-api-key"] or nil
end

--- Whether a request brings the token; true where none is wanted.
---@param headers table<string, string>
---@param token? string
---@return boolean
function admission.token(headers, token)
  if not token then return true end
  local brought = admission.brought(headers)
  return brought ~= nil and admission.same(brought, token)
end

return admission
