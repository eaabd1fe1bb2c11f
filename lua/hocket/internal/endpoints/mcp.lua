--- MCP at /mcp: what is offered, as tools (docs/mcp.md). Runs are started by the desk, as all of this server are.
local core = require "hocket.internal.core.runs"
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

-- One that is not kept ends.
function Started:park()
  if self.run.outcome then return false end
  local parked = core.park(self.run.number)
  if not parked then self.run:cancel() end
  return parked == true
end

local function start(desk)
  return function(target, input, options)
    local run, err = desk:start { target = target.name, input = input, options = options, labels = options.labels }
    if not run then return nil, err end
    if not run:begun() then return nil, { code = run.outcome.code, message = run.outcome.message } end
    return setmetatable({ run = run, desk = desk }, Started)
  end
end

return function(server)
  local made = assert(service.open { offered = server.desk.offered, options = server.desk.options, start = start(server.desk) })
  made:watch()
  local handler = http.mount(made.server)
  for _, method in ipairs { "POST", "GET", "DELETE" } do server.router:on(method, "/mcp", handler) end
  server.router:form("/mcp", function(_, err) return { jsonrpc = "2.0", id = json.null, error = { code = -32600, message = err.message } } end)
end
