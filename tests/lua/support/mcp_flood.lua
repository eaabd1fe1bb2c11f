-- An MCP server that sends very many notifications of one kind before each result, which says how many.
local json = require "hocket.json"

local method, count = arg[1]:match "^(%S+) (%d+)$"

local function send(value)
  value.jsonrpc = "2.0"
  io.stdout:write(json.encode(value), "\n")
end

local answers = {
  initialize = function(params)
    return { protocolVersion = params.protocolVersion, serverInfo = { name = "flood", version = "1" },
      capabilities = { tools = { listChanged = true }, logging = json.decode "{}", resources = { listChanged = true, subscribe = true }, prompts = { listChanged = true } } }
  end,
  ["tools/list"] = function() return { tools = json.array { { name = "pour", description = "Pours", inputSchema = { type = "object" } } } } end,
  ["tools/call"] = function(params)
    for i = 1, tonumber(count) do
      send { method = "notifications/" .. method, params = { progressToken = params._meta and params._meta.progressToken or 0, progress = i, message = ("x"):rep(100), level = "info",
        data = ("y"):rep(100), uri = "file:///x", requestId = i, taskId = "t" .. i, status = "working" } }
    end
    return { content = json.array { { type = "text", text = count } } }
  end,
}

for line in io.lines() do
  local asked = json.decode(line)
  local answer = asked.id ~= nil and answers[asked.method]
  if answer then
    send { id = asked.id, result = answer(asked.params or {}) }
  elseif asked.id ~= nil then
    send { id = asked.id, error = { code = -32601, message = "no" } }
  end
  io.stdout:flush()
end
