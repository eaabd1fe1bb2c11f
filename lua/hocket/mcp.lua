--- MCP servers: tools, resources and prompts that other programs offer, by the Model Context Protocol.
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
--- An agent has the tools of a server by its key `mcp:` (docs/mcp.md); this is for scripts that talk with one themselves. Both
--- revisions of the protocol are spoken, over a program's standard input and output and over HTTP.
local client = require "hocket.internal.mcp.client"
local servers = require "hocket.internal.mcp.servers"

local mcp = {}

--- Connects to a server. What is started or asked here is the script's own word: nobody else is asked. `name` is for messages; the
--- other fields of the server are those of `mcp:` in an agent's head. `elicit(params)` answers what a server asks a person,
--- with {action = "accept", content = {…}}, or {action = "decline"}; `log(params)` gets what a server logs.
---@async
---@param server {name: string, command?: string, args?: string[], env?: table<string, string>, cwd?: string, url?: string, headers?: table<string, string>, elicit?: fun(params: table): table, log?: fun(params: table)}
---@return hocket.McpClient?
---@return hocket.Error?
function mcp.connect(server)
  if type(server) ~= "table" or type(server.name) ~= "string" then error("bad argument #1 to 'connect' (a server with a name expected)", 2) end
  if not server.command == not server.url then error("bad argument #1 to 'connect' ('command' or 'url' expected)", 2) end
  local spec, err = servers.spec(server)
  if not spec then return nil, err end
  spec.elicit, spec.log = server.elicit, server.log
  return client.connect(spec)
end

return mcp
