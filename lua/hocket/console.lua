--- Runs the commands of `hocket attach` inside the program: for a console of its own, as games have one.
---
---     local console = require "hocket.console"
---     print(console.give("runs").text)
local consoles = require "hocket.internal.host.console"

local console = {}

--- Gives a command: "runs", "board 2", "= 1 + 1" (`help` lists them). `say` and `reload` wait: call them in a
--- fiber (inside of a run).
---@param line string
---@return {text: string, value: any}? answer `text` for people, `value` for programs.
---@return hocket.Error?
function console.give(line)
  if type(line) ~= "string" then error(("bad argument #1 to 'give' (string expected, got %s)"):format(type(line)), 2) end
  return consoles.new(true):give(line)
end

return console
