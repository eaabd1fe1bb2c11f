--- `hocket sim SCRIPT`: serves a scripted model to anybody on this machine, until it is cancelled.
local fiber = require "hocket.internal.core.fiber"
local fs = require "hocket.fs"
local sim = require "hocket.sim"

---@async
---@param args {script?: string, port?: integer, latency?: number, pause?: number, fault?: string, fault_rate?: number, seed?: integer, retry_after?: number}
---@param journal userdata
return function(args, journal)
  local script, err
  if args.script then
    local info = fs.info(args.script) -- of a project its sim.lua
    script, err = sim.load(info and info.kind == "directory" and args.script .. "/sim.lua" or args.script)
    if not script then return nil, { code = "agent", message = err.message } end -- also one that is not there
  else
    script = require "hocket.internal.sim.default"
  end
  local served
  served, err = sim.serve(script, {
    port = args.port, latency = args.latency, pause = args.pause, fault = args.fault, fault_rate = args.fault_rate,
    seed = args.seed, retry_after = args.retry_after,
  })
  if not served then return nil, err end
  journal:append("serving", { base = served.base, root = served.root, port = served.port })
  local closing <close> = setmetatable({}, { __close = served.close })
  while true do fiber.sleep(86400) end
end
