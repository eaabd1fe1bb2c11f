--- MCP servers and clients. Servers offer tools, resources and prompts over the Model Context Protocol.
---
---     local hocket = require "hocket"
---     local files, err = hocket.mcp.connect { name = "files", command = "no-such-server", args = { "." } }
---     if files then
---       for _, one in ipairs(assert(files:tools())) do print(one.name, one.description) end
---       print(assert(files:call("read_file", { path = "README.md" })).content[1].text)
---       files:close()
---     else
---       print(err.message)
---     end
---
--- The key `mcp:` of an agent's file gives an agent the tools of a server (docs/guides/mcp.md). This module is for scripts that
--- talk with a server themselves. It supports both revisions of the protocol, over a program's standard input and output and over HTTP.
local client = require "hocket.internal.mcp.client"
local fiber = require "hocket.internal.core.fiber"
local lazy = require "hocket.internal.base.lazy"
local servers = require "hocket.internal.mcp.servers"

local service, stdio = lazy "hocket.internal.serve.mcp_service", lazy "hocket.internal.mcp.server_stdio"
local http = lazy "hocket.internal.mcp.server_http"

local mcp = {}

--- Connects to a server. It starts the script's server without asking a person. `name` appears in messages; the other fields
--- are those of `mcp:` in an agent's file. The server's questions to a person go to `elicit(params)`, which returns
--- {action = "accept", content = {…}} or {action = "decline"}. The server's log messages go to `log(params)`.
---@async
---@param server {name: string, command?: string, args?: string[], env?: table<string, string>, cwd?: string, url?: string, headers?: table<string, string>, elicit?: fun(params: table): table, log?: fun(params: table)}
---@return hocket.McpClient?
---@return hocket.Error?
function mcp.connect(server)
  if type(server) ~= "table" or type(server.name) ~= "string" then error("bad argument #1 to 'connect' (a server with a name expected)", 2) end
  if (not server.command) == (not server.url) then error("bad argument #1 to 'connect' ('command' or 'url' expected)", 2) end
  local spec, err = servers.spec(server)
  if not spec then return nil, err end
  spec.elicit, spec.log = server.elicit, server.log
  return client.connect(spec)
end

local fields = {
  name = "string", version = "string", title = "string", instructions = "string", tools = "table", targets = "table", options = "table",
  all = "boolean", resources = "table", templates = "table", prompts = "table", port = "number", token = "string|boolean",
}

local function serve_on(spec, stream)
  local made, err = service.open(spec)
  if not made then return nil, err end
  local closing <close> = setmetatable({}, { __close = function() made:close() end })
  made:watch()
  if spec.port then return http.serve(made.server, { port = spec.port, token = spec.token }) end
  return stdio.serve(made.server, stream)
end

local function serve(spec)
  if spec.port then return serve_on(spec) end
  local stream <close>, err = stdio.open()
  if not stream then return nil, err end
  return serve_on(spec, stream)
end

--- Serves over this process's standard input and output until the input ends. With `port` it serves over HTTP at
--- http://127.0.0.1:PORT/mcp, for clients that send `token` as a bearer token; `token = false` admits every program of this machine.
--- `tools` are tables {name, description, parameters, output, task, run(args, at)}, tools of hocket.tool, or names of tools that the
--- program has registered. `targets` are agents, teams and scripts, as for `hocket run`; `options` are the options of their runs.
--- `resources` are {uri, name, mimeType, read(uri, at)}, `templates` {uriTemplate, …, read(uri, at, values)}, `prompts` {name,
--- description, arguments, get(args, at)}. The functions reach the client through their argument `at`: at:progress(n, total, text),
--- at:log(level, data), at:elicit(question), at:sample(params), at:roots().
---@async
---@param spec {name?: string, version?: string, title?: string, instructions?: string, tools?: (table|string)[], targets?: string[], options?: table, all?: boolean, resources?: table[], templates?: table[], prompts?: table[], port?: integer, token?: string|false}
---@return true? ended
---@return hocket.Error?
function mcp.serve(spec)
  if type(spec) ~= "table" then error("bad argument #1 to 'serve' (a table expected)", 2) end
  for key, value in pairs(spec) do
    if not fields[key] or not fields[key]:find(type(value), 1, true) then
      error(("bad field '%s' for 'serve' (%s)"):format(tostring(key), fields[key] and fields[key] .. " expected" or "there is no such field"), 2)
    end
  end
  if spec.port and not (spec.token == false or type(spec.token) == "string" and spec.token ~= "") then
    error("bad field 'token' for 'serve' (a text expected, or false to let in every program of this machine)", 2)
  end
  if fiber.self() then return serve(spec) end
  local result = table.pack(fiber.run(serve, spec))
  if not result[1] then error(result[2], 0) end
  return table.unpack(result, 2, result.n)
end

return mcp
