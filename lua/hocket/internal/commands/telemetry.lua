--- The operation `telemetry`: the host's runs are told of to a collector, as the variables of OpenTelemetry say, until it is told to end.
---
---     run:answer("flush", seconds) ──> {sent, dropped}       what there is is sent, for so long at most
---
--- The program starts it where one of these variables is set; a program that embeds hocket where it wants it.
local fiber = require "hocket.internal.core.fiber"
local runs = require "hocket.internal.run.run"
local telemetry = require "hocket.internal.telemetry.service"

---@async
---@param args {variables?: table<string, string>} What counts instead of the host's variables.
---@param journal userdata
return function(args, journal, id)
  local run = runs.new { journal = journal, id = id, options = {} }
  local me, seconds = fiber.self(), nil
  run.answer = function(_, question, text)
    if question ~= "flush" then return nil, { code = "not_found", message = "there is no such question" } end
    seconds = tonumber(text) or 0
    me:wake()
    return true
  end
  local made, err = telemetry.open(args.variables)
  if not made then
    if err then return nil, err end
    return { text = "nothing is configured", on = false }
  end
  local closing <close> = setmetatable({}, { __close = function() made:abort() end }) -- where it was cancelled
  while not seconds do fiber.park_for_program() end
  local result = made:close(seconds)
  result.text, result.on = "", true
  return result
end
