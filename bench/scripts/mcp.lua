-- What a call of an MCP tool costs over the bare pipe, for the client and for the server, in µs of CPU: prints one JSON object.
-- The bare pipe is the same lines through the same pipe, with nobody who reads what is in them.
local client = require "hocket.internal.mcp.client"
local hocket = require "hocket"
local process = require "hocket.process"

local here = hocket.fs.real(arg[0]:match "^(.*)/[^/]*$" or ".")
local rounds = math.tointeger(tonumber(arg[1])) or 5000

local function spec(...)
  return { argv = { process.launcher(), ... }, env = { "PATH=/usr/bin:/bin" }, cwd = "/tmp", sandbox = "limits", network = true, sockets = true }
end

local function timed(fn)
  local before = os.clock()
  for i = 1, rounds do fn(i) end
  return (os.clock() - before) * 1e6 / rounds
end

local function line_of(i)
  return ('{"id":%d,"jsonrpc":"2.0","method":"tools/call","params":{"arguments":{"text":"some words"},"name":"echo"}}\n'):format(i)
end

-- The client's side, both in turn.
local function ask()
  local echo = spec("run", "-q", here .. "/mcp_echo.lua")
  local bare, made = assert(process.open(echo)), assert(client.connect { name = "echo", process = echo, era = "legacy" })
  local costs = { bare = {}, call = {} }
  for i = 1, 5 do
    costs.bare[i] = timed(function(n)
      bare:write(line_of(n))
      bare:read_line()
    end)
    costs.call[i] = timed(function() assert(made:call("echo", { text = "some words" })) end)
  end
  bare:close()
  made:close()
  table.sort(costs.bare)
  table.sort(costs.call)
  return costs.bare[3], costs.call[3]
end

local META = '"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}'

-- The server's side: CPU of a process that answers so many calls.
local function answer(calls, ...)
  local program = assert(process.open(spec(...)))
  for i = 1, calls do
    program:write(('{"id":%d,"jsonrpc":"2.0","method":"tools/call","params":{"arguments":{"text":"some words"},"name":"echo",%s}}\n'):format(i, META))
    assert(program:read_line(), program:stderr())
  end
  program:end_input()
  return assert(program:wait(10)).cpu * 1e6
end

local function serve(...)
  return (answer(rounds * 2, ...) - answer(rounds, ...)) / rounds
end

local bare, call = ask()
local served = serve("run", "-q", here .. "/mcp_shop.lua")
print(hocket.json.encode { bare = bare, call = call, over = call - bare, served = served, served_bare = serve("run", "-q", here .. "/mcp_echo.lua") })
