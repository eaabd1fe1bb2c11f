--- MCP at /mcp: what is offered, as tools (docs/guides/mcp.md). Runs are started by the desk, as all of this server are.
local caught = require "hocket.internal.base.caught"
local core = require "hocket.internal.core.runs"
local fiber = require "hocket.internal.core.fiber"
local http = require "hocket.internal.mcp.server_http"
local json = require "hocket.json"
local service = require "hocket.internal.serve.mcp_service"

-- A run of the desk, as calls know them.
local Started = {}
Started.__index = Started

function Started:name() return self.run.name end

function Started:is_kept() return self.desk.kept ~= false end

function Started:journal() return self.run.journal end

function Started:wait()
  self.run:wait()
  local outcome = self.run.outcome
  return outcome.code, "", outcome.result, outcome.message or ""
end

function Started:cancel() return self.run:cancel() end

function Started:answer(question, text) return self.run:answer(question, text) end

-- One not kept ends.
function Started:park()
  if self.run.outcome then return false end
  local parked = core.park(self.run.number)
  if not parked then self.run:cancel() end
  return parked == true
end

local function start(desk)
  return function(target, input, options)
    local run, err = desk:start { target = target.name, input = input, options = options }
    if not run then return nil, err end
    if not run:begun() then return nil, { code = run.outcome.code, message = run.outcome.message } end
    return setmetatable({ run = run, desk = desk }, Started)
  end
end

-- What is offered, as far as a token may use it.
local function offered_to(desk)
  if not desk.caller then return desk.offered end
  return setmetatable({ list = function() return desk:agents() end, watch = function(_, fn) return desk.offered:watch(fn) end }, { __index = desk.offered })
end

local function open(desk)
  local made = assert(service.open { offered = offered_to(desk), options = desk.options, start = start(desk) })
  made:watch()
  return http.mount(made.server)
end

-- Each token has sessions, tasks and resources of its own, which live as long as the server: nobody gets at another's.
local function handler_of(self, request)
  local whose, me = request.caller.id or "owner", fiber.self()
  local one = self.handlers[whose]
  if one then return one end
  local ok, made
  fiber.spawn_under(self.owner, function()
    ok, made = pcall(open, request.server.desk)
    if ok then self.handlers[whose] = self.handlers[whose] or made end
    me:wake()
    while ok do fiber.park() end
  end):serve()
  while ok == nil do fiber.park() end
  if not ok then error(caught.error(made), 0) end
  return self.handlers[whose]
end

return function(server)
  local self = { owner = fiber.self(), handlers = {} }
  local function handler(request, response) return handler_of(self, request)(request, response) end
  for _, method in ipairs { "POST", "GET", "DELETE" } do server.router:on(method, "/mcp", handler) end
  server.router:form("/mcp", function(_, err) return { jsonrpc = "2.0", id = json.null, error = { code = -32600, message = err.message } } end)
end
