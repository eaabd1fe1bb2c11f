-- A server with one tool that does nothing but answer: what a call costs beside it is the client's and the pipe's.
local answers = {
  initialize = '"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"echo","version":"1"}}',
  ["tools/list"] = '"result":{"tools":[{"name":"echo","description":"Echoes","inputSchema":{"type":"object","properties":{"text":{"type":"string"}}}}]}',
  ["tools/call"] = '"result":{"content":[{"type":"text","text":"the same again"}]}',
}
io.stdout:setvbuf "no"
for line in io.lines() do
  local id, method = line:match '"id":(%d+)', line:match '"method":"([%w/]+)"'
  local answer = answers[method] or '"error":{"code":-32601,"message":"no"}'
  if id then io.stdout:write('{"jsonrpc":"2.0","id":', id, ",", answer, "}\n") end
end
