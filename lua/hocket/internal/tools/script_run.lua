-- Runs the script of the tool `lua`: {call, args} goes out for each call of a tool, {ok, text} comes back.
local base = ...

local function call(name, args)
  if args ~= nil and type(args) ~= "table" then error(("tools.%s takes one table of arguments, not a %s"):format(name, type(args)), 3) end
  base.say { call = name, args = args or {} }
  local answer = base.read()
  if answer.ok then return answer.text end
  return nil, answer.text
end

local tools = setmetatable({}, { __index = function(_, name)
  return function(args) return call(tostring(name), args) end
end, __metatable = false })

base.env.tools = tools
local start = base.read()
local fn, wrong = load(start.code, "=script", "t", base.env)
if fn then base.finish(xpcall(fn, base.described)) else base.finish(false, wrong) end
