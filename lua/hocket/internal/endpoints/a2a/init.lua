--- A2A: agents for agents of others. A card for each agent; JSON-RPC at POST /a2a/NAME (1.0, and 0.3 for the ones who say no version), REST below it.
---
---     GET /a2a/NAME/.well-known/agent-card.json        who it is; of the first that is offered also at /.well-known/agent-card.json
---     SendMessage, SendStreamingMessage ──> a task     GetTask, ListTasks, CancelTask, SubscribeToTask (methods.lua)
local errors = require "hocket.internal.endpoints.a2a.errors"
local json = require "hocket.json"
local legacy = require "hocket.internal.endpoints.a2a.legacy"
local methods = require "hocket.internal.endpoints.a2a.methods"
local rest = require "hocket.internal.endpoints.a2a.rest"
local system = require "hocket.internal.core.system"
local tasks = require "hocket.internal.endpoints.a2a.task"

local VERSION, OLDER = "1.0", "0.3"

-- ---- Cards -------------------------------------------------------------------------------------

local function interface(url, binding, version)
  return { url = url, protocolBinding = binding, protocolVersion = version }
end

local function modes(schema, list)
  if schema then list[#list + 1] = "application/json" end
  return list
end

local function card_of(one, base)
  local input, output = one.def and one.def.input, one.def and one.def.output
  local url = ("%s/a2a/%s"):format(base, one.name)
  local card = {
    name = one.def and one.def.display_name or one.name, description = one.description, version = system.version(),
    supportedInterfaces = json.array { interface(url, "JSONRPC", VERSION), interface(url, "HTTP+JSON", VERSION), interface(url, "JSONRPC", OLDER) },
    capabilities = { streaming = true, pushNotifications = false, extendedAgentCard = false },
    defaultInputModes = modes(input, json.array { "text/plain", "image/*", "audio/*", "application/pdf" }), defaultOutputModes = modes(output, json.array { "text/plain" }),
    skills = json.array { { id = one.name, name = one.name, description = one.description, tags = json.array { "hocket" } } },
    securitySchemes = { token = { httpAuthSecurityScheme = { scheme = "Bearer" } } }, securityRequirements = json.array { { schemes = { token = { list = json.array {} } } } },
  }
  legacy.add_to_card(card, url)
  return card
end

local function answer_card(server, request, response, name)
  local list, err = server.desk:agents()
  if not list then return response:fail(err) end
  local base = server:base(request)
  for _, one in ipairs(list) do
    if name == nil or one.name == name then
      local text = json.encode(card_of(one, base))
      local etag = ('"%s"'):format(system.digest(text))
      local headers = { ["cache-control"] = "max-age=60", etag = etag }
      if request.headers["if-none-match"] == etag then return response:send(304, "", headers) end
      headers["content-type"] = "application/json"
      return response:send(200, text, headers)
    end
  end
  return response:fail { code = "not_found", message = "there is no such agent" }
end

-- ---- Requests ----------------------------------------------------------------------------------

local function version_of(request)
  local version = request.headers["a2a-version"] or request.query["A2A-Version"] or ""
  return version == "" and OLDER or version:match "^(%d+%.%d+)%.%d+$" or version
end

local function check_version(request)
  local version = version_of(request)
  if version == VERSION then return end
  errors.refuse("VERSION_NOT_SUPPORTED", "A2A %s is not spoken here, but %s (header A2A-Version: %s)", version, VERSION, VERSION)
end

-- The name of the method in 1.0, and whether it was asked for in 0.3.
local function find_method(request, given)
  local older = version_of(request) == OLDER and legacy.methods[given]
  if not older then check_version(request) end
  local name = older or given
  if not methods.whole[name] and not methods.streams[name] then errors.refuse("METHOD_NOT_FOUND", "there is no method '%s'", given) end
  return name, older ~= false
end

local function answer_stream(task, shaped, id, response)
  local pieces, _, _, over <close> = task:pieces()
  local stream = response:stream()
  local function send(result) return stream:event { data = { jsonrpc = "2.0", id = id, result = shaped(result) } } end
  if not send { task = task:object() } then return end
  for piece in pieces do
    if not send(piece) then return end
  end
  stream:close()
  return over
end

local function same(value) return value end

local function answer(self, request, response)
  local body, err = request:json()
  if not body then return response:json(200, { jsonrpc = "2.0", id = json.null, error = { code = -32700, message = err.message } }) end
  local id = (type(body.id) == "string" or math.type(body.id) == "integer") and body.id or json.null
  local function fail(wrong) return response:json(200, { jsonrpc = "2.0", id = id, error = wrong }) end
  if body.jsonrpc ~= "2.0" or type(body.method) ~= "string" then return fail { code = -32600, message = "that is no request of JSON-RPC 2.0" } end
  local name, older
  local result, refused = errors.caught(function()
    name, older = find_method(request, body.method)
    local params = type(body.params) == "table" and body.params or {}
    return (methods.whole[name] or methods.streams[name])(self, older and legacy.params(params) or params)
  end)
  if refused then return fail(errors.rpc(refused)) end
  local shaped = older and legacy.result or same
  if methods.streams[name] then return answer_stream(result, shaped, id, response) end
  return response:json(200, { jsonrpc = "2.0", id = id, result = shaped(result) })
end

return function(server)
  local router, all = server.router, {}
  -- Of each caller its own tasks: nobody lists, reads or cancels another's.
  local function agent(request)
    local name, desk, whose = request.params.name, request.server.desk, request.caller.id or "owner"
    local one, err = desk:find_agent(name)
    if not one then return nil, err end
    all[whose] = all[whose] or tasks.new()
    return { desk = desk, name = name, tasks = all[whose] }
  end
  router:on("GET", "/.well-known/agent-card.json", function(request, response) return answer_card(request.server, request, response) end)
  router:on("GET", "/a2a/{name}/.well-known/agent-card.json", function(request, response) return answer_card(request.server, request, response, request.params.name) end)
  router:on("POST", "/a2a/{name}", function(request, response)
    local self, err = agent(request)
    if not self then return response:fail(err) end
    return answer(self, request, response)
  end)
  rest(router, agent, check_version)
end
