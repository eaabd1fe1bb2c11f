--- The faults of the scripted model, for `hocket sim --help`.
local faults = require "hocket.internal.sim.faults"

return function()
  local list = {}
  for i, fault in ipairs(faults.list) do list[i] = { name = fault.name, kind = fault.kind, text = fault.text } end
  return { faults = list, text = faults.help() }
end
