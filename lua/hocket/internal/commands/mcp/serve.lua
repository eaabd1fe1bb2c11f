--- `hocket mcp serve`: agents, teams and tools for MCP clients. The transport is this process's standard input and output; or the
--- program's own, which gives what clients send as answers to "message", and gets what is to be sent as events:
---
---     hocket_run_answer(host, id, "message", text) ──>  ──> mcp_message {text}
local fiber = require "hocket.internal.core.fiber"
local runs = require "hocket.internal.run.run"
local service = require "hocket.internal.serve.mcp_service"
local http = require "hocket.internal.base.lazy" "hocket.internal.mcp.server_http"
local rule_check = require "hocket.internal.session.rule_check"
local stdio = require "hocket.internal.mcp.server_stdio"
local system = require "hocket.internal.core.system"

-- Until the program ends it, by an empty message.
local function serve_by_events(made, journal, id)
  local run = runs.new { journal = journal, id = id, options = {} }
  local function send(_, text) run:emit("mcp_message", { text = text }) end
  local sink = { send = send, finish = send }
  local connection = made.server:connect(sink)
  local closing <close> = setmetatable({}, { __close = function() connection:close() end })
  local self, over = fiber.self(), false
  run.answer = function(_, question, text)
    if question ~= "message" then return nil, { code = "not_found", message = "messages are answers to 'message'" } end
    if text == "" then
      over = true
      self:wake()
    else
      fiber.spawn_under(self, connection.take, connection, text, sink)
    end
    return true
  end
  run:emit("mcp_serving", {})
  while not over do fiber.park_for_program() end
  return true
end

local function serve_http(made, args, journal)
  local own = system.getenv "HOCKET_MCP_TOKEN"
  if own == "" then own = nil end
  local token = own
  if args.no_token then token = false end
  return http.serve(made.server, { port = args.port, token = token, on_listen = function(url, used)
    journal:append("serving", { url = url, token = not own and used or nil })
  end })
end

local function serve(args, journal, id, stream)
  local made, err = service.open(args)
  if not made then return nil, err end
  local closing <close> = setmetatable({}, { __close = function() made:close() end })
  local wrong = rule_check.early(args.options or {}, args.targets or {})
  if wrong then return nil, wrong end
  made:watch()
  local ok
  if args.transport == "events" then ok, err = serve_by_events(made, journal, id)
  elseif args.port then ok, err = serve_http(made, args, journal)
  else ok, err = stdio.serve(made.server, stream) end
  if not ok then return nil, err end
  return { text = "" }
end

---@async
---@param args {targets?: string[], tools?: string[], options?: table, all?: boolean, name?: string, instructions?: string, transport?: "stdio"|"events", port?: integer, no_token?: boolean} port: over HTTP.
---@param journal userdata
return function(args, journal, id)
  args.parked = function(run) journal:append("mcp_parked", { parked = run }) end
  if args.transport == "events" or args.port then return serve(args, journal, id) end
  local stream <close>, err = stdio.open() -- what targets print when they are loaded is no message
  if not stream then return nil, err end
  return serve(args, journal, id, stream)
end
