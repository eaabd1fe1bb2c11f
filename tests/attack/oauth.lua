--- Addresses that strangers name, at every place that fetches one: what an MCP server says of its authorization server, where it
--- redirects to, where its messages go, what a page leads to, what a client of A2A sends, where a webhook is answered from.
local attack = require "attack"
local a2a = require "hocket.internal.endpoints.a2a.methods"
local address_check = require "hocket.internal.base.http.address_check"
local fiber = require "hocket.internal.core.fiber"
local http_sse = require "hocket.internal.mcp.http_sse"
local json = require "hocket.json"
local listeners = require "hocket.internal.core.server"
local metadata = require "hocket.internal.mcp.oauth_metadata"
local oauth = require "hocket.internal.mcp.oauth"
local webhook = require "hocket.internal.serve.webhook"
local web = require "hocket.internal.tools.web"

local class = attack.class("oauth", true)

-- ---- A server that says what it is told to --------------------------------------------------------------------------------

local seen, answers = {}, {}
local listener = assert(listeners.new { port = 0 })
local base = ("http://127.0.0.1:%d"):format(listener:port())

local serving = fiber.detach(function()
  while true do
    local request = listener:accept()
    if not request then return end
    local path = request.path
    seen[#seen + 1] = request
    local one = answers[path] or { 404, "" }
    listener:respond(request.id, one[1], one[3] or { ["content-type"] = "application/json" }, one[2])
  end
end)
serving:serve()

local function fresh(list)
  seen, answers = {}, list
end

--- What no server names, whoever it is: places of this machine's cloud, of others' networks, other schemes, other people's names.
local places = {
  "http://169.254.169.254/latest/meta-data/", "https://169.254.169.254/", "http://[fe80::1]/", "https://[fe80::1]/x", "http://168.63.129.16/", "https://168.63.129.16/", "https://100.64.0.1/", "https://0.0.0.0/",
  "http://auth.example.org/", "http://8.8.8.8/", "file:///etc/passwd", "ftp://h/x", "gopher://127.0.0.1:1/", "javascript:alert(1)", "https://user@h.example/", "https://user:pw@127.0.0.1/", "https://h.example/\r\nX: y",
  "https://h.example/\0", "", "//", "https://", "data:text/plain,x", "http://metadata.google.internal/", "https://[::ffff:169.254.169.254]/", "http://[::ffff:169.254.169.254]/", "https://2852039166/", "http://0xA9FEA9FE/",
}

local function login(fields)
  local asked = {}
  local one = oauth.new { url = base .. "/mcp", redirect = "http://127.0.0.1/callback", browse = function(url)
    asked[#asked + 1] = url
    local state = url:match "state=([^&]+)"
    return "http://127.0.0.1/callback?code=c&state=" .. state
  end }
  for name, value in pairs(fields or {}) do one[name] = value end
  return one, asked
end

local function server_with(fields)
  local all = { issuer = base, authorization_endpoint = base .. "/authorize", token_endpoint = base .. "/token", registration_endpoint = base .. "/register", code_challenge_methods_supported = { "S256" } }
  for name, value in pairs(fields) do all[name] = value end
  return {
    ["/.well-known/oauth-protected-resource/mcp"] = { 200, json.encode { resource = base .. "/mcp", authorization_servers = { base } } },
    ["/.well-known/oauth-authorization-server"] = { 200, json.encode(all) }, ["/token"] = { 200, '{"access_token":"t","token_type":"Bearer"}' }, ["/register"] = { 201, '{"client_id":"c"}' },
  }
end

-- ---- Each place that fetches ------------------------------------------------------------------------------------------------

class:try("that the server is asked at all", function()
  fresh(server_with {})
  local one, asked = login()
  local token, err = one:answer(401, "Bearer")
  if token ~= "t" or #asked ~= 1 then return "no login: " .. tostring(err and err.message) end
end)

for _, place in ipairs(places) do
  class:try(("resource metadata at %q"):format(place), function()
    fresh {}
    local value, err = metadata.resource(base .. "/mcp", place)
    if value or not err or #seen > 0 or err.code ~= "denied" then return "it was asked: " .. tostring(err and err.message) end
  end)
  class:try(("authorization server %q"):format(place), function()
    fresh {}
    local value, err = metadata.server(place, base .. "/mcp")
    if value or not err or err.code ~= "denied" then return "it was asked: " .. tostring(err and err.message) end
  end)
  for _, name in ipairs { "token_endpoint", "registration_endpoint", "authorization_endpoint" } do
    class:try(("%s %q"):format(name, place), function()
      fresh(server_with { [name] = place })
      local one, asked = login()
      local token, err = one:answer(401, "Bearer")
      if token or not err or err.code ~= "denied" then return "it was used: " .. tostring(err and err.message) end
      if name == "authorization_endpoint" and #asked > 0 then return "the browser was sent there" end
    end)
  end
  class:try(("a kept place of tokens %q"):format(place), function()
    fresh {}
    local one = login { known = { access_token = "old", refresh_token = "r", expires = 1, token_endpoint = place, client = { id = "c" }, issuer = base } }
    if one:token() ~= "old" then return "the token was refreshed there" end
  end)
  class:try(("a redirect of metadata to %q"):format(place), function()
    fresh { ["/.well-known/oauth-protected-resource/mcp"] = { 302, "", { location = place ~= "" and not place:find "%c" and place or "http://169.254.169.254/" } } }
    local value, err = metadata.resource(base .. "/mcp")
    if value or err and err.code ~= "denied" then return "it was followed: " .. tostring(err and err.message) end
  end)
  class:try(("where messages of an older server go: %q"):format(place), function()
    local went
    fresh { ["/sse"] = { 200, "event: endpoint\ndata: " .. place:gsub("%c", " ") .. "\n\n", { ["content-type"] = "text/event-stream" } } }
    local peer = { name = "x", owner = fiber.self(), shut = function(_, err) went = err end, hear = function() end, fail = function() end }
    local opened = http_sse.open(peer, { url = base .. "/sse" })
    if opened and opened.address:sub(1, #base) ~= base then return "they go to " .. opened.address end
  end)
  if place ~= "" then
    class:try(("a file of A2A at %q"):format(place), function()
      fresh {}
      local ok, err = pcall(a2a.whole.SendMessage, {}, { message = { messageId = "1", role = "ROLE_USER", parts = { { url = place } } } })
      local why = ok and "ok" or type(err) == "table" and tostring(err.message) or tostring(err)
      if ok or not why:find "nothing is fetched" then return "it was taken: " .. why end
    end)
    class:try(("web_fetch of %q"):format(place), function()
      fresh {}
      if place:find "^https?://[%w]+%.example" or place == "http://8.8.8.8/" then return nil end -- public places are a matter of rules
      local result = web.make("web_fetch").run({ url = place }, {})
      if result then return "it was fetched" end
    end)
  end
end

-- ---- What else they may not ------------------------------------------------------------------------------------------------------

for _, kind in ipairs { "mac", "DPoP", "N_A", "urn:x", "", "bearer x" } do
  class:try(("a token of the type %q"):format(kind), function()
    local list = server_with {}
    list["/token"] = { 200, json.encode { access_token = "t", token_type = kind } }
    fresh(list)
    local token, err = login():answer(401, "Bearer")
    if token or not err then return "it was taken" end
  end)
end
for _, path in ipairs { "/token", "/register" } do
  class:try("a redirect of " .. path, function()
    local list = server_with {}
    list[path] = { 307, "", { location = base .. "/evil" } }
    fresh(list)
    login():answer(401, "Bearer")
    for _, request in ipairs(seen) do
      if request.path == "/evil" then return "code or client went there" end
    end
  end)
end
class:try("a redirect of metadata to another port", function()
  fresh { ["/.well-known/oauth-protected-resource/mcp"] = { 302, "", { location = "http://127.0.0.1:1/" } } }
  local value = metadata.resource(base .. "/mcp")
  if value or #seen ~= 2 then return "it was followed" end
end)
class:try("a webhook that leads elsewhere", function()
  fresh { ["/hook"] = { 307, "", { location = base .. "/evil" } } }
  local ok = webhook.post(("k"):rep(32), base .. "/hook", "1", "{}")
  if ok or #seen ~= 1 then return "it was followed" end
end)
for _, server in ipairs { "https://mcp.example.org/x", "https://8.8.8.8/" } do
  for _, place in ipairs { "http://127.0.0.1/", "https://127.0.0.1/", "https://localhost/", "https://10.0.0.1/", "https://192.168.1.1/", "https://172.20.0.1/", "https://[fd00::1]/", "https://[::1]/" } do
    class:try(("%s names %s"):format(server, place), function()
      if address_check.of_server(place, server, "x") then return "a public server leads into this network" end
    end)
  end
end
class:try("a private server names its neighbour", function()
  local address = address_check.of_server("https://10.0.0.9/", "http://10.0.0.5/mcp", "x")
  if not (address and address.not_public) then return "a company's own authorization server is refused" end
end)

listener:close()
serving:cancel()
return class:finish()
