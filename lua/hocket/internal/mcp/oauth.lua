--- OAuth 2.1 for MCP servers: who they are, who gives leave, and tokens.
---
---     401 ──> resource metadata ──> authorization server ──> client id ──> a person's browser ──> code ──> token
---     403 insufficient_scope ──> the same, with more scopes
---
--- PKCE (S256) always; tokens and credentials belong to an issuer, and go to no other; `iss` in the answer is compared
--- where it is there, and demanded where the server has promised it.
local address_check = require "hocket.internal.base.http.address_check"
local digest = require "hocket.internal.base.digest"
local url_encoding = require "hocket.internal.base.http.url_encoding"
local json = require "hocket.json"
local metadata = require "hocket.internal.mcp.oauth_metadata"
local system = require "hocket.internal.core.system"
local failed = system.error

local oauth = {}

local TIMEOUT = 30
--- How often one request may ask for more.
local MAX_TRIES = 3

---@class hocket.McpLogin
---@field url string The server's.
---@field browse fun(url: string, login: hocket.McpLogin): string?, hocket.Error? Shows a person an address; the address that the browser was sent to in the end.
---@field redirect string Where that is.
---@field client? {id: string, secret?: string} Made beforehand.
---@field document? string An address that describes us, and so is our id (client id metadata document).
---@field known table What is kept of this server: issuer, client, tokens, scope.
---@field keep? fun(known: table)
---@field recall? fun(): table? What is kept now: another process may have got new tokens.
local Login = {}
Login.__index = Login

---@param spec {url: string, browse: function, redirect: string, client?: table, document?: string, known?: table, keep?: function}
---@return hocket.McpLogin
function oauth.new(spec)
  spec.known, spec.tries = spec.known or {}, 0
  return setmetatable(spec, Login)
end

local function refuse(message, ...)
  return nil, failed { code = "auth", message = message:format(...) }
end

local function list_has(list, word)
  for _, one in ipairs(type(list) == "table" and list or {}) do
    if one == word then return true end
  end
  return false
end

-- Base64 as addresses have it, without padding.
local function base64url(bytes)
  return (system.base64(bytes):gsub("[+/=]", { ["+"] = "-", ["/"] = "_", ["="] = "" }))
end

-- ---- Who gives leave -----------------------------------------------------------------------

local function find_issuer(self, challenge)
  local resource, err = metadata.resource(self.url, challenge.resource_metadata, self.version)
  if err then return nil, err end
  local issuer = resource and type(resource.authorization_servers) == "table" and resource.authorization_servers[1]
  if not issuer then
    local server = metadata.own(self.url)
    return server, resource or {}
  end
  local server, wrong = metadata.server(issuer, self.url)
  if not server then return nil, wrong end
  return server, resource
end

local function check_server(server)
  if not server.guessed and not list_has(server.code_challenge_methods_supported, "S256") then
    return refuse("the authorization server %s does not say that it takes PKCE (S256): without it a stolen code is a stolen token", server.issuer)
  end
  if type(server.authorization_endpoint) ~= "string" or type(server.token_endpoint) ~= "string" then
    return refuse("the authorization server %s names no places for leave and tokens", tostring(server.issuer))
  end
  return true
end

-- ---- Who we are ----------------------------------------------------------------------------

local function register(self, server)
  local address, refused = address_check.of_server(server.registration_endpoint, self.url, "the place where clients register")
  if not address then return nil, refused end
  local answer, err = address_check.send(address, { timeout = TIMEOUT, headers = { ["content-type"] = "application/json", accept = "application/json" },
    body = json.encode {
      client_name = "hocket", redirect_uris = { self.redirect }, grant_types = { "authorization_code", "refresh_token" },
      response_types = { "code" }, token_endpoint_auth_method = "none", application_type = "native",
    } })
  if not answer then return nil, err end
  local value = json.decode(answer.body)
  if answer.status >= 300 or type(value) ~= "table" or type(value.client_id) ~= "string" then
    return refuse("%s does not register us (HTTP %d): make a client there, and name it with 'oauth: {client_id: …}'", server.issuer, answer.status)
  end
  return { id = value.client_id, secret = type(value.client_secret) == "string" and value.client_secret or nil, method = value.token_endpoint_auth_method, registered = true }
end

