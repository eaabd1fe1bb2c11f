--- A command of `hocket attach` given from inside: { line = "runs" } -> { text, value }.
local console = require "hocket.internal.host.console"

---@async
---@param args {line: string}
---@return {text: string, value: any}?
---@return hocket.Error?
return function(args)
  if type(args.line) ~= "string" then return nil, { code = "invalid", message = "expected {\"line\":\"help\"}" } end
  return console.new(true):give(args.line)
end
