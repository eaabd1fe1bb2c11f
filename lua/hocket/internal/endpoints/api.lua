--- hocket's own interface: runs, what they wait for, and what can be said to them. `assets/openapi` describes it for others (/api/openapi.json).
local json = require "hocket.json"

local function start(server, request, response)
  local body, err = request:json()
  if not body then return response:fail(err) end
  if type(body.target) ~= "string" then return response:fail { code = "invalid", message = "'target' has to be the name of an agent (GET /api/agents lists them)" } end
  if body.input ~= nil and type(body.input) ~= "string" then return response:fail { code = "invalid", message = "'input' has to be a text" } end
  local run, wrong = server.desk:start { target = body.target, input = body.input, options = { interactive = true, deltas = true } }
  if not run then return response:fail(wrong) end
  return response:json(201, { id = run.name, target = run.target }, { location = "/api/runs/" .. run.name })
end

local function events(server, request, response)
  local run = server.desk:find(request.params.id)
  if not run then return response:fail { code = "not_found", message = "there is no such run" } end
  local reader = run:subscribe { after = math.tointeger(tonumber(request.headers["last-event-id"])) or 0, deltas = request.query.deltas ~= nil }
  local stream = response:stream()
  while stream do
    local line, seq, kind = reader:next()
    if not line then break end
    if not stream:event { event = kind, data = line, id = seq > 0 and seq or nil } then return end
  end
end

return function(server)
  local router = server.router
  router:on("GET", "/api/agents", function(_, response)
    local list, err = server.desk:agents()
    if not list then return response:fail(err) end
    local agents = json.array {}
    for i, one in ipairs(list) do agents[i] = { name = one.name, description = one.description } end
    return response:json(200, { agents = agents })
  end)
  router:on("POST", "/api/runs", function(request, response) return start(server, request, response) end)
  router:on("GET", "/api/runs/{id}/events", function(request, response) return events(server, request, response) end)
end