-- Made beforehand, described at an address, known from before, or made now: in this order.
local function client_for(self, server)
  if self.client then return self.client end
  if self.document and server.client_id_metadata_document_supported == true then return { id = self.document, method = "none" } end
  local known = self.known
  if known.client and known.issuer == server.issuer then return known.client end
  if type(server.registration_endpoint) == "string" then return register(self, server) end
  return refuse("%s registers nobody by itself: make a client there, and name it with 'oauth: {client_id: …}'", server.issuer)
end

-- How a client shows that it is the one: as it was registered, else what the server takes.
local function authenticate(server, client, fields, headers)
  local methods = server.token_endpoint_auth_methods_supported
  local method = client.method
  if client.secret and (method == nil or not method) then
    method = (methods == nil or list_has(methods, "client_secret_basic")) and "client_secret_basic" or "client_secret_post"
  end
  if client.secret and method == "client_secret_basic" then
    headers.authorization = "Basic " .. system.base64(url_encoding.escape(client.id) .. ":" .. url_encoding.escape(client.secret))
    return
  end
  fields[#fields + 1] = { "client_id", client.id }
  if client.secret and method ~= "none" then fields[#fields + 1] = { "client_secret", client.secret } end
end

-- ---- Tokens --------------------------------------------------------------------------------

local function ask_token(self, server, client, fields)
  local address, refused = address_check.of_server(server.token_endpoint, self.url, "the place of tokens")
  if not address then return nil, refused end
  local headers = { ["content-type"] = "application/x-www-form-urlencoded", accept = "application/json" }
  authenticate(server, client, fields, headers)
  local answer, err = address_check.send(address, { timeout = TIMEOUT, headers = headers, body = url_encoding.write(fields) })
  if not answer then return nil, err end
  local value = json.decode(answer.body)
  if answer.status ~= 200 or type(value) ~= "table" or type(value.access_token) ~= "string" then
    local why = type(value) == "table" and (value.error_description or value.error) or ("HTTP %d"):format(answer.status)
    return nil, failed { code = "auth", message = ("%s gives no token: %s"):format(server.issuer, tostring(why)), oauth = type(value) == "table" and value.error or nil }
  end
  if value.token_type ~= nil and tostring(value.token_type):lower() ~= "bearer" then
    return nil, failed { code = "auth", message = ("%s gives a token of the type %s: only bearer is known"):format(server.issuer, tostring(value.token_type):sub(1, 40)) }
  end
  return value
end

local function take(self, server, client, scope, value)
  local known = self.known
  known.issuer, known.client = server.issuer, client
  known.token_endpoint, known.methods = server.token_endpoint, server.token_endpoint_auth_methods_supported
  known.access_token, known.refresh_token = value.access_token, value.refresh_token or known.refresh_token
  known.scope = type(value.scope) == "string" and value.scope or scope
  known.expires = type(value.expires_in) == "number" and os.time() + value.expires_in or nil
  if self.keep then self.keep(known) end
  return known.access_token
end

-- Another process may have been faster: a refresh token is mostly good for one use.
local function recalled(self)
  local now = self.recall and self.recall()
  if not now or not now.access_token or now.access_token == self.known.access_token then return nil end
  self.known = now
  return now.access_token
end

local function refresh_alone(self)
  local fresh = recalled(self)
  if fresh then return fresh end
  local known = self.known
  if not known.refresh_token or not known.token_endpoint then return nil end
  local server = { issuer = known.issuer, token_endpoint = known.token_endpoint, token_endpoint_auth_methods_supported = known.methods }
  local value = ask_token(self, server, known.client, { { "grant_type", "refresh_token" }, { "refresh_token", known.refresh_token }, { "resource", known.resource } })
  if not value then return recalled(self) end
  return take(self, server, known.client, known.scope, value)
end

local function refresh(self)
  if not self.alone then return refresh_alone(self) end
  return self.alone(function() return refresh_alone(self) end)
end

-- ---- Leave ---------------------------------------------------------------------------------

-- What is asked for: what the server has said that it needs, else everything that there is, else nothing is said.
local function scope_for(self, challenge, resource, server)
  local scope = challenge.scope
  if not scope and type(resource.scopes_supported) == "table" and #resource.scopes_supported > 0 then scope = table.concat(resource.scopes_supported, " ") end
  if challenge.error == "insufficient_scope" and self.known.scope then
    local seen, all = {}, {}
    for word in (self.known.scope .. " " .. (scope or "")):gmatch "%S+" do
      if not seen[word] then seen[word], all[#all + 1] = true, word end
    end
    scope = table.concat(all, " ")
  end
  if list_has(server.scopes_supported, "offline_access") and not (" " .. (scope or "") .. " "):find(" offline_access ", 1, true) then
    scope = (scope and scope .. " " or "") .. "offline_access"
  end
  return scope
end

-- What came back with the browser is ours, and of this server.
local function check_answer(server, answer, state)
  if answer.state ~= state then return refuse("the answer of the browser is none to our question: its 'state' is another") end
  if answer.iss ~= nil and answer.iss ~= server.issuer then return refuse("the answer is of the issuer %s, and not of %s", answer.iss, server.issuer) end
  if answer.iss == nil and server.authorization_response_iss_parameter_supported == true then
    return refuse("the answer does not say whose it is, though %s has promised that", server.issuer)
  end
  if answer.error then return refuse("%s refuses: %s", server.issuer, answer.error_description or answer.error) end
  if not answer.code then return refuse("the answer of the browser has no code") end
  return answer.code
end

local function authorize(self, server, client, scope)
  local verifier, state = system.token(64), system.token(32)
  local challenge = base64url(digest.of(verifier))
  local place, refused = address_check.of_server(server.authorization_endpoint, self.url, "the place where a person gives leave")
  if not place then return nil, refused end
  local url = server.authorization_endpoint .. (server.authorization_endpoint:find("?", 1, true) and "&" or "?") .. url_encoding.write {
    { "response_type", "code" }, { "client_id", client.id }, { "redirect_uri", self.redirect }, { "code_challenge", challenge },
    { "code_challenge_method", "S256" }, { "state", state }, { "scope", scope }, { "resource", self.known.resource },
  }
  local back, err = self.browse(url, self)
  if not back then return nil, err end
  local code, wrong = check_answer(server, url_encoding.read(back:match "%?([^#]*)" or ""), state)
  if not code then return nil, wrong end
  return ask_token(self, server, client, { { "grant_type", "authorization_code" }, { "code", code }, { "redirect_uri", self.redirect },
    { "code_verifier", verifier }, { "resource", self.known.resource } })
end

-- Credentials of one issuer are nothing to another.
local function forget_other(self, server)
  if self.known.issuer and self.known.issuer ~= server.issuer then
    if self.client then return refuse("the server has changed to the issuer %s: the client that was made for %s cannot be used there", server.issuer, self.known.issuer) end
    self.known.client, self.known.access_token, self.known.refresh_token, self.known.scope = nil, nil, nil, nil
  end
  return true
end

local function log_in(self, challenge)
  local server, resource = find_issuer(self, challenge)
  if not server then return nil, resource end
  local ok, wrong = check_server(server)
  if not ok then return nil, wrong end
  ok, wrong = forget_other(self, server)
  if not ok then return nil, wrong end
  self.known.resource = resource.resource
  local client, err = client_for(self, server)
  if not client then return nil, err end
  local scope = scope_for(self, challenge, resource, server)
  local value
  value, err = authorize(self, server, client, scope)
  if not value then return nil, err end
  return take(self, server, client, scope, value)
end

--- The token to begin with, if one is known; refreshed where it is over.
---@async
---@return string?
function Login:token()
  local known = self.known
  if known.access_token and known.expires and known.expires <= os.time() + 30 then return refresh(self) or known.access_token end
  return known.access_token
end

--- A server has refused: gets a token for it.
---@async
---@param status integer
---@param header? string WWW-Authenticate
---@return string? token
---@return hocket.Error?
function Login:answer(status, header)
  local challenge = metadata.challenge(header)
  if status == 403 and challenge.error ~= "insufficient_scope" then return refuse("%s refuses us (HTTP 403)", self.url) end
  self.tries = self.tries + 1
  if self.tries > MAX_TRIES then return refuse("%s asks for leave again and again", self.url) end
  if status == 401 and self.known.access_token then
    local token = refresh(self)
    if token then return token end
  end
  return log_in(self, challenge)
end

--- A request went through: the next refusal is a new one.
function Login:went_well()
  self.tries = 0
end

return oauth
